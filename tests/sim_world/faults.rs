//! Every fault does what `docs/simulator.md` says.

use std::time::Duration;

use wdev::channel::Effect;
use wdev::clock::Clock;
use wdev::error::Kind;
use wdev::provider::sim::{Fault, RandomFaults};
use wdev::provider::{Power, Provider};

use super::{Lab, SECOND, file, memory, settings};

fn work() -> [Effect; 4] {
    [file("/a"), file("/b"), Effect::Takes(60_000), file("/c")]
}

/// Whether the node has the files `/a` and `/c`.
async fn files(lab: &Lab) -> (bool, bool) {
    let a = lab.missing("winw1", &[file("/a")]).await.is_none();
    (a, lab.missing("winw1", &[file("/c")]).await.is_none())
}

#[tokio::test(start_paused = true)]
async fn fail_ends_half_way_as_often_as_it_is_told() {
    for (times, failures) in [("once", 1), ("2", 2), ("always", 3)] {
        let lab = Lab::with_fault(&format!("winw1/s=fail:{times}"));
        lab.up("winw1").await;
        let mut failed = 0;
        for _ in 0..3 {
            if let Err(failure) = lab.does("winw1", "s", &work()).await {
                assert_eq!(failure.kind, Kind::Step);
                assert!(failure.to_string().contains("exit code 1"), "{failure}");
                failed += 1;
            }
        }
        assert_eq!(failed, failures);
        assert_eq!(files(&lab).await, (true, times != "always"));
        lab.does("winw1", "other", &work()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn die_switches_the_machine_off_half_way() {
    let lab = Lab::with_fault("*/s=die");
    lab.up("winw1").await;
    let failure = lab.does("winw1", "s", &work()).await.unwrap_err();
    assert_eq!(failure.kind, Kind::Provider);
    let machine = lab.sim.inspect(&"winw1".into(), &lab.io).await.unwrap();
    assert_eq!(machine.power, Power::Off);
    lab.up("winw1").await;
    assert_eq!(files(&lab).await, (true, false));
    lab.does("winw1", "s", &work()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn stall_never_ends_and_the_next_run_finds_the_script_dead() {
    let lab = Lab::with_fault("winw1/*=stall");
    lab.up("winw1").await;
    let deadline = Duration::from_hours(24);
    let ended = lab
        .clock
        .timeout(deadline, lab.does("winw1", "s", &work()))
        .await;
    assert!(ended.is_none());
    lab.does("winw1", "s", &work()).await.unwrap();
    assert_eq!(lab.completed("winw1", "s"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_cut_connection_proves_nothing_and_the_script_goes_on() {
    let lab = Lab::with_fault("winw1/s=cut");
    lab.up("winw1").await;
    let failure = lab.does("winw1", "s", &work()).await.unwrap_err();
    assert_eq!(failure.kind, Kind::Step);
    assert!(
        failure.to_string().contains("could not be proven"),
        "{failure}"
    );
    lab.does("winw1", "s", &work()).await.unwrap();
    assert!(lab.heard("waiting for `s`"));
    assert_eq!(lab.completed("winw1", "s"), 1);
    assert_eq!(files(&lab).await, (true, true));
}

#[tokio::test(start_paused = true)]
async fn a_cut_is_reported_also_when_time_leaps() {
    let mut settings = settings(memory());
    settings.faults.scripted = vec![Fault::parse("winw1/s=cut").unwrap()];
    // The shortest wait is a millisecond, and so 1000 seconds here.
    settings.clock = Clock::with_speed(1_000_000.0);
    let lab = Lab::open(settings);
    lab.up("winw1").await;
    let failure = lab.does("winw1", "s", &work()).await.unwrap_err();
    assert!(
        failure.to_string().contains("could not be proven"),
        "{failure}"
    );
    lab.does("winw1", "s", &work()).await.unwrap();
    assert_eq!(lab.completed("winw1", "s"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_script_may_die_with_its_connection() {
    let lab = Lab::with_fault("winw1/s=cut-lost");
    lab.up("winw1").await;
    let failure = lab.does("winw1", "s", &work()).await.unwrap_err();
    assert!(
        failure.to_string().contains("could not be proven"),
        "{failure}"
    );
    lab.clock.sleep(SECOND * 600).await;
    assert_eq!(files(&lab).await, (true, false));
    lab.does("winw1", "s", &work()).await.unwrap();
    assert_eq!(files(&lab).await, (true, true));
}

#[tokio::test(start_paused = true)]
async fn slow_takes_ten_times_as_long() {
    let lab = Lab::with_fault("winw1/s=slow");
    lab.up("winw1").await;
    let start = lab.clock.elapsed();
    lab.does("winw1", "s", &work()).await.unwrap();
    assert!(lab.clock.elapsed() >= start + SECOND * 600);
}

#[tokio::test(start_paused = true)]
async fn a_lost_request_to_reboot_changes_nothing() {
    let lab = Lab::with_fault("winw1/reboot=lost");
    lab.up("winw1").await;
    let channel = lab.channel("winw1");
    let before = channel.boot_identity(SECOND, &lab.io).await.unwrap();
    lab.sim.restart(&"winw1".into(), &lab.io).await.unwrap();
    lab.clock.sleep(SECOND * 600).await;
    let after = channel.boot_identity(SECOND, &lab.io).await.unwrap();
    assert_eq!(after, before);
    lab.reboot("winw1").await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_never_comes_back_is_mended_by_up_and_by_restart() {
    let lab = Lab::with_fault("winw1/reboot=never:2");
    lab.up("winw1").await;
    let channel = lab.channel("winw1");
    let first = channel.boot_identity(SECOND, &lab.io).await.unwrap();
    let node = "winw1".into();
    lab.sim.restart(&node, &lab.io).await.unwrap();
    lab.clock.sleep(SECOND * 3600).await;
    let on = lab.sim.inspect(&node, &lab.io).await.unwrap();
    assert_eq!(on.power, Power::Running);
    channel.boot_identity(SECOND, &lab.io).await.unwrap_err();
    lab.up("winw1").await;
    let second = channel.boot_identity(SECOND, &lab.io).await.unwrap();
    assert_ne!(second, first);

    lab.sim.restart(&node, &lab.io).await.unwrap();
    lab.clock.sleep(SECOND * 3600).await;
    lab.sim.restart(&node, &lab.io).await.unwrap();
    lab.until_boot_is_not("winw1", &second).await;
}

#[tokio::test(start_paused = true)]
async fn twice_is_ready_for_a_moment_and_then_boots_again() {
    let lab = Lab::with_fault("winw1/reboot=twice");
    lab.up("winw1").await;
    let channel = lab.channel("winw1");
    let first = channel.boot_identity(SECOND, &lab.io).await.unwrap();
    lab.sim.restart(&"winw1".into(), &lab.io).await.unwrap();
    let second = lab.until_boot_is_not("winw1", &first).await;
    lab.clock.sleep(SECOND * 25).await;
    channel.boot_identity(SECOND, &lab.io).await.unwrap_err();
    let third = lab.until_boot_is_not("winw1", &second).await;
    lab.clock.sleep(SECOND * 600).await;
    let last = channel.boot_identity(SECOND, &lab.io).await.unwrap();
    assert_eq!(last, third);
}

#[tokio::test(start_paused = true)]
async fn late_comes_back_after_eight_minutes() {
    let lab = Lab::with_fault("winw1/reboot=late");
    lab.up("winw1").await;
    let start = lab.clock.elapsed();
    lab.reboot("winw1").await;
    assert!(lab.clock.elapsed() >= start + SECOND * 480);
}

#[tokio::test(start_paused = true)]
async fn a_failed_creation_leaves_nothing_and_half_a_machine_is_mended() {
    for (fault, power) in [("fail", Power::Absent), ("half", Power::Running)] {
        let lab = Lab::with_fault(&format!("winw1/create={fault}"));
        let node = "winw1".into();
        let failure = lab.sim.up(&node, &lab.io).await.unwrap_err();
        assert_eq!(failure.kind, Kind::Provider);
        let left = lab.sim.inspect(&node, &lab.io).await.unwrap();
        assert_eq!(left.power, power);
        lab.up("winw1").await;
        lab.does("winw1", "s", &work()).await.unwrap();
    }
}

/// Runs scripts on a node until each ended well, as an engine would; returns how many faults struck.
async fn converge(lab: &Lab, node: &str, limit: u32) -> u32 {
    let mut faults = 0;
    for name in ["one", "two", "three", "four"] {
        let mut tries = 0;
        loop {
            let attempt = async {
                lab.sim.up(&node.into(), &lab.io).await?;
                lab.does(node, name, &work()).await
            };
            let deadline = SECOND * 3600;
            if let Some(Ok(_)) = lab.clock.timeout(deadline, attempt).await {
                break;
            }
            faults += 1;
            tries += 1;
            // The creation counts for itself.
            assert!(tries <= 2 * limit, "{node}/{name} does not converge");
        }
    }
    faults
}

#[tokio::test(start_paused = true)]
async fn random_faults_strike_within_their_limit_and_depend_on_no_order() {
    let world = |seed| {
        let mut settings = settings(memory());
        settings.seed = seed;
        settings.faults.random = Some(RandomFaults {
            per_script_limit: 2,
            rate_percent: 60,
            kinds: None,
        });
        Lab::open(settings)
    };
    let mut struck = 0;
    for seed in 0..50 {
        let (one, two) = (world(seed), world(seed));
        let first = (
            converge(&one, "winw1", 2).await,
            converge(&one, "winw2", 2).await,
        );
        let second = converge(&two, "winw2", 2).await;
        assert_eq!(
            (converge(&two, "winw1", 2).await, second),
            first,
            "seed {seed}"
        );
        assert_eq!(one.sim.essence(), two.sim.essence(), "seed {seed}");
        struck += first.0 + first.1;
    }
    assert!(struck > 50, "only {struck} faults in 50 worlds");
}
