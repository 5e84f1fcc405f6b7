//! libvirt as a host may have it, played by a `virsh` of ours: silent, forbidden, with the wanted
//! addresses in use, with base volumes that wdev has caused and others, failing in the middle.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use common::shown::Shown;
use tempfile::TempDir;
use wdev::channel::{Io, Os};
use wdev::clock::Clock;
use wdev::error::{Kind, Result};
use wdev::ledger::Ledger;
use wdev::provider::vagrant::MachineRef;
use wdev::provider::vagrant::hypervisor::at_work::Watch;
use wdev::provider::vagrant::hypervisor::libvirt::{self, Libvirt, Tools};
use wdev::provider::vagrant::hypervisor::{Choices, Hypervisor, Site};

/// A host whose `PATH` is one folder of ours.
struct Host {
    root: TempDir,
    watch: Watch,
    shown: Shown,
}

impl Host {
    /// `virsh` runs this script, where `$*` is the question without the connection, and keeps a list
    /// of all questions.
    fn new(virsh: &str) -> Self {
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

    fn plays(&self, virsh: &str) {
        let asked = self.path("asked");
        self.program(
            "virsh",
            &format!(
                "shift 3\necho \"$*\" >>{}\ncase \"$*\" in\n{virsh}\nesac",
                asked.display()
            ),
        );
    }

    fn tools(&self) -> Tools {
        Tools {
            virsh: self.path("bin/virsh"),
            image: self.path("bin/qemu-img"),
            watch: self.watch,
            stall: Duration::from_millis(1),
            vagrant_home: Some(self.path("vagrant-home")),
        }
    }

    fn ledger(&self) -> Ledger {
        Ledger::new(self.path("home/state"))
    }

    fn noted(&self) -> String {
        fs::read_to_string(self.path("home/state/ledger.json")).unwrap_or_default()
    }

    /// libvirt for a sandbox in the folder `project`.
    fn sandbox(&self) -> Libvirt {
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

    fn io(&self) -> Io {
        self.shown.io()
    }

    fn shown(&self) -> String {
        self.shown.text()
    }

    /// The names of what a prune removes, or would.
    async fn prune(&self, dry_run: bool) -> Result<Vec<String>> {
        let (tools, ledger) = (self.tools(), self.ledger());
        let pruned = libvirt::prune(&tools, &ledger, Clock::new(), dry_run, &self.io()).await?;
        Ok(pruned.into_iter().map(|it| it.name).collect())
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
            // Nobody is to be asked what a version stands for.
            .env("WDEV_ARTIFACTS_OFFLINE", "true")
            .env("WDEV_KUBERNETES_VERSION", "v1.36.3")
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

/// What `virsh` answers of a pool with three base volumes, one of which is used; `before` goes first.
fn with_images(before: &str) -> String {
    let volumes = [(OURS, ""), (USED, ""), (THEIRS, ""), ("m.img", USED)];
    let rows = volumes
        .map(|(name, _)| format!("echo ' {name}   /pool/{name}'"))
        .join(";");
    let described: String = volumes
        .iter()
        .map(|(name, backing)| volume(name, backing))
        .collect();
    format!(
        "{before}\n'pool-list --all --name') echo default ;;\n'vol-list default') {rows} ;;\n\
         'list --all --name') : ;;\n{described}"
    )
}

/// A host on which wdev has caused two of them.
fn host_with_images(before: &str) -> Host {
    let host = Host::new(&with_images(before));
    let entry = |name: &str| {
        format!(
            "{{\"kind\": \"libvirt-image\", \"name\": \"{name}\", \"facts\": {{}}, \"users\": []}}"
        )
    };
    let ledger = format!("{{\"entries\": [{}, {}]}}", entry(OURS), entry(USED));
    fs::write(host.path("home/state/ledger.json"), ledger).unwrap();
    host
}

fn shown_by_prune(host: &Host, args: &[&str]) -> String {
    let output = host.wdev(&[&["cache", "prune"], args].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

fn changes(host: &Host) -> Vec<String> {
    let asked = host.asked();
    let changing = ["vol-delete", "net-destroy", "net-undefine", "undefine"];
    let changes = |line: &&str| changing.iter().any(|word| line.starts_with(word));
    asked.lines().filter(changes).map(str::to_owned).collect()
}

#[tokio::test]
async fn prune_removes_what_wdev_has_caused_and_nobody_uses() {
    let host = host_with_images("");
    let shown = shown_by_prune(&host, &["--dry-run"]);
    assert!(
        shown.contains(OURS) && shown.contains("2.00 MiB"),
        "{shown}"
    );
    let shown = shown_by_prune(&host, &["--dry-run", "--output", "json"]);
    let json: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(json["libvirt_images"][0]["name"], OURS);
    let count = json["libvirt_images"].as_array().unwrap().len();
    assert_eq!(count, 1, "{shown}");
    assert_eq!(changes(&host), [""; 0]);

    assert_eq!(host.prune(false).await.unwrap(), [OURS]);
    assert_eq!(changes(&host), [format!("vol-delete /pool/{OURS}")]);
    let noted = host.noted();
    assert!(noted.contains(USED) && !noted.contains(OURS), "{noted}");
}

#[tokio::test]
async fn prune_keeps_what_a_vagrant_at_work_may_be_about_to_use() {
    let mut host = host_with_images("");
    host.watch = Watch::Told(true);
    assert_eq!(host.prune(false).await.unwrap(), [""; 0]);
    assert_eq!(changes(&host), [""; 0]);
    assert!(host.shown().contains("a Vagrant runs"), "{}", host.shown());
}

/// A machine that is off, with this disk.
fn domain(disk: &str) -> String {
    format!(
        "'list --all --name') echo vm ;;\n'dumpxml vm') echo \"<domain><devices><disk>\
         <driver type='qcow2'/><source file='{disk}'/></disk></devices></domain>\" ;;"
    )
}

#[tokio::test]
async fn prune_follows_a_disk_that_no_pool_knows_and_removes_nothing_where_it_cannot() {
    let mut host = host_with_images("");
    let disk = host.path("elsewhere.qcow2");
    fs::write(&disk, "").unwrap();
    host.plays(&with_images(&domain(&disk.display().to_string())));
    assert_eq!(host.prune(false).await.unwrap(), [""; 0]);
    assert!(host.shown().contains("elsewhere.qcow2"), "{}", host.shown());

    let layers = format!("[{{\"filename\": \"/e\", \"full-backing-filename\": \"/pool/{OURS}\"}}]");
    host.program("qemu-img", &format!("echo '{layers}'"));
    host.shown = Shown::default();
    assert_eq!(host.prune(false).await.unwrap(), [""; 0]);
    assert_eq!(host.shown(), "");

    host.program("qemu-img", "echo '[{\"filename\": \"/e\"}]'");
    assert_eq!(host.prune(false).await.unwrap(), [OURS]);
}

#[tokio::test]
async fn a_pool_that_cannot_be_looked_through_is_neither_pruned_nor_forgotten() {
    let stopped = "'pool-refresh default') exit 1 ;;\n\
         'vol-list default') echo \"error: storage pool 'default' is not active\" >&2; exit 1 ;;";
    let host = host_with_images(stopped);
    assert_eq!(host.prune(false).await.unwrap(), [""; 0]);
    assert!(host.noted().contains(OURS));
    host.plays(&with_images("'pool-refresh default') exit 1 ;;"));
    assert_eq!(host.prune(false).await.unwrap(), [""; 0]);
    assert_eq!(changes(&host), [""; 0]);
}

const LOST: &str = "echo 'error: Cannot recv data: Connection reset by peer' >&2; exit 1";

#[tokio::test]
async fn an_answer_that_failed_removes_nothing() {
    for question in ["vol-list default", "vol-dumpxml /pool/m.img", "dumpxml vm"] {
        let before = format!("'{question}') {LOST} ;;\n{}", domain("/pool/m.img"));
        let host = host_with_images(&before);
        let failure = host.prune(false).await.unwrap_err();
        assert!(failure.to_string().contains(question), "{failure}");
        assert_eq!(changes(&host), [""; 0]);
    }
    // A network is not free because its users cannot be asked for.
    let networks = "'net-list --all --name') echo wdev-a ;;\n'net-dumpxml wdev-a') echo '<network/>' ;;\n\
        'list --all --name') echo vm ;;";
    let unasked = format!("'dumpxml vm') {LOST} ;;\n{networks}");
    let host = Host::new(&unasked);
    assert!(host.sandbox().after_last(&host.io()).await.is_err());
    assert_eq!(changes(&host), [""; 0]);
    // But a machine that went meanwhile is no user.
    let went =
        "'dumpxml vm') touch ../went; echo \"error: failed to get domain 'vm'\" >&2; exit 1 ;;";
    let went = went.replace("../went", &host.path("went").display().to_string());
    let list = format!(
        "'list --all --name') test -e {} || echo vm ;;",
        host.path("went").display()
    );
    host.plays(&format!("{went}\n{list}\n{networks}"));
    host.sandbox().after_last(&host.io()).await.unwrap();
    assert_eq!(
        changes(&host),
        ["net-destroy wdev-a", "net-undefine wdev-a"]
    );
}

#[tokio::test]
async fn a_network_that_stays_is_told_with_the_machine_in_it() {
    let host = Host::new(
        "'net-list --all --name') echo wdev-a ;;\n'net-dumpxml wdev-a') echo '<network/>' ;;\n\
         'list --all --name') echo vm ;;\n'dumpxml vm') echo \"<domain><interface>\
         <source network='wdev-a'/></interface></domain>\" ;;",
    );
    host.sandbox().after_last(&host.io()).await.unwrap();
    assert_eq!(changes(&host), [""; 0]);
    let told = "the network `wdev-a` stays: the machine `vm` is in it";
    assert!(host.shown().contains(told), "{}", host.shown());
}

fn cp() -> MachineRef {
    MachineRef {
        lane: "cp".into(),
        os: Os::Linux,
        unique: "wdev-a-cp".to_owned(),
    }
}

#[tokio::test]
async fn a_sandbox_can_go_where_libvirts_tools_have_gone() {
    let host = Host::new("");
    fs::remove_file(host.path("bin/virsh")).unwrap();
    let sandbox = host.sandbox();
    assert!(!sandbox.remove_rest(&cp(), &host.io()).await.unwrap());
    sandbox.after_last(&host.io()).await.unwrap();
    assert!(host.shown().contains("`virsh`"), "{}", host.shown());
}

#[tokio::test]
async fn of_new_images_only_those_of_our_boxes_or_below_our_disks_are_ours() {
    let empty = "'pool-list --all --name') : ;;\n'list --all --name') : ;;";
    let host = Host::new(empty);
    let vagrantfile = "node.vm.box = \"b\"\n";
    fs::write(host.path("project/Vagrantfile"), vagrantfile).unwrap();
    let sandbox = host.sandbox();
    sandbox.before_start(&cp(), &host.io()).await.unwrap();
    let m = "'list --all --name') echo wdev-a-cp ;;\n'dumpxml wdev-a-cp') echo \"<domain><disk>\
         <source file='/pool/m.img'/></disk></domain>\" ;;";
    host.plays(&with_images(m));
    sandbox.after_start(&cp(), "id", &host.io()).await.unwrap();
    let noted = host.noted();
    for ours in [OURS, USED] {
        assert!(noted.contains(ours), "no {ours} in {noted}");
    }
    assert!(!noted.contains(THEIRS), "{noted}");
}

#[tokio::test]
async fn an_image_stays_ours_when_its_machine_is_made_anew_beside_another_of_wdevs() {
    for (other, is_ours) in [("wdev-b-w1.img", true), ("theirs.img", false)] {
        let host = Host::new("'pool-list --all --name') : ;;\n'list --all --name') : ;;");
        fs::write(host.path("project/Vagrantfile"), "node.vm.box = \"b\"\n").unwrap();
        let sandbox = host.sandbox();
        sandbox.before_start(&cp(), &host.io()).await.unwrap();
        // Its making failed: it is gone, and what it has caused is the base of the other one by now.
        let (base, layer) = (volume(OURS, ""), volume(other, OURS));
        host.plays(&format!(
            "'dumpxml wdev-a-cp') echo \"error: Domain not found: no domain\" >&2; exit 1 ;;\n\
             'pool-list --all --name') echo default ;;\n'list --all --name') : ;;\n\
             'vol-list default') echo ' {OURS}   /pool/{OURS}'; echo ' {other}   /pool/{other}' ;;\n{base}{layer}"
        ));
        assert!(!sandbox.remove_rest(&cp(), &host.io()).await.unwrap());
        let noted = host.noted();
        assert_eq!(noted.contains(OURS), is_ours, "{other}: {noted}");
        assert_eq!(changes(&host), [""; 0]);
    }
}

#[tokio::test]
async fn a_half_copied_image_goes_unless_a_vagrant_may_be_copying_it() {
    let mut host = host_with_images("");
    let folder = host.path("vagrant-home/boxes/b/1/libvirt");
    fs::create_dir_all(&folder).unwrap();
    // Longer than the copy.
    let disk = fs::File::create(folder.join("box.img")).unwrap();
    disk.set_len(4_000_000).unwrap();
    host.watch = Watch::Told(true);
    let busy = host.sandbox().before_start(&cp(), &host.io()).await;
    let failure = busy.unwrap_err();
    assert_eq!(failure.kind, Kind::Busy);
    assert!(failure.to_string().contains(OURS), "{failure}");
    assert_eq!(changes(&host), [""; 0]);
    host.watch = Watch::Told(false);
    host.sandbox()
        .before_start(&cp(), &host.io())
        .await
        .unwrap();
    assert_eq!(changes(&host), [format!("vol-delete /pool/{OURS}")]);
}

#[test]
fn where_libvirt_was_never_used_it_is_not_asked() {
    let host = Host::new("*) exit 1 ;;");
    assert_eq!(shown_by_prune(&host, &[]), "nothing to remove\n");
    // Nor for a machine of a sandbox that is gone, which is forgotten.
    let making = r#"{"entries": [{"kind": "libvirt-making", "name": "x", "users": ["/no/such"]}]}"#;
    fs::write(host.path("home/state/ledger.json"), making).unwrap();
    assert_eq!(shown_by_prune(&host, &[]), "nothing to remove\n");
    assert_eq!(host.asked(), "");
    assert!(!host.noted().contains("libvirt-making"), "{}", host.noted());
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
