//! What the engine promises of any plan: deadlines, bounded retries, the first error, stops.
//!
//! Plans of scripted steps run on a provider without machines, under a virtual clock.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "engine/bench.rs"]
mod bench;
#[path = "engine/machine.rs"]
mod machine;
#[path = "engine/reboots.rs"]
mod reboots;
#[path = "engine/scripted.rs"]
mod scripted;

use wdev::error::Kind;
use wdev::event::{Body, Outcome};

use self::bench::Bench;
use self::scripted::Act;

#[test]
fn lanes_run_side_by_side_and_wait_where_they_are_told_to() {
    let run = Bench::new()
        .lane("a", &[("a1", Act::Takes(10)), ("a2", Act::Takes(10))])
        .lane("b", &[("b1", Act::Takes(5)), ("b2", Act::Takes(5))])
        .after("b/b2", "a/a2")
        .run();
    assert_eq!(run.outcome(), Outcome::Done);
    assert_eq!(
        run.started("b/b1"),
        0,
        "nothing keeps the second lane from starting"
    );
    assert_eq!(run.started("b/b2"), 20, "the join waits for the end of a2");
}

#[test]
fn a_failed_step_stops_its_lane_and_what_waits_for_it_and_nothing_else() {
    let run = Bench::new()
        .lane("a", &[("a1", Act::FailsAlways), ("a2", Act::Takes(1))])
        .lane("b", &[("b1", Act::Takes(50)), ("b2", Act::Takes(50))])
        .lane(
            "c",
            &[
                ("c1", Act::Takes(1)),
                ("c2", Act::Takes(1)),
                ("c3", Act::Takes(1)),
            ],
        )
        .after("c/c2", "a/a2")
        .run();
    assert_eq!(run.outcome(), Outcome::Failed);
    assert_eq!(
        run.finished(),
        ["c/c1", "b/b1", "b/b2"],
        "independent work finishes"
    );
    assert_eq!(run.blocked(), ["a/a2", "c/c2", "c/c3"]);
}

#[test]
fn fail_fast_cancels_what_is_still_running() {
    let run = Bench::new()
        .lane("a", &[("a1", Act::FailsAlways)])
        .lane("b", &[("b1", Act::Takes(5000)), ("b2", Act::Takes(1))])
        .fail_fast()
        .run();
    assert_eq!(
        run.outcome(),
        Outcome::Failed,
        "a failure, not an interruption by the user"
    );
    assert_eq!(run.failure().step.unwrap().as_str(), "a1");
    assert_eq!(run.cancelled(), ["b/b1", "b/b2"]);
    assert!(run.took() < 1000, "b1 was not waited for: {} s", run.took());
}

#[test]
fn retries_are_counted_and_pause_longer_each_time() {
    let run = Bench::new()
        .lane("a", &[("a1", Act::FailsAlways)])
        .attempts(4)
        .run();
    assert_eq!(run.attempts("a/a1"), 4);
    assert_eq!(run.pauses("a/a1"), [5, 10, 20]);
    assert_eq!(run.failure().kind, Kind::Step);
}

#[test]
fn a_failure_that_a_retry_would_only_repeat_is_not_retried() {
    let run = Bench::new()
        .lane("a", &[("a1", Act::FailsForGood)])
        .attempts(4)
        .run();
    assert_eq!(run.attempts("a/a1"), 1);
}

#[test]
fn a_step_that_fails_once_is_done_in_the_end() {
    let run = Bench::new()
        .lane("a", &[("a1", Act::Fails(2)), ("a2", Act::Takes(1))])
        .run();
    assert_eq!(run.outcome(), Outcome::Done);
    assert_eq!(run.attempts("a/a1"), 3);
}

#[test]
fn the_first_failure_is_the_one_reported() {
    let run = Bench::new()
        .lane("a", &[("a1", Act::Takes(30)), ("a2", Act::FailsForGood)])
        .lane("b", &[("b1", Act::Takes(3)), ("b2", Act::FailsForGood)])
        .run();
    assert_eq!(run.failure().step.unwrap().as_str(), "b2");
    assert_eq!(
        run.failed(),
        ["b/b2", "a/a2"],
        "the other one is told as well"
    );
}

