//! Whatever goes wrong around reboots: the sandbox ends as after a clean run, or in an error that says what
//! to do and after which the next run goes on. Never does a run hang, and never is a broken sandbox done.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use wdev::error::Kind;
use wdev::event::Body;
use wdev::provider::sim::{REBOOT_FAULTS, RandomFaults};

use super::common::say;
use super::world::{Crash, End, Sandbox, share_out};
use super::{number, undisturbed};

/// No run takes longer, whatever happens: all its deadlines together are far below.
const HANG: Duration = Duration::from_hours(100);
/// So many runs at most until the sandbox stands: faults strike each script and each reboot so often.
const RUNS: usize = 24;

/// How the runs of a seed ended, as `done` or the exit codes before it.
fn classes(seed: u64, clean: &str) -> String {
    let again = format!("WDEV_TEST_SEED={seed} WDEV_TEST_SEEDS=1 repeats it");
    // Each step has three attempts: more faults than two end runs in errors.
    let faults = RandomFaults {
        per_script_limit: 1 + u32::try_from(seed % 4).unwrap(),
        rate_percent: 15,
        kinds: Some(REBOOT_FAULTS),
    };
    let sandbox = Sandbox::new(2, seed, Some(faults));
    let mut failures = Vec::new();
    for _ in 0..RUNS {
        let end = sandbox.run(Crash::At(HANG));
        assert!(!end.is_crash(), "seed {seed}: a run hangs; {again}");
        if end.is_done() {
            assert_eq!(
                sandbox.essence(),
                clean,
                "seed {seed}: done, but not as after a clean run; {again}"
            );
            return match failures.as_slice() {
                [] => "done at once".to_owned(),
                [first] => format!("done after {first}"),
                [first, ..] => format!("done after {first} and more"),
            };
        }
        let End::Finished(finished) = end else {
            unreachable!("it did not crash");
        };
        let failure = finished.failure.expect("a run that is not done says why");
        let documented = [Kind::Provider, Kind::Step, Kind::NotReady, Kind::Deadline];
        assert!(
            documented.contains(&failure.kind),
            "seed {seed}: {failure:?}; {again}"
        );
        assert!(
            failure.step.is_some() && failure.log.is_some(),
            "seed {seed}: {failure:?}; {again}"
        );
        failures.push(format!("{:?} ({})", failure.kind, failure.kind.exit_code()));
    }
    panic!("seed {seed}: not done after {RUNS} runs: {failures:?}; {again}");
}

#[test]
fn faults_around_reboots_end_in_the_same_world_or_in_an_error_that_the_next_run_mends() {
    let (clean, _) = undisturbed(0);
    let all = crate::common::count(400, 10_000).into();
    let (first, seeds) = (number("WDEV_TEST_SEED", 1), number("WDEV_TEST_SEEDS", all));
    let found = Mutex::new(BTreeMap::<String, usize>::new());
    share_out((first..first + seeds).collect(), |seed| {
        let class = classes(seed, &clean);
        *found.lock().unwrap().entry(class).or_default() += 1;
    });
    let found = found.into_inner().unwrap();
    say(&format!("{seeds} seeds of reboot faults from {first}:"));
    for (class, count) in &found {
        say(&format!("  {count:>6}  {class}"));
    }
    if seeds > 100 {
        assert!(found.len() > 2, "faults strike in several ways: {found:?}");
    }
}

/// One fault of one kind, and what the run that meets it does.
#[test]
fn every_fault_of_a_reboot_is_mended_or_told_and_the_next_run_goes_on() {
    let (clean, _) = undisturbed(0);
    for (fault, first_is_done, words) in [
        ("w1/reboot=twice", true, ""),
        ("w1/reboot=lost", true, ""),
        ("w1/reboot=late", true, ""),
        ("w1/reboot=never", true, ""),
        (
            "w1/reboot=never:9",
            false,
            "did not come back from its reboot",
        ),
        ("w1/reboot=pending:2", true, ""),
        ("w1/reboot=pending:5", false, "after 3 in a row"),
        ("w1/reboot=hns", true, ""),
        ("w1/features=restart", true, ""),
        ("w1/kubernetes=restart", true, ""),
        ("w1/join=restart", true, ""),
        ("w1/join=restart:3", false, "the machine shut down"),
        ("w1/join=die", true, ""),
        ("w1/container-runtime=stops", true, ""),
        (
            "w1/container-runtime=stops:3",
            false,
            "containerd is not running",
        ),
        ("w1/features=fail:3", false, "exit code 1"),
        ("w1/features=host", true, ""),
    ] {
        let sandbox = Sandbox::with_fault(2, 0, fault);
        let end = sandbox.run(Crash::At(HANG));
        assert!(!end.is_crash(), "{fault}: it hangs");
        assert_eq!(
            end.is_done(),
            first_is_done,
            "{fault}: {:?}",
            sandbox.last_failure()
        );
        if !first_is_done {
            let failure = sandbox.last_failure().unwrap();
            let text = format!("{failure} {:?}", failure.causes);
            assert!(text.contains(words), "{fault}: {text}");
            assert!(
                sandbox.run(Crash::At(HANG)).is_done(),
                "{fault}: the next run"
            );
        }
        assert_eq!(sandbox.essence(), clean, "{fault}");
    }
}

#[test]
fn a_second_reboot_is_done_when_windows_waits_for_it() {
    let sandbox = Sandbox::with_fault(2, 0, "w1/reboot=pending:2");
    assert!(sandbox.run(Crash::Never).is_done());
    let events = sandbox.events();
    let proven = |lane: &str| {
        let of = |body: &Body| {
            matches!(body, Body::RebootProven { .. })
                && body.lane().is_some_and(|found| found.as_str() == lane)
        };
        events.iter().filter(|event| of(&event.body)).count()
    };
    assert_eq!((proven("w1"), proven("w2")), (3, 1));
}
