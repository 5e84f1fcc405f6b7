//! What `wdev` makes of the scripts: its own check before anything is made.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::json;
use tempfile::TempDir;

use crate::host::{Host, address, repository};

/// A project for Hyper-V, with a Vagrant that only tells its version.
struct Project {
    dir: TempDir,
}

impl Project {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let project = Self { dir };
        let variables = "version: 1\nprovider: hyperv\ncontrol_plane: {box: debian, memory: 2GiB}\nworkers: []\n";
        fs::write(project.dir.path().join("variables.yml"), variables).unwrap();
        project.program("vagrant", "echo Vagrant 2.4.9");
        project
    }

    fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn up(&self, powershell: Option<&Path>) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wdev"));
        command
            .args(["up", "--no-input"])
            .current_dir(self.dir.path())
            .env("WDEV_HOME", self.dir.path().join("home"))
            .env("WDEV_TESTBED", "linux")
            // Nobody is to be asked what a version stands for.
            .env("WDEV_ARTIFACTS_OFFLINE", "true")
            .env("WDEV_KUBERNETES_VERSION", "v1.36.3")
            .env("WDEV_VAGRANT", self.dir.path().join("vagrant"))
            .env_remove("WDEV_POWERSHELL")
            .stdin(Stdio::null());
        if let Some(program) = powershell {
            command.env("WDEV_POWERSHELL", program);
        }
        command.output().unwrap()
    }
}

#[track_caller]
fn assert_failed(output: &Output, code: i32, words: &[&str]) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}");
    for word in words {
        assert!(text.contains(word), "{word} in:\n{text}");
    }
}

#[test]
fn another_host_than_windows_is_told_before_anything_is_run() {
    let output = Project::new().up(None);
    assert_failed(&output, 4, &["Hyper-V is a part of Windows", "`wdev.exe`"]);
}

#[test]
fn what_the_check_finds_is_the_failure_of_up_with_its_advice() {
    let Some(host) = Host::new() else { return };
    host.add("addresses", address("192.168.56.9", 32, 12, "VPN Ü"));
    host.set("/unseen", json!(0));
    let project = Project::new();
    let world = project.dir.path().join("world");
    fs::write(&world, host.world.borrow().to_string()).unwrap();
    let modules = repository("tests/fixtures/powershell");
    let powershell = format!(
        "PSModulePath='{}' WDEV_HOST_WORLD='{}' exec '{}' \"$@\"",
        modules.display(),
        world.display(),
        host.pwsh.display()
    );
    let output = project.up(Some(&project.program("powershell", &powershell)));
    let words = [
        "the address range 192.168.56.0/24 is in use on this host",
        "the adapter `VPN Ü` has the address 192.168.56.9/32",
        "`network.nodes`",
    ];
    assert_failed(&output, 4, &words);
}

#[test]
fn a_powershell_that_does_not_come_to_the_scripts_end_is_shown() {
    let project = Project::new();
    // A policy that forbids scripts ends with an exit code of its own, or none.
    for ending in ["exit 1", "exit 0"] {
        let text = format!("echo 'cannot be loaded because running scripts is disabled'\n{ending}");
        let output = project.up(Some(&project.program("powershell", &text)));
        assert_failed(
            &output,
            5,
            &["did not come to its end", "running scripts is disabled"],
        );
    }
}
