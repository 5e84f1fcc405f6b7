//! Real machines through Vagrant's docker provider: what a user of `wdev` sees, and what docker says.
//!
//! Run by `make test-real`; `make soak` runs it with full counts. The machines are containers with
//! sshd, so every step up to the first that this version of wdev has no script for runs for real.
#![cfg(unix)]

mod common;
#[path = "real_docker/random_kills.rs"]
mod random_kills;
mod real;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use real::run::{Events, Run};
use real::sandbox::{Hook, RECORDS, Sandbox};
use real::{docker, wanted};
use wdev::event::Body;

/// The steps of a Linux machine that this version of wdev has scripts for, before the hooks of the
/// phase `prepare`.
const BUILT: [&str; 8] = [
    "machine", "clock", "facts", "hosts", "kernel", "swap", "dns", "proxy",
];
const FIRST_HOOK: &str = "hook-prepare-1";
const SECOND_HOOK: &str = "hook-prepare-2";
const THIRD_HOOK: &str = "hook-prepare-3";

/// How long wdev may take to end after a first Ctrl-C: it gives Vagrant 15 s.
const GRACE: Duration = Duration::from_secs(30);
/// How long it may take after a second one: less than that.
const AT_ONCE: Duration = Duration::from_secs(10);

/// The built steps and then these hooks were done, in this order; and nothing after them, which this
/// version of wdev cannot do on a real machine.
fn assert_did(events: &Events, node: &str, hooks: &[&str]) {
    let all = [&BUILT, hooks].concat();
    assert_eq!(events.finished(node), all, "{node}");
    assert!(events.announced(node).starts_with(&all), "{node}");
}

/// What a container loses when it stops: docker writes `/etc/hosts` anew, and sysctls live in a network
/// namespace that is made anew. A machine with a kernel and a disk of its own would keep them. The
/// probes of these steps see it, so `up` runs them again; `machine` starts what was halted.
const LOST_BY_A_HALT: [&str; 3] = ["machine", "kernel", "hosts"];

/// Of the steps that were finished, an `up` starts none again but those in `except`.
fn assert_not_repeated(events: &Events, node: &str, finished: &[&str], except: &[&str]) {
    let again = |step: &&str| finished.contains(step) && !except.contains(step);
    let again: Vec<_> = events.started(node).into_iter().filter(again).collect();
    assert_eq!(again, [""; 0], "{node} repeated finished steps");
}

/// The hook that was at work when its run was cut short came to its end, and counts: it was not begun
/// again.
fn assert_adopted(sandbox: &Sandbox, events: &Events) {
    assert_eq!(sandbox.record("cp", "hold"), ["start", "end"]);
    assert!(events.finished("cp").contains(&SECOND_HOOK));
    assert_not_repeated(events, "cp", &[&BUILT[..], &[FIRST_HOOK]].concat(), &[]);
    assert_eq!(sandbox.record("cp", "once"), ["ran"]);
}

/// The record of a hook that notices copies of itself: starts and ends take turns.
fn assert_never_two_copies(record: &[String]) {
    for (index, line) in record.iter().enumerate() {
        let expected = if index % 2 == 0 { "start" } else { "end" };
        assert_eq!(line, expected, "two copies met: {record:?}");
    }
}

/// Kills what serves the connections to a node, as a broken network would.
fn cut_connections(sandbox: &Sandbox, node: &str) {
    let kill = "for p in /proc/[0-9]*; do \
                if tr '\\0' ' ' <$p/cmdline | grep -q '^sshd: vagrant'; then kill -9 ${p#/proc/}; fi; \
                done 2>/dev/null; true";
    sandbox.on_node(node, kill).expect("the node answers");
}

/// Whether SSH clients in the background keep connections to the nodes.
fn is_connected(sandbox: &Sandbox) -> bool {
    let processes = sandbox.processes();
    processes
        .iter()
        .any(|line| line.starts_with("ssh: ") && line.contains("[mux]"))
}

