//! Files that are no configuration: an error with the file's name, never a panic or a hang.

use proptest::prelude::*;
use wdev::config::{Request, load, migrate};

use crate::{folder, mistake, read, request};

fn of_bytes(bytes: &[u8]) -> Result<wdev::config::Loaded, wdev::config::Problems> {
    let dir = folder(&[]);
    std::fs::write(dir.path().join("variables.yml"), bytes).unwrap();
    let _ = migrate(&dir.path().join("variables.yml"));
    load(&request(&dir))
}

fn message(bytes: &[u8]) -> String {
    let problems = of_bytes(bytes).unwrap_err();
    assert_eq!(
        problems.0[0].file.as_deref(),
        Some("variables.yml"),
        "{problems}"
    );
    problems.render(false)
}

#[test]
fn bytes_that_are_no_text() {
    let text = message(b"a: b\nc: \xc3\xa9 \xff\n");
    assert!(
        text.contains("not UTF-8") && text.contains("variables.yml:2:6"),
        "{text}"
    );
    let utf16: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain("cni: calico".encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    assert!(message(&utf16).contains("UTF-16"));
    assert!(message(b"a: \0").contains("NUL"));
}

#[test]
fn a_huge_file_is_refused() {
    assert!(message(&vec![b'#'; 1024 * 1024 + 1]).contains("larger than 1 MiB"));
    assert!(of_bytes(&[b"#".repeat(1000), b"\n".to_vec()].concat().repeat(1000)).is_ok());
}

#[test]
fn deep_nesting_is_refused() {
    for text in [
        "[".repeat(100_000),
        "{a: ".repeat(50_000),
        "- ".repeat(100_000),
    ] {
        assert!(message(text.as_bytes()).contains("error"), "{}", &text[..4]);
    }
    let indented: String = (0..300).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
    message(indented.as_bytes());
}

#[test]
fn aliases_that_would_fill_the_memory_are_refused() {
    let mut text = "a: &a [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (one, next) in ('a'..='y').zip('b'..='z') {
        let many = format!("*{one}, ").repeat(10);
        text += &format!("{next}: &{next} [{many}]\n");
    }
    assert!(message(text.as_bytes()).contains("too many values"));
}

#[test]
fn one_long_line_of_mistakes() {
    let keys: String = (0..40_000).map(|n| format!("k{n}: 1,")).collect();
    let problems = of_bytes(format!("{{{keys}}}").as_bytes()).unwrap_err();
    for problem in &problems.0[..1000] {
        let line = problem.source_line.as_deref().unwrap();
        let (col, len) = problem.caret.unwrap();
        let under: String = line.chars().skip(col - 1).take(len).collect();
        assert!(
            problem.message.contains(&format!("`{under}`")),
            "{problem:#?}"
        );
        assert!(line.len() < 500);
    }
}

#[test]
fn more_workers_than_a_cluster_can_have() {
    let text = format!("workers: [{}]", "{},".repeat(5_000));
    assert!(message(text.as_bytes()).contains("at most 1000"));
    let text = format!("hooks: [{}]", "{},".repeat(5_000));
    assert!(message(text.as_bytes()).contains("is missing"));
}

#[test]
fn what_is_no_file_is_refused() {
    let dir = folder(&[]);
    std::fs::create_dir(dir.path().join("variables.yml")).unwrap();
    let text = load(&request(&dir)).unwrap_err().render(false);
    assert!(text.contains("`variables.yml` is a folder"), "{text}");
    let missing = Request {
        file: Some("nowhere.yml".into()),
        ..request(&dir)
    };
    let text = load(&missing).unwrap_err().render(false);
    assert!(text.contains("cannot read `nowhere.yml`"), "{text}");
    let inner = folder(&[("variables.yml", "")]);
    let named = Request {
        file: Some(inner.path().to_path_buf()),
        ..request(&dir)
    };
    let problem = load(&named).unwrap_err().0.remove(0);
    assert!(problem.suggestion.unwrap().ends_with("variables.yml"));
}

