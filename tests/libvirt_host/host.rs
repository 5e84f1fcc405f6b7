//! A host whose libvirt is a script.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use wdev::channel::Io;
use wdev::clock::Clock;
use wdev::error::Result;
use wdev::ledger::Ledger;
use wdev::provider::vagrant::hypervisor::at_work::Watch;
use wdev::provider::vagrant::hypervisor::libvirt::{self, Libvirt, Tools};
use wdev::provider::vagrant::hypervisor::{Choices, Site};

use crate::common::shown::Shown;

/// A host whose `PATH` is one folder of ours.
pub struct Host {
    pub root: TempDir,
    pub watch: Watch,
    pub shown: Shown,
}

impl Host {
    /// `virsh` runs this script, where `$*` is the question without the connection, and keeps a list
    /// of all questions.
    pub fn new(virsh: &str) -> Self {
        let host = Self {
            root: TempDir::new().unwrap(),
            watch: Watch::Told(false),
            shown: Shown::default(),
        };
        for folder in ["bin", "project", "home/state"] {
            fs::create_dir_all(host.path(folder)).unwrap();
        }
        let plugins = r#"{"version": "1", "installed": {"vagrant-libvirt": {}}}"#;
        fs::create_dir(host.path(".vagrant.d")).unwrap();
        fs::write(host.path(".vagrant.d/plugins.json"), plugins).unwrap();
        host.program("vagrant", "echo Vagrant 2.4.9");
        host.program("ssh", "exit 255");
        host.program("qemu-img", "exit 1");
        host.plays(virsh);
        host
    }

    pub fn plays(&self, virsh: &str) {
        let asked = self.path("asked");
        self.program(
            "virsh",
            &format!(
                "shift 3\necho \"$*\" >>{}\ncase \"$*\" in\n{virsh}\nesac",
                asked.display()
            ),
        );
    }

    pub fn tools(&self) -> Tools {
        Tools {
            virsh: self.path("bin/virsh"),
            image: self.path("bin/qemu-img"),
            watch: self.watch,
            stall: Duration::from_millis(1),
            vagrant_home: Some(self.path("vagrant-home")),
        }
    }

    pub fn ledger(&self) -> Ledger {
        Ledger::new(self.path("home/state"))
    }

    pub fn noted(&self) -> String {
        fs::read_to_string(self.path("home/state/ledger.json")).unwrap_or_default()
    }

    /// libvirt for a sandbox in the folder `project`.
    pub fn sandbox(&self) -> Libvirt {
        let site = Site {
            sandbox: self.path("project"),
            dir: self.path("project"),
            network: "wdev-a".to_owned(),
            subnet: "10.199.88.0/24".parse().unwrap(),
            choices: Choices::default(),
            ledger: self.ledger(),
            clock: Clock::new(),
        };
        Libvirt::on(site, self.tools())
    }

    pub fn io(&self) -> Io {
        self.shown.io()
    }

    pub fn shown(&self) -> String {
        self.shown.text()
    }

    /// The names of what a prune removes, or would.
    pub async fn prune(&self, dry_run: bool) -> Result<Vec<String>> {
        let (tools, ledger) = (self.tools(), self.ledger());
        let pruned = libvirt::prune(&tools, &ledger, Clock::new(), dry_run, &self.io()).await?;
        Ok(pruned.into_iter().map(|it| it.name).collect())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn program(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn asked(&self) -> String {
        fs::read_to_string(self.path("asked")).unwrap_or_default()
    }

    /// What was asked of libvirt that changes something.
    pub fn changes(&self) -> Vec<String> {
        let asked = self.asked();
        let changing = ["vol-delete", "net-destroy", "net-undefine", "undefine"];
        let changes = |line: &&str| changing.iter().any(|word| line.starts_with(word));
        asked.lines().filter(changes).map(str::to_owned).collect()
    }

    /// wdev in a folder of the host.
    pub fn command(&self, folder: &str, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wdev"));
        command
            .args(args)
            .current_dir(self.path(folder))
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("HOME", self.root.path())
            .env("WDEV_HOME", self.path("home"))
            .env("WDEV_TESTBED", "linux")
            // Nobody is to be asked what a version stands for.
            .env("WDEV_ARTIFACTS_OFFLINE", "true")
            .env("WDEV_KUBERNETES_VERSION", "v1.36.3")
            .stdin(Stdio::null());
        command
    }

    pub fn wdev(&self, args: &[&str]) -> Output {
        self.command("project", args).output().unwrap()
    }

    /// `up` on libvirt does not begin, nothing is left of it, and this is said.
    pub fn refuses(&self, says: &[&str]) {
        let settings = "version: 1\nprovider: libvirt\nnetwork: {nodes: 10.199.88.0/24}\n\
            vagrant: {libvirt: {driver: qemu}}\n\
            control_plane: {memory: 1GiB}\nworkers:\n  - {name: w1, memory: 1GiB}\n";
        fs::write(self.path("project/variables.yml"), settings).unwrap();
        let output = self.wdev(&["up"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{said}");
        for words in says {
            assert!(said.contains(words), "no `{words}` in: {said}");
        }
        assert!(!self.path("project/.wdev").exists(), "{said}");
    }
}
