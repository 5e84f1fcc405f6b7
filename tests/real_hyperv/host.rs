//! A host with Hyper-V, for as long as it lives: a world of the stand-in, the PowerShell that acts on it,
//! a home of Vagrant's that knows it, and a sandbox.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::common;
use crate::real::run::{Ended, Run};
use crate::real::{MACHINES_ONLY, at_the_downloads, kept_folder};

/// The hook asks for a reboot the first time; from then on it waits to be let go, as long as its file is
/// not there.
const WAIT: &str = "#!/bin/bash\n[[ -e /var/tmp/wdev-first ]] || { touch /var/tmp/wdev-first \"$WDEV_REBOOT\"; exit 0; }\n\
    touch /var/tmp/wdev-waits\nfor ((i = 0; i < 3000; i++)); do [[ -e /var/tmp/wdev-go ]] && exit 0; sleep 0.1; done\nexit 1\n";

pub(crate) struct Host {
    dir: TempDir,
    stand_in: PathBuf,
    generation: u8,
    nodes: Vec<&'static str>,
    /// The first three numbers of the nodes' addresses.
    subnet: String,
    runs: Cell<u32>,
}

impl Host {
    /// A host whose machines are of this generation, with a sandbox that has these workers. Nothing where
    /// something is missing.
    pub(crate) fn new(generation: u8, workers: &[&'static str]) -> Option<Self> {
        let stand_in = common::shared("testbed/hyperv/hyperv_stand_in.rb")?;
        let pwsh = common::pwsh()?;
        let r#box = std::env::var_os("WDEV_TEST_BOX_HYPERV");
        let Some(r#box) = r#box.and_then(|path| path.into_string().ok()) else {
            common::skip("a box in WDEV_TEST_BOX_HYPERV; `tests/real/prepare` makes it");
            return None;
        };
        let process = std::process::id();
        let mut nodes = vec!["cp"];
        nodes.extend(workers);
        let host = Self {
            dir: tempfile::tempdir().expect("temporary folder"),
            generation,
            nodes,
            subnet: format!("10.{}.{}", 224 + process / 251 % 16, process % 251),
            runs: Cell::new(0),
            stand_in,
        };
        for folder in ["project", "world", "vagrant-home", "runs"] {
            fs::create_dir(host.file(folder)).expect("folder");
        }
        let modules =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/powershell-stand-in");
        let powershell = format!(
            "#!/bin/sh\nPSModulePath='{}' exec '{}' \"$@\"\n",
            modules.display(),
            pwsh.display()
        );
        let program = host.file("powershell");
        fs::write(&program, powershell).expect("powershell");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("powershell");
        let home = host.stand_in.with_file_name("Vagrantfile.home");
        fs::copy(home, host.file("vagrant-home/Vagrantfile")).expect("Vagrant's home");
        fs::write(host.file("project/wait.sh"), WAIT).expect("hook");
        fs::write(host.file("project/variables.yml"), host.variables(&r#box)).expect("variables");
        Some(host)
    }

    fn variables(&self, r#box: &str) -> String {
        let machine = |node: &&str| {
            format!(
                "{{name: {node}, box: \"{}\", memory: 2GiB, address: {}}}",
                r#box,
                self.address(node)
            )
        };
        let workers: Vec<_> = self.nodes[1..].iter().map(machine).collect();
        // Small, so that several fit on the host of a test; and without an exchange of keys, which takes a
        // minute under emulation.
        let keys = |node: &&str| format!("    {node}: |\n      node.ssh.insert_key = false\n");
        let keys: Vec<_> = self.nodes.iter().map(keys).collect();
        let keys = keys.concat();
        format!(
            "version: 1\nsandbox: t-hyperv\nprovider: hyperv\nnetwork: {{nodes: {}.0/24}}\n\
             control_plane: {}\nworkers: [{}]\n{MACHINES_ONLY}hooks: [{{node: cp, phase: prepare, script: wait.sh}}]\n\
             vagrant:\n  extra:\n{keys}    hyperv: |\n      p.memory = 1024\n      p.cpus = 1\n",
            self.subnet,
            machine(&"cp"),
            workers.join(", ")
        )
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn nodes(&self) -> &[&'static str] {
        &self.nodes
    }

    pub(crate) fn address(&self, node: &str) -> String {
        let index = self.nodes.iter().position(|name| *name == node);
        format!("{}.{}", self.subnet, 10 + index.expect("a node"))
    }

    /// The name of wdev's own switch for these nodes.
    pub(crate) fn switch(&self) -> String {
        format!("wdev-{}.0-24", self.subnet)
    }

    /// What wdev keeps about things that sandboxes share.
    pub(crate) fn ledger(&self) -> String {
        fs::read_to_string(self.file("home/state/ledger.json")).unwrap_or_default()
    }

    fn with_world(&self, mut command: Command) -> Command {
        command
            .current_dir(self.file("project"))
            .env("WDEV_HOME", self.file("home"))
            .env("WDEV_TESTBED", "linux")
            .env("WDEV_POWERSHELL", self.file("powershell"))
            .env("VAGRANT_HOME", self.file("vagrant-home"))
            .env("HYPERV_STAND_IN", &self.stand_in)
            .env("HYPERV_DOUBLE_HOME", self.file("world"))
            .env("HYPERV_TEST_GENERATION", self.generation.to_string())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wdev"));
        command.args(args);
        self.with_world(command)
    }

    /// Runs wdev to its end.
    pub(crate) fn wdev(&self, args: &[&str]) -> Ended {
        let number = self.runs.get();
        self.runs.set(number + 1);
        Run::start(self.command(args), &self.file(&format!("runs/{number}"))).end()
    }

    /// Runs an `up` that ends where it needs the first download.
    pub(crate) fn up_to_the_downloads(&self) -> Ended {
        let ended = self.wdev(&["up", "--output", "json"]).with_code(4);
        at_the_downloads(&ended);
        ended
    }

    /// Vagrant by hand, in the rendered folder.
    pub(crate) fn vagrant(&self, args: &[&str]) -> Command {
        let mut command = Command::new("vagrant");
        command.args(args).arg("--machine-readable");
        let mut command = self.with_world(command);
        command
            .env("VAGRANT_CWD", self.file("project/.wdev/t-hyperv/rendered"))
            .env("VAGRANT_DEFAULT_PROVIDER", "hyperv")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Whether anybody has asked the stand-in for anything.
    pub(crate) fn is_touched(&self) -> bool {
        self.file("world/state.json").exists()
    }

    /// Asks the stand-in, or changes its world, past everybody.
    pub(crate) fn world(&self, script: &str, options: &str) -> String {
        let tool = self.stand_in.with_file_name("hyperv-machine");
        let mut command = Command::new(tool);
        command.args([script, options]);
        let printed = common::run(&mut self.with_world(command), b"");
        String::from_utf8(printed).expect("text").trim().to_owned()
    }

    /// The names of all switches, sorted.
    pub(crate) fn switches(&self) -> Vec<String> {
        let printed = self.world("get_switches", "{}");
        let all: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
        let all = all.as_array().expect("a list").iter();
        let mut names: Vec<_> = all
            .map(|switch| switch["Name"].as_str().expect("a name").to_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Host {
    #[expect(clippy::print_stderr, reason = "tells where to look after a failure")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("a copy for a look: {}", self.keep().display());
        }
        if !self.is_touched() {
            return;
        }
        let vms: serde_json::Value =
            serde_json::from_str(&self.world("list_vms", "{}")).unwrap_or_default();
        for vm in vms.as_array().into_iter().flatten() {
            self.world("delete_vm", &format!("{{\"VmId\": {}}}", vm["Id"]));
        }
        for switch in self.switches() {
            self.world("remove_switch", &format!("{{\"Name\": \"{switch}\"}}"));
        }
        // The DHCP server of the Default Switch.
        if let Ok(pid) = fs::read_to_string(self.file("world/dnsmasq.pid")) {
            let _ = Command::new("kill").arg(pid.trim()).status();
        }
    }
}

impl Host {
    /// Copies what tells of a failure to a place that stays.
    fn keep(&self) -> PathBuf {
        let kept = kept_folder("wdev-real-hyperv-");
        for part in [
            "runs",
            "project",
            "home",
            "world/calls.log",
            "world/state.json",
        ] {
            let _ = Command::new("cp")
                .arg("-a")
                .arg(self.file(part))
                .arg(&kept)
                .status();
        }
        kept
    }
}
