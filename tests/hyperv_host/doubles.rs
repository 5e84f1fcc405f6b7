//! The doubles are no more than what they stand for: a parameter that only they have would prove nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use crate::common;
use crate::host::repository;

/// All parameters of every command of a Windows client with Hyper-V, in lower case.
fn real_commands() -> Option<BTreeMap<String, BTreeSet<String>>> {
    let list = common::shared("testbed/pwsh/windows-5.1-commands.tsv")?;
    let text = std::fs::read_to_string(list).unwrap().to_lowercase();
    let row = |line: &str| {
        let mut columns = line.split('\t');
        let name = columns.next().unwrap().to_owned();
        let words = columns.skip(1).flat_map(str::split_whitespace);
        let names = words.map(|word| word.trim_start_matches(['*', '@']).split(':').next());
        (name, names.flatten().map(str::to_owned).collect())
    };
    Some(text.lines().map(row).collect())
}

#[test]
fn doubles_take_parameters_of_the_real_commands_only() {
    let Some(pwsh) = common::pwsh() else { return };
    let Some(real) = real_commands() else { return };
    for (folder, module) in [
        ("powershell", "HyperVHost"),
        ("powershell-stand-in", "HyperVStandIn"),
    ] {
        let list = format!(
            "foreach ($c in Get-Command -Module {module}) {{ \"$($c.Name) $($c.Parameters.Keys)\" }}"
        );
        let printed = common::run(
            Command::new(&pwsh)
                .args(["-NoProfile", "-NonInteractive", "-Command"])
                .arg(format!("Import-Module {module}; {list}"))
                .env("PSModulePath", repository("tests/fixtures").join(folder)),
            b"",
        );
        let printed = String::from_utf8(printed).unwrap().to_lowercase();
        let mut doubles = 0;
        for line in printed.lines() {
            let mut words = line.split(' ');
            let name = words.next().unwrap();
            let Some(parameters) = real.get(name) else {
                assert_eq!(name, "whoami.exe", "no such command");
                continue;
            };
            doubles += 1;
            let ours = words.filter(|word| !word.is_empty() && !is_common(word));
            for parameter in ours {
                // Newer than the list: Windows 10 1709 and Windows Server 2019.
                let newer = name == "set-vm" && parameter == "automaticcheckpointsenabled";
                assert!(
                    newer || parameters.contains(parameter),
                    "{module}: {name} -{parameter}"
                );
            }
        }
        assert!(doubles >= 18, "{module}: {doubles}");
    }
}

/// What every advanced function has.
fn is_common(parameter: &str) -> bool {
    const ENDS: [&str; 4] = ["action", "variable", "outbuffer", "pipelinevariable"];
    ENDS.iter().any(|end| parameter.ends_with(end))
        || ["verbose", "debug", "whatif", "confirm", "progressaction"].contains(&parameter)
}