fn wait_for_hook_at_work(up: &mut Run, sandbox: &Sandbox, node: &str) {
    up.wait_for("the hook at work", |_| {
        sandbox.on_node(node, &format!("test -d {RECORDS}/running"))
    });
}

fn release_hook(sandbox: &Sandbox, node: &str) {
    sandbox
        .on_node(node, &format!("touch {RECORDS}/go"))
        .expect("the node answers");
}

#[test]
fn three_machines_come_up_side_by_side_work_and_go_away() {
    if !wanted() {
        return;
    }
    let hooks = [
        Hook::counting("all", "greet"),
        Hook::rebooting("w2", "reboots"),
        Hook::counting("w2", "after"),
    ];
    let sandbox = Sandbox::new("three", 1, &["w1", "w2"], &hooks);

    // Up: side by side, in order, with output in events and logs.
    let ended = sandbox.up_to_the_downloads();
    let events = ended.events();
    let spans = sandbox
        .nodes()
        .iter()
        .map(|node| events.span(node, "machine"));
    let (begins, ends): (Vec<_>, Vec<_>) = spans.unzip();
    assert!(
        begins.iter().max() < ends.iter().min(),
        "one after the other: {begins:?} {ends:?}"
    );
    let mut finished = Vec::new();
    for node in sandbox.nodes() {
        let hooks: &[&str] = match *node {
            "w2" => &[FIRST_HOOK, SECOND_HOOK, THIRD_HOOK],
            _ => &[FIRST_HOOK],
        };
        assert_did(&events, node, hooks);
        assert!(
            events
                .output(node, "greet")
                .contains(&"the hook greet speaks"),
            "{node}: {:?}",
            events.output_of_lane(node)
        );
        assert_log_has(&sandbox, node, FIRST_HOOK, "the hook greet speaks");
        assert_log_has(&sandbox, node, "hosts", "wrote the nodes' names");
        finished.push(events.finished(node));
    }

    assert_rebooted(&sandbox, &events, "w2");

    // The machines see each other's names and carry the settings.
    assert!(
        sandbox
            .on_node("cp", "getent hosts w2")
            .expect("cp knows w2")
            .contains(&sandbox.address("w2"))
    );
    let forwarding = sandbox.on_node("w1", "cat /proc/sys/net/ipv4/ip_forward");
    assert_eq!(forwarding.as_deref(), Some("1"));

    assert_states(&sandbox, "running");

    // A sandbox that wants the same addresses is refused before anything of it is made.
    let other = sandbox.run(&["up", "--sandbox", "t-other"]).with_code(4);
    assert!(other.stderr.contains(sandbox.name()), "{}", other.stderr);
    assert_eq!(sandbox.machines().len(), 3);

    // Commands: output, and the command's own exit code.
    let ran = sandbox.run(&[
        "exec",
        "cp",
        "--",
        "sh",
        "-c",
        "echo 'out $x'; echo oops >&2; exit 7",
    ]);
    let ran = ran.with_code(7);
    assert_eq!(ran.stdout.trim_end(), "out $x");
    assert!(ran.stderr.contains("oops"), "{}", ran.stderr);
    let nobody = sandbox.run(&["exec", "nobody", "--", "true"]).with_code(12);
    assert!(nobody.stderr.contains("nobody"), "{}", nobody.stderr);

    // Halt, and up again: the same machines, nothing repeated.
    let before: BTreeSet<_> = sandbox.machines().into_iter().collect();
    let _ = sandbox.run(&["halt"]).with_code(0);
    let running = docker(&["ps", "--no-trunc", "--quiet"]).expect("docker lists");
    assert!(
        !before.iter().any(|id| running.contains(id)),
        "still running: {running}"
    );
    assert_states(&sandbox, "off");
    let ended = sandbox.up_to_the_downloads();
    let events = ended.events();
    assert_eq!(
        sandbox.machines().into_iter().collect::<BTreeSet<_>>(),
        before
    );
    for (node, finished) in sandbox.nodes().iter().zip(&finished) {
        assert_not_repeated(&events, node, finished, &LOST_BY_A_HALT);
        assert_eq!(sandbox.record(node, "greet"), ["ran"], "{node}");
    }
    assert_eq!(events.reboots("w2"), (vec![], vec![]));
    assert_eq!(sandbox.record("w2", "reboots"), ["ran"]);

    // Destroy, twice.
    let listed = sandbox.run(&["list", "--output", "json"]).with_code(0);
    assert!(listed.stdout.contains(sandbox.name()), "{}", listed.stdout);
    let _ = sandbox.run(&["destroy", "--yes"]).with_code(0);
    sandbox.assert_gone();
    let _ = sandbox.run(&["destroy", "--yes"]).with_code(0);
    let listed = sandbox.run(&["list", "--output", "json"]).with_code(0);
    assert!(!listed.stdout.contains(sandbox.name()), "{}", listed.stdout);
}

