//! A worker that Vagrant takes for a Windows machine: a container with PowerShell and a folder that is its
//! `C:`, and everything between wdev and it for real. Windows' own commands are doubled.
//!
//! Run by `make test-real` where there is PowerShell for the machine.
#![cfg(unix)]

mod common;
mod real;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use real::sandbox::{Hook, Sandbox, Shape};
use real::wanted;
use wdev::channel::{Channel, Io, Line, Mode, Os, Script};
use wdev::clock::Clock;
use wdev::config::model::ProviderName;
use wdev::event::Stream;
use wdev::ledger::Ledger;
use wdev::provider::Provider as _;
use wdev::provider::vagrant::hypervisor::Choices;
use wdev::provider::vagrant::{MachineRef, Settings, Vagrant};
use wdev::stop::Stop;

const HOSTILE: [&str; 6] = [
    "it's $HOME \"q\" `x`",
    "",
    "%PATH% & | > ^ !",
    "\\\\a b\\",
    "é 🦀\nline two",
    "$(exit 3); '",
];
/// What the hook leaves on the machine's `C:`.
const RECORD: &str = r"C:\ProgramData\hook.txt";

/// A sandbox with a doubled Windows worker `w1`; nothing without the image, which has been said then.
fn sandbox() -> Option<Sandbox> {
    let Ok(image) = std::env::var("WDEV_TEST_WINDOWS_IMAGE") else {
        common::allowed_skip("WDEV_TEST_WINDOWS_IMAGE, which `make test-real` sets");
        return None;
    };
    let script = format!(
        "$ErrorActionPreference = 'Stop'\n\
         Add-Content -LiteralPath '{RECORD}' -Value \"it's $(1 + 1)\"\n\
         Write-Output ('h' + [char]233 + 'llo from ' + $PSVersionTable.PSEdition)\n"
    );
    let hook = Hook::of("w1", "machine", "greet", script);
    let mut shape = Shape::plain();
    let spec = format!("box: \"{image}\", communicator: ssh");
    shape.boxes.insert("w1".to_owned(), spec);
    let mut sandbox = Sandbox::shaped("windows", 6, &["w1"], &[hook], &shape);
    sandbox.env.push(("WDEV_TESTBED", "1".to_owned()));
    Some(sandbox)
}

/// The worker's channel, as the library has it; with `ssh` in place of the host's own client.
fn channel(sandbox: &Sandbox, ssh: Option<PathBuf>) -> Arc<dyn Channel> {
    let vagrant = sandbox.folder().join("vagrant");
    let home = sandbox.folder().join("vagrant home");
    let text = format!(
        "#!/bin/sh\nVAGRANT_HOME='{}' exec vagrant \"$@\"\n",
        home.display()
    );
    fs::write(&vagrant, text).expect("a program");
    fs::set_permissions(&vagrant, fs::Permissions::from_mode(0o755)).expect("a program");
    Vagrant::new(Settings {
        program: vagrant,
        dir: sandbox.state().join("rendered"),
        sandbox: sandbox.state(),
        provider: ProviderName::Docker,
        machines: vec![MachineRef {
            lane: "w1".into(),
            os: Os::Windows,
            unique: "not-asked-for".to_owned(),
        }],
        boot: Duration::from_mins(2),
        halt: Duration::from_mins(1),
        clock: Clock::new(),
        ssh,
        network: "not-asked-for".to_owned(),
        subnet: "10.0.0.0/24".parse().expect("a subnet"),
        choices: Choices::default(),
        ledger: Ledger::new(sandbox.folder().join("ledger")),
        hypervisor: None,
    })
    .channel(&"w1".into())
}

