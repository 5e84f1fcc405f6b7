//! The scripts are made of what Windows PowerShell 5.1 and a host with Hyper-V have.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::common;
use crate::host::repository;

#[derive(Deserialize)]
struct Syntax {
    errors: Vec<String>,
    newer: Vec<String>,
    continued: Vec<String>,
    functions: Vec<Function>,
    commands: Vec<Called>,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    parameters: Vec<String>,
}

#[derive(Deserialize)]
struct Called {
    name: String,
    line: u32,
    parameters: Vec<String>,
}

fn syntax(pwsh: &Path, file: &Path) -> Syntax {
    let reader = repository("tests/fixtures/powershell/syntax.ps1");
    let printed = common::run(
        Command::new(pwsh)
            .args(["-NoProfile", "-NonInteractive", "-File"])
            .arg(reader)
            .arg("-Path")
            .arg(file),
        b"",
    );
    serde_json::from_slice(&printed).unwrap()
}

fn scripts() -> Vec<PathBuf> {
    let folder = std::fs::read_dir(repository("powershell/host")).unwrap();
    let paths = folder.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "ps1"))
        .collect()
}

/// The parameter sets of every command of a Windows client with Hyper-V, in lower case.
fn known_commands() -> Option<BTreeMap<String, Vec<BTreeSet<String>>>> {
    let list = common::shared("testbed/pwsh/windows-5.1-commands.tsv")?;
    let text = std::fs::read_to_string(list).unwrap().to_lowercase();
    let set = |set: &str| -> BTreeSet<String> {
        let words = set.split_whitespace();
        let names = words.map(|word| word.trim_start_matches(['*', '@']));
        names
            .map(|name| name.split(':').next().unwrap().to_owned())
            .collect()
    };
    let row = |line: &str| {
        let mut columns = line.split('\t');
        let name = columns.next().unwrap().to_owned();
        (name, columns.skip(1).map(set).collect())
    };
    Some(text.lines().map(row).collect())
}

#[test]
fn every_script_is_windows_powershell_5_1() {
    let Some(pwsh) = common::pwsh() else { return };
    let scripts = scripts();
    assert!(scripts.len() >= 6, "{scripts:?}");
    for script in scripts {
        let syntax = syntax(&pwsh, &script);
        let none: [String; 0] = [];
        assert_eq!(syntax.errors, none, "{script:?}");
        assert_eq!(syntax.newer, none, "{script:?}");
        assert_eq!(syntax.continued, none, "{script:?}");
        assert!(
            std::fs::read(&script).unwrap().is_ascii(),
            "{script:?}: 5.1 reads it as ANSI"
        );
    }
}

#[test]
fn every_command_that_they_call_exists_and_takes_what_it_is_given() {
    let Some(pwsh) = common::pwsh() else { return };
    let Some(known) = known_commands() else {
        return;
    };
    let read: Vec<_> = scripts()
        .into_iter()
        .map(|path| (syntax(&pwsh, &path), path))
        .collect();
    let own: BTreeSet<_> = read
        .iter()
        .flat_map(|(syntax, _)| &syntax.functions)
        .map(|function| function.name.to_lowercase())
        .collect();
    let mut wrong = Vec::new();
    for (syntax, path) in &read {
        for called in &syntax.commands {
            let name = called.name.to_lowercase();
            if own.contains(&name) || name == "whoami.exe" {
                continue;
            }
            let given: BTreeSet<_> = called
                .parameters
                .iter()
                .map(|name| name.to_lowercase())
                .collect();
            let given: BTreeSet<_> = given.difference(&common_parameters()).cloned().collect();
            let sets = known.get(&name);
            if !sets.is_some_and(|sets| sets.iter().any(|set| given.is_subset(set))) {
                wrong.push(format!(
                    "{}:{}: {} {given:?}",
                    path.display(),
                    called.line,
                    called.name
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_doubles_take_parameters_of_the_real_ones_only() {
    let Some(pwsh) = common::pwsh() else { return };
    let Some(known) = known_commands() else {
        return;
    };
    let module = repository("tests/fixtures/powershell/HyperVHost/HyperVHost.psm1");
    let mut doubles = 0;
    for function in syntax(&pwsh, &module).functions {
        let Some(sets) = known.get(&function.name.to_lowercase()) else {
            continue;
        };
        doubles += 1;
        for parameter in function.parameters {
            let parameter = parameter.to_lowercase();
            // Newer than the list: Windows 10 1709 and Windows Server 2019.
            let newer = function.name == "Set-VM" && parameter == "automaticcheckpointsenabled";
            let real = sets.iter().any(|set| set.contains(&parameter));
            assert!(real || newer, "{} -{parameter}", function.name);
        }
    }
    assert!(doubles >= 20, "{doubles}");
}

fn common_parameters() -> BTreeSet<String> {
    ["erroraction", "confirm", "verbose"]
        .map(str::to_owned)
        .into()
}
