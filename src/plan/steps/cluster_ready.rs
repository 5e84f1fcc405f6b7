//! The whole cluster is ready.

use std::time::Duration;

use super::guest::{GuestStep, inputs, limits};
use super::node_ready::{ADMIN, patience};
use super::readiness::Readiness;
use super::{Build, cni};
use crate::channel::{Effect, Os};
use crate::engine::step::{Limits, OnChange};
use crate::error::Result;
use crate::render::linux_cluster::nodes_ready;

/// Waits until the network plugin runs on every node.
///
/// # Errors
/// When the script cannot be rendered.
pub fn step(build: &Build) -> Result<Readiness> {
    let timeouts = &build.config.timeouts;
    let nodes: Vec<_> = build
        .nodes
        .iter()
        .map(|node| (node.name.to_string(), node.address))
        .collect();
    let script = GuestStep {
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
        text: Some(nodes_ready(ADMIN, &nodes, patience(build))?),
        effects: vec![Effect::PodsReady(cni::manifest(build))],
    };
    Ok(Readiness {
        script,
        own_kubelet: false,
    })
}
