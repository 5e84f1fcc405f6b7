//! Doubled Windows workers in machines of Vagrant's docker provider that become nodes of a real Kubernetes
//! 1.20.2: wdev's own PowerShell scripts do everything, Windows' commands are doubled, and where a double
//! stands for a service or a program of the node it hands on to the real one of Linux.
//!
//! Run by `make test-real`. What is made up for is in `tests/real/cluster.rs` and `tests/real/worker/`.
#![cfg(unix)]

mod common;
#[path = "real_worker/emulated.rs"]
mod emulated;
mod real;

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use real::cluster::{Cluster, Material, WINDOWS};
use real::run::Run;
use real::sandbox::Sandbox;
use real::{wait_for, wanted};

/// How long a node may take to tell what is true of it already.
const SETTLING: Duration = Duration::from_mins(1);

/// Two sandboxes come up side by side: one in peace, the other killed again and again.
#[test]
fn windows_workers_become_nodes_and_kills_leave_no_trace() {
    let Some(material) = wanted().then(Material::find).flatten() else {
        return;
    };
    let sites = material.sites();
    let both = (
        material.with_windows(("worker-clean", 0), &sites),
        material.with_windows(("worker", 1), &sites),
    );
    let (Some(clean), Some(killed)) = both else {
        return;
    };
    let peaceful = clean.start_up();
    kill_in_a_reboot(&killed);
    kill_in_the_container_runtime(&killed);
    kill_in_the_join(&killed);
    let _ = killed.start_up().end().with_code(0);
    let _ = peaceful.end().with_code(0);

    for sandbox in [&clean, &killed] {
        assert_nodes_are_ready(&Cluster(sandbox));
        for (worker, _) in WINDOWS {
            let proven = proven_reboots(sandbox, worker);
            assert!(proven >= 2, "{worker}: {proven} proven reboots");
        }
    }
    for (worker, _) in WINDOWS {
        let (after_kills, expected) = (state(&killed, worker), state(&clean, worker));
        assert_eq!(after_kills, expected, "{worker} differs from a clean run's");
    }
    let again = killed.start_up().end().with_code(0).events();
    for lane in ["host"].iter().chain(killed.nodes()) {
        assert_eq!(again.started(lane), [""; 0], "{lane} did something again");
    }
    for sandbox in [clean, killed] {
        let _ = sandbox.run(&["destroy", "--yes"]).with_code(0);
        sandbox.assert_gone();
    }
}

/// Kills wdev and all below it while a worker boots again.
fn kill_in_a_reboot(sandbox: &Sandbox) {
    let mut up = sandbox.start_up();
    up.wait_for("a reboot", |run| {
        let events = run.events();
        let (begun, proven) = events.reboots("winw1");
        (begun.len() > proven.len()).then_some(())
    });
    up.kill_tree();
}

/// Kills wdev alone while the container runtime's script is at work on one worker, and PowerShell on the other.
fn kill_in_the_container_runtime(sandbox: &Sandbox) {
    let mut up = sandbox.start_up();
    wait_for_work(&mut up, sandbox, "winw1", "container-runtime");
    up.kill();
    let mut up = sandbox.start_up();
    wait_for_work(&mut up, sandbox, "winw2", "container-runtime");
    let _ = sandbox.on_node("winw2", "pkill -KILL pwsh");
    up.kill_tree();
}

/// Waits until a step's script runs on the node; where it is over already, there is nothing to wait for.
fn wait_for_work(up: &mut Run, sandbox: &Sandbox, node: &str, step: &str) {
    up.wait_for(&format!("the script of {step} on {node}"), |run| {
        let events = run.events();
        let over = events.finished(node).contains(&step);
        let begun = events.started(node).contains(&step);
        let line = "pgrep -f 'pwsh.*-[Ee]ncoded[Cc]ommand'";
        (over || (begun && sandbox.on_node(node, line).is_some())).then_some(())
    });
}

/// Kills kubeadm while one worker joins, and wdev while the other does.
fn kill_in_the_join(sandbox: &Sandbox) {
    let mut up = sandbox.start_up();
    let joining = |up: &mut Run, node: &str| {
        up.wait_for("kubeadm at work", |_| {
            sandbox.on_node(node, "pgrep -f '^[^ ]*kubeadm join'")
        });
    };
    joining(&mut up, "winw1");
    let _ = sandbox.on_node("winw1", "pkill -KILL -f '^[^ ]*kubeadm join'");
    up.kill_tree();
}

/// Every node is Ready under its own address, with the container runtime that was asked for, and no token is
/// left.
fn assert_nodes_are_ready(cluster: &Cluster) {
    let nodes = cluster.0.nodes().iter();
    let expected: Vec<_> = nodes
        .map(|node| {
            let address = cluster.0.address(node);
            [(*node).to_owned(), "True".to_owned(), address]
        })
        .collect();
    wait_for("nodes that are Ready", SETTLING, || {
        (cluster.nodes() == expected).then_some(())
    });
    assert_eq!(cluster.tokens(), [""; 0], "bootstrap tokens are left");
}

/// How many reboots of a node were proven, over all runs.
fn proven_reboots(sandbox: &Sandbox, node: &str) -> usize {
    let journal = sandbox.state().join("journal.jsonl");
    let text = fs::read_to_string(journal).expect("the journal");
    let lane = format!("\"type\":\"reboot_proven\",\"lane\":\"{node}\"");
    text.matches(&lane).count()
}

/// What is true of a worker in the end, the sandbox's own numbers and names taken out: the files below `C:`
/// with their hashes, what the doubles know, the units and the node object.
fn state(sandbox: &Sandbox, worker: &str) -> BTreeMap<String, String> {
    let mut state = BTreeMap::new();
    let ask = |line: &str| sandbox.on_node(worker, line).unwrap_or_default();
    let files = ask(
        "cd /c && find 'Program Files' k etc/cni opt/cni ProgramData/wdev/cache -type f -exec sha256sum {} +",
    );
    for line in files.lines() {
        if let Some((hash, file)) = line.split_once("  ") {
            state.insert(file.to_owned(), hash.to_owned());
        }
    }
    let world = ask("cat /var/lib/wdev-doubles.json");
    let world: serde_json::Value = serde_json::from_str(&world).expect("the world");
    for (key, value) in world.as_object().expect("the world") {
        if !["log", "boot", "runs", "names"].contains(&key.as_str()) {
            state.insert(format!("world {key}"), value.to_string());
        }
    }
    for unit in ["containerd", "kubelet"] {
        let line = format!("systemctl is-active {unit}; systemctl is-enabled {unit}");
        state.insert(format!("unit {unit}"), ask(&line));
    }
    let args = [
        "get",
        "node",
        worker,
        "--output",
        "jsonpath={.metadata.labels}{\"\\n\"}{.spec.taints}{\"\\n\"}{.status.nodeInfo.kubeletVersion} \
         {.status.nodeInfo.containerRuntimeVersion}{\"\\n\"}\
         {range .status.conditions[*]}{.type}={.status} {end}",
    ];
    let node = Cluster(sandbox).kubectl(&args).expect("the node object");
    state.insert("node".to_owned(), node);
    let (subnet, _) = sandbox.address(worker).rsplit_once('.').map_or_else(
        || unreachable!("an address has dots"),
        |(subnet, number)| (subnet.to_owned(), number.to_owned()),
    );
    for value in state.values_mut() {
        *value = value.replace(&subnet, "SUBNET");
    }
    state
}
