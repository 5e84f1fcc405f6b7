//! The scripts with which a worker joins the cluster.

use std::time::Duration;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use super::join::Join;
use crate::channel::effect::Condition;
use crate::channel::{Effect, Os};
use crate::engine::step::{Limits, OnChange};
use crate::names::LaneName;

/// Joins a worker with a fresh token.
#[must_use]
pub fn step(build: &Build, control_plane: &LaneName) -> Join {
    let config = build.config;
    let short = limits(&config.timeouts, Duration::from_secs(20));
    let script = GuestStep {
        id: "join".to_owned(),
        title: "join the cluster with a fresh token".to_owned(),
        purpose: "the node is not part of the cluster yet".to_owned(),
        phase: "cluster",
        inputs: inputs([("address", build.node.address.to_string())]),
        limits: Limits {
            deadline: config.timeouts.ready,
            ..short
        },
        os: build.node.os,
        on_change: OnChange::Rerun,
        text: None,
        effects: vec![
            Effect::Needs {
                condition: Condition::Running(config.container_runtime.name.clone()),
                message: "[ERROR CRI]: container runtime is not running".to_owned(),
            },
            Effect::Join {
                address: build.node.address.to_string(),
            },
            Effect::Running("kubelet".to_owned()),
        ],
    };
    let token = GuestStep {
        id: "join-token".to_owned(),
        title: "make a join token".to_owned(),
        purpose: "every join has a token of its own".to_owned(),
        phase: "cluster",
        inputs: inputs([("for", build.node.name.to_string())]),
        limits: short,
        os: Os::Linux,
        on_change: OnChange::Rerun,
        text: None,
        effects: vec![Effect::JoinToken],
    };
    Join {
        script,
        token,
        control_plane: control_plane.clone(),
    }
}
