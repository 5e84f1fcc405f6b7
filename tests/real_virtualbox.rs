//! Vagrant's own virtualbox provider over a stand-in for `VBoxManage`, with emulated machines behind it:
//! what a user of `wdev` sees, and what VirtualBox says.
//!
//! Run by `make test-real` with one machine that boots, by `make soak` also with two.
#![cfg(unix)]

mod common;
#[path = "real_virtualbox/host.rs"]
mod host;
mod real;

use host::{Host, Sandbox};
use real::run::{Ended, Run};
use real::wanted;
use serde_json::json;
use wdev::error::Kind;
use wdev::event::Body;

/// How VirtualBox says that another hypervisor holds the processor.
const HELD: &str = "VBoxManage: error: VT-x is being used by another hypervisor \
                    (VERR_VMX_IN_VMX_ROOT_MODE).\nVBoxManage: error: Details: code NS_ERROR_FAILURE \
                    (0x80004005), component ConsoleWrap, interface IConsole\n";
/// How it says that a machine is locked.
const LOCKED: &str = "VBoxManage: error: The machine 'x' is already locked for a session (or being \
                      unlocked)\nVBoxManage: error: Details: code VBOX_E_INVALID_OBJECT_STATE \
                      (0x80bb0007), component MachineWrap, interface IMachine\n";
/// How it fails now and then.
const ONCE: &str = "VBoxManage: error: The virtual machine has terminated unexpectedly during \
                    startup\nVBoxManage: error: Details: code NS_ERROR_FAILURE (0x80004005)\n";
/// How often Vagrant tries to start a machine (`driver/version_5_0.rb`, `start`).
const STARTS: usize = 3;
/// Longer than any call of the test waits: the run is killed in it.
const FOR_EVER: u32 = 900;

/// Every node is reached through a port of the host and lives at its own address.
fn assert_reached(host: &Host, sandbox: &Sandbox, node: &str, number: u8) {
    let addresses = sandbox.on_node(node, "ip -o -4 address");
    let own = host.address(number);
    assert!(addresses.contains(&own), "{node}: {addresses}");
    let status = sandbox.run(&["status", "--output", "json"]).with_code(0);
    let status = status.json();
    let nodes = status["nodes"].as_array().expect("nodes");
    let found = nodes.iter().find(|found| found["name"] == node);
    assert_eq!(
        found.expect("the node")["address"],
        own.as_str(),
        "{status}"
    );
    assert!(!status.to_string().contains("10.0.2.15"), "{status}");
    let hosts = sandbox.on_node(node, "cat /etc/hosts");
    assert!(!hosts.contains("10.0.2.15"), "{hosts}");
    assert!(hosts.contains(&own), "{hosts}");
}

/// The boots that reboots of `cp` were proven by.
fn proven(ended: &Ended) -> Vec<String> {
    let events = ended.events();
    let (_, proven) = events.reboots("cp");
    proven.into_iter().map(str::to_owned).collect()
}

fn life(host: &Host, workers: &[&str]) {
    let sandbox = host.sandbox("life", 10, workers);
    let nodes: Vec<&str> = ["cp"].iter().chain(workers).copied().collect();

    // A start that fails as often as Vagrant itself tries it, and a machine that is locked for longer than Vagrant itself is patient.
    host.faults(&json!([
        {"match": "startvm", "stderr": ONCE, "rc": 1, "times": STARTS},
        {"match": "--natpf1 delete", "stderr": LOCKED, "rc": 1, "times": 4},
    ]));
    let ended = sandbox.up_to_the_downloads();
    assert!(host.has_struck());
    for (node, number) in nodes.iter().zip(10..) {
        assert_reached(host, &sandbox, node, number);
    }
    let boots = proven(&ended);
    let boot = || sandbox.on_node("cp", "cat /proc/sys/kernel/random/boot_id");
    assert_eq!(boots, [boot()]);
    assert_eq!(sandbox.hook_runs(), "ran");
    let interfaces = host.interfaces();
    assert_eq!(interfaces.len(), 1, "{interfaces:?}");
    // The machines, and the master that they are clones of.
    assert_eq!(host.machines().len(), nodes.len() + 1);

    let _ = sandbox.run(&["halt"]).with_code(0);
    assert_eq!(host.manage(&["list", "runningvms"]), "");
    let events = sandbox.up_to_the_downloads().events();
    assert!(
        !events.started("cp").contains(&"facts"),
        "it was done again"
    );
    assert_eq!(sandbox.hook_runs(), "ran");
    assert_ne!([boot()], *boots);
    assert_eq!(host.interfaces(), interfaces);

    let _ = sandbox.run(&["destroy", "--yes"]).with_code(0);
    assert!(sandbox.is_gone());
    host.assert_clean();
}

