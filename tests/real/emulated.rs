//! A sandbox of emulated machines in a temporary folder: own kernels, disks, boots and snapshots.
//!
//! The box is the one that `tests/real/prepare` makes. Workers are Linux machines (`WDEV_TESTBED=linux`), but for
//! [`Emulated::with_windows`].

use std::cell::Cell;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::run::{Ended, Run};
use super::sandbox::{Hook, in_settings, subnet};
use super::{MACHINES_ONLY, kept_folder, said_by};
use crate::common;

/// Asks libvirt; what it printed, or its complaint.
pub fn virsh(args: &[&str]) -> Result<String, String> {
    let mut virsh = Command::new("virsh");
    virsh.args(["--quiet", "--connect", "qemu:///system"]);
    said_by(virsh.args(args))
}

/// The first words of the lines that libvirt lists.
pub fn listed(args: &[&str]) -> Vec<String> {
    let list = virsh(args).expect("libvirt lists");
    let words = list
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    words.map(str::to_owned).collect()
}

/// What vagrant-libvirt puts between a box's name and its version in the name of its base volume.
const BASE: &str = "_vagrant_box_image_";

/// A sandbox on disk, its machines in libvirt.
pub struct Emulated {
    folder: PathBuf,
    name: String,
    subnet: String,
    nodes: Vec<&'static str>,
    r#box: PathBuf,
    hooks: Vec<Hook>,
    memory: &'static str,
    /// The box of the workers, where Vagrant is to take them for Windows.
    windows: Option<PathBuf>,
    /// Further lines of `variables.yml`.
    settings: String,
    runs: Cell<u32>,
}

