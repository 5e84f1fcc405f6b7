//! What is there, and what Vagrant's errors mean.

use std::path::Path;

use wdev::error::Kind;
use wdev::provider::{Power, Provider};

use crate::world::{LOCKED, RUNNING, World, blocks, cp, print_all, says};

#[tokio::test]
async fn a_machine_that_vagrant_does_not_know_is_absent_without_asking() {
    let world = World::new("");
    let machine = world.provider().inspect(&cp(), &world.io()).await.unwrap();
    assert_eq!((machine.power, machine.id), (Power::Absent, None));
    assert!(world.calls().is_empty());
}

#[tokio::test]
async fn a_running_machine_is_seen_with_its_id() {
    let world = World::with_machine(RUNNING);
    let machine = world.provider().inspect(&cp(), &world.io()).await.unwrap();
    assert_eq!(
        (machine.power, machine.id.as_deref()),
        (Power::Running, Some("uuid-1"))
    );
    assert_eq!(world.vagrant.calls(), ["status cp --machine-readable"]);
}

#[tokio::test]
async fn a_machine_that_was_removed_behind_our_back_is_absent() {
    let world = World::with_machine("print 1,cp,state,not_created\n");
    let machine = world.provider().inspect(&cp(), &world.io()).await.unwrap();
    assert_eq!((machine.power, machine.id), (Power::Absent, None));
}

#[tokio::test]
async fn garbage_in_place_of_a_state_is_an_error_that_shows_it() {
    let world =
        World::with_machine("bytes ff fe 0a\nprint 1,cp,state\nprint 1,w9,state,running\nexit 0\n");
    let machine = world.provider().inspect(&cp(), &world.io()).await;
    // A state without a word means a machine that nobody should touch.
    assert_eq!(machine.unwrap().power, Power::Broken);
    let world = World::with_machine("bytes ff fe 0a\nprint what?\n");
    let failure = world
        .provider()
        .inspect(&cp(), &world.io())
        .await
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Provider);
    assert!(
        failure.output.iter().any(|line| line == "what?"),
        "{failure:?}"
    );
}

#[tokio::test]
async fn a_locked_machine_is_tried_again() {
    let world = World::with_machine(&blocks(&[LOCKED, LOCKED, RUNNING]));
    let machine = world.provider().inspect(&cp(), &world.io()).await.unwrap();
    assert_eq!(machine.power, Power::Running);
    assert_eq!(world.calls().len(), 3);
}

#[tokio::test]
async fn a_machine_that_stays_locked_changes_and_is_given_up_with_advice() {
    let world = World::with_machine(&blocks(&[LOCKED; 40]));
    let machine = world.provider().inspect(&cp(), &world.io()).await.unwrap();
    assert_eq!(machine.power, Power::Changing);
    assert!(machine.id.is_some());
    let failure = world.provider().up(&cp(), &world.io()).await.unwrap_err();
    assert_eq!(failure.kind, Kind::Provider);
    says(&failure, "another Vagrant process is at work");
    assert!(world.calls().len() < 40, "{:?}", world.calls());
    assert!(world.calls().iter().all(|call| call.contains("status")));
}

#[tokio::test]
async fn other_errors_are_not_tried_again_and_are_explained() {
    let world = World::with_machine(
        "print 1,,error-exit,Vagrant::Errors::ProviderNotUsable,The provider\\nis not usable\nexit 1\n",
    );
    let failure = world
        .provider()
        .inspect(&cp(), &world.io())
        .await
        .unwrap_err();
    assert_eq!((failure.kind, failure.permanent), (Kind::Host, true));
    says(&failure, "The provider is not usable");
    says(&failure, "choose another provider");
    assert_eq!(world.calls().len(), 1);
    assert!(
        failure
            .command
            .unwrap()
            .contains("vagrant status cp --machine-readable")
    );
}

#[tokio::test]
async fn an_early_failure_on_standard_error_is_explained() {
    let text = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/vagrant/vagrantfile-syntax.err"),
    )
    .unwrap();
    let script = print_all("error", &text);
    let world = World::with_machine(&format!("{script}exit 1\n"));
    let failure = world
        .provider()
        .inspect(&cp(), &world.io())
        .await
        .unwrap_err();
    says(&failure, "syntax error");
    says(&failure, "vagrant.extra");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_drivers_never_run_vagrant_on_one_machine_at_once() {
    let world = World::with_machine("");
    let go = world.path("go");
    let first = format!("pid\nwait {}\n{RUNNING}", go.display());
    world.vagrant.script(&blocks(&[&first, RUNNING]));
    let (one, two) = (world.provider(), world.provider());
    let io = world.io();
    let running = tokio::spawn(async move { one.inspect(&cp(), &io).await });
    world.vagrant.pid("pid");
    let machine = two.inspect(&cp(), &world.io()).await.unwrap();
    assert_eq!(machine.power, Power::Changing, "{}", machine.detail);
    assert_eq!(world.calls().len(), 1);
    std::fs::write(&go, "").unwrap();
    assert_eq!(running.await.unwrap().unwrap().power, Power::Running);
    assert_eq!(
        two.inspect(&cp(), &world.io()).await.unwrap().power,
        Power::Running
    );
}
