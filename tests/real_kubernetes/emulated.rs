//! The same on a machine with a kernel and an init system of its own, emulated: nothing is made up for.

use std::time::Duration;

use super::common;
use super::real::cluster::Material;
use super::real::emulated::{Emulated, virsh};
use super::real::{wait_for, wanted};

/// How long an emulated machine may take for anything that it does by itself.
const LIMIT: Duration = Duration::from_mins(10);

#[test]
fn a_machine_with_systemd_is_rebooted_behind_our_back_and_found_ready_again() {
    if !wanted() {
        return;
    }
    if crate::common::count(0, 1) == 0 {
        common::allowed_skip("an hour of emulation; run `make soak`");
        return;
    }
    let Some(material) = Material::find() else {
        return;
    };
    let sites = material.sites();
    let Some(sandbox) = material.emulated("k8s", 3, &sites) else {
        return;
    };
    let _ = sandbox.start_up().end().with_code(0);
    assert_ready(&sandbox);

    let before = cluster(&sandbox);
    let boot = sandbox.boot("cp");
    let asked = sites.asked();
    virsh(&["reset", &sandbox.machine("cp")]).expect("a reboot behind wdev's back");
    wait_for("cp after its reboot", LIMIT, || {
        let id = ["exec", "cp", "--", "cat", "/proc/sys/kernel/random/boot_id"];
        let now = sandbox.run(&id);
        (now.code == Some(0) && now.stdout.trim_end() != boot).then_some(())
    });
    let events = sandbox.start_up().end().with_code(0).events();
    // Where the API server takes its time after the boot, its step waits for it; nothing is made anew.
    let again = events.started("cp");
    assert!(
        again.iter().all(|step| *step == "control-plane"),
        "{again:?}"
    );
    assert_eq!(sites.asked(), asked, "it asked for something");
    assert_ready(&sandbox);
    assert_eq!(cluster(&sandbox), before, "another cluster");

    let _ = sandbox.run(&["destroy", "--yes"]).with_code(0);
    assert_eq!(sandbox.machines(), [""; 0], "machines are left");
}

/// What tells the cluster from any other.
fn cluster(sandbox: &Emulated) -> String {
    let output = "jsonpath={.metadata.uid}";
    let args = [
        "kubectl",
        "--",
        "get",
        "namespace",
        "kube-system",
        "--output",
        output,
    ];
    sandbox.run(&args).with_code(0).stdout
}

/// The node is Ready under its private address, and its services are systemd's.
fn assert_ready(sandbox: &Emulated) {
    let expected = format!("cp True {}", sandbox.address("cp"));
    wait_for("a node that is Ready under its own address", LIMIT, || {
        let output = "jsonpath={.metadata.name} {.status.conditions[?(@.type==\"Ready\")].status} \
                      {.status.addresses[?(@.type==\"InternalIP\")].address}";
        let args = ["kubectl", "--", "get", "node", "cp", "--output", output];
        let asked = sandbox.run(&args);
        (asked.code == Some(0) && asked.stdout == expected).then_some(())
    });
    let driver = sandbox.on_node("cp", "sudo grep ^cgroupDriver /var/lib/kubelet/config.yaml");
    assert_eq!(driver, "cgroupDriver: systemd");
    let active = sandbox.on_node("cp", "systemctl is-active kubelet containerd");
    assert_eq!(active, "active\nactive");
}