#[cfg(unix)]
#[test]
fn devices_links_to_nowhere_and_unreadable_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = folder(&[]);
    let file = dir.path().join("variables.yml");
    std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
    assert!(
        load(&request(&dir))
            .unwrap_err()
            .render(false)
            .contains("not a regular file")
    );
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("gone", &file).unwrap();
    assert!(
        load(&request(&dir))
            .unwrap_err()
            .render(false)
            .contains("cannot read")
    );
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, "").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o0)).unwrap();
    // The superuser may read it all the same.
    if std::fs::File::open(&file).is_err() {
        assert!(
            load(&request(&dir))
                .unwrap_err()
                .render(false)
                .contains("cannot read")
        );
    }
}

#[test]
fn control_characters_in_a_file_do_not_reach_the_terminal() {
    let problem = mistake("\"a\\e[31mb\": 1\n");
    let text = wdev::config::Problems(vec![problem]).render(false);
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn paths_with_everything_in_them() {
    let dir = folder(&[]);
    let odd = dir.path().join("a b'c #{x} $(y) é日");
    std::fs::create_dir(&odd).unwrap();
    std::fs::create_dir(odd.join("k8s")).unwrap();
    std::fs::write(odd.join("variables.yml"), "kubernetes: {source: ./k8s}").unwrap();
    let loaded = load(&Request {
        start: odd.clone(),
        ..Request::default()
    })
    .unwrap();
    assert_eq!(loaded.config.kubernetes.source, Some(odd.join("k8s")));
}

/// Pieces that make up YAML, right and wrong.
fn yamlish() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "cni",
            "workers",
            "kubernetes",
            "network",
            "name",
            "pods",
            "version",
            "pod_cidr",
            "windows_ram",
            "build_from_source",
            "calico",
            "true",
            "1.30",
            "10.0.0.0/8",
            "\"",
            "'",
            ":",
            ": ",
            "- ",
            "\n",
            "\n  ",
            "\n    ",
            "\t",
            "[",
            "]",
            "{",
            "}",
            ",",
            "#",
            " #",
            "&a ",
            "*a",
            "!",
            "!!str ",
            "|\n",
            ">-\n",
            "? ",
            "---",
            "...",
            "%YAML 1.2\n",
            "@",
            "`",
            "\\",
            "\r\n",
            "\r",
            "é",
            "\u{feff}",
            "~",
            "<<",
        ])
        .prop_map(str::to_owned),
        "[ -~]{0,4}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn carets_stand_inside_their_lines(problems: &wdev::config::Problems) {
    for problem in &problems.0 {
        if let (Some(line), Some((col, len))) = (&problem.source_line, problem.caret) {
            let chars = line.chars().count();
            assert!(col >= 1 && len >= 1 && col <= chars + 1, "{problem:#?}");
        }
    }
    assert!(!problems.render(true).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Err(problems) = of_bytes(&bytes) {
            carets_stand_inside_their_lines(&problems);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in yamlish()) {
        if let Err(problems) = read(&text) {
            carets_stand_inside_their_lines(&problems);
        }
        let dir = folder(&[("variables.yml", &text)]);
        let _ = migrate(&dir.path().join("variables.yml"));
    }

    #[test]
    fn no_variable_makes_it_panic(text in yamlish(), key in prop::sample::select(vec![
        "workers", "kubernetes.build", "network.dns", "kubernetes.feature_gates", "cni", "control_plane.memory",
        "timeouts.boot", "network.proxy.http", "container_runtime",
    ])) {
        let flags = vec![(key.to_owned(), text, "--flag".to_owned())];
        if let Err(problems) = load(&Request { flags, ..request(&folder(&[])) }) {
            carets_stand_inside_their_lines(&problems);
        }
    }
}
