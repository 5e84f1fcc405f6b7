//! Killed at any instant, the next `up` finishes the work and repeats at most what was running.
//!
//! The engine runs the shipping plan on the simulator. A crash is a drop of the whole engine: at a
//! chosen byte of the journal, or at a chosen moment. The simulated world, like a real one, lives on.
//! However often that happens, the world must end as it does in a run that nothing disturbs.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(
    clippy::print_stdout,
    reason = "figures for who runs it with --nocapture"
)]

mod common;
#[path = "crash/reboots.rs"]
mod reboots;
#[path = "crash/world.rs"]
mod world;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use wdev::engine::state::{State, Status};
use wdev::event::{Body, Event};
use wdev::provider::sim::RandomFaults;

use self::world::{Crash, Sandbox, share_out};

/// The smallest sandbox with every kind of step: a control plane and two workers.
fn sandbox(seed: u64) -> Sandbox {
    Sandbox::new(2, seed, None)
}

/// The essence of the world that an undisturbed run leaves, and the events of that run.
fn undisturbed(seed: u64) -> (String, Vec<Event>) {
    let sandbox = sandbox(seed);
    assert!(
        sandbox.run(Crash::Never).is_done(),
        "a clean run must end well"
    );
    (sandbox.essence(), sandbox.events())
}

/// A number from the environment.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// Runs until it is done; `after` says what is known of the first, crashed run.
fn resume(sandbox: &Sandbox, after: &str) {
    for _ in 0..4 {
        let end = sandbox.run(Crash::Never);
        if end.is_done() {
            return;
        }
    }
    panic!(
        "{after}: still not done after four more runs: {:?}",
        sandbox.last_failure()
    );
}

/// The scripts that a crashed run may have to repeat: those of steps that it had begun and not ended.
fn begun(events: &[Event]) -> BTreeSet<(String, String)> {
    let state = State::from_events(events);
    let begun = state
        .steps
        .iter()
        .filter(|(_, record)| record.status == Status::Started);
    begun
        .map(|(key, _)| (key.lane.to_string(), key.step.to_string()))
        .collect()
}

/// Crashes once, resumes, and holds the result against the undisturbed world.
fn crash_and_compare(seed: u64, crash: Crash, clean: &str, what: &str) {
    let sandbox = sandbox(seed);
    let end = sandbox.run(crash);
    assert!(end.is_crash(), "{what}: the crash must come before the end");
    let begun = begun(&sandbox.events());
    resume(&sandbox, what);
    assert_eq!(
        sandbox.essence(),
        clean,
        "{what}: another world than after a clean run"
    );
    for completion in sandbox.completions() {
        let step = (completion.node.to_string(), completion.script.clone());
        // Every join has a token of its own, so its script is meant to run again.
        if completion.times > 1 && completion.script != "join-token" {
            assert!(
                begun.contains(&step),
                "{what}: `{}` of `{}` was repeated, though it was not running",
                step.1,
                step.0
            );
        }
    }
}

#[test]
fn a_crash_before_in_the_middle_of_and_after_every_journal_record() {
    let seed = 1;
    let (clean, events) = undisturbed(seed);
    let records = events.len();
    assert!(records > 60, "only {records} records: is the plan empty?");
    let crashes: Vec<Crash> = (0..records)
        .flat_map(|record| {
            [
                Crash::Before(record),
                Crash::In(record, 0.5),
                Crash::In(record, 0.99),
                Crash::After(record),
            ]
        })
        // The record that ends the run is written when everything is done: there is no crash after it.
        .filter(|crash| *crash != Crash::After(records - 1))
        .collect();
    println!("{} crashes over {records} records", crashes.len());
    share_out(crashes, |crash| {
        crash_and_compare(seed, crash, &clean, &format!("{crash:?}"));
    });
}

#[test]
fn a_crash_in_the_middle_of_every_step() {
    let seed = 2;
    let (clean, events) = undisturbed(seed);
    let moments: Vec<(String, Duration)> = world::middles(&events);
    let steps = events
        .iter()
        .filter(|event| matches!(event.body, Body::StepFinished { .. }))
        .count();
    assert_eq!(moments.len(), steps, "every step has a middle");
    println!("{} steps", moments.len());
    share_out(moments, |(step, moment)| {
        crash_and_compare(
            seed,
            Crash::At(moment),
            &clean,
            &format!("in the middle of {step}"),
        );
    });
}

