//! Reboots that steps ask for, one after the other where the node wants more than one.

use wdev::event::{Body, Outcome};

use super::bench::{Bench, Run};
use super::scripted::Act;

fn bench(wants: u32, asks: bool) -> Bench {
    let reboots = Act::Reboots { wants, asks };
    Bench::new().lane("a", &[("a1", Act::Takes(1)), ("a2", reboots)])
}

/// The reboots of a run that were begun and that were proven.
fn reboots(run: &Run) -> (usize, usize) {
    let events = run.events();
    let count = |which: fn(&Body) -> bool| events.iter().filter(|it| which(&it.body)).count();
    (
        count(|body| matches!(body, Body::RebootStarted { .. })),
        count(|body| matches!(body, Body::RebootProven { .. })),
    )
}

#[test]
fn a_node_that_waits_for_another_reboot_after_the_first_gets_it() {
    let run = bench(2, true).run();
    assert_eq!(run.outcome(), Outcome::Done);
    assert_eq!(reboots(&run), (2, 2));
    assert_eq!(run.executed(), ["a1", "a2"], "it ran once");
}

#[test]
fn a_reboot_that_only_the_proof_asks_for_is_done_too() {
    let run = bench(1, false).run();
    assert_eq!(run.outcome(), Outcome::Done);
    assert_eq!(reboots(&run), (1, 1));
}

#[test]
fn a_node_that_never_has_enough_reboots_is_an_error_and_the_next_run_goes_on() {
    let run = bench(7, true).run();
    assert_eq!(run.outcome(), Outcome::Failed);
    assert_eq!(reboots(&run), (3, 3));
    assert_eq!(run.attempts("a/a2"), 1, "more of the same is no help");
    let failure = run.failure().to_string();
    assert!(failure.contains("after 3 in a row"), "{failure}");
    assert!(failure.contains("an update is pending"), "{failure}");
    let next = run.again();
    assert_eq!(next.outcome(), Outcome::Failed);
    let last = next.again();
    assert_eq!(last.outcome(), Outcome::Done);
    assert_eq!(reboots(&last), (1, 1));
}

#[test]
fn a_run_that_ends_in_the_first_reboot_is_followed_by_the_second_alone() {
    let run = bench(2, true).stop_at(3).stop_at(3).run();
    assert_eq!(run.outcome(), Outcome::Interrupted);
    assert_eq!(reboots(&run), (1, 0));
    let next = run.again();
    assert_eq!(next.outcome(), Outcome::Done);
    assert_eq!(reboots(&next), (1, 2), "the proof of the first comes first");
    assert_eq!(next.executed(), ["a1", "a2"], "its work was done before");
}
