//! A host with VirtualBox, for as long as it lives: a world of the stand-in `VBoxManage` with somebody
//! else's machine and interface in it, a home of Vagrant's, and sandboxes.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use wdev::event::Body;

use crate::common;
use crate::real::run::{Ended, Run};
use crate::real::{MACHINES_ONLY, at_the_downloads, kept_folder};

/// The machine, and the interface, that belong to somebody else.
pub(crate) const FOREIGN: &str = "somebody's own";

/// An emulated machine takes minutes for a boot, more on a busy host.
const LONG: Duration = Duration::from_mins(20);
/// Where a hook notes what it does.
const RECORD: &str = "/var/tmp/wdev-reboots";

pub(crate) struct Host {
    folder: PathBuf,
    tools: PathBuf,
    r#box: PathBuf,
    /// The first three numbers of the nodes' addresses.
    subnet: String,
    foreign: Vec<String>,
    runs: Cell<u32>,
}

impl Host {
    /// A host of which nobody has asked anything. Tests that run at the same time each give another
    /// `number`. Nothing where something is missing.
    pub(crate) fn new(name: &str, number: usize) -> Option<Self> {
        let tools = common::shared("testbed/virtualbox")?;
        let Some(r#box) = std::env::var_os("WDEV_TEST_BOX_VIRTUALBOX") else {
            common::skip("a box in WDEV_TEST_BOX_VIRTUALBOX; `tests/real/prepare` makes it");
            return None;
        };
        let folder = kept_folder(&format!("wdev-real-vbox-{name}-"));
        let mut host = Self {
            folder,
            tools,
            r#box: r#box.into(),
            subnet: free_subnet(number),
            foreign: Vec::new(),
            runs: Cell::new(0),
        };
        for folder in ["runs", "vbox/machines/foreign"] {
            fs::create_dir_all(host.file(folder)).expect("folder");
        }
        host.populate(number);
        Some(host)
    }

    /// Writes a world with a machine and interfaces that are not ours. The stand-in's interfaces are
    /// bridges of this machine, and it takes the first free name: what counts as foreign leaves each test
    /// a few names of its own.
    fn populate(&mut self, number: usize) {
        let links = fs::read_dir("/sys/class/net").expect("network interfaces");
        let names = links.flatten().map(|link| link.file_name());
        let mut names: BTreeSet<String> = names
            .filter_map(|name| name.into_string().ok())
            .filter(|name| name.starts_with("vboxnet"))
            .collect();
        let first = usize::try_from(std::process::id() % 12).unwrap_or(0) * 8 + number * 4;
        names.extend((0..=first).map(|number| format!("vboxnet{number}")));
        let interface = |(name, number): (&String, u8)| {
            let ip = format!("192.168.{number}.1");
            let about = json!({"ip": ip, "netmask": "255.255.255.0"});
            (name.clone(), about)
        };
        let interfaces: serde_json::Map<String, Value> =
            names.iter().zip(100..).map(interface).collect();
        let id = "00000000-0000-4000-8000-000000000001";
        let machine = json!({
            "uuid": id, "name": FOREIGN, "folder": "foreign", "memory": 512, "cpus": 1,
            "disk": "disk.qcow2", "snapshots": [], "extra": {},
            "nics": {"1": {"type": "hostonly", "mac": "080027000001", "hostonly": "vboxnet0", "pf": []}},
        });
        let world = json!({"vms": {id: machine}, "hostonly": interfaces});
        fs::write(self.file("vbox/state.json"), world.to_string()).expect("world");
        // Vagrant removes folders of machines without a file.
        fs::write(self.file("vbox/machines/foreign/disk.qcow2"), "").expect("disk");
        self.foreign = names.into_iter().collect();
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn address(&self, number: u8) -> String {
        format!("{}.{number}", self.subnet)
    }

    /// Writes the configuration of a sandbox whose control plane has this last number of its address;
    /// workers follow it.
    pub(crate) fn sandbox(&self, name: &str, number: u8, workers: &[&str]) -> Sandbox<'_> {
        let folder = self.file(name);
        fs::create_dir(&folder).expect("folder");
        let machine = |node: &str, number: u8| {
            format!(
                "{{name: {node}, box: wdev-test/debian, box_url: \"{}\", memory: 1GiB, address: {}}}",
                self.r#box.display(),
                self.address(number)
            )
        };
        let workers: Vec<_> = workers
            .iter()
            .zip(number + 1..)
            .map(|(node, number)| machine(node, number))
            .collect();
        let variables = format!(
            "version: 1\nsandbox: t-{name}\nprovider: virtualbox\nnetwork: {{nodes: {}.0/24}}\n\
             control_plane: {}\nworkers: [{}]\n\
             {MACHINES_ONLY}hooks: [{{node: cp, phase: prepare, script: reboot.sh}}]\n\
             vagrant:\n  extra:\n    virtualbox: |\n      p.cpus = 1\n",
            self.subnet,
            machine("cp", number),
            workers.join(", ")
        );
        fs::write(folder.join("variables.yml"), variables).expect("variables");
        let hook = format!(
            "#!/usr/bin/env bash\nset -euo pipefail\necho ran >>{RECORD}\ntouch \"$WDEV_REBOOT\"\n"
        );
        fs::write(folder.join("reboot.sh"), hook).expect("hook");
        Sandbox { host: self, folder }
    }

