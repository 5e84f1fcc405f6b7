//! The catalogue of failures: each row is recognised from what the tools really print, however it is
//! wrapped and whatever stands before it. `WDEV_TEST_BLESS=1` writes `docs/failures.md` anew.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use wdev::diagnose::{FILES, Said, classify, failure, known};
use wdev::error::Kind;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fixture {
    #[serde(rename = "comment")]
    _comment: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    /// The numbers of the rows, in the table that the catalogue was made from, that this stands for.
    rows: Vec<u32>,
    class: String,
    text: String,
}

fn cases() -> Vec<Case> {
    let text = include_str!("fixtures/failures/cases.json");
    serde_json::from_str::<Fixture>(text).unwrap().cases
}

/// The data as it lies in the files, by id.
fn rows() -> BTreeMap<String, Value> {
    let mut rows = BTreeMap::new();
    for (file, text) in FILES {
        let table: Value = serde_json::from_str(text).unwrap();
        for row in table["failures"].as_array().unwrap() {
            let id = row["id"].as_str().unwrap().to_owned();
            let twice = rows.insert(id.clone(), row.clone());
            assert!(twice.is_none(), "{file}.json: `{id}` is there twice");
        }
    }
    rows
}

fn texts<'a>(row: &'a Value, key: &str) -> Vec<&'a str> {
    let list = row[key].as_array().into_iter().flatten();
    list.map(|text| text.as_str().unwrap()).collect()
}

fn id(class: &str, text: &str) -> Option<&'static str> {
    let said = Said {
        class: class.to_owned(),
        text: text.to_owned(),
    };
    classify(&said).map(|known| known.id.as_str())
}

/// Breaks words at `width` columns, as Vagrant does by hand.
fn wrapped(text: &str, width: usize) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    textwrap::fill(&one_line, textwrap::Options::new(width).break_words(false))
}

/// Breaks at exactly `width` characters, as PowerShell does with errors.
fn cut(text: &str, width: usize) -> String {
    let letters: Vec<char> = text.replace('\n', " ").chars().collect();
    let lines = letters
        .chunks(width)
        .map(|line| line.iter().collect::<String>());
    lines.collect::<Vec<_>>().join("\n")
}

