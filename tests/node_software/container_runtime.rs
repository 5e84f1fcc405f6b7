//! The container runtime: first, twice, damaged, killed, and the distribution's own.

use std::fs;

use wdev::render::linux::Origin;

use crate::machine::{Artifacts, Machine, bash, killed_and_resumed};
const CONTAINERD: &[&str] = &["containerd"];

#[test]
fn containerd_is_installed_and_started_once_and_again_only_when_something_changed() {
    let Some(bash) = bash() else { return };
    let machine = Machine::new(&bash, CONTAINERD);
    let artifacts = Artifacts::new("1.7.2");
    let body = artifacts.body(Origin::Upstream);
    assert!(
        machine
            .call(&body, "wdev_run")
            .failed()
            .contains("there is no cache/containerd to install containerd from")
    );
    artifacts.bring(&machine);
    assert!(
        machine
            .probe(&body)
            .contains("not in place: containerd is not installed")
    );
    assert!(
        machine
            .call(&body, "wdev_run")
            .ok()
            .contains("fact containerd=1.7.2\n")
    );
    assert_eq!(machine.probe(&body), "fact containerd=1.7.2\n");
    assert_eq!(
        machine.node.read("etc/containerd/config.toml"),
        "version = 2\n"
    );
    let left = fs::read_dir(machine.node.path("cache")).unwrap().count();
    assert_eq!(left, 0, "what is installed is not kept twice");

    let (files, start) = (machine.files(), machine.start("containerd"));
    artifacts.bring(&machine);
    machine.call(&body, "wdev_run").ok();
    assert_eq!(machine.files(), files);
    assert_eq!(machine.start("containerd"), start);

    let newer = Artifacts::new("2.0.1");
    newer.bring(&machine);
    let body = newer.body(Origin::Upstream);
    assert!(machine.probe(&body).contains("not in place"));
    machine.call(&body, "wdev_run").ok();
    assert_eq!(machine.probe(&body), "fact containerd=2.0.1\n");
    assert_eq!(
        machine.node.read("etc/containerd/config.toml"),
        "version = 3\n"
    );
    assert_ne!(machine.start("containerd"), start);
}

#[test]
fn whatever_is_damaged_of_containerd_is_noticed_and_mended() {
    let Some(bash) = bash() else { return };
    let machine = Machine::new(&bash, CONTAINERD);
    let artifacts = Artifacts::new("1.7.2");
    let body = artifacts.body(Origin::Upstream);
    artifacts.bring(&machine);
    machine.call(&body, "wdev_run").ok();
    for (damage, words) in [
        ("echo >>usr/local/bin/ctr", "containerd is not installed"),
        ("rm usr/local/sbin/runc", "runc is not installed"),
        ("chmod -x usr/local/sbin/runc", "runc is not installed"),
        ("rm opt/cni/bin/bridge", "the CNI plugins are not installed"),
        ("rm usr/local/bin/crictl", "crictl is not installed"),
        (
            "echo >>etc/containerd/config.toml '# mine'",
            "config.toml differs",
        ),
        (
            "rm etc/systemd/system/containerd.service",
            "containerd.service differs",
        ),
        ("rm etc/crictl.yaml", "crictl.yaml differs"),
        ("systemctl stop containerd", "containerd does not run"),
        ("systemctl disable containerd", "not started at boot"),
        ("rmdir etc/containerd/conf.d", "conf.d"),
    ] {
        machine.call("", damage).ok();
        let said = machine.probe(&body);
        assert!(
            said.starts_with("not in place: ") && said.contains(words),
            "{damage}: {said}"
        );
        artifacts.bring(&machine);
        machine.call(&body, "wdev_run").ok();
        assert_eq!(machine.probe(&body), "fact containerd=1.7.2\n", "{damage}");
    }
}

#[test]
fn a_broken_upload_is_told_and_nothing_is_installed() {
    let Some(bash) = bash() else { return };
    let machine = Machine::new(&bash, CONTAINERD);
    let artifacts = Artifacts::new("1.7.2");
    artifacts.bring(&machine);
    machine.bring("containerd", b"<html>");
    let said = machine
        .call(&artifacts.body(Origin::Upstream), "wdev_run")
        .failed();
    assert!(
        said.contains("is not the containerd that was asked for"),
        "{said}"
    );
    assert!(!machine.node.path("usr/local").exists());
}

#[test]
fn containerd_killed_half_way_is_installed_by_the_next_run() {
    let Some(bash) = bash() else { return };
    let artifacts = Artifacts::new("1.7.2");
    let body = artifacts.body(Origin::Upstream);
    killed_and_resumed(
        &body,
        31,
        || {
            let machine = Machine::new(&bash, CONTAINERD);
            // An earlier version is there, with a file that the new one has not.
            let older = Artifacts::new("1.6.1");
            older.bring(&machine);
            machine.call(&older.body(Origin::Upstream), "wdev_run").ok();
            machine
        },
        |machine| artifacts.bring(machine),
    );
}

#[test]
fn the_distributions_containerd_takes_the_place_of_ours_and_is_left_again() {
    let Some(bash) = bash() else { return };
    let machine = Machine::new(&bash, CONTAINERD);
    let artifacts = Artifacts::new("2.0.1");
    let (ours, theirs) = (
        artifacts.body(Origin::Upstream),
        artifacts.body(Origin::Distribution),
    );
    artifacts.bring(&machine);
    machine.call(&ours, "wdev_run").ok();
    assert!(
        machine
            .probe(&theirs)
            .contains("not in place: the distribution's")
    );
    let said = machine.call(&theirs, "wdev_run").failed();
    assert!(
        said.contains("apt could not get 'containerd' and 'runc'"),
        "{said}"
    );
    // What the packages bring; apt is not asked where they are there.
    machine.node.script(
        "packages/usr/bin/containerd",
        "[[ $1 != --version ]] || exec echo 'containerd github.com/containerd/containerd 1.6.20~ds1 1.6'; exec sleep 1000",
    );
    machine.node.script("packages/usr/sbin/runc", "true");
    let unit = format!(
        "[Service]\nExecStart={}\n[Install]\nWantedBy=multi-user.target\n",
        machine.node.path("usr/bin/containerd").display()
    );
    machine.write("packages/usr/lib/systemd/system/containerd.service", &unit);
    machine
        .node
        .program("apt-get", "echo \"$@\" >>apt; cp -r packages/usr .");
    machine.call(&theirs, "wdev_run").ok();
    let asked = machine.node.read("apt");
    assert!(
        asked.contains("install --no-install-recommends containerd runc"),
        "{asked}"
    );
    assert_eq!(machine.probe(&theirs), "fact containerd=1.6.20~ds1\n");
    assert_eq!(
        machine.node.read("etc/containerd/config.toml"),
        "version = 2\n"
    );
    for gone in [
        "usr/local/bin/containerd",
        "usr/local/bin/ctr",
        "usr/local/sbin/runc",
        "etc/systemd/system/containerd.service",
    ] {
        assert!(!machine.node.path(gone).exists(), "{gone}");
    }
    let (files, start) = (machine.files(), machine.start("containerd"));
    machine.call(&theirs, "wdev_run").ok();
    assert_eq!(
        (machine.files(), machine.start("containerd")),
        (files, start)
    );

    artifacts.bring(&machine);
    assert!(machine.probe(&ours).contains("not in place"));
    machine.call(&ours, "wdev_run").ok();
    assert_eq!(machine.probe(&ours), "fact containerd=2.0.1\n");
}
