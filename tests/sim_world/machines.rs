//! Machines: made, booted, halted, destroyed.

use std::sync::Arc;
use std::time::Duration;

use wdev::channel::{Effect, Os};
use wdev::names::LaneName;
use wdev::provider::sim::SimNode;
use wdev::provider::{Power, Provider};

use super::{Lab, SECOND, file, memory, running, service, settings};

#[tokio::test(start_paused = true)]
async fn a_machine_is_made_once_and_is_another_one_after_destroy() {
    let lab = Lab::new();
    let node = "winw1".into();
    let absent = lab.sim.inspect(&node, &lab.io).await.unwrap();
    assert_eq!((absent.power, absent.id), (Power::Absent, None));

    let first = lab.up("winw1").await;
    assert_eq!(first.power, Power::Running);
    assert_eq!(first.address.unwrap().to_string(), "192.168.56.11");
    let before = lab.clock.elapsed();
    assert_eq!(
        lab.up("winw1").await,
        first,
        "a second `up` changes nothing"
    );
    assert_eq!(lab.clock.elapsed(), before);

    lab.does("winw1", "a", &[file("C:/k/a")]).await.unwrap();
    lab.sim.destroy(&node, &lab.io).await.unwrap();
    lab.sim.destroy(&node, &lab.io).await.unwrap();
    let gone = lab.sim.inspect(&node, &lab.io).await.unwrap();
    assert_eq!(gone.power, Power::Absent);
    let second = lab.up("winw1").await;
    assert_ne!(second.id, first.id);
    let missing = lab.missing("winw1", &[file("C:/k/a")]).await;
    assert_eq!(missing.as_deref(), Some("there is no C:/k/a"));
}

#[tokio::test(start_paused = true)]
async fn a_reboot_is_seen_by_its_identity_and_starts_what_starts_by_itself() {
    let lab = Lab::new();
    lab.up("winw1").await;
    let channel = lab.channel("winw1");
    let first = channel.boot_identity(SECOND, &lab.io).await.unwrap();
    assert_eq!(channel.boot_identity(SECOND, &lab.io).await.unwrap(), first);
    let effects = [
        service("containerd", &[]),
        running("containerd"),
        service("kubelet", &["containerd"]),
        running("kubelet"),
        service("idle", &[]),
    ];
    lab.does("winw1", "services", &effects).await.unwrap();

    lab.sim.restart(&"winw1".into(), &lab.io).await.unwrap();
    let still = channel.boot_identity(SECOND, &lab.io).await.unwrap();
    assert_eq!(still, first, "it answers until it shuts down");
    lab.until_boot_is_not("winw1", &first).await;
    assert_eq!(lab.missing("winw1", &effects).await, None);
    let idle = lab.missing("winw1", &[running("idle")]).await;
    assert_eq!(idle.as_deref(), Some("idle is not running"));
}

#[tokio::test(start_paused = true)]
async fn a_feature_is_active_after_any_reboot_and_no_sooner() {
    let lab = Lab::new();
    lab.up("winw1").await;
    let feature = [Effect::Feature("Containers".to_owned())];
    let report = lab.does("winw1", "features", &feature).await.unwrap();
    assert!(report.reboot_wanted);
    let missing = lab.missing("winw1", &feature).await.unwrap();
    assert!(missing.contains("waits for a reboot"), "{missing}");
    let again = lab.does("winw1", "features", &feature).await.unwrap();
    assert!(again.reboot_wanted, "a repeated run still wants its reboot");
    assert_eq!(lab.completed("winw1", "features"), 1);

    lab.sim.halt(&"winw1".into(), &lab.io).await.unwrap();
    let off = lab.sim.inspect(&"winw1".into(), &lab.io).await.unwrap();
    assert_eq!(off.power, Power::Off);
    let failure = lab.does("winw1", "x", &[]).await.unwrap_err();
    assert!(failure.to_string().contains("does not answer: it is off"));
    lab.up("winw1").await;
    assert_eq!(lab.missing("winw1", &feature).await, None);
    let last = lab.does("winw1", "features", &feature).await.unwrap();
    assert!(!last.reboot_wanted);
}

#[tokio::test(start_paused = true)]
async fn a_creation_that_wdev_left_is_finished_by_the_next() {
    let lab = Lab::new();
    let cut = lab.clock.timeout(SECOND * 5, lab.up("winw1")).await;
    assert!(cut.is_none());
    let node = "winw1".into();
    let changing = lab.sim.inspect(&node, &lab.io).await.unwrap();
    assert_eq!(changing.power, Power::Changing);
    lab.clock.sleep(SECOND * 100).await;
    let half = lab.sim.inspect(&node, &lab.io).await.unwrap();
    assert_eq!(half.power, Power::Broken);
    let whole = lab.up("winw1").await;
    assert_eq!((whole.power, whole.id), (Power::Running, half.id));
}

#[tokio::test(start_paused = true)]
async fn a_half_made_machine_can_be_destroyed() {
    let lab = Lab::new();
    let _ = lab.clock.timeout(SECOND * 5, lab.up("winw1")).await;
    lab.sim.destroy(&"winw1".into(), &lab.io).await.unwrap();
    assert_eq!(
        lab.sim.essence(),
        Lab::open(settings(memory())).sim.essence()
    );
}

/// A whole life with all that was said and how long it took.
async fn life(seed: u64) -> (Vec<String>, Duration, String) {
    let mut settings = settings(memory());
    settings.seed = seed;
    let lab = Lab::open(settings);
    let machine = lab.up("winw1").await;
    let feature = Effect::Feature("Containers".to_owned());
    let package = Effect::Package {
        name: "containerd".to_owned(),
        version: "2.2.0".to_owned(),
    };
    lab.does("winw1", "s", &[feature, package]).await.unwrap();
    lab.reboot("winw1").await;
    lab.sim.halt(&"winw1".into(), &lab.io).await.unwrap();
    let said = lab.said.lock().unwrap().clone();
    (said, lab.clock.elapsed(), machine.id.unwrap())
}

#[tokio::test(start_paused = true)]
async fn the_seed_decides_everything() {
    let first = life(1).await;
    assert_eq!(life(1).await, first);
    let other = life(2).await;
    assert_ne!((other.1, other.2), (first.1, first.2));
}

/// All lanes side by side, as many as the largest sandbox that wdev is measured with.
#[tokio::test(start_paused = true)]
async fn two_hundred_machines_work_side_by_side() {
    let mut settings = settings(memory());
    settings.nodes = (0..200)
        .map(|number| SimNode {
            lane: LaneName::new(format!("winw{number}")),
            os: Os::Windows,
            control_plane: false,
            address: [10, 0, 0, number].into(),
        })
        .collect();
    let lab = Arc::new(Lab::open(settings));
    let start = lab.clock.elapsed();
    let mut lanes = tokio::task::JoinSet::new();
    for number in 0..200 {
        let lab = Arc::clone(&lab);
        lanes.spawn(async move {
            let node = format!("winw{number}");
            lab.up(&node).await;
            for step in 0..20 {
                let name = format!("step-{step}");
                let effects = [file(&format!("C:/{name}")), Effect::Takes(1_000)];
                lab.does(&node, &name, &effects).await.unwrap();
            }
        });
    }
    while let Some(lane) = lanes.join_next().await {
        lane.unwrap();
    }
    let done = lab.sim.completions();
    assert_eq!(done.len(), 200 * 20);
    assert!(done.iter().all(|done| done.times == 1));
    let side_by_side = SECOND * 300;
    assert!(lab.clock.elapsed() < start + side_by_side);
}
