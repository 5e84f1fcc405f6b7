//! libvirt as a host may have it, played by a `virsh` of ours: silent, forbidden, with the wanted
//! addresses in use, with base volumes that wdev has caused and others, failing in the middle.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../common/mod.rs"]
mod common;
mod host;
mod images;

use std::fs;
use std::process::{Child, Stdio};
use std::time::Duration;

use host::Host;
use images::{domain, host_with_images};
use wdev::channel::Os;
use wdev::provider::vagrant::MachineRef;
use wdev::provider::vagrant::hypervisor::Hypervisor as _;

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

const LOST: &str = "echo 'error: Cannot recv data: Connection reset by peer' >&2; exit 1";

#[tokio::test]
async fn an_answer_that_failed_removes_nothing() {
    for question in ["vol-list default", "vol-dumpxml /pool/m.img", "dumpxml vm"] {
        let before = format!("'{question}') {LOST} ;;\n{}", domain("/pool/m.img"));
        let host = host_with_images(&before);
        let failure = host.prune(false).await.unwrap_err();
        assert!(failure.to_string().contains(question), "{failure}");
        assert_eq!(host.changes(), [""; 0]);
    }
    // A network is not free because its users cannot be asked for.
    let networks = "'net-list --all --name') echo wdev-a ;;\n'net-dumpxml wdev-a') echo '<network/>' ;;\n\
        'list --all --name') echo vm ;;";
    let unasked = format!("'dumpxml vm') {LOST} ;;\n{networks}");
    let host = Host::new(&unasked);
    assert!(host.sandbox().after_last(&host.io()).await.is_err());
    assert_eq!(host.changes(), [""; 0]);
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
        host.changes(),
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
    assert_eq!(host.changes(), [""; 0]);
    let told = "the network `wdev-a` stays: the machine `vm` is in it";
    assert!(host.shown().contains(told), "{}", host.shown());
}

/// Both have looked before either has anything.
#[test]
fn of_two_sandboxes_that_begin_at_the_same_time_one_gets_the_addresses() {
    let host = Host::new("");
    let met = host.path("met");
    host.plays(&format!(
        "version) echo 9.0.0; : >{0}.$$; until [ $(ls {0}.* | wc -l) -ge 2 ]; do sleep 0.01; done ;;",
        met.display()
    ));
    host.program(
        "vagrant",
        "if [ \"$1\" = --version ]; then echo Vagrant 2.4.9; else exit 1; fi",
    );
    let up = |folder: &str| {
        fs::create_dir_all(host.path(folder)).unwrap();
        let settings = "version: 1\nprovider: libvirt\nnetwork: {nodes: 10.199.88.0/24}\n\
            vagrant: {libvirt: {driver: qemu}}\ncontrol_plane: {memory: 1GiB}\nworkers: []\n";
        fs::write(host.path(folder).join("variables.yml"), settings).unwrap();
        let said = fs::File::create(host.path(folder).join("said")).unwrap();
        let mut command = host.command(folder, &["up"]);
        command.stdout(Stdio::null()).stderr(said).spawn().unwrap()
    };
    let mut runs = [("project", up("project")), ("other", up("other"))];
    let refused = |(folder, run): &mut (&str, Child)| {
        let ended = run.try_wait().unwrap()?;
        let said = fs::read_to_string(host.path(folder).join("said")).unwrap();
        (ended.code() == Some(4) && said.contains("the address 10.199.88.10 of `cp` is taken"))
            .then_some(())
    };
    while runs.iter_mut().filter_map(refused).count() == 0 {
        let over = |(_, run): &mut (&str, Child)| run.try_wait().unwrap().is_some();
        assert!(!runs.iter_mut().all(over), "both had them");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(
        runs.iter_mut().filter_map(refused).count(),
        1,
        "nobody had them"
    );
    for (_, run) in &mut runs {
        let _ = run.kill();
        let _ = run.wait();
    }
}

fn cp() -> MachineRef {
    MachineRef {
        lane: "cp".into(),
        os: Os::Linux,
        unique: "wdev-a-cp".to_owned(),
    }
}

#[tokio::test]
async fn the_network_of_all_projects_is_given_up_with_the_last_machine_and_not_before() {
    let host = Host::new("");
    let sandbox = host.sandbox();
    sandbox.before_start(&cp(), &host.io()).await.unwrap();
    assert!(host.noted().contains("vagrant-libvirt"), "{}", host.noted());
    // As when only some machines are made anew.
    host.plays("'list --all --name') echo wdev-a-w1 ;;");
    sandbox.after_last(&host.io()).await.unwrap();
    assert!(host.noted().contains("vagrant-libvirt"), "{}", host.noted());
    host.plays("'list --all --name') echo wdev-ab-w1 ;;");
    sandbox.after_last(&host.io()).await.unwrap();
    assert!(
        !host.noted().contains("vagrant-libvirt"),
        "{}",
        host.noted()
    );
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