/// A script that says something, learns something and wants a reboot.
fn script(name: &str) -> Script {
    Script {
        name: name.to_owned(),
        os: Os::Windows,
        mode: Mode::Run,
        text: Some(
            "function Invoke-WdevRun {\n  Write-WdevLog -Text 'it runs'\n  \
             Add-WdevFact -Key 'where' -Value (Get-Item -LiteralPath 'C:\\ProgramData').Name\n  \
             Request-WdevReboot\n}\nfunction Invoke-WdevProbe { }\n"
                .to_owned(),
        ),
        effects: Vec::new(),
        fingerprint: "f1".to_owned(),
        secrets: BTreeMap::new(),
    }
}

/// What a channel puts out.
#[derive(Clone, Default)]
struct Shown(Arc<Mutex<Vec<(Stream, String)>>>);

impl Shown {
    fn io(&self) -> Io {
        let lines = Arc::clone(&self.0);
        Io {
            output: Arc::new(move |line: Line| {
                lines.lock().expect("lines").push((line.stream, line.text));
            }),
            stop: Stop::never(),
        }
    }

    fn of(&self, stream: Stream) -> Vec<String> {
        let lines = self.0.lock().expect("lines");
        let of_stream = lines.iter().filter(|(of, _)| *of == stream);
        of_stream.map(|(_, text)| text.clone()).collect()
    }
}

/// A program of the machine that shows its arguments, ends with 200 and speaks on both streams.
fn show_arguments() -> Vec<String> {
    let show = "printf '[%s]' \"$@\"; echo; echo loud >&2; exit 200";
    let mut argv = ["bash", "-c", show, "bash"].map(str::to_owned).to_vec();
    argv.extend(HOSTILE.map(str::to_owned));
    argv
}

fn shown_arguments() -> String {
    HOSTILE.map(|text| format!("[{text}]")).concat()
}

async fn check_over_ssh(sandbox: &Sandbox, folder: &Path) {
    let channel = channel(sandbox, None);
    let shown = Shown::default();
    let report = channel
        .run(&script("a-step"), &shown.io())
        .await
        .expect("the script runs");
    assert!(report.reboot_wanted);
    assert_eq!(report.facts["where"], "ProgramData");
    let said = shown.of(Stream::Stdout);
    assert!(
        said.len() == 1 && said[0].ends_with(" info: it runs"),
        "{said:?}"
    );

    let shown = Shown::default();
    let code = channel
        .exec(&show_arguments(), &shown.io())
        .await
        .expect("it runs");
    assert_eq!(code, 200);
    assert_eq!(shown.of(Stream::Stdout).join("\n"), shown_arguments());
    assert_eq!(shown.of(Stream::Stderr), ["loud"]);

    let bytes: Vec<u8> = (0..2_000_000_u32)
        .map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3])
        .collect();
    let (from, back) = (folder.join("sent"), folder.join("back"));
    fs::write(&from, &bytes).expect("a file");
    let to = r"C:\a b\it's.bin";
    let io = Io::silent();
    for _ in 0..2 {
        channel.upload(&from, to, &io).await.expect("it arrives");
    }
    channel
        .download(to, &back, &io)
        .await
        .expect("it comes back");
    assert!(fs::read(&back).expect("the file") == bytes);
}

async fn check_through_vagrant(sandbox: &Sandbox, folder: &Path) {
    let channel = channel(sandbox, Some(folder.join("no-ssh-here")));
    let shown = Shown::default();
    // One that the Vagrantfile names, and whose stamp nobody asks for any more.
    let report = channel
        .run(&script("ssh-access"), &shown.io())
        .await
        .expect("the script runs");
    assert!(report.reboot_wanted);
    let said = shown.of(Stream::Stdout);
    assert!(
        said.iter().any(|line| line.ends_with(" info: it runs")),
        "{said:?}"
    );
    let shown = Shown::default();
    let code = channel
        .exec(&show_arguments(), &shown.io())
        .await
        .expect("it runs");
    assert_eq!(code, 200);
    let out = shown.of(Stream::Stdout).join("\n");
    assert!(out.contains(&shown_arguments()), "{out}");
    let to = r"C:\a b\through.bin";
    let (from, back) = (folder.join("sent"), folder.join("back"));
    fs::write(&from, b"\xff\0\r\n").expect("a file");
    channel
        .upload(&from, to, &Io::silent())
        .await
        .expect("it arrives");
    channel
        .download(to, &back, &Io::silent())
        .await
        .expect("it comes back");
    assert_eq!(fs::read(&back).expect("the file"), b"\xff\0\r\n");
}

