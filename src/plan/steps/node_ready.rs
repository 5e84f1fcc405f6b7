//! A node is Ready.

use std::time::Duration;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use super::readiness::Readiness;
use crate::channel::Effect;
use crate::channel::Os;
use crate::channel::effect::Condition;
use crate::config::model::Component;
use crate::engine::step::{Limits, OnChange};
use crate::error::Result;
use crate::plan::node::Role;
use crate::render::linux_cluster::nodes_ready;
use crate::render::windows;

/// The step's id: the cluster is ready after it.
pub const ID: &str = "node-ready";
/// The administrator's kubeconfig on the control plane.
pub(super) const ADMIN: &str = "/etc/kubernetes/admin.conf";

/// Waits until the node is Ready under its own address, and says what it waits for.
///
/// # Errors
/// When the script cannot be rendered.
pub fn step(build: &Build) -> Result<Readiness> {
    let timeouts = &build.config.timeouts;
    Ok(Readiness(GuestStep {
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
        text: text(build)?,
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
    }))
}

/// A worker asks with its own credentials.
fn text(build: &Build) -> Result<Option<String>> {
    let node = build.node;
    if node.os == Os::Windows {
        return on_windows(build).map(Some);
    }
    let kubeconfig = match node.role {
        Role::ControlPlane => ADMIN,
        Role::Worker => "/etc/kubernetes/kubelet.conf",
    };
    let nodes = [(node.name.to_string(), node.address)];
    nodes_ready(kubeconfig, &nodes, patience(build)).map(Some)
}

/// The versions that are of the user's own are not compared.
fn on_windows(build: &Build) -> Result<String> {
    let (config, version) = (build.config, build.release.kubernetes.to_string());
    let runtime = &config.container_runtime;
    let mut wanted = format!("{}://{}", runtime.name, runtime.version);
    if runtime.archive.is_some() {
        wanted.clone_from(&runtime.name);
    }
    windows::node_ready(&windows::Ready {
        node: build.node.name.as_str(),
        address: build.node.address,
        kubelet: (!is_own(build)).then_some(version.as_str()),
        runtime: &wanted,
        patience: patience(build),
    })
}

/// Whether the node runs a kubelet that was built from the user's source.
pub(super) fn is_own(build: &Build) -> bool {
    build.node.os == Os::Windows && build.config.kubernetes.build.contains(&Component::Kubelet)
}

/// How long a script waits, in seconds: its own words come before the deadline.
pub(super) fn patience(build: &Build) -> u64 {
    let ready = build.config.timeouts.ready.as_secs();
    ready - ready / 10
}
