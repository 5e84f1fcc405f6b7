//! Real machines through Vagrant's libvirt provider: emulated, with kernels, disks and snapshots of
//! their own. What a user of `wdev` sees, and what libvirt says.
//!
//! Run by `make test-real`. A machine takes about a minute to boot, so there is one sandbox, and one test
//! that leads it through its life.
#![cfg(unix)]

mod common;
mod real;

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::{Duration, Instant};

use real::emulated::{Emulated, listed, virsh};
use real::run::{Events, Run};
use real::sandbox::{Hook, RECORDS};
use real::{at_the_downloads, wait_for, wanted};

/// The steps of a Linux machine before the hooks of the phase `prepare`.
const BUILT: [&str; 8] = [
    "machine", "clock", "facts", "hosts", "kernel", "swap", "dns", "proxy",
];
/// How long a machine may take for anything that it does by itself.
const LIMIT: Duration = Duration::from_mins(10);
/// How far the clock of a machine that was brought back must at least be behind: more than wdev takes for
/// agreement.
const BEHIND: Duration = Duration::from_secs(8);

/// The `up` came to where it needs the first download.
fn to_the_downloads(up: Run) -> Events {
    at_the_downloads(&up.end().with_code(4))
}

fn lines_of(sandbox: &Emulated, node: &str, record: &str) -> Vec<String> {
    let text = sandbox.on_node(node, &format!("cat {RECORDS}/{record} 2>/dev/null || true"));
    text.lines().map(str::to_owned).collect()
}

#[test]
fn two_machines_live_through_kills_reboots_and_a_snapshot_and_go_away() {
    if !wanted() {
        return;
    }
    let hooks = vec![
        Hook::counting("all", "greet"),
        Hook::rebooting("w1", "reboots"),
    ];
    let Some(mut sandbox) = Emulated::new("vm", 0, &["w1"], hooks) else {
        return;
    };

    // Killed while both boot, and again while one reboots; the third run ends the work.
    kill_in_boot(&sandbox);
    let (old, finished) = kill_in_reboot(&sandbox);
    let events = to_the_downloads(sandbox.start_up());
    assert_reboot_proven(&sandbox, &events, &old);
    for node in sandbox.nodes() {
        assert!(events.announced(node).starts_with(&BUILT), "{node}");
        let again = repeated(&events, node, &finished);
        let again: Vec<_> = again
            .into_iter()
            .filter(|step| *step != "machine")
            .collect();
        assert_eq!(again, [""; 0], "{node} repeated finished steps");
        assert_eq!(lines_of(&sandbox, node, "greet"), ["ran"], "{node}");
    }

    assert_they_reach_each_other(&sandbox);
    snapshot_and_what_it_undid(&mut sandbox);
    off_and_on(&sandbox);
    assert_gone_after_destroy(&sandbox);
}

/// Kills wdev and Vagrant once libvirt has both machines, neither of which has come up: they boot side by
/// side, and boot on.
fn kill_in_boot(sandbox: &Emulated) {
    let mut up = sandbox.start_up();
    up.wait_for("both machines", |_| {
        let running = listed(&["list", "--name"]);
        let ours = sandbox.machines();
        (ours.len() == 2 && ours.iter().all(|name| running.contains(name))).then_some(())
    });
    let events = up.events();
    for node in sandbox.nodes() {
        assert_eq!(events.finished(node), [""; 0], "{node} was killed too late");
    }
    up.kill_tree();
}

/// Lets a run go on until `w1` is off for the reboot that its hook asked for, and kills it. Returns the
/// boot that was to end, and the steps that were finished.
fn kill_in_reboot(sandbox: &Emulated) -> (String, Vec<(String, String)>) {
    let mut up = sandbox.start_up();
    let old = up.wait_for("the reboot of w1", |run| {
        let events = run.events();
        let (begun, proven) = events.reboots("w1");
        assert_eq!(proven, [""; 0], "it was not to be seen to its end");
        begun.first().map(|boot| (*boot).to_owned())
    });
    let events = up.events();
    up.kill_tree();
    let finished = sandbox.nodes().iter().flat_map(|node| {
        let steps = events.finished(node).into_iter();
        steps.map(|step| ((*node).to_owned(), step.to_owned()))
    });
    (old, finished.collect())
}

/// The reboot that was begun before the kill is proven by another boot, and the hook did not run again.
fn assert_reboot_proven(sandbox: &Emulated, events: &Events, old: &str) {
    let (_, proven) = events.reboots("w1");
    assert_eq!(proven.len(), 1, "no reboot was proven");
    assert_ne!(proven[0], old);
    assert_eq!(proven[0], sandbox.boot("w1"));
    assert_eq!(lines_of(sandbox, "w1", "reboots"), ["ran"]);
}

/// The steps of `node` that began, but for the first one that this version of wdev has no script for.
fn done_again<'a>(events: &'a Events, node: &str) -> Vec<&'a str> {
    let mut started = events.started(node);
    started.retain(|step| *step != "container-runtime");
    started
}

fn repeated<'a>(events: &'a Events, node: &str, finished: &[(String, String)]) -> Vec<&'a str> {
    let done = |step: &&str| finished.iter().any(|(of, done)| of == node && done == step);
    events.started(node).into_iter().filter(done).collect()
}

fn assert_they_reach_each_other(sandbox: &Emulated) {
    let address = sandbox.address("w1");
    let hosts = sandbox.on_node("cp", "getent hosts w1");
    assert!(hosts.contains(&address), "{hosts}");
    // The SSH server of the other machine, by its private address.
    let banner = sandbox.on_node("cp", "bash -c 'exec 3<>/dev/tcp/w1/22 && head -n 1 <&3'");
    assert!(banner.contains("SSH"), "{banner}");
    let failed = sandbox.run(&["exec", "w1", "--", "sh", "-c", "echo oops >&2; exit 7"]);
    let failed = failed.with_code(7);
    assert!(failed.stderr.contains("oops"), "{}", failed.stderr);
}

