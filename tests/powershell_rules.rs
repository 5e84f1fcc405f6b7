//! What every PowerShell script of ours keeps to, on the syntax tree of the real parser: it is valid in
//! Windows PowerShell 5.1, calls only commands that its Windows versions have, with parameters that they
//! take together, and keeps our own rules. `tests/powershell/rules.ps1` has them.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;
use wdev::channel::powershell;
use wdev::channel::wrap_windows::wrap_windows;
use wdev::channel::{Mode, Os, Script, Secret};
use wdev::config::model::ProviderName;
use wdev::config::{self, Request};
use wdev::home::SandboxFolder;
use wdev::plan::{self, Target, Testbed};
use wdev::release::supported::minors;
use wdev::release::{self, Release};
use wdev::render::windows;

#[derive(Serialize)]
struct Question {
    scripts: Vec<Asked>,
    commands: Vec<PathBuf>,
}

#[derive(Serialize)]
struct Asked {
    path: PathBuf,
    body: bool,
}

/// The places of the texts (name, text) that break a rule; bodies have no `exit`.
fn broken(pwsh: &Path, texts: &[(String, String)], commands: Vec<PathBuf>, body: bool) -> String {
    let folder = tempfile::tempdir().unwrap();
    let scripts = texts
        .iter()
        .map(|(name, text)| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            Asked { path, body }
        })
        .collect();
    let question = folder.path().join("question.json");
    let asked = serde_json::to_vec(&Question { scripts, commands }).unwrap();
    std::fs::write(&question, asked).unwrap();
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/powershell/rules.ps1");
    let mut command = Command::new(pwsh);
    command
        .args(["-NoProfile", "-NonInteractive", "-File"])
        .args([rules, question]);
    String::from_utf8(common::run(&mut command, b"")).unwrap()
}

/// The lists of the commands that these systems have; nothing where the material is not there.
fn lists(names: &[&str]) -> Vec<PathBuf> {
    let found: Vec<_> = names
        .iter()
        .filter_map(|name| common::shared(&format!("testbed/pwsh/{name}-commands.tsv")))
        .collect();
    if found.len() < names.len() {
        common::allowed_skip("the lists of the commands of Windows in WDEV_SHARED/testbed/pwsh");
    }
    found
}

const NODES: [&str; 2] = ["windows-server-2022", "windows-server-2025"];

fn bodies() -> Vec<(String, String)> {
    let key = "ssh-ed25519 AAAA wdev";
    [
        ("ssh-access", windows::ssh_access(key)),
        (
            "private-address",
            windows::private_address("00-15-5D-01-02-03", [192, 168, 56, 11].into(), 24),
        ),
        ("computer-name", windows::computer_name("winw1")),
        ("hook", windows::hook("Get-Date\n'\u{e9}'")),
    ]
    .map(|(name, body)| (name.to_owned(), body.unwrap()))
    .to_vec()
}

#[test]
fn scripts_for_windows_nodes_keep_the_rules() {
    let Some(pwsh) = common::pwsh() else { return };
    let mut texts = Vec::new();
    for (name, body) in bodies() {
        for mode in [Mode::Run, Mode::Probe] {
            let secret = Secret::new("it's \u{1f980}");
            let script = Script {
                name: name.clone(),
                os: Os::Windows,
                mode,
                text: Some(body.clone()),
                effects: Vec::new(),
                fingerprint: "f1".to_owned(),
                secrets: BTreeMap::from([("a b".to_owned(), secret)]),
            };
            let file = format!("{name}-{mode:?}.ps1");
            texts.push((file, wrap_windows(&script, "n1").unwrap()));
        }
    }
    let argv = ["a b".to_owned(), "\u{e9}".to_owned()];
    for (name, text) in [
        ("exec", powershell::exec(&argv, "n1").unwrap()),
        ("run", powershell::run(r"C:\a b", 7).unwrap()),
        ("receive", powershell::receive(r"C:\it's", "00").unwrap()),
        ("send", powershell::send(r"C:\it's").unwrap()),
        ("boot-identity", powershell::boot_identity()),
    ] {
        texts.push((format!("{name}.ps1"), text));
    }
    assert_eq!(broken(&pwsh, &texts, lists(&NODES), false), "");
}