/// The second hook asked for a reboot: the same machine was started once more, and only then did the
/// third hook begin.
fn assert_rebooted(sandbox: &Sandbox, events: &Events, node: &str) {
    let (begun, proven) = events.reboots(node);
    assert_eq!((begun.len(), proven.len()), (1, 1), "{begun:?} {proven:?}");
    assert_ne!(begun, proven);
    let machine = sandbox.machine(node).expect("the machine is there");
    let started = docker(&["inspect", "--format", "{{.State.StartedAt}}", &machine]);
    assert_eq!(started.as_deref(), Ok(proven[0]));
    assert_eq!(sandbox.record(node, "reboots"), ["ran"]);
    assert_eq!(events.replaced(), [""; 0]);
    let proof = events.position(|body| matches!(body, Body::RebootProven { .. }));
    let after = events.position(
        |body| matches!(body, Body::StepStarted { step, .. } if step.as_str() == THIRD_HOOK),
    );
    assert!(proof.is_some() && proof < after, "{proof:?} {after:?}");
}

/// The log of a step in some run holds `line`.
fn assert_log_has(sandbox: &Sandbox, node: &str, step: &str, line: &str) {
    let runs = fs::read_dir(sandbox.state().join("logs")).expect("a folder for logs");
    let mut logs = runs.map(|run| {
        run.expect("entry")
            .path()
            .join(format!("{node}-{step}.log"))
    });
    let holds = |log: PathBuf| fs::read_to_string(log).is_ok_and(|text| text.contains(line));
    assert!(logs.any(holds), "no log of {node}/{step} has `{line}`");
}

/// `status` sees every node in this state.
fn assert_states(sandbox: &Sandbox, state: &str) {
    let status = sandbox
        .run(&["status", "--output", "json"])
        .with_code(0)
        .json();
    let nodes = status["nodes"]
        .as_array()
        .unwrap_or_else(|| panic!("no nodes: {status}"));
    for node in sandbox.nodes() {
        let found = nodes.iter().find(|found| found["name"] == *node);
        let found = found.unwrap_or_else(|| panic!("no {node}: {status}"));
        assert_eq!(found["power"], state, "{status}");
    }
}

#[test]
fn a_killed_run_resumes_without_a_second_copy_of_a_script() {
    if !wanted() {
        return;
    }
    let hooks = [Hook::counting("cp", "once"), Hook::holding("cp", "hold")];
    let sandbox = Sandbox::new("killed", 2, &["w1"], &hooks);

    // In the middle of creation.
    let mut up = sandbox.start_up();
    wait_for_a_machine(&mut up, &sandbox);
    up.kill_tree();

    // Like a power cut of the host's side: only the script lives on.
    let mut up = sandbox.start_up();
    wait_for_hook_at_work(&mut up, &sandbox, "cp");
    let events = up.events();
    assert_did(&events, "cp", &[FIRST_HOOK]);
    up.kill_tree();

    // A crash of wdev alone while it waits for the script: its SSH client lives on, too.
    let mut up = sandbox.start_up();
    up.wait_for_word_of_waiting("cp");
    up.kill();

    let mut up = sandbox.start_up();
    up.wait_for_word_of_waiting("cp");
    assert_eq!(sandbox.record("cp", "hold"), ["start"]);
    // The connection is cut: wdev goes back to the script by itself.
    cut_connections(&sandbox, "cp");
    up.wait_for("word of the cut connection", |run| {
        let events = run.events();
        let lines = events.output_of_lane("cp");
        let cut = |line: &&str| line.contains("going back to the script");
        lines.iter().any(cut).then_some(())
    });
    release_hook(&sandbox, "cp");
    let ended = up.end().with_code(4);
    assert_adopted(&sandbox, &ended.events());

    assert!(is_connected(&sandbox));
    let _ = sandbox.run(&["destroy", "--yes"]).with_code(0);
    assert!(!is_connected(&sandbox), "a connection is left");
    sandbox.assert_gone();
}