    fn with_world(&self, mut command: Command) -> Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(self.tools.clone()).chain(std::env::split_paths(&path));
        command
            .env("PATH", std::env::join_paths(path).expect("PATH"))
            .env("VBOX_DOUBLE_HOME", self.file("vbox"))
            // Tells Vagrants of other tests from ours.
            .env("VBOX_USER_HOME", self.file("vbox"))
            .env("VAGRANT_HOME", self.file("vagrant-home"))
            .env("WDEV_HOME", self.file("home"))
            .env("WDEV_TESTBED", "linux");
        command
    }

    /// Asks VirtualBox, past everybody.
    pub(crate) fn manage(&self, args: &[&str]) -> String {
        let mut command = Command::new(self.tools.join("VBoxManage"));
        command.args(args);
        let printed = common::run(&mut self.with_world(command), b"");
        String::from_utf8(printed).expect("text")
    }

    /// Plants faults: see the head of the stand-in.
    pub(crate) fn faults(&self, faults: &Value) {
        fs::write(self.file("vbox/faults.json"), faults.to_string()).expect("faults");
    }

    /// Whether every planted fault has struck as often as it was to.
    pub(crate) fn has_struck(&self) -> bool {
        let faults = fs::read(self.file("vbox/faults.json")).unwrap_or_default();
        let faults: Vec<Value> = serde_json::from_slice(&faults).unwrap_or_default();
        !faults.is_empty() && faults.iter().all(|fault| fault["times"] == 0)
    }

    /// How many calls had these words in them.
    pub(crate) fn calls(&self, words: &str) -> usize {
        let calls = fs::read_to_string(self.file("vbox/calls.log")).unwrap_or_default();
        let call = |line: &&str| {
            let args = line.split_once(' ').map_or("", |(_, args)| args);
            let args: Vec<String> = serde_json::from_str(args).unwrap_or_default();
            args.join(" ").contains(words)
        };
        calls.lines().filter(call).count()
    }

    /// The names of all machines but the foreign one, which must be there.
    pub(crate) fn machines(&self) -> Vec<String> {
        let list = self.manage(&["list", "vms"]);
        let mut names: Vec<String> = list
            .lines()
            .filter_map(|line| Some(line.rsplit_once(" {")?.0.trim_matches('"').to_owned()))
            .collect();
        let all = names.len();
        names.retain(|name| name != FOREIGN);
        assert_eq!(names.len() + 1, all, "the foreign machine is gone: {list}");
        names
    }

    /// The names of all interfaces but the foreign ones, which must be there.
    pub(crate) fn interfaces(&self) -> Vec<String> {
        let list = self.manage(&["list", "hostonlyifs"]);
        let name = |line: &str| Some(line.strip_prefix("Name:")?.trim().to_owned());
        let mut names: Vec<String> = list.lines().filter_map(name).collect();
        for foreign in &self.foreign {
            let at = names.iter().position(|name| name == foreign);
            names.remove(at.unwrap_or_else(|| panic!("{foreign} is gone: {list}")));
        }
        names
    }

    /// Checks that nothing is left but what is somebody else's.
    pub(crate) fn assert_clean(&self) {
        assert_eq!(self.machines(), [""; 0], "machines are left");
        assert_eq!(self.interfaces(), [""; 0], "interfaces are left");
        let folders = fs::read_dir(self.file("vbox/machines")).expect("folder");
        let folders: Vec<_> = folders.flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(folders, ["foreign"], "folders are left");
        let ledger = fs::read_to_string(self.file("home/state/ledger.json")).unwrap_or_default();
        assert!(!ledger.contains("virtualbox"), "noted as left: {ledger}");
    }
}

