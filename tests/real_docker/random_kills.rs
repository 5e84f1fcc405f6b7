//! Kills of wdev, of Vagrant and of both at moments that nobody chose.

use std::time::Duration;

use crate::real::run::{Ended, Events};
use crate::real::sandbox::{Hook, Sandbox};
use crate::real::wanted;
use crate::{assert_never_two_copies, assert_not_repeated, common};

/// Kills at random moments. The seed is printed; `WDEV_TEST_SEED` brings it back.
#[test]
#[expect(
    clippy::print_stderr,
    reason = "the seed must be seen when the test fails"
)]
fn random_kills_never_repeat_finished_steps() {
    if !wanted() {
        return;
    }
    let kills = common::count(3, 20);
    let seed = std::env::var("WDEV_TEST_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let mut random = Random(seed.unwrap_or_else(|| u64::from(std::process::id())));
    eprintln!(
        "random_kills_never_repeat_finished_steps: WDEV_TEST_SEED={}",
        random.0
    );

    let hooks = [
        Hook::counting("all", "greet"),
        Hook::exclusive("w1", "work", "sleep 2\n"),
    ];
    let sandbox = Sandbox::new("random", 5, &["w1"], &hooks);
    let mut finished: Vec<(String, String)> = Vec::new();
    let first = random.below(3);
    for kill in 0..kills {
        let mut up = sandbox.start_up();
        // The moment is the fault that is injected: nothing waits for it.
        std::thread::sleep(Duration::from_millis(random.below(20_000)));
        let mut ended_by_itself = up.is_over();
        let mut events = up.events();
        match (first + u64::from(kill)) % 3 {
            0 => up.kill(),
            1 => up.kill_tree(),
            _ => {
                ended_by_itself = !up.kill_vagrant();
                events = assert_survived(up.end());
            }
        }
        assert_finished_stay(&sandbox, &events, &finished);
        for node in sandbox.nodes() {
            for step in events.finished(node) {
                finished.push(((*node).to_owned(), step.to_owned()));
            }
        }
        if ended_by_itself || random.below(4) == 0 {
            // All that is built is done, or is given up: the rest of the kills start from nothing.
            let _ = sandbox.run(&["destroy", "--yes"]).with_code(0);
            sandbox.assert_gone();
            finished.clear();
        }
    }
    let events = sandbox.up_to_the_downloads().events();
    assert_finished_stay(&sandbox, &events, &finished);
    assert_never_two_copies(&sandbox.record("w1", "work"));
    let greetings = sandbox.record("cp", "greet").len();
    assert!(
        greetings >= 1 && greetings <= 1 + kills as usize,
        "{greetings} greetings"
    );

    let _ = sandbox.run(&["destroy", "--yes"]).with_code(0);
    sandbox.assert_gone();
}

/// The run whose Vagrant was killed went on to where it needs the first download, or ended with a failure of
/// the provider that tells what it ran.
fn assert_survived(ended: Ended) -> Events {
    if ended.code == Some(4) {
        return ended.events();
    }
    let ended = ended.with_code(5);
    let events = ended.events();
    let failure = events.failure().expect("the last event names the failure");
    let command = failure.command.as_deref().unwrap_or_default();
    assert!(command.contains("vagrant"), "{failure:?}");
    events
}

/// No step that an earlier run told to be finished began again, but for machines that were stopped.
fn assert_finished_stay(sandbox: &Sandbox, events: &Events, finished: &[(String, String)]) {
    for node in sandbox.nodes() {
        let of_node: Vec<_> = finished
            .iter()
            .filter(|(of, _)| of == node)
            .map(|(_, step)| step.as_str())
            .collect();
        assert_not_repeated(events, node, &of_node, &[]);
    }
}

/// A small generator of numbers (splitmix64), enough to choose moments.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}
