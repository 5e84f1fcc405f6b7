//! Vagrant's own hyperv provider over its stand-in, with emulated machines behind both it and wdev's
//! scripts for the host, which real PowerShell runs on cmdlets that are doubled onto the same world.
//!
//! Run by `make test-real` with one machine, by `make soak` also with two of generation 1.
#![cfg(unix)]

mod common;
#[path = "real_hyperv/host.rs"]
mod host;
mod real;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::Duration;

use host::Host;
use real::run::Ended;
use real::{wait_for, wanted};

/// Where a hook waits, and how it is let go.
const GO: &str = "/var/tmp/wdev-go";
/// A machine that is emulated on a busy host may take this long for anything.
const LONG: Duration = Duration::from_mins(6);

/// The words of a command's output.
fn said(ended: &Ended) -> &str {
    ended.stdout.trim()
}

fn boot(host: &Host, node: &str) -> Option<String> {
    let ended = host.wdev(&["exec", node, "--", "cat", "/proc/sys/kernel/random/boot_id"]);
    (ended.code == Some(0)).then(|| said(&ended).to_owned())
}

/// The node answers, and does so at its own address.
fn assert_reached_by_its_own_address(host: &Host, node: &str) {
    let ended = host.wdev(&["exec", node, "--", "sh", "-c", "echo $SSH_CONNECTION"]);
    let ended = ended.with_code(0);
    let server = said(&ended).split(' ').nth(2);
    assert_eq!(server, Some(host.address(node).as_str()));
}

fn assert_running(host: &Host) {
    let status = host
        .wdev(&["status", "--output", "json"])
        .with_code(0)
        .json();
    for node in status["nodes"].as_array().expect("nodes") {
        assert_eq!(node["power"], "running", "{node}");
    }
}

fn lifecycle(host: &Host) {
    // A third switch: Vagrant would ask which one is meant.
    host.world("new_switch", r#"{"Name": "Other"}"#);
    let events = host.up_to_the_downloads().events();
    let (begun, proven) = events.reboots("cp");
    assert_eq!((begun.len(), proven.len()), (1, 1), "the hook's reboot");
    assert_ne!(begun, proven);
    assert_eq!(boot(host, "cp").as_deref(), Some(proven[0]));
    assert!(
        host.switches().contains(&host.switch()),
        "{:?}",
        host.switches()
    );
    assert!(host.ledger().contains(&host.switch()), "{}", host.ledger());
    for node in host.nodes() {
        assert_reached_by_its_own_address(host, node);
    }

    // What nobody has to be asked for while another action locks the machine.
    let mut action = host.vagrant(&["provision", "cp", "--provision-with", "hook-prepare-1"]);
    let mut action = action.spawn().expect("vagrant starts");
    wait_for("the hook at work", LONG, || {
        let begun = host.wdev(&["exec", "cp", "--", "test", "-e", "/var/tmp/wdev-waits"]);
        (begun.code == Some(0)).then_some(())
    });
    let locked = host
        .vagrant(&["status", "cp"])
        .output()
        .expect("vagrant runs");
    assert!(!locked.status.success(), "the action locks the machine");
    assert_running(host);
    assert_reached_by_its_own_address(host, "cp");
    let _ = host
        .wdev(&["exec", "cp", "--", "sudo", "touch", GO])
        .with_code(0);
    assert!(action.wait().expect("vagrant ends").success());

    // The first adapter's address is of no use to anybody.
    let change = "sudo sh -c 'ip address flush dev eth0; ip address add 172.29.0.251/24 dev eth0'";
    let _ = host
        .wdev(&["exec", "cp", "--", "sh", "-c", change])
        .with_code(0);
    assert_reached_by_its_own_address(host, "cp");
    assert_running(host);

    // A reboot that wdev has no part in.
    let before = boot(host, "cp").expect("cp answers");
    let _ = host.wdev(&["exec", "cp", "--", "sudo", "reboot"]);
    wait_for("another boot of cp", LONG, || {
        boot(host, "cp").filter(|now| *now != before)
    });
    assert_reached_by_its_own_address(host, "cp");

    let _ = host.wdev(&["halt"]).with_code(0);
    assert!(
        host.switches().contains(&host.switch()),
        "it belongs to the sandbox"
    );
    let up = host.up_to_the_downloads();
    let events = up.events();
    assert!(
        !events.started("cp").contains(&"facts"),
        "what is done is not repeated"
    );
    assert_eq!(events.reboots("cp"), (vec![], vec![]));
    for node in host.nodes() {
        assert_reached_by_its_own_address(host, node);
    }

    let _ = host.wdev(&["destroy", "--yes"]).with_code(0);
    assert_eq!(host.switches(), ["Default Switch", "Other"]);
    assert_eq!(host.world("list_vms", "{}"), "[]");
    assert!(!host.ledger().contains(&host.switch()), "{}", host.ledger());
}

#[test]
fn a_machine_on_hyper_v_has_its_own_address_through_all_of_its_life() {
    if !wanted() {
        return;
    }
    let Some(host) = Host::new(2, &[]) else {
        return;
    };
    lifecycle(&host);
    if common::count(0, 1) == 1 {
        drop(host);
        let Some(host) = Host::new(1, &["w1"]) else {
            return;
        };
        lifecycle(&host);
    }
}

#[test]
fn vagrants_that_cannot_import_a_machine_are_refused() {
    if !wanted() {
        return;
    }
    let Some(host) = Host::new(2, &[]) else {
        return;
    };
    let fake = host.file("vagrant");
    for version in ["2.4.6", "2.4.7"] {
        fs::write(&fake, format!("#!/bin/sh\necho Vagrant {version}\n")).expect("fake");
        fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).expect("fake");
        let mut command: Command = host.command(&["up"]);
        let output = command
            .env("WDEV_VAGRANT", &fake)
            .output()
            .expect("wdev runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{text}");
        assert!(text.contains(version), "{text}");
    }
    assert!(!host.is_touched(), "nothing was asked of Hyper-V");
}