#[test]
fn a_failure_carries_the_tail_of_its_output_and_its_log() {
    let run = Bench::new()
        .lane("a", &[("a1", Act::SaysAndFails(50))])
        .attempts(1)
        .run();
    let failure = run.failure();
    assert_eq!(failure.output.len(), 20, "the last twenty lines");
    assert_eq!(failure.output.last().unwrap(), "line 50");
    assert_eq!(failure.log.unwrap().to_str().unwrap(), "a-a1.log");
}

#[test]
fn a_step_that_hangs_meets_its_deadline_however_deaf_it_is() {
    for act in [Act::Hangs, Act::HangsDeaf] {
        let run = Bench::new().lane("a", &[("a1", act)]).attempts(1).run();
        assert_eq!(run.failure().kind, Kind::Deadline);
        assert!(run.took() >= 100, "the deadline of the step is 100 s");
        assert!(
            run.took() < 200,
            "and no more than a short grace: {} s",
            run.took()
        );
    }
}

#[test]
fn exit_code_zero_without_proof_is_a_failure() {
    let run = Bench::new()
        .lane("a", &[("a1", Act::LiesThatItIsDone)])
        .attempts(2)
        .run();
    assert_eq!(run.outcome(), Outcome::Failed);
    assert_eq!(run.attempts("a/a1"), 2);
}

#[test]
fn the_first_request_to_stop_ends_politely_and_the_next_run_goes_on() {
    let bench = Bench::new().lane(
        "a",
        &[
            ("a1", Act::Takes(10)),
            ("a2", Act::Takes(10)),
            ("a3", Act::Takes(10)),
        ],
    );
    let run = bench.stop_at(15).run();
    assert_eq!(run.outcome(), Outcome::Interrupted);
    assert_eq!(run.finished(), ["a/a1"]);
    assert_eq!(run.cancelled(), ["a/a2", "a/a3"]);
    assert_eq!(run.took(), 15, "a step that listens ends at once");
    let next = run.again();
    assert_eq!(next.outcome(), Outcome::Done);
    assert_eq!(next.skipped(), ["a/a1"]);
    assert_eq!(next.finished(), ["a/a2", "a/a3"]);
}

#[test]
fn work_that_ends_well_while_it_is_stopped_counts_as_done() {
    let run = Bench::new()
        .lane(
            "a",
            &[("a1", Act::FinishesWhenStopped), ("a2", Act::Takes(1))],
        )
        .stop_at(5)
        .run();
    assert_eq!(run.finished(), ["a/a1"]);
    assert_eq!(run.cancelled(), ["a/a2"]);
}

#[test]
fn the_second_request_to_stop_ends_at_once() {
    let run = Bench::new()
        .lane("a", &[("a1", Act::HangsDeaf)])
        .stop_at(10)
        .stop_at(12)
        .run();
    assert_eq!(run.outcome(), Outcome::Interrupted);
    assert!(run.took() <= 14, "{} s", run.took());
}

#[test]
fn a_deaf_step_does_not_outlive_a_polite_stop_for_long() {
    let run = Bench::new()
        .lane("a", &[("a1", Act::HangsDeaf)])
        .stop_at(10)
        .run();
    assert_eq!(run.outcome(), Outcome::Interrupted);
    assert!(run.took() < 60, "{} s", run.took());
}

#[test]
fn nothing_is_done_that_the_journal_could_not_announce() {
    // The disk is full when the second step begins.
    let run = Bench::new()
        .lane(
            "a",
            &[
                ("a1", Act::Takes(1)),
                ("a2", Act::Takes(1)),
                ("a3", Act::Takes(1)),
            ],
        )
        .disk_full_at("a/a2")
        .run();
    assert_eq!(run.outcome(), Outcome::Failed);
    assert_eq!(run.failure().kind.exit_code(), 4);
    assert!(
        run.failure().to_string().contains("journal"),
        "{}",
        run.failure()
    );
    assert_eq!(run.executed(), ["a1"], "a2 was never begun");
    let next = run.again();
    assert_eq!(
        next.outcome(),
        Outcome::Done,
        "the journal is readable and goes on"
    );
    assert_eq!(next.executed(), ["a1", "a2", "a3"]);
}

