//! libvirt as a host may have it, played by a `virsh` of ours: silent, forbidden, with the wanted
//! addresses in use, with base volumes that wdev has caused and others.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A host whose `PATH` is one folder of ours.
struct Host {
    root: TempDir,
}

impl Host {
    /// `virsh` runs this script, where `$*` is the question without the connection, and keeps a list
    /// of all questions.
    fn new(virsh: &str) -> Self {
        let host = Self {
            root: TempDir::new().unwrap(),
        };
        for folder in ["bin", "project", "home/state"] {
            fs::create_dir_all(host.path(folder)).unwrap();
        }
        host.program("vagrant", "echo Vagrant 2.4.9");
        host.program("ssh", "exit 255");
        let asked = host.path("asked");
        host.program(
            "virsh",
            &format!(
                "shift 3\necho \"$*\" >>{}\ncase \"$*\" in\n{virsh}\nesac",
                asked.display()
            ),
        );
        host
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn asked(&self) -> String {
        fs::read_to_string(self.path("asked")).unwrap_or_default()
    }

    fn wdev(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_wdev"))
            .args(args)
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("HOME", self.root.path())
            .env("WDEV_HOME", self.path("home"))
            .env("WDEV_TESTBED", "linux")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// `up` on libvirt does not begin, nothing is left of it, and this is said.
    fn refuses(&self, says: &[&str]) {
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

#[test]
fn a_host_without_libvirts_tools_is_told_what_is_missing() {
    let host = Host::new("");
    fs::remove_file(host.path("bin/virsh")).unwrap();
    host.refuses(&["virsh"]);
}

#[test]
fn a_user_without_rights_hears_of_the_group_and_a_stopped_daemon_of_its_start() {
    let denied = "echo 'error: authentication unavailable: no polkit agent available to \
        authenticate action org.libvirt.unix.manage' >&2; exit 1";
    Host::new(&format!("*) {denied} ;;")).refuses(&["libvirt does not answer", "group `libvirt`"]);
    let stopped = "echo 'error: Failed to connect socket to /var/run/libvirt/libvirt-sock: \
        No such file or directory' >&2; exit 1";
    Host::new(&format!("*) {stopped} ;;"))
        .refuses(&["libvirt does not answer", "systemctl start libvirtd"]);
}

#[test]
fn addresses_of_another_network_are_refused_and_the_network_is_named() {
    let host = Host::new(
        "version) echo 9.0.0 ;;\n\
         'net-list --all --name') echo office ;;\n\
         'net-dumpxml office') echo \"<network><name>office</name>\
         <ip address='10.199.0.1' netmask='255.255.0.0'/></network>\" ;;",
    );
    host.refuses(&["10.199.88.0/24", "network `office`", "`network.nodes`"]);
}

/// A volume, as libvirt describes it.
fn volume(name: &str, backing: &str) -> String {
    let below = if backing.is_empty() {
        String::new()
    } else {
        format!("<backingStore><path>/pool/{backing}</path></backingStore>")
    };
    format!(
        "'vol-dumpxml /pool/{name}') echo \"<volume><name>{name}</name>\
         <physical unit='bytes'>2097152</physical>\
         <target><path>/pool/{name}</path></target>{below}</volume>\" ;;\n"
    )
}

const OURS: &str = "b_vagrant_box_image_1_box.img";
const USED: &str = "c_vagrant_box_image_1_box.img";
const THEIRS: &str = "d_vagrant_box_image_1_box.img";

fn with_images() -> Host {
    let volumes = [(OURS, ""), (USED, ""), (THEIRS, ""), ("m.img", USED)];
    let rows = volumes
        .map(|(name, _)| format!("echo ' {name}   /pool/{name}'"))
        .join(";");
    let described: String = volumes
        .iter()
        .map(|(name, backing)| volume(name, backing))
        .collect();
    let host = Host::new(&format!(
        "'pool-list --name') echo default ;;\n'vol-list default') {rows} ;;\n\
         'list --all --name') : ;;\n{described}"
    ));
    let entry = |name: &str| {
        format!(
            "{{\"kind\": \"libvirt-image\", \"name\": \"{name}\", \"facts\": {{}}, \"users\": []}}"
        )
    };
    let ledger = format!("{{\"entries\": [{}, {}]}}", entry(OURS), entry(USED));
    fs::write(host.path("home/state/ledger.json"), ledger).unwrap();
    host
}

fn pruned(host: &Host, args: &[&str]) -> String {
    let output = host.wdev(&[&["cache", "prune"], args].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

fn deletions(host: &Host) -> Vec<String> {
    let asked = host.asked();
    let lines = asked.lines().filter(|line| line.starts_with("vol-delete"));
    lines.map(str::to_owned).collect()
}

#[test]
fn prune_removes_what_wdev_has_caused_and_nobody_uses() {
    let host = with_images();
    let shown = pruned(&host, &["--dry-run"]);
    assert!(
        shown.contains(OURS) && shown.contains("2.00 MiB"),
        "{shown}"
    );
    assert_eq!(deletions(&host), [""; 0]);
    let shown = pruned(&host, &["--output", "json"]);
    let json: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(json["libvirt_images"][0]["name"], OURS);
    assert_eq!(
        json["libvirt_images"].as_array().unwrap().len(),
        1,
        "{shown}"
    );
    assert_eq!(deletions(&host), [format!("vol-delete /pool/{OURS}")]);
    let ledger = fs::read_to_string(host.path("home/state/ledger.json")).unwrap();
    assert!(ledger.contains(USED) && !ledger.contains(OURS), "{ledger}");
}

#[test]
fn where_libvirt_was_never_used_it_is_not_asked() {
    let host = Host::new("*) exit 1 ;;");
    assert_eq!(pruned(&host, &[]), "nothing to remove\n");
    assert_eq!(host.asked(), "");
}

/// A sandbox with one machine that Vagrant knows; every further question about it is answered by
/// `vagrant`, where `$1` is its subcommand.
fn with_machine(host: &Host, vagrant: &str) {
    let settings = "version: 1\nsandbox: s\nprovider: libvirt\nnetwork: {nodes: 10.199.88.0/24}\n\
        vagrant: {libvirt: {driver: qemu}}\ncontrol_plane: {memory: 1GiB}\nworkers: []\n";
    fs::write(host.path("project/variables.yml"), settings).unwrap();
    let data = host.path("project/.wdev/s/rendered/.vagrant/machines/cp/libvirt");
    let made = format!(
        "if [ \"$1\" = --version ]; then echo Vagrant 2.4.9; exit; fi\n\
         if [ \"$1\" = up ]; then mkdir -p {0}; echo uuid-1 >{0}/id; exit 1; fi\n{vagrant}",
        data.display()
    );
    host.program("vagrant", &made);
    let output = host.wdev(&["up"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(data.join("id").exists(), "{said}");
}

#[test]
fn a_machine_without_an_address_yet_is_turned_off_through_libvirt() {
    let host = Host::new("version) echo 9.0.0 ;;\n'destroy wdev-s-'*) touch ../turned-off ;;");
    let file = host.path("turned-off");
    with_machine(
        &host,
        &format!(
            "if [ -e {} ]; then state=shutoff; else state=inaccessible; fi\n\
             if [ \"$1\" = status ]; then echo \"1,cp,state,$state\"; fi",
            file.display()
        ),
    );
    let output = host.wdev(&["halt"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(host.asked().contains("destroy wdev-s-"), "{}", host.asked());
}
