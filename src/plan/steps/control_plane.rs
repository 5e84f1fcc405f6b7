//! The control plane.

use std::time::Duration;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use crate::channel::effect::Condition;
use crate::channel::{Effect, Os};
use crate::engine::step::{Limits, OnChange};

/// The step's id: workers wait for it.
pub const ID: &str = "control-plane";

/// Runs `kubeadm init`.
#[must_use]
pub fn step(build: &Build) -> GuestStep {
    let config = build.config;
    let version = build.release.kubernetes.bare();
    let images = [
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "etcd",
        "coredns",
    ];
    let mut effects = vec![Effect::Needs {
        condition: Condition::Running(config.container_runtime.name.clone()),
        message: "[ERROR CRI]: container runtime is not running".to_owned(),
    }];
    effects.extend(
        images
            .iter()
            .map(|image| Effect::Image(format!("{image}:{version}"))),
    );
    effects.extend([
        Effect::Running("kubelet".to_owned()),
        Effect::ControlPlane {
            version: version.clone(),
            address: build.node.address.to_string(),
        },
    ]);
    GuestStep {
        id: ID.to_owned(),
        title: "make the control plane with kubeadm init".to_owned(),
        purpose: "there is no cluster without it".to_owned(),
        phase: "cluster",
        inputs: inputs([
            ("kubernetes.version", version),
            ("network.pods", config.network.pods.to_string()),
            ("network.services", config.network.services.to_string()),
            ("feature_gates", as_json(&config.kubernetes.feature_gates)),
            ("extra_args", as_json(&config.kubernetes.extra_args)),
        ]),
        limits: Limits {
            deadline: config.timeouts.ready,
            ..limits(&config.timeouts, Duration::from_secs(70))
        },
        os: Os::Linux,
        on_change: OnChange::Rerun,
        text: None,
        effects,
    }
}

/// A text that changes when the value does, and with nothing else.
fn as_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
