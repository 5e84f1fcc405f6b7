//! The doubles are no more than what they stand for: they take the parameters of the real commands, and refuse
//! what Windows refuses.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

use crate::common;

/// A command that Windows refuses, in a world of the doubles.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refusal {
    command: String,
    #[expect(dead_code, reason = "for `refuse.ps1`")]
    when: BTreeMap<String, Value>,
    /// A part of its words.
    says: String,
    source: String,
}

/// What came of one.
#[derive(Deserialize)]
struct Came {
    refused: bool,
    said: String,
    changes: usize,
}

#[test]
fn doubles_refuse_what_windows_refuses_and_change_nothing() {
    let Some(pwsh) = common::pwsh() else { return };
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/powershell");
    let list = tests.join("doubles/refusals.json");
    let refusals: Vec<Refusal> =
        serde_json::from_str(&std::fs::read_to_string(&list).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(&pwsh);
    command
        .args(["-NoProfile", "-NonInteractive", "-File"])
        .arg(tests.join("refuse.ps1"))
        .arg("-Module")
        .arg(tests.join("doubles/doubles.psd1"))
        .arg("-Refusals")
        .arg(list)
        .arg("-Drive")
        .arg(folder.path())
        .env("WDEV_DOUBLES", folder.path().join("world.json"));
    std::fs::write(folder.path().join("world.json"), "{}").unwrap();
    let printed = String::from_utf8(common::run(&mut command, b"")).unwrap();
    let came: Vec<Came> = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(came.len(), refusals.len(), "{printed}");
    for (refusal, came) in refusals.iter().zip(came) {
        let Refusal {
            command,
            says,
            source,
            ..
        } = refusal;
        assert!(came.refused, "{command}: {}", came.said);
        assert!(came.said.contains(says), "{command}: {}", came.said);
        assert_eq!(came.changes, 0, "{command}");
        assert!(!source.is_empty(), "{command}");
    }
    common::say(&format!("{} refusals of Windows", refusals.len()));
}

/// The parameters of the real commands of Windows Server 2022 and 2025, in lower case; none without the lists.
fn real_commands() -> Option<BTreeMap<String, BTreeSet<String>>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for version in ["2022", "2025"] {
        let list = common::shared(&format!(
            "testbed/pwsh/windows-server-{version}-commands.tsv"
        ))?;
        let listed = std::fs::read_to_string(list).unwrap().to_lowercase();
        let more = include_str!("../powershell/more-commands.tsv").to_lowercase();
        for line in listed.lines().chain(more.lines()) {
            let mut columns = line.split('\t');
            let name = columns.next().unwrap().to_owned();
            let words = columns.skip(1).flat_map(|set| set.split(' '));
            let names = words.map(|word| {
                let name = word.split(':').next().unwrap();
                name.trim_start_matches(['*', '@']).to_owned()
            });
            all.entry(name).or_default().extend(names);
        }
    }
    Some(all)
}

#[test]
fn doubles_take_parameters_of_the_real_commands_only() {
    let Some(pwsh) = common::pwsh() else { return };
    let Some(real) = real_commands() else { return };
    let doubles = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/powershell/doubles/doubles.psd1"
    );
    let list = "foreach ($c in Get-Command -Module doubles -CommandType Function) \
                { \"$($c.Name) $($c.Parameters.Keys)\" }";
    let printed = common::run(
        Command::new(&pwsh)
            .args(["-NoProfile", "-NonInteractive", "-Command"])
            .arg(format!("Import-Module '{doubles}'; {list}")),
        b"",
    );
    let printed = String::from_utf8(printed).unwrap().to_lowercase();
    let mut checked = 0;
    for line in printed.lines() {
        let mut words = line.split(' ');
        let name = words.next().unwrap();
        // What the lists have not: programs, HNS, and the doubles' own functions.
        let Some(parameters) = real.get(name) else {
            continue;
        };
        checked += 1;
        for parameter in words.filter(|word| !word.is_empty() && !is_common(word)) {
            assert!(parameters.contains(parameter), "{name} -{parameter}");
        }
    }
    assert!(checked >= 17, "{checked}");
}

/// What every advanced function has.
fn is_common(parameter: &str) -> bool {
    const ENDS: [&str; 4] = ["action", "variable", "outbuffer", "pipelinevariable"];
    ENDS.iter().any(|end| parameter.ends_with(end))
        || ["verbose", "debug", "whatif", "confirm", "progressaction"].contains(&parameter)
}