/// The scripts of the Windows workers of a sandbox, in their wrapper, by lane and step.
fn of_workers(variables: &str) -> Vec<(String, String)> {
    let project = tempfile::tempdir().unwrap();
    std::fs::write(project.path().join("variables.yml"), variables).unwrap();
    let loaded = config::load(&Request {
        start: project.path().to_owned(),
        ..Request::default()
    });
    let loaded = loaded.unwrap_or_else(|problems| panic!("{variables}\n{problems}"));
    let config = &loaded.config;
    let exact = release::assumed(&config.kubernetes.version);
    let release = Release::new(config, Os::Windows, exact);
    let plan = plan::up::plan(&Target {
        config,
        provider: ProviderName::Hyperv,
        folder: &SandboxFolder::at(project.path().to_owned()),
        testbed: Testbed::None,
        prefix: "wdev-default-1a2b3c",
        release: &release,
        store: None,
    })
    .unwrap();
    let steps = plan.lanes.iter().flat_map(|lane| {
        let steps = lane.steps.iter();
        steps.filter_map(|planned| Some((lane.name.to_string(), planned.step.script()?)))
    });
    steps
        .filter(|(_, script)| script.os == Os::Windows && script.text.is_some())
        .map(|(lane, script)| {
            let file = format!("{lane}-{}.ps1", script.name);
            (file, wrap_windows(&script, "n1").unwrap())
        })
        .collect()
}

#[test]
fn scripts_of_every_supported_combination_keep_the_rules() {
    let Some(pwsh) = common::pwsh() else { return };
    let mut texts = BTreeMap::new();
    let mut combinations = 0;
    let own = "labels: {a: b}, taints: ['os=Win1809:NoSchedule']";
    for minor in minors() {
        // Kubernetes of before 1.23 and containerd 2 do not speak with each other.
        let runtimes: &[&str] = if minor < 23 {
            &["1.7.34"]
        } else {
            &["1.7.34", "2.0.11", "2.2.7", "2.3.4"]
        };
        for runtime in runtimes {
            for cni in ["calico", "antrea", "flannel", "none"] {
                // Kubernetes 1.34 is the last one that supports Windows Server 2019.
                let old = if minor <= 34 {
                    "- {name: w1, windows: '2019', box: own}\n"
                } else {
                    ""
                };
                let variables = format!(
                    "kubernetes: {{version: v1.{minor}.2}}\ncni: {cni}\n\
                     container_runtime: {{name: containerd, version: {runtime}}}\n\
                     workers:\n{old}- {{name: w2, windows: '2022', {own}}}\n\
                     - {{name: w3, windows: '2025'}}\n"
                );
                combinations += variables.matches("windows:").count();
                for (name, text) in of_workers(&variables) {
                    let next = texts.len();
                    texts.entry(text).or_insert(format!("{next:03}-{name}"));
                }
            }
        }
    }
    common::say(&format!(
        "{} different scripts of {combinations} combinations of Kubernetes, containerd, network plugin and Windows",
        texts.len()
    ));
    assert!(texts.len() >= 6);
    let texts: Vec<_> = texts.into_iter().map(|(text, name)| (name, text)).collect();
    assert_eq!(broken(&pwsh, &texts, lists(&NODES), false), "");
}

/// By itself each file of ours is a script too, so that editors and linters can read it.
#[test]
fn files_of_powershell_keep_the_rules() {
    let Some(pwsh) = common::pwsh() else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("powershell");
    let read = |folder: &Path| -> Vec<(String, String)> {
        let Ok(entries) = std::fs::read_dir(folder) else {
            return Vec::new();
        };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .filter(|path| path.extension().is_some_and(|end| end == "ps1"))
            .map(|path| {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                (name, std::fs::read_to_string(path).unwrap())
            })
            .collect()
    };
    let bodies = read(&root);
    assert!(bodies.len() >= 4, "where are the scripts?");
    assert_eq!(broken(&pwsh, &bodies, Vec::new(), true), "");
    let host = read(&root.join("host"));
    // These share functions by a file of their own, so what they call is not looked up here.
    assert_eq!(broken(&pwsh, &host, Vec::new(), false), "");
}