#[test]
fn a_crash_in_a_reboot_is_followed_by_its_proof_and_not_by_another_reboot() {
    let seed = 3;
    let (clean, events) = undisturbed(seed);
    let begin = events[0].at;
    let since = |event: &Event| event.at.duration_since(begin).unsigned_abs();
    let started = |event: &&Event| matches!(event.body, Body::RebootStarted { .. });
    let reboots: Vec<(String, Duration)> = events
        .iter()
        .filter(started)
        .flat_map(|event| {
            let lane = event.body.lane().unwrap().to_string();
            // While the machine goes down, while it boots, and when it has just come back.
            [1, 20, 60].map(|seconds| (lane.clone(), since(event) + Duration::from_secs(seconds)))
        })
        .collect();
    assert!(reboots.len() >= 6, "both workers reboot: {reboots:?}");
    share_out(reboots, |(lane, moment)| {
        let sandbox = sandbox(seed);
        assert!(sandbox.run(Crash::At(moment)).is_crash());
        resume(&sandbox, &lane);
        assert_eq!(sandbox.essence(), clean);
        let events = sandbox.events();
        let of_lane = || {
            events
                .iter()
                .filter(|event| event.body.lane().is_some_and(|l| l.as_str() == lane))
        };
        assert_eq!(
            of_lane().filter(started).count(),
            1,
            "{lane} at {moment:?}: a second reboot"
        );
        let proofs = of_lane()
            .filter(|event| matches!(event.body, Body::RebootProven { .. }))
            .count();
        assert_eq!(
            proofs, 1,
            "{lane} at {moment:?}: the reboot was never proven"
        );
    });
}

#[test]
fn a_crash_while_a_changed_configuration_is_carried_out() {
    // Undisturbed: made as it was, then changed.
    let changed = |crash: Crash| {
        let mut sandbox = sandbox(4);
        assert!(sandbox.run(Crash::Never).is_done());
        sandbox.change(|config| config.container_runtime.version = "2.1.9".to_owned());
        let before = sandbox.events().len();
        sandbox.run(crash);
        (sandbox, before)
    };
    let (clean, before) = changed(Crash::Never);
    let records = clean.events().len() - before;
    let again = clean.events()[before..]
        .iter()
        .filter(|event| matches!(event.body, Body::StepFinished { .. }))
        .count();
    assert!(
        again > 10,
        "the container runtime and what comes after it runs again: {again}"
    );
    let essence = clean.essence();
    let crashes = (0..records - 1).flat_map(|record| [Crash::Before(record), Crash::After(record)]);
    share_out(crashes.collect(), |crash| {
        let (sandbox, _) = changed(crash);
        resume(&sandbox, &format!("{crash:?}"));
        assert_eq!(sandbox.essence(), essence, "{crash:?}");
        // The runs after the change, whole or not, did together all that the undisturbed one did.
        let did = |sandbox: &Sandbox| -> BTreeSet<String> {
            let finished =
                sandbox
                    .events()
                    .into_iter()
                    .skip(before)
                    .filter_map(|event| match event.body {
                        Body::StepFinished { lane, step, .. } => Some(format!("{lane}/{step}")),
                        _ => None,
                    });
            finished.collect()
        };
        assert_eq!(did(&sandbox), did(&clean), "{crash:?}");
    });
}

#[test]
fn random_faults_and_crashes_end_in_the_same_world() {
    let (clean, _) = undisturbed(0);
    let all = common::count(2_000, 20_000).into();
    let (first, seeds) = (number("WDEV_TEST_SEED", 1), number("WDEV_TEST_SEEDS", all));
    let began = std::time::Instant::now();
    let (crashes, retries) = (AtomicUsize::new(0), AtomicUsize::new(0));
    share_out((first..first + seeds).collect(), |seed| {
        let again = format!("WDEV_TEST_SEED={seed} WDEV_TEST_SEEDS=1 repeats it");
        // Each step has three attempts: two faults each are within the retry limits.
        let faults = RandomFaults {
            per_script_limit: 2,
            rate_percent: 12,
            kinds: None,
        };
        let sandbox = Sandbox::new(2, seed, Some(faults));
        let moment = Duration::from_millis(world::draw(seed) % 400_000);
        if sandbox.run(Crash::At(moment)).is_crash() {
            crashes.fetch_add(1, Ordering::Relaxed);
        }
        resume(&sandbox, &format!("seed {seed}; {again}"));
        assert_eq!(
            sandbox.essence(),
            clean,
            "seed {seed}: another world than after a clean run; {again}"
        );
        let events = sandbox.events();
        let times = events
            .iter()
            .filter(|event| matches!(event.body, Body::StepRetry { .. }))
            .count();
        retries.fetch_add(times, Ordering::Relaxed);
    });
    let (crashes, retries) = (crashes.into_inner(), retries.into_inner());
    println!(
        "{seeds} seeds from {first}: {crashes} crashes, {retries} retries, {:.1} s",
        began.elapsed().as_secs_f64()
    );
    if seeds > 100 {
        assert!(
            crashes as u64 > seeds / 2,
            "most runs are cut off: {crashes}"
        );
        assert!(retries as u64 > seeds, "faults strike: {retries}");
    }
}