/// Whether the machine lets the sandbox's own key in, and no other is tried.
fn our_key_opens(sandbox: &Sandbox) -> bool {
    let driver = sandbox.state().join("rendered/.driver");
    let config = fs::read_to_string(driver.join("w1.ssh")).expect("the way to the machine");
    let asked = |word: &str| {
        let line = config
            .lines()
            .map(str::trim)
            .find(|line| line.starts_with(word));
        line.map(|line| line[word.len()..].trim().to_owned())
            .expect("in the file")
    };
    let mut ssh = Command::new("ssh");
    for option in [
        "IdentitiesOnly=yes",
        "BatchMode=yes",
        "StrictHostKeyChecking=no",
        "UserKnownHostsFile=/dev/null",
        "LogLevel=ERROR",
    ] {
        ssh.args(["-o", option]);
    }
    ssh.args(["-F", "none", "-i"])
        .arg(driver.join("key"))
        .args([
            "-p",
            &asked("Port "),
            "-l",
            &asked("User "),
            &asked("HostName "),
        ])
        .args(["--", "exit 0"]);
    ssh.status().expect("ssh runs").success()
}

#[test]
fn a_windows_worker_is_reached_over_ssh_after_its_first_contact() {
    if !wanted() {
        return;
    }
    let Some(sandbox) = sandbox() else { return };
    let ended = sandbox.up_to_the_downloads();
    let events = ended.events();
    // The run ends with the host's failure: how far this lane comes after that is chance.
    let finished = events.finished("w1");
    assert_eq!(
        finished[..3],
        ["machine", "hook-machine-1", "computer-name"]
    );
    let said = events.output_of_lane("w1");
    assert!(said.contains(&"héllo from Core"), "{said:?}");
    let record = || sandbox.on_node("w1", "cat /c/ProgramData/hook.txt");
    assert_eq!(record().as_deref(), Some("it's 2"));
    let doubles = sandbox.on_node("w1", "cat /var/lib/wdev-doubles.json");
    for did in [
        "Start-Service sshd",
        "New-NetFirewallRule",
        "Rename-Computer w1",
    ] {
        assert!(
            doubles.as_ref().is_some_and(|log| log.contains(did)),
            "{did}"
        );
    }
    assert!(
        !events.reboots("w1").1.is_empty(),
        "the name counts after a reboot"
    );
    assert!(our_key_opens(&sandbox));

    let ended = sandbox
        .run(&["exec", "w1", "--", "bash", "-c", "echo out; exit 7"])
        .with_code(7);
    assert_eq!(ended.stdout, "out\n");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    runtime.block_on(check_over_ssh(&sandbox, folder.path()));
    runtime.block_on(check_through_vagrant(&sandbox, folder.path()));

    // A boot changes the identity, needs no second first contact, and nothing is done again.
    let boot = || {
        let channel = channel(&sandbox, None);
        let io = Io::silent();
        let asking = channel.boot_identity(Duration::from_secs(20), &io);
        runtime.block_on(asking).expect("it tells its boot")
    };
    let before = boot();
    assert_eq!(boot(), before);
    let _ = sandbox.run(&["halt"]).with_code(0);
    let _ = sandbox.up_to_the_downloads();
    assert_ne!(boot(), before);
    assert_eq!(record().as_deref(), Some("it's 2"));

    let _ = sandbox.run(&["destroy", "--yes"]).with_code(0);
    sandbox.assert_gone();
}