impl Drop for Host {
    #[expect(clippy::print_stderr, reason = "tells where to look after a failure")]
    fn drop(&mut self) {
        let ids: Vec<String> = self
            .manage(&["list", "vms"])
            .lines()
            .filter_map(|line| Some(line.rsplit_once('{')?.1.trim_end_matches('}').to_owned()))
            .collect();
        for id in ids {
            for args in [
                ["controlvm", &id, "poweroff"],
                ["unregistervm", &id, "--delete"],
            ] {
                let mut command = Command::new(self.tools.join("VBoxManage"));
                command.args(args).stderr(Stdio::null());
                let _ = self.with_world(command).status();
            }
        }
        let list = self.manage(&["list", "hostonlyifs"]);
        let names = list.lines().filter_map(|line| line.strip_prefix("Name:"));
        for name in names.map(str::trim) {
            if !self.foreign.iter().any(|foreign| foreign == name) {
                self.manage(&["hostonlyif", "remove", name]);
            }
        }
        if std::thread::panicking() {
            eprintln!("kept for a look: {}", self.folder.display());
        } else {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// A subnet that VirtualBox allows without being told, and that nobody has on this machine.
fn free_subnet(number: usize) -> String {
    let addresses = common::run(Command::new("ip").args(["-o", "-4", "address"]), b"");
    let addresses = String::from_utf8(addresses).expect("text");
    let subnets = (56..=63).map(|third| format!("192.168.{third}"));
    let free = |subnet: &String| !addresses.contains(&format!(" {subnet}."));
    let found = subnets.filter(free).nth(number);
    found.expect("a free subnet")
}

/// A sandbox on a host.
pub(crate) struct Sandbox<'a> {
    host: &'a Host,
    folder: PathBuf,
}

impl Sandbox<'_> {
    /// Starts wdev.
    pub(crate) fn start(&self, args: &[&str]) -> Run {
        let number = self.host.runs.get();
        self.host.runs.set(number + 1);
        let mut command = Command::new(env!("CARGO_BIN_EXE_wdev"));
        command.args(args).current_dir(&self.folder);
        let command = self.host.with_world(command);
        Run::start(command, &self.host.file(&format!("runs/{number}")))
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        self.start(args).end_within(LONG)
    }

    pub(crate) fn start_up(&self) -> Run {
        self.start(&["up", "--output", "json"])
    }

    /// Runs an `up` that ends where it needs the first download.
    pub(crate) fn up_to_the_downloads(&self) -> Ended {
        let ended = self.run(&["up", "--output", "json"]).with_code(4);
        let events = at_the_downloads(&ended);
        for event in &events.0 {
            if let Body::StepFailed { lane, failure, .. } = &event.body {
                assert!(lane.is_host(), "{failure:?}");
            }
        }
        ended
    }

    /// What a line of shell prints on a node.
    pub(crate) fn on_node(&self, node: &str, line: &str) -> String {
        let ended = self.run(&["exec", node, "--", "sh", "-c", line]);
        ended.with_code(0).stdout.trim().to_owned()
    }

    /// How often the hook ran that asks for a reboot.
    pub(crate) fn hook_runs(&self) -> String {
        self.on_node("cp", &format!("cat {RECORD}"))
    }

    /// The port of the host that leads to the SSH server of the machine whose name ends so.
    pub(crate) fn ssh_port(&self, ending: &str) -> String {
        let machines = self.host.machines();
        let unique = machines.iter().find(|name| name.ends_with(ending));
        let unique = unique.unwrap_or_else(|| panic!("no {ending} in {machines:?}"));
        let info = self
            .host
            .manage(&["showvminfo", unique, "--machinereadable"]);
        let rule = |line: &str| {
            let rule = line.strip_prefix("Forwarding(")?.split_once("=\"ssh,")?.1;
            Some(rule.split(',').nth(2)?.to_owned())
        };
        info.lines()
            .find_map(rule)
            .unwrap_or_else(|| panic!("no port for SSH: {info}"))
    }

    pub(crate) fn is_gone(&self) -> bool {
        !Path::new(&self.folder).join(".wdev").exists()
    }
}
