//! Is there a Vagrant that can be used?

use std::path::PathBuf;

use wdev::clock::Clock;
use wdev::error::{Failure, Kind};
use wdev::provider::Provider;

use crate::fakes;
use crate::world::{World, says};

async fn checked(program: PathBuf, world: &World, clock: Clock) -> Failure {
    let provider = world.provider_of(program, clock);
    *provider.check(&world.io()).await.unwrap_err()
}

#[tokio::test]
async fn a_good_vagrant_passes_the_check() {
    let world = World::new("expect --version\nprint Vagrant 2.3.4\n");
    let provider = world.provider_of(world.vagrant.program.clone(), Clock::new());
    provider.check(&world.io()).await.unwrap();
}

#[tokio::test]
async fn a_missing_vagrant_is_the_hosts_problem() {
    let world = World::new("");
    let failure = checked(world.path("nowhere"), &world, Clock::new()).await;
    assert_eq!(failure.kind, Kind::Host);
    says(&failure, "no such program");
    says(&failure, "install Vagrant");
}

#[cfg(unix)]
#[tokio::test]
async fn a_vagrant_that_is_not_executable_is_the_hosts_problem() {
    let world = World::new("");
    let program = world.path("vagrant");
    std::fs::write(&program, "#!/bin/sh\n").unwrap();
    let failure = checked(program, &world, Clock::new()).await;
    assert_eq!(failure.kind, Kind::Host);
    says(&failure, "not executable");
    says(&failure, "chmod +x");
}

#[tokio::test]
async fn an_old_a_strange_and_a_broken_vagrant_are_told_apart() {
    for (script, text) in [
        ("print Vagrant 2.2.19\n", "Vagrant 2.2.19 is too old"),
        (
            "bytes ff fe 00 0a\nprint {}\n",
            "does not look like Vagrant",
        ),
        ("exit 0\n", "does not look like Vagrant"),
        ("error no ruby\nexit 127\n", "exit code 127"),
        (
            "prompt Install the plugin? [y/N] \nsleep-forever\n",
            "Install the plugin?",
        ),
    ] {
        let world = World::new(script);
        let failure = checked(world.vagrant.program.clone(), &world, Clock::new()).await;
        assert_eq!(failure.kind, Kind::Host, "{failure}");
        says(&failure, text);
        assert!(!failure.advice.is_empty(), "{failure}");
    }
}

#[tokio::test]
async fn a_vagrant_that_hangs_is_given_up() {
    let world = World::new("pid\nsleep-forever\n");
    let clock = Clock::with_speed(5.0);
    let failure = checked(world.vagrant.program.clone(), &world, clock).await;
    assert_eq!(failure.kind, Kind::Host);
    says(&failure, "did not answer within 10 s");
    assert!(fakes::ended(world.vagrant.pid("pid")));
}