#[test]
fn an_interrupted_run_resumes_and_holds_the_sandbox_until_it_ends() {
    if !wanted() {
        return;
    }
    let hooks = [Hook::counting("all", "once"), Hook::holding("cp", "hold")];
    let sandbox = Sandbox::new("interrupted", 3, &["w1"], &hooks);

    let mut up = sandbox.start_up();
    wait_for_hook_at_work(&mut up, &sandbox, "cp");

    // Nobody else gets in.
    let refused = sandbox.run(&["up"]).with_code(11);
    let holder = up.pid().to_string();
    assert!(
        refused.stderr.contains(&holder),
        "does not name {holder}: {}",
        refused.stderr
    );
    let _ = sandbox.run(&["destroy", "--yes"]).with_code(11);
    // Looking is free.
    let _ = sandbox.run(&["status"]).with_code(0);

    // Interrupted, while the script goes on.
    up.signal("INT");
    let ended = up.end_within(GRACE).with_code(130);
    assert_did(&ended.events(), "cp", &[FIRST_HOOK]);

    // Interrupted twice: it waits for nothing.
    let mut up = sandbox.start_up();
    up.wait_for_word_of_waiting("cp");
    up.signal("INT");
    up.wait_for_interrupting();
    up.signal("INT");
    let _ = up.end_within(AT_ONCE).with_code(130);
    assert_eq!(sandbox.record("cp", "hold"), ["start"]);

    release_hook(&sandbox, "cp");
    let events = sandbox.up_to_the_downloads().events();
    assert_adopted(&sandbox, &events);

    // A machine that is removed behind wdev's back is made again, and it alone.
    let kept = sandbox.machine("cp");
    let lost = sandbox.machine("w1").expect("w1 is there");
    docker(&["rm", "--force", "--volumes", &lost]).expect("docker removes");
    let events = sandbox.up_to_the_downloads().events();
    assert_eq!(events.replaced(), ["w1"]);
    assert_did(&events, "w1", &[FIRST_HOOK]);
    assert_eq!(events.started("cp"), [""; 0]);
    assert_eq!(sandbox.machine("cp"), kept);
    assert_ne!(sandbox.machine("w1"), Some(lost));
    assert_eq!(sandbox.record("w1", "once"), ["ran"]);
    assert_eq!(sandbox.record("cp", "once"), ["ran"]);

    let _ = sandbox.run(&["destroy", "--yes"]).with_code(0);
    sandbox.assert_gone();
}

