//! The whole cluster is ready.

use std::time::Duration;

use super::guest::{GuestStep, inputs, limits};
use super::readiness::Readiness;
use super::{Build, cni};
use crate::channel::{Effect, Os};
use crate::engine::step::{Limits, OnChange};

/// Waits until the network plugin runs on every node.
#[must_use]
pub fn step(build: &Build) -> Readiness {
    let timeouts = &build.config.timeouts;
    Readiness(GuestStep {
        id: "cluster-ready".to_owned(),
        title: "wait until the network plugin runs on every node".to_owned(),
        purpose: "the sandbox is usable only then".to_owned(),
        phase: "verify",
        inputs: inputs([("nodes", build.nodes.len().to_string())]),
        limits: Limits {
            deadline: timeouts.ready,
            ..limits(timeouts, Duration::from_secs(20))
        },
        os: Os::Linux,
        on_change: OnChange::Rerun,
        text: None,
        effects: vec![Effect::PodsReady(cni::manifest(build))],
    })
}