impl Emulated {
    /// Writes the configuration of a sandbox with a control plane `cp` and `workers`. None, with the
    /// reason on stderr, where there is no box.
    pub fn new(
        name: &str,
        number: u32,
        workers: &[&'static str],
        hooks: Vec<Hook>,
    ) -> Option<Self> {
        Self::shaped(
            name,
            number,
            workers,
            hooks,
            ("1GiB", MACHINES_ONLY.to_owned()),
        )
    }

    /// The same with machines of this memory, and with further lines of `variables.yml`.
    pub fn shaped(
        name: &str,
        number: u32,
        workers: &[&'static str],
        hooks: Vec<Hook>,
        (memory, settings): (&'static str, String),
    ) -> Option<Self> {
        let Some(r#box) = std::env::var_os("WDEV_TEST_BOX_LIBVIRT") else {
            common::skip("the box of the emulated machines; `tests/real/prepare` says why");
            return None;
        };
        let folder = kept_folder(&format!("wdev-real-{name}-"));
        let mut nodes = vec!["cp"];
        nodes.extend(workers);
        let sandbox = Self {
            folder,
            name: format!("t-{name}"),
            subnet: subnet(std::process::id(), number),
            nodes,
            r#box: r#box.into(),
            hooks,
            memory,
            windows: None,
            settings,
            runs: Cell::new(0),
        };
        fs::create_dir(sandbox.folder.join("runs")).expect("folder for output");
        sandbox.write();
        Some(sandbox)
    }

    /// A control plane `cp` and a worker `winw1` that Vagrant takes for Windows. None, with the reason on
    /// stderr, where there are no boxes.
    pub fn with_windows(name: &str, number: u32) -> Option<Self> {
        let Some(r#box) = std::env::var_os("WDEV_TEST_BOX_WORKER") else {
            common::skip("the box of an emulated Windows; `tests/real/prepare` says why");
            return None;
        };
        let mut sandbox = Self::new(name, number, &["winw1"], Vec::new())?;
        sandbox.windows = Some(r#box.into());
        sandbox.write();
        Some(sandbox)
    }

    /// Adds a hook behind the others of its phase.
    pub fn add_hook(&mut self, hook: Hook) {
        self.hooks.push(hook);
        self.write();
    }

    fn write(&self) {
        for hook in &self.hooks {
            let path = self.folder.join(format!("{}.sh", hook.name));
            fs::write(path, &hook.script).expect("hook");
        }
        let path = self.folder.join("variables.yml");
        fs::write(path, self.variables()).expect("variables.yml");
    }

    fn variables(&self) -> String {
        let machine = |node: &str| {
            let windows = self.windows.as_ref().filter(|_| node != "cp");
            let (suffix, more) = match windows {
                Some(_) => ("-windows", "windows: \"2022\", communicator: ssh, "),
                None => ("", ""),
            };
            format!(
                "{{name: {node}, {more}box: {}{suffix}, box_url: \"{}\", cpus: 2, memory: {}, address: {}}}",
                self.box_name(),
                windows.unwrap_or(&self.r#box).display(),
                self.memory,
                self.address(node)
            )
        };
        let mut text = format!(
            "version: 1\nsandbox: {}\nprovider: libvirt\nnetwork: {{nodes: {}.0/24}}\n\
             vagrant: {{libvirt: {{driver: qemu}}}}\ncontrol_plane: {}\nworkers:{}\n",
            self.name,
            self.subnet,
            machine("cp"),
            if self.nodes.len() == 1 { " []" } else { "" }
        );
        for worker in &self.nodes[1..] {
            let _ = writeln!(text, "  - {}", machine(worker));
        }
        text + &self.settings + &in_settings(&self.hooks)
    }

    /// The name of the box in Vagrant: of this test alone, and so its base volume.
    pub fn box_name(&self) -> String {
        format!("wdev-{}-{}", self.name, std::process::id())
    }

    /// The address of a node.
    pub fn address(&self, node: &str) -> String {
        let index = self.nodes.iter().position(|name| *name == node);
        format!("{}.{}", self.subnet, 10 + index.expect("a node"))
    }

    /// The names of all nodes.
    pub fn nodes(&self) -> &[&'static str] {
        &self.nodes
    }

    /// The folder of the sandbox's state.
    pub fn state(&self) -> PathBuf {
        self.folder.join(".wdev").join(&self.name)
    }

    /// Starts `wdev` with these arguments.
    pub fn start<S: AsRef<OsStr>>(&self, args: &[S]) -> Run {
        let number = self.runs.get();
        self.runs.set(number + 1);
        let mut command = Command::new(env!("CARGO_BIN_EXE_wdev"));
        command
            .args(args)
            .current_dir(&self.folder)
            .env(
                "WDEV_TESTBED",
                if self.windows.is_none() { "linux" } else { "" },
            )
            .env("WDEV_HOME", self.folder.join("home"))
            .env("VAGRANT_HOME", self.folder.join("vagrant home"));
        Run::start(command, &self.folder.join(format!("runs/{number}")))
    }

    /// Starts an `up` that tells its events.
    pub fn start_up(&self) -> Run {
        self.start(&["up", "--output", "json"])
    }

    /// Runs `wdev` to its end.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Ended {
        self.start(args).end()
    }

    /// What a line of shell prints on a node, by `wdev exec`.
    pub fn on_node(&self, node: &str, line: &str) -> String {
        let ran = self.run(&["exec", node, "--", "sh", "-c", line]);
        ran.with_code(0).stdout.trim_end().to_owned()
    }

    /// What changes with every boot of the node.
    pub fn boot(&self, node: &str) -> String {
        self.on_node(node, "cat /proc/sys/kernel/random/boot_id")
    }

    /// libvirt's name of the node's machine.
    pub fn machine(&self, node: &str) -> String {
        let all = self.machines();
        let found = all.iter().find(|name| name.ends_with(&format!("-{node}")));
        found
            .unwrap_or_else(|| panic!("no {node} in {all:?}"))
            .clone()
    }

    /// All machines of the sandbox that libvirt has.
    pub fn machines(&self) -> Vec<String> {
        self.of_ours(listed(&["list", "--all", "--name"]))
    }

    /// All networks and volumes of the sandbox that libvirt has, but the box's base volume.
    pub fn rests(&self) -> Vec<String> {
        let mut all = listed(&["net-list", "--all", "--name"]);
        for pool in listed(&["pool-list", "--name"]) {
            all.extend(listed(&["vol-list", &pool]));
        }
        all.retain(|name| !name.contains(BASE));
        self.of_ours(all)
    }

    /// The box's base volumes.
    pub fn base_volumes(&self) -> Vec<String> {
        let mut all = Vec::new();
        for pool in listed(&["pool-list", "--name"]) {
            virsh(&["pool-refresh", &pool]).expect("libvirt looks");
            all.extend(listed(&["vol-list", &pool]));
        }
        let name = self.box_name();
        all.retain(|volume| volume.starts_with(&name) && volume.contains(BASE));
        all
    }

    /// Names of this sandbox: `wdev-SANDBOX-HASH…`, where the hash is of the folder.
    fn of_ours(&self, mut names: Vec<String>) -> Vec<String> {
        let begin = format!("wdev-{}-", self.name);
        let record = fs::read_to_string(self.state().join("sandbox.json"));
        let prefix = record.ok().and_then(|text| {
            let record: serde_json::Value = serde_json::from_str(&text).ok()?;
            Some(record.get("network")?.as_str()?.to_owned())
        });
        names.retain(|name| name.starts_with(prefix.as_ref().unwrap_or(&begin)));
        names
    }

    /// Removes what is left, past wdev.
    fn sweep(&self) {
        for name in self.machines() {
            let _ = virsh(&["destroy", &name]);
            let _ = virsh(&[
                "undefine",
                &name,
                "--snapshots-metadata",
                "--remove-all-storage",
            ]);
        }
        for name in self.rests() {
            let _ = virsh(&["net-destroy", &name]);
            let _ = virsh(&["net-undefine", &name]);
            let _ = virsh(&["vol-delete", "--pool", "default", &name]);
        }
        for name in self.base_volumes() {
            let _ = virsh(&["vol-delete", "--pool", "default", &name]);
        }
    }
}

impl Drop for Emulated {
    #[expect(clippy::print_stderr, reason = "tells where to look after a failure")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("kept for a look: {}", self.folder.display());
            if std::env::var_os("WDEV_TEST_KEEP").is_none() {
                self.sweep();
            }
        } else {
            self.sweep();
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