/// Two checkouts of one project: the names of sandbox and nodes are the same, the subnets are not.
#[test]
fn two_sandboxes_side_by_side_leave_each_other_alone() {
    if !wanted() {
        return;
    }
    let a = Sandbox::new("half", 4, &["w1"], &[]);
    let b = Sandbox::new("half", 6, &["w1"], &[]).beside(&a);

    // One is killed in the middle of creation and destroyed while the other is being made.
    let up_b = b.start_up();
    let mut up_a = a.start_up();
    wait_for_a_machine(&mut up_a, &a);
    up_a.kill_tree();
    let _ = a.run(&["destroy", "--yes"]).with_code(0);
    a.assert_gone();

    // Both at once.
    let _ = a.up_to_the_downloads();
    let _ = up_b.end().with_code(4);
    let mut names = BTreeSet::new();
    let mut ports = BTreeSet::new();
    for sandbox in [&a, &b] {
        assert_states(sandbox, "running");
        let there = sandbox
            .on_node("cp", "getent hosts w1")
            .expect("cp knows w1");
        assert!(there.contains(&sandbox.address("w1")), "{there}");
        for machine in sandbox.machines() {
            let format = "{{.Name}} {{json .NetworkSettings.Ports}}";
            let about = docker(&["inspect", "--format", format, &machine]).expect("docker tells");
            let (name, published) = about.split_once(' ').expect("name and ports");
            names.insert(name.to_owned());
            ports.extend(host_ports(published));
        }
    }
    assert_eq!(names.len(), 4, "{names:?}");
    assert_eq!(ports.len(), 4, "{ports:?}");
    let listed = a.run(&["list", "--output", "json"]).with_code(0);
    for sandbox in [&a, &b] {
        let folder = sandbox.state().display().to_string();
        assert!(listed.stdout.contains(&folder), "{}", listed.stdout);
    }

    // One goes, the other stays as it was.
    let kept: BTreeSet<_> = b.machines().into_iter().collect();
    let _ = a.run(&["destroy", "--yes"]).with_code(0);
    a.assert_gone();
    assert_eq!(b.machines().into_iter().collect::<BTreeSet<_>>(), kept);
    let _ = b
        .run(&["exec", "cp", "--", "getent", "hosts", "w1"])
        .with_code(0);
    let _ = b.run(&["destroy", "--yes"]).with_code(0);
    b.assert_gone();
}

/// The ports of this host in docker's account of a machine's ports.
fn host_ports(published: &str) -> Vec<String> {
    let ports: serde_json::Value = serde_json::from_str(published).expect("JSON");
    let bindings = ports
        .as_object()
        .into_iter()
        .flat_map(|ports| ports.values());
    let bindings = bindings
        .filter_map(|bindings| bindings.as_array())
        .flatten();
    bindings.map(|it| it["HostPort"].to_string()).collect()
}

/// Somebody works on a machine with Vagrant by hand while `up` wants to start it.
#[test]
fn an_up_waits_for_a_vagrant_that_somebody_else_runs() {
    if !wanted() {
        return;
    }
    let hooks = [Hook::holding("cp", "hold")];
    let sandbox = Sandbox::new("foreign", 7, &["w1"], &hooks);
    // Rendered, and with a network of ours: any other `vagrant destroy` may take away one of Vagrant's.
    let mut up = sandbox.start_up();
    wait_for_a_machine(&mut up, &sandbox);
    up.kill_tree();
    let _ = sandbox.run(&["halt"]);
    // wdev removes a half-made machine by itself; plain Vagrant stumbles over one.
    for machine in sandbox.machines() {
        docker(&["rm", "--force", &machine]).expect("the machine goes");
    }

    let mut by_hand = sandbox.vagrant(&["up", "cp", "--provision", "--provision-with", FIRST_HOOK]);
    by_hand.wait_for("the hook at work", |_| {
        sandbox.on_node("cp", &format!("test -d {RECORDS}/running"))
    });
    let mut up = sandbox.start_up();
    up.wait_for("word of the other Vagrant", |run| {
        let events = run.events();
        let lines = events.output_of_lane("cp");
        let told = |line: &&str| line.contains("another Vagrant is at work on `cp`");
        lines.iter().any(told).then_some(())
    });
    release_hook(&sandbox, "cp");
    let _ = by_hand.end().with_code(0);
    let events = up.end().with_code(4).events();
    assert_did(&events, "cp", &[FIRST_HOOK]);
    assert_never_two_copies(&sandbox.record("cp", "hold"));

    let _ = sandbox.run(&["destroy", "--yes"]).with_code(0);
    sandbox.assert_gone();
}

fn wait_for_a_machine(up: &mut Run, sandbox: &Sandbox) {
    up.wait_for("a first machine", |_| {
        (!sandbox.machines().is_empty()).then_some(())
    });
}
