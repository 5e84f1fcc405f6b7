//! The control plane.

use std::time::Duration;

use async_trait::async_trait;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use crate::channel::effect::Condition;
use crate::channel::{Effect, Os};
use crate::engine::step::{Context, Done, Limits, OnChange, Probe, Step};
use crate::error::Result;
use crate::render::kubernetes::{AUDIT_POLICY, Cluster, socket};
use crate::render::linux_cluster::{self, NodeFile};

/// The step's id: workers wait for it.
pub const ID: &str = "control-plane";

/// What a control plane keeps for life: the version, which wdev does not upgrade, and the ranges that its
/// certificates and its data are full of.
const FOR_LIFE: [&str; 3] = ["kubernetes.version", "network.pods", "network.services"];

/// The step; see [`step`].
pub struct ControlPlane {
    script: GuestStep,
}

/// Runs `kubeadm init`, or mends what is there.
///
/// # Errors
/// When kubeadm's configuration or the script cannot be rendered.
pub fn step(build: &Build) -> Result<ControlPlane> {
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
    let kubernetes = &config.kubernetes;
    let script = GuestStep {
        id: ID.to_owned(),
        title: "make the control plane with kubeadm init".to_owned(),
        purpose: "there is no cluster without it".to_owned(),
        phase: "cluster",
        inputs: inputs([
            ("kubernetes.version", version),
            ("network.pods", config.network.pods.to_string()),
            ("network.services", config.network.services.to_string()),
            ("feature_gates", as_json(&kubernetes.feature_gates)),
            ("extra_args", as_json(&kubernetes.extra_args)),
        ]),
        limits: Limits {
            deadline: config.timeouts.ready,
            attempts: 2,
            ..limits(&config.timeouts, Duration::from_secs(70))
        },
        os: Os::Linux,
        on_change: OnChange::Rerun,
        text: Some(text(build)?),
        effects,
    };
    Ok(ControlPlane { script })
}

fn text(build: &Build) -> Result<String> {
    let cluster = Cluster::new(build.config, build.release)?;
    let policy = cluster.audit_policy()?.map(|text| NodeFile {
        path: AUDIT_POLICY.to_owned(),
        text,
    });
    linux_cluster::control_plane(&linux_cluster::ControlPlane {
        node: build.node.name.as_str(),
        address: build.node.address,
        version: &build.release.kubernetes.to_string(),
        exact: build.config.kubernetes.images.is_empty(),
        socket: socket(Os::Linux),
        config: &cluster.init()?,
        files: policy.as_slice(),
        skipped_phases: &[],
        taints: build.config.control_plane.taints.as_deref(),
    })
}

/// A text that changes when the value does, and with nothing else.
pub(super) fn as_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[async_trait]
impl Step for ControlPlane {
    told_by!(script);

    fn on_change(&self, changed: &[String]) -> OnChange {
        if changed.iter().any(|name| FOR_LIFE.contains(&name.as_str())) {
            OnChange::Recreate
        } else {
            OnChange::Rerun
        }
    }

    fn script(&self) -> Option<crate::channel::Script> {
        self.script.script()
    }

    async fn probe(&self, cx: &Context) -> Result<Probe> {
        self.script.probe(cx).await
    }

    async fn run(&self, cx: &Context) -> Result<Done> {
        self.script.run(cx).await
    }

    async fn verify(&self, cx: &Context, done: &Done) -> Result<()> {
        self.script.verify(cx, done).await
    }
}
