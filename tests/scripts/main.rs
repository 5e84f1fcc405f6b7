//! The bodies of the steps for Linux nodes, run by real bash on files of the test's own.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod address;
mod clock;
#[path = "../common/mod.rs"]
mod common;
mod memory;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;

use address::own_address;
use common::need;
use common::scripted::Node;
use wdev::error::Kind;
use wdev::render::linux::{self, HostEntry, KernelSettings};

fn nodes(names: &[(&str, u8)]) -> String {
    let entry = |(name, last): &(&str, u8)| HostEntry {
        address: [10, 0, 0, *last].into(),
        names: vec![(*name).to_owned()],
    };
    linux::hosts(&names.iter().map(entry).collect::<Vec<_>>()).unwrap()
}

#[test]
fn shellcheck_finds_nothing() {
    let Some(shellcheck) = need("shellcheck") else {
        return;
    };
    for body in [
        linux::facts().unwrap(),
        linux::clock(2000).unwrap(),
        linux::kernel(&KernelSettings::kubernetes().unwrap()).unwrap(),
        linux::swap().unwrap(),
        own_address("00:15:5d:00:00:02"),
        linux::kubeconfig(false).unwrap(),
        linux::kubeconfig(true).unwrap(),
        nodes(&[("cp", 10)]),
        linux::hook("echo \"$HOME\" 'x'\n").unwrap(),
    ] {
        common::run(
            Command::new(&shellcheck).args(["--shell=bash", "-"]),
            body.as_bytes(),
        );
    }
}

#[test]
fn hosts_has_one_block_that_is_replaced_in_place() {
    let Some(bash) = need("bash") else { return };
    let node = Node::new(&[("hosts", "127.0.0.1 localhost\n127.0.1.1 cp\n")]);
    let inode = fs::metadata(node.path("hosts")).unwrap().ino();
    let old = nodes(&[("cp", 10), ("gone", 11)]);
    let new = nodes(&[("cp", 10), ("winw1", 12)]);
    let call = |body: &str, call: &str| node.call(&bash, body, "wdev_hosts=hosts", call).ok();
    assert!(call(&old, "wdev_probe").contains("not in place"));
    assert_ne!(call(&old, "wdev_run"), "");
    assert_eq!(call(&old, "wdev_probe"), "");
    assert!(call(&new, "wdev_probe").contains("not in place"));
    call(&new, "wdev_run");
    let expected = "# begin: nodes (wdev)\n10.0.0.10\tcp\n10.0.0.12\twinw1\n# end: nodes (wdev)\n\
                    127.0.0.1 localhost\n127.0.1.1 cp\n";
    assert_eq!(node.read("hosts"), expected);
    assert_eq!(call(&new, "wdev_run >/dev/null; wdev_probe"), "");
    assert_eq!(node.read("hosts"), expected);
    assert_eq!(fs::metadata(node.path("hosts")).unwrap().ino(), inode);
}

#[test]
fn hosts_loses_no_line_when_a_blocks_end_is_missing() {
    let Some(bash) = need("bash") else { return };
    let node = Node::new(&[("hosts", "# begin: nodes (wdev)\n10.9.9.9 precious")]);
    let body = nodes(&[("cp", 10)]);
    node.call(&bash, &body, "wdev_hosts=hosts", "wdev_run").ok();
    assert!(
        node.read("hosts")
            .ends_with("# end: nodes (wdev)\n10.9.9.9 precious\n")
    );
    assert_eq!(
        node.call(&bash, &body, "wdev_hosts=hosts", "wdev_probe")
            .ok(),
        ""
    );
}

#[test]
fn a_name_that_the_hosts_file_cannot_carry_is_refused() {
    let long = "a".repeat(64);
    for name in ["a b", "a\n1.2.3.4 evil", "#", "", "-a", "a..b", "ü", &long] {
        let entry = HostEntry {
            address: [10, 0, 0, 1].into(),
            names: vec![name.to_owned()],
        };
        let failure = linux::hosts(&[entry]).unwrap_err();
        assert_eq!(failure.kind, Kind::Configuration, "{name:?}");
    }
}

