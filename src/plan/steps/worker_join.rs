//! The scripts with which a worker joins the cluster.

use std::time::Duration;

use super::Build;
use super::control_plane::as_json;
use super::guest::{GuestStep, inputs, limits};
use super::join::Join;
use super::node_ready::is_own;
use crate::channel::effect::Condition;
use crate::channel::{Effect, Os};
use crate::engine::step::{Limits, OnChange};
use crate::error::Result;
use crate::names::LaneName;
use crate::release::kubelet_windows::links_pki;
use crate::render::kubernetes::{Cluster, socket};
use crate::render::{linux_cluster, windows};

/// Joins a worker with a fresh token.
///
/// # Errors
/// When kubeadm's configuration or a script cannot be rendered.
pub fn step(build: &Build, control_plane: &LaneName) -> Result<Join> {
    let config = build.config;
    let node = build.node.name.as_str();
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
        text: text(build)?,
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
        inputs: inputs([("for", node.to_owned())]),
        limits: short,
        os: Os::Linux,
        on_change: OnChange::Rerun,
        text: Some(linux_cluster::join_token(node)?),
        effects: vec![Effect::JoinToken],
    };
    let end = GuestStep {
        // The same name: what the wrapper keeps of the token's making goes with it.
        title: "remove the join token".to_owned(),
        purpose: "nobody needs it any more".to_owned(),
        text: Some(linux_cluster::join_end(node)?),
        effects: vec![Effect::Takes(300)],
        ..token.clone()
    };
    Ok(Join {
        script,
        token,
        end,
        control_plane: control_plane.clone(),
        own_kubelet: is_own(build),
    })
}

fn text(build: &Build) -> Result<Option<String>> {
    let (config, node) = (build.config, build.node);
    let Some(member) = build.member() else {
        return Ok(None);
    };
    let cluster = Cluster::new(config, build.release)?;
    let joining = cluster.join(&member)?;
    let also = as_json(&config.kubernetes.feature_gates);
    let text = match node.os {
        Os::Linux => linux_cluster::join(&linux_cluster::Join {
            node: member.name,
            address: node.address,
            control_plane: config.control_plane.address,
            socket: socket(node.os),
            config: &joining,
            also: &also,
        }),
        Os::Windows => windows::join(&windows::Join {
            node: member.name,
            address: node.address,
            control_plane: config.control_plane.address,
            config: &joining,
            also: &also,
            kubelet: &cluster.kubelet_service(&member, node.machine.memory_mib)?,
            links_pki: links_pki(build.release.kubernetes.minor()),
            patience: windows::Patience::default(),
        }),
    };
    text.map(Some)
}
