//! A node is Ready.

use std::time::Duration;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use super::readiness::Readiness;
use crate::channel::Effect;
use crate::channel::effect::Condition;
use crate::engine::step::{Limits, OnChange};

/// The step's id: the cluster is ready after it.
pub const ID: &str = "node-ready";

/// Waits until the node is Ready, and says what it waits for.
#[must_use]
pub fn step(build: &Build) -> Readiness {
    let timeouts = &build.config.timeouts;
    Readiness(GuestStep {
        id: ID.to_owned(),
        title: "wait until the node is Ready".to_owned(),
        purpose: "a node that is not Ready runs no pods".to_owned(),
        phase: "verify",
        inputs: inputs([]),
        limits: Limits {
            deadline: timeouts.ready,
            ..limits(timeouts, Duration::from_mins(1))
        },
        os: build.node.os,
        on_change: OnChange::Rerun,
        text: None,
        effects: vec![
            Effect::Needs {
                condition: Condition::Joined,
                message: format!(
                    "Error from server (NotFound): nodes \"{}\" not found",
                    build.node.name
                ),
            },
            Effect::NodeReady,
        ],
    })
}