#[test]
fn a_machine_lives_on_virtualbox_and_leaves_nothing_behind() {
    if !wanted() {
        return;
    }
    let Some(host) = Host::new("life", 0) else {
        return;
    };
    life(&host, &[]);
    if common::count(0, 1) == 1 {
        drop(host);
        let Some(host) = Host::new("two", 0) else {
            return;
        };
        life(&host, &["w1"]);
    }
}

/// Kills wdev, its Vagrant and that one's `VBoxManage` once the planted fault holds a call up.
fn kill_in_fault(host: &Host, mut up: Run) {
    up.wait_for("the call that is held up", |_| {
        host.has_struck().then_some(())
    });
    up.kill_tree();
}

/// An `up` whose machine does not start for a reason that stays.
fn refused(sandbox: &Sandbox) {
    let events = sandbox.run(&["up", "--output", "json"]).events();
    // The first failure is the host's: nothing is downloaded.
    let failure = events.0.iter().find_map(|event| match &event.body {
        Body::StepFailed {
            lane,
            step,
            failure,
            ..
        } => (lane.as_str() == "cp" && step.as_str() == "machine").then_some(failure),
        _ => None,
    });
    let failure = failure.expect("the machine does not start");
    assert_eq!(failure.kind, Kind::Host, "{failure:?}");
    assert!(failure.permanent, "{failure:?}");
    let advice = failure.advice.join(" ");
    assert!(advice.contains("kvm"), "{failure:?}");
    assert!(
        failure.to_string().contains("VERR_VMX_IN_VMX_ROOT_MODE"),
        "{failure}"
    );
}

/// No machine of this test ever boots.
#[test]
fn kills_before_the_first_boot_leave_nothing_and_two_sandboxes_share_what_vagrant_made() {
    if !wanted() {
        return;
    }
    let Some(host) = Host::new("half", 1) else {
        return;
    };
    let one = host.sandbox("one", 10, &[]);

    // Cut after the master was imported, then after the clone was made, before Vagrant wrote it down.
    for made in ["--vmname", "clonevm"] {
        host.faults(&json!([
            {"match": made, "rc": 0, "delay": FOR_EVER, "after": true, "times": 1},
        ]));
        kill_in_fault(&host, one.start_up());
    }
    assert!(
        host.machines()
            .iter()
            .any(|name| name.starts_with("temp_clone_")),
        "{:?}",
        host.machines()
    );

    // The next one mends it, and meets a reason for which no machine can start.
    host.faults(&json!([{"match": "startvm", "stderr": HELD, "rc": 1, "times": 99}]));
    let starts = host.calls("startvm");
    refused(&one);
    assert_eq!(
        host.calls("startvm"),
        starts + STARTS,
        "it was tried in vain"
    );
    let machines = host.machines();
    assert_eq!(machines.len(), 2, "the master and one clone: {machines:?}");

    // A second sandbox beside it takes the same master and the same interface, and other ports.
    let two = host.sandbox("two", 20, &[]);
    refused(&two);
    assert_eq!(host.machines().len(), 3, "{:?}", host.machines());
    assert_eq!(host.interfaces().len(), 1);
    let (first, second) = (unique(&machines), unique_of(&host, &machines));
    assert_ne!(one.ssh_port(&first), two.ssh_port(&second));

    // An answer that takes a minute is still the right one; what is shared stays for the other sandbox.
    host.faults(&json!([{"match": "list vms", "rc": 0, "delay": 60, "times": 1}]));
    let _ = one.run(&["destroy", "--yes"]).with_code(0);
    assert!(host.has_struck() && one.is_gone());
    assert_eq!(host.machines().len(), 2, "{:?}", host.machines());
    assert_eq!(host.interfaces().len(), 1);
    let _ = two.run(&["destroy", "--yes"]).with_code(0);
    host.assert_clean();

    // Killed, and never brought up again.
    let three = host.sandbox("three", 30, &[]);
    host.faults(&json!([
        {"match": "clonevm", "rc": 0, "delay": FOR_EVER, "after": true, "times": 1},
    ]));
    kill_in_fault(&host, three.start_up());
    let _ = three.run(&["destroy", "--yes"]).with_code(0);
    host.assert_clean();
}

/// The machine of a sandbox among these: the others are masters.
fn unique(machines: &[String]) -> String {
    let mut ours = machines.iter().filter(|name| name.starts_with("wdev-"));
    ours.next().expect("a machine of a sandbox").clone()
}

/// The machine of a sandbox that is not among these.
fn unique_of(host: &Host, before: &[String]) -> String {
    let new: Vec<String> = host
        .machines()
        .into_iter()
        .filter(|name| !before.contains(name))
        .collect();
    unique(&new)
}