#[test]
fn a_kubeconfig_is_told_by_the_hashes_of_its_certificates_and_given_as_a_secret() {
    let Some(bash) = need("bash") else { return };
    let conf = "clusters:\n- cluster:\n    certificate-authority-data: QUFB\nusers:\n- user:\n    \
                client-certificate-data: Q0ND\n    client-key-data: S0VZ\n";
    let node = Node::new(&[("admin.conf", conf), ("empty", "")]);
    let call = |fetch, file: &str| {
        let body = linux::kubeconfig(fetch).unwrap();
        node.call(
            &bash,
            &body,
            &format!("wdev_admin_conf={file}"),
            "wdev_probe",
        )
    };
    let told = call(false, "admin.conf").ok();
    for (name, value) in [("authority", "QUFB"), ("certificate", "Q0ND")] {
        let hash = common::sha256(value.as_bytes());
        assert!(told.contains(&format!("fact {name}={hash}\n")), "{told}");
    }
    assert!(!told.contains("S0VZ"), "{told}");
    let given = call(true, "admin.conf").ok();
    assert!(given.contains("secret kubeconfig=clusters:"), "{given}");
    assert!(!given.contains("fact "), "{given}");
    for file in ["empty", "none"] {
        let said = call(true, file).ok();
        assert!(
            said.contains("there is no ") && !said.contains("secret"),
            "{said}"
        );
    }
}

#[test]
fn facts_are_told_and_an_unknown_system_is_refused() {
    let Some(bash) = need("bash") else { return };
    let node = Node::new(&[
        (
            "ubuntu",
            "ID=ubuntu\nVERSION_ID=\"24.04\"\nPRETTY_NAME='a $(b)'\n",
        ),
        ("alpine", "ID=alpine\nVERSION_ID=3\n"),
    ]);
    node.program("uname", "[[ $1 == -m ]] && echo x86_64 || echo 6.1.0");
    let body = linux::facts().unwrap();
    let call =
        |file: &str, call: &str| node.call(&bash, &body, &format!("wdev_os_release={file}"), call);
    if Path::new("/proc/sys/kernel/random/boot_id").exists() {
        let told = call("ubuntu", "wdev_run").ok();
        for fact in [
            "os_id=ubuntu\n",
            "os_version=24.04\n",
            "arch=x86_64\n",
            "kernel=6.1.0\n",
        ] {
            assert!(told.contains(&format!("fact {fact}")), "{told}");
        }
        let facts = |text: &str| -> Vec<String> {
            let facts = text.lines().filter(|line| line.starts_with("fact "));
            facts.map(str::to_owned).collect()
        };
        assert_eq!(facts(&call("ubuntu", "wdev_probe").ok()), facts(&told));
    } else {
        common::allowed_skip("Linux, for the facts that come from /proc");
    }
    let said = call("alpine", "wdev_run").failed();
    assert!(
        said.contains("'alpine', not one of: debian ubuntu"),
        "{said}"
    );
    assert!(
        call("none", "wdev_run")
            .failed()
            .contains("neither Debian nor Ubuntu")
    );
    assert!(
        call("alpine", "wdev_probe")
            .ok()
            .starts_with("not in place: ")
    );
    node.program("uname", "echo riscv64");
    assert!(call("ubuntu", "wdev_run").failed().contains("riscv64"));
}

#[test]
fn a_hook_asks_for_a_reboot_by_a_file_and_only_when_it_ends_well() {
    let Some(bash) = need("bash") else { return };
    let node = Node::new(&[]);
    let call = |text: &str| {
        let body = linux::hook(text).unwrap();
        node.call(&bash, &body, "", "wdev_run")
    };
    assert!(call("touch \"$WDEV_REBOOT\"").ok().contains("reboot"));
    assert_eq!(call("true").ok(), "");
    let failed = call("touch \"$WDEV_REBOOT\"; exit 1");
    assert!(!failed.out.contains("reboot"), "{}", failed.out);
    failed.failed();
}

#[test]
fn a_hook_runs_as_it_was_written_and_its_exit_code_is_kept() {
    let Some(bash) = need("bash") else { return };
    let node = Node::new(&[]);
    let body = linux::hook("#!/bin/bash\r\nif true; then\r\n  printf '%s' \"it's $((1 + 1))\" >out\r\nfi\r\nexit 7\r\n")
        .unwrap();
    assert_eq!(
        node.call(&bash, &body, "TMPDIR=.", "wdev_run").code,
        Some(7)
    );
    assert_eq!(node.read("out"), "it's 2");
    let left: Vec<_> = fs::read_dir(node.path("."))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left, ["out"], "its file is taken away");
    assert!(
        node.call(&bash, &body, "", "wdev_probe")
            .ok()
            .contains("has not run yet")
    );
    fs::write(node.path("stamp"), "").unwrap();
    assert_eq!(node.call(&bash, &body, "", "wdev_probe").ok(), "");
}