#[test]
fn a_panic_in_a_step_is_reported_as_a_bug_and_ends_the_run() {
    let run = Bench::new()
        .lane("a", &[("a1", Act::Panics)])
        .lane("b", &[("b1", Act::Takes(5000))])
        .run();
    assert_eq!(run.failure().kind, Kind::Bug);
    assert!(run.took() < 1000);
}

#[test]
fn the_whole_step_list_comes_first_and_the_summary_last() {
    let run = Bench::new()
        .lane("a", &[("a1", Act::Takes(1))])
        .lane("b", &[("b1", Act::Takes(1))])
        .run();
    let events = run.events();
    let Body::RunStarted { lanes, .. } = &events.first().unwrap().body else {
        panic!("{events:?}")
    };
    assert_eq!(lanes.len(), 2);
    assert!(matches!(
        events.last().unwrap().body,
        Body::RunFinished { .. }
    ));
    let seqs: Vec<u64> = run.shown().iter().map(|event| event.seq).collect();
    assert_eq!(
        seqs,
        (0..seqs.len() as u64).collect::<Vec<_>>(),
        "no event is lost or out of order"
    );
}

#[test]
fn a_changed_input_runs_the_step_again_and_what_comes_after_it() {
    let run = Bench::new()
        .lane(
            "a",
            &[
                ("a1", Act::Takes(1)),
                ("a2", Act::Takes(1)),
                ("a3", Act::Takes(1)),
            ],
        )
        .lane("b", &[("b1", Act::Takes(1)), ("b2", Act::Takes(1))])
        .after("b/b2", "a/a2")
        .run();
    let next = run.change("a2").again();
    assert_eq!(next.outcome(), Outcome::Done);
    assert_eq!(next.finished(), ["a/a2", "a/a3", "b/b2"]);
    assert_eq!(next.skipped(), ["a/a1", "b/b1"]);
}

#[test]
fn a_change_that_was_cut_off_still_runs_again_what_comes_after_it() {
    let run = Bench::new()
        .lane(
            "a",
            &[
                ("a1", Act::Takes(1)),
                ("a2", Act::Takes(10)),
                ("a3", Act::Takes(1)),
            ],
        )
        .lane("b", &[("b1", Act::Takes(10)), ("b2", Act::Takes(1))])
        .after("b/b2", "a/a1")
        .run();
    let cut = run.change("a1").lose("b1").again_until(5);
    assert_eq!(cut.finished(), ["a/a1"]);
    let next = cut.again();
    let mut finished = next.finished();
    finished.sort();
    assert_eq!(finished, ["a/a2", "a/a3", "b/b1", "b/b2"]);
    assert_eq!(next.again().finished(), Vec::<String>::new());
}

#[test]
fn a_step_that_the_node_no_longer_shows_runs_again_alone() {
    let run = Bench::new()
        .lane("a", &[("a1", Act::Takes(1)), ("a2", Act::Takes(1))])
        .run();
    let next = run.lose("a1").again();
    assert_eq!(next.finished(), ["a/a1"]);
    assert_eq!(next.skipped(), ["a/a2"]);
}

#[test]
fn a_plan_that_waits_for_itself_is_refused() {
    let failure = Bench::new()
        .lane("a", &[("a1", Act::Takes(1)), ("a2", Act::Takes(1))])
        .lane("b", &[("b1", Act::Takes(1)), ("b2", Act::Takes(1))])
        .after("a/a1", "b/b2")
        .after("b/b1", "a/a2")
        .plan_error();
    assert_eq!(failure.kind, Kind::Bug);
    assert!(failure.message.contains("wait for each other"), "{failure}");
}