#[test]
fn every_rule_is_noticed_when_it_is_broken() {
    let Some(pwsh) = common::pwsh() else { return };
    let examples = [
        ("$x = $y ? 1 : 2", "5.1: a ternary"),
        ("$x = $y ?? 1", "5.1: ??"),
        ("$x ??= 1", "5.1: ??="),
        ("${x}?.Length", "5.1: ?."),
        ("${x}?[0]", "5.1: ?["),
        ("Get-Date && Get-Date", "a chain"),
        ("Get-Date &", "background"),
        ("function Get-X { clean { } }", "clean block"),
        ("'a", "missing the terminator"),
        ("Get-Date `\n -Date '1'", "backtick"),
        ("'\u{e9}'", "not ASCII"),
        ("function Do-It { }", "no approved verb"),
        ("function Broken { }", "no approved verb"),
        ("exit 1", "never exits"),
        ("Invoke-Expression -Command 'x'", "not allowed"),
        ("Restart-Computer -Force", "not allowed"),
        ("Get-Service -Name a/b", "without quotes"),
        ("Get-Content -LiteralPath 'a', C:\\b", "without quotes"),
        ("function Get-X { param($A) }; Get-X -B 1", "no -B"),
        ("Get-Date > 'x'", "Write-WdevFile alone"),
        ("'a' | Out-File -FilePath 'x'", "Write-WdevFile alone"),
        ("dir", "is an alias"),
        ("sc 'x' 'y'", "is an alias"),
        ("sc.exe 'query'", "the exit code of sc.exe"),
        (
            "if ($LASTEXITCODE -eq 0) { & 'icacls.exe' 'x' }",
            "the exit code of icacls.exe",
        ),
        ("function Invoke-WdevRun { }", "no help"),
        (
            "# It is not help.\nfunction Invoke-WdevRun { }\n",
            "no help",
        ),
    ];
    let of_lists = [
        ("Get-Uptime", "is no command"),
        (
            "Get-Content -LiteralPath 'a' -AsByteStream",
            "no -AsByteStream",
        ),
        ("Set-Service -Nam 'a'", "no -Nam"),
        ("Get-Content -Path 'a' -LiteralPath 'b'", "no -"),
        ("Start-Service -WhatIf", "it needs -"),
        ("Get-Date '1' '2' '3'", "fewer values"),
        ("$t = @{ Name = 'a'; No = 1 }; Set-Service @t", ", -No"),
    ];
    let lists = lists(&NODES);
    let named = |(at, text): (usize, &str)| (format!("{at:03}.ps1"), text.to_owned());
    let mut all: Vec<_> = examples.to_vec();
    if lists.len() == NODES.len() {
        all.extend(of_lists);
    }
    let texts: Vec<_> = all
        .iter()
        .map(|(text, _)| *text)
        .enumerate()
        .map(named)
        .collect();
    let said = broken(&pwsh, &texts, lists, true);
    for (at, (text, word)) in all.iter().enumerate() {
        let mine = |line: &&str| line.starts_with(&format!("{at:03}.ps1:")) && line.contains(word);
        assert!(
            said.lines().any(|line| mine(&line)),
            "{text}: {word}\n{said}"
        );
    }
    let good = [
        "Get-Content -LiteralPath 'a' -ErrorAction 'Stop' | Out-Null",
        "$t = @{ Name = 'a'; StartupType = 'Automatic' }; Set-Service @t",
        "'a' | Remove-Item -Force",
        "& 'sc.exe' 'query' | Out-Null; if ($LASTEXITCODE -ne 0) { throw 'it failed' }",
        "Get-Date 2>$null",
        "<#\n.SYNOPSIS\nIt.\n.DESCRIPTION\nMore.\n#>\n\n\nfunction Invoke-WdevRun { }",
        "function Get-X { param($A) $A }; Get-X -A 1",
    ];
    let texts: Vec<_> = good.iter().copied().enumerate().map(named).collect();
    assert_eq!(broken(&pwsh, &texts, self::lists(&NODES), true), "");
}