fn behind(prefix: &str, text: &str) -> String {
    let lines = text.lines().map(|line| format!("{prefix}{line}"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_case_is_recognised_in_every_dress() {
    for case in cases() {
        let text = &case.text;
        let mut dresses = vec![
            ("plain", text.clone()),
            ("behind a loud name", behind("==> winw1: ", text)),
            ("behind a quiet name", behind("    winw1: ", text)),
            (
                "behind a name without indentation",
                behind("win-w1.x: ", text),
            ),
            ("with CRLF", text.replace('\n', "\r\n")),
            (
                "in colour",
                format!("\u{1b}[31;1m{}\u{1b}[0m\u{1b}[K", wrapped(text, 60)),
            ),
            (
                "with all of it at once",
                behind("\u{1b}[0;35m==> winw1: ", &wrapped(text, 72))
                    .replace('\n', "\u{1b}[0m\r\n"),
            ),
        ];
        for width in [40, 72, 100] {
            dresses.push(("wrapped", wrapped(text, width)));
            dresses.push(("wrapped behind a name", {
                behind("==> winw1: ", &wrapped(text, width))
            }));
            dresses.push(("cut inside words", cut(text, width)));
        }
        for (dress, text) in dresses {
            assert_eq!(
                id(&case.class, &text),
                Some(case.id.as_str()),
                "{dress}: `{}`\n{text}",
                case.class
            );
        }
    }
}

#[test]
fn the_text_alone_tells_most_failures_of_a_class_that_was_renamed() {
    let rows = rows();
    for case in cases() {
        let row = &rows[&case.id];
        let has_text = row.get("words").is_some() || row.get("any").is_some();
        if !has_text || row["strict"] == true {
            continue;
        }
        for class in ["", "Vagrant::Errors::RenamedInANewerVagrant"] {
            let found = id(class, &case.text);
            // What a guest's script printed cannot be told from the host's own failures.
            let of_script = case.id == "winrm-script-failed" && found == Some("disk-full");
            assert!(
                found == Some(case.id.as_str()) || of_script,
                "{}: {found:?}\n{}",
                case.id,
                case.text
            );
        }
    }
}

#[test]
fn every_row_has_a_case_and_every_number_is_covered() {
    let cases = cases();
    let with_case: BTreeSet<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    let rows = rows();
    let there: BTreeSet<&str> = rows.keys().map(String::as_str).collect();
    assert_eq!(with_case, there);
    assert_eq!(known().len(), there.len());
    let numbers: BTreeSet<u32> = cases.iter().flat_map(|case| case.rows.clone()).collect();
    assert_eq!(numbers, (1..=40).collect());
}

#[test]
fn every_class_that_is_enough_leads_to_its_row() {
    for (name, row) in rows() {
        for class in texts(&row, "classes") {
            let class = format!("Some::Plugin::Errors::{class}");
            assert_eq!(id(&class, "unheard of"), Some(name.as_str()), "{class}");
        }
    }
}

#[test]
fn every_text_that_a_row_names_leads_to_it() {
    for (name, row) in rows() {
        let (words, any) = (texts(&row, "words"), texts(&row, "any"));
        if words.is_empty() && any.is_empty() {
            continue;
        }
        let mut classes = texts(&row, "shared");
        if row["strict"] != true {
            classes.push("");
        }
        for class in classes {
            let any = if any.is_empty() {
                vec![""]
            } else {
                any.clone()
            };
            for token in any {
                let text = format!("{} … {token} …", words.join(" … "));
                assert_eq!(id(class, &text), Some(name.as_str()), "{class}: {text}");
            }
        }
    }
}

#[test]
fn what_nobody_knows_is_not_guessed_at() {
    for (class, text) in [
        ("Vagrant::Errors::Unheard", "of"),
        ("Vagrant::Errors::VagrantError", "something else"),
        ("Vagrant::Errors::VBoxManageError", "VERR_SOMETHING_NEW"),
        ("", ""),
        ("", "The command could not be found"),
        ("", "Connection refused"),
        ("", "returned error: 404"),
        ("NotMachineLocked", ""),
    ] {
        assert_eq!(id(class, text), None, "{class}: {text}");
    }
    let said = Said {
        class: "Vagrant::Errors::Unheard".into(),
        text: "it broke\n  Value: 7".into(),
    };
    let failure = failure("`vagrant up` of `cp`", &said, "exit code 1");
    assert_eq!(failure.kind, Kind::Provider);
    assert_eq!(
        failure.causes,
        ["`Vagrant::Errors::Unheard`", "it broke Value: 7"]
    );
    assert!(failure.advice.iter().any(|line| line.contains("log")));
}

#[test]
fn the_values_of_the_text_are_shown() {
    for (case, values) in [
        ("virtualbox-range", ["10.20.30.10", "192.168.56.0/21"]),
        ("port-taken", ["55985", "in use"]),
        ("libvirt-name-taken", ["wdev-default-3f2a_winw1", "taken"]),
        ("box-no-version", ["acme/windows-2022", "9.0, 9.1"]),
    ] {
        let case = cases().into_iter().find(|it| it.id == case).unwrap();
        let said = Said {
            class: case.class,
            text: case.text,
        };
        let told = failure("`vagrant up` of `winw1`", &said, "exit code 1").to_string();
        for value in values {
            assert!(told.contains(value), "{told}");
        }
    }
}

#[test]
fn only_locks_are_tried_again_by_the_driver() {
    let retried: BTreeSet<_> = known()
        .iter()
        .filter(|known| known.retry)
        .map(|known| known.id.as_str())
        .collect();
    assert_eq!(
        retried,
        BTreeSet::from(["machine-locked", "virtualbox-locked"])
    );
    assert!(
        known()
            .iter()
            .all(|known| !(known.retry && known.permanent))
    );
}

#[test]
fn every_row_says_what_to_do() {
    // Their own message, or the step's output, says all.
    const SILENT: &[&str] = &["interrupted", "script-failed", "winrm-script-failed"];
    for known in known() {
        let id = &known.id;
        assert!(
            SILENT.contains(&id.as_str()) || !known.advice.is_empty(),
            "{id}"
        );
        for text in known.advice.iter().chain([&known.message]) {
            assert!(!text.is_empty() && !text.ends_with('.'), "{id}: {text}");
            assert_eq!(text.matches('`').count() % 2, 0, "{id}: {text}");
        }
        let first = known.message.chars().next().unwrap();
        let named = [
            "Vagrant",
            "VirtualBox",
            "VMware",
            "Windows",
            "WinRM",
            "Hyper-V",
            "PowerShell",
            "KVM",
            "OpenSSL",
        ];
        assert!(
            first.is_lowercase() || named.iter().any(|name| known.message.starts_with(name)),
            "{id}: {}",
            known.message
        );
        for issue in &known.issues {
            let (repository, number) = issue.split_once(" #").unwrap();
            assert!(repository.contains('/'), "{id}: {issue}");
            number.parse::<u32>().unwrap();
        }
    }
}

#[test]
fn the_list_is_written() {
    let mut text = String::from(
        "# Failures that wdev knows\n\n\
         Made from the data in `src/diagnose/` by a test (`WDEV_TEST_BLESS=1 cargo test --test \
         diagnose`). The exit code says whose problem it is: [exit-codes.md](exit-codes.md). *Again* \
         means that wdev tries the same command again by itself, *for good* that a step with this \
         failure is not tried again.\n",
    );
    for (file, data) in FILES {
        let _ = write!(
            text,
            "\n## {file}\n\n| id | what | do | exit code | | reports |\n| --- | --- | --- | --- | --- | --- |\n"
        );
        let table: Value = serde_json::from_str(data).unwrap();
        for row in table["failures"].as_array().unwrap() {
            let id = row["id"].as_str().unwrap();
            let known = known().iter().find(|known| known.id == id).unwrap();
            let again = match (known.retry, known.permanent) {
                (true, _) => "again",
                (_, true) => "for good",
                _ => "",
            };
            let _ = writeln!(
                text,
                "| `{id}` | {} | {} | {} | {again} | {} |",
                known.message,
                known.advice.join("; ").replace('|', "\\|"),
                known.kind.exit_code(),
                known.issues.join(", ")
            );
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/failures.md");
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    if there.replace("\r\n", "\n") != text && std::env::var_os("WDEV_TEST_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
        return;
    }
    assert_eq!(
        there.replace("\r\n", "\n"),
        text,
        "docs/failures.md is out of step: run the tests with WDEV_TEST_BLESS=1"
    );
}
