//! The doubles are no more than what they stand for: they take the parameters of the real commands, and refuse
//! what Windows refuses.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use crate::common;

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