/// `cp` is brought back to a live snapshot, past wdev, and `w1` is rebooted; the next `up` believes
/// nothing that the snapshot undid.
fn snapshot_and_what_it_undid(sandbox: &mut Emulated) {
    let (cp, w1) = (sandbox.machine("cp"), sandbox.machine("w1"));
    let (early, w1_boot) = (sandbox.boot("cp"), sandbox.boot("w1"));
    virsh(&["snapshot-create-as", &cp, "early"]).expect("a live snapshot");
    let taken = Instant::now();

    // Work and a proven reboot that the snapshot knows nothing of.
    sandbox.add_hook(Hook::counting("cp", "late"));
    sandbox.add_hook(Hook::rebooting("cp", "late-reboot"));
    // In a soak also a reboot behind wdev's back, which otherwise Hyper-V's test sees.
    if common::is_soak() {
        virsh(&["reset", &w1]).expect("a reboot behind wdev's back");
        wait_for("w1 after its reboot", LIMIT, || {
            let id = ["exec", "w1", "--", "cat", "/proc/sys/kernel/random/boot_id"];
            let asked = sandbox.run(&id);
            (asked.code == Some(0) && asked.stdout.trim_end() != w1_boot).then_some(())
        });
    }
    let events = to_the_downloads(sandbox.start_up());
    assert_eq!(lines_of(sandbox, "cp", "late"), ["ran"]);
    let (_, proven) = events.reboots("cp");
    assert_eq!(proven.len(), 1);
    assert_ne!(proven[0], early);
    // Another boot of w1 is no other machine, and undoes nothing that is on its disk.
    assert_eq!(events.replaced(), [""; 0]);
    assert_eq!(done_again(&events, "w1"), [""; 0]);

    sleep(BEHIND.saturating_sub(taken.elapsed()));
    virsh(&["snapshot-revert", &cp, "early"]).expect("the snapshot comes back");
    wait_for("cp after its snapshot", LIMIT, || {
        (sandbox.run(&["exec", "cp", "--", "true"]).code == Some(0)).then_some(())
    });
    assert_eq!(sandbox.boot("cp"), early);
    assert_eq!(lines_of(sandbox, "cp", "late"), [""; 0]);

    let events = to_the_downloads(sandbox.start_up());
    let started = events.started("cp");
    assert!(started.contains(&"clock"), "{started:?}");
    let clock = events.output("cp", "clock").join("\n");
    assert!(clock.contains("behind"), "{clock}");
    assert_clock_is_right(sandbox, "cp");
    assert_eq!(lines_of(sandbox, "cp", "late"), ["ran"]);
    assert_eq!(lines_of(sandbox, "cp", "greet"), ["ran"]);
    // The boot of the snapshot was seen before: the reboot that is asked for again ends in a third one.
    let (begun, proven) = events.reboots("cp");
    assert_eq!(begun, [early.as_str()]);
    assert_eq!(proven.len(), 1);
    assert_ne!(proven[0], early);
    assert_eq!(proven[0], sandbox.boot("cp"));
    virsh(&["snapshot-delete", &cp, "early"]).expect("the snapshot goes");
}

fn assert_clock_is_right(sandbox: &Emulated, node: &str) {
    let host = || jiff::Timestamp::now().as_second();
    let before = host();
    let there: i64 = sandbox.on_node(node, "date +%s").parse().expect("seconds");
    let after = host();
    assert!(
        (before - 3..=after + 3).contains(&there),
        "{node}: {there}, here {before} to {after}"
    );
}

fn off_and_on(sandbox: &Emulated) {
    let before: BTreeSet<_> = sandbox.machines().into_iter().collect();
    let _ = sandbox.run(&["halt"]).with_code(0);
    let running = listed(&["list", "--name"]);
    assert!(
        !before.iter().any(|name| running.contains(name)),
        "still running: {running:?}"
    );
    let events = to_the_downloads(sandbox.start_up());
    let after: BTreeSet<_> = sandbox.machines().into_iter().collect();
    assert_eq!(after, before);
    for node in sandbox.nodes() {
        assert_eq!(done_again(&events, node), ["machine"], "{node}");
    }
}

fn assert_gone_after_destroy(sandbox: &Emulated) {
    let base = sandbox.base_volumes();
    assert_eq!(base.len(), 1, "{base:?}");
    // What a machine uses stays.
    let pruned = sandbox.run(&["cache", "prune"]).with_code(0);
    assert!(!pruned.stdout.contains(&base[0]), "{pruned:?}");

    let _ = sandbox.run(&["destroy", "--yes"]).with_code(0);
    assert_eq!(sandbox.machines(), [""; 0], "machines are left");
    assert_eq!(sandbox.rests(), [""; 0], "networks or volumes are left");
    assert!(!sandbox.state().exists(), "files are left");
    let _ = sandbox.run(&["destroy", "--yes"]).with_code(0);

    assert_eq!(sandbox.base_volumes(), base);
    let shown = sandbox.run(&["cache", "prune", "--dry-run"]).with_code(0);
    assert!(shown.stdout.contains(&base[0]), "{shown:?}");
    assert_eq!(sandbox.base_volumes(), base);
    let _ = sandbox.run(&["cache", "prune"]).with_code(0);
    assert_eq!(sandbox.base_volumes(), [""; 0]);
    let again = sandbox.run(&["cache", "prune"]).with_code(0);
    assert!(again.stdout.contains("nothing to remove"), "{again:?}");
}
