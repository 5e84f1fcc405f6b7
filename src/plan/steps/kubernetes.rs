//! The Kubernetes binaries of the exact version, and the kubelet's service.

use std::time::Duration;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use crate::channel::effect::Condition;
use crate::channel::{Effect, Os};
use crate::config::model::Component;
use crate::engine::step::OnChange;
use crate::error::Result;
use crate::plan::node::Role;
use crate::release::Artifact;
use crate::release::artifacts::has_binary;
use crate::release::kubelet_windows::links_pki;
use crate::render::kubernetes::{Cluster, DROP_IN, UNIT};
use crate::render::linux::{self, Programs};
use crate::render::windows;

/// Puts kubeadm, the kubelet and their friends on the node.
///
/// # Errors
/// When the script cannot be rendered.
pub fn step(build: &Build) -> Result<GuestStep> {
    let version = build.release.kubernetes.bare();
    let runtime = build.config.container_runtime.name.clone();
    let binaries = programs(build);
    let mut effects = vec![Effect::Needs {
        condition: Condition::Running(runtime.clone()),
        message:
            "the container runtime is not running: validate CRI v1 runtime API: connection refused"
                .to_owned(),
    }];
    effects.extend(binaries.iter().map(|binary| Effect::Package {
        name: (*binary).to_owned(),
        version: format!("{}{}", version, built(build, binary)),
    }));
    effects.push(Effect::Service {
        name: "kubelet".to_owned(),
        needs: vec![runtime],
    });
    let from_source: Vec<&str> = binaries
        .iter()
        .copied()
        .filter(|b| !built(build, b).is_empty())
        .collect();
    let text = match build.node.os {
        Os::Linux => Some(linux::kubernetes(&Programs {
            version: &build.release.kubernetes.to_string(),
            minor: build.release.kubernetes.minor(),
            names: &binaries,
            unit: UNIT,
            drop_in: DROP_IN,
        })?),
        Os::Windows => script_on_windows(build, &binaries)?,
    };
    Ok(GuestStep {
        id: "kubernetes".to_owned(),
        title: format!("install Kubernetes {version}"),
        purpose: "the node needs the kubelet and kubeadm of the exact version".to_owned(),
        phase: "kubernetes",
        inputs: inputs([
            ("kubernetes.version", version),
            ("kubernetes.build", from_source.join(",")),
        ]),
        limits: limits(&build.config.timeouts, Duration::from_secs(25)),
        os: build.node.os,
        on_change: OnChange::Rerun,
        text,
        effects,
    })
}

fn script_on_windows(build: &Build, names: &[&str]) -> Result<Option<String>> {
    let Some(member) = build.member() else {
        return Ok(None);
    };
    let cluster = Cluster::new(build.config, build.release)?;
    let memory = build.node.machine.memory_mib;
    let script = windows::kubernetes(&windows::Programs {
        version: &build.release.kubernetes.to_string(),
        names,
        links_pki: links_pki(build.release.kubernetes.minor()),
        kubelet: &cluster.kubelet_service(&member, memory)?,
    })?;
    Ok(Some(script))
}

/// The artifacts that the script of this node installs.
#[must_use]
pub fn artifacts(build: &Build) -> Vec<Artifact> {
    build.artifacts(&programs(build))
}

/// The programs of a node, without those that this release has not.
fn programs(build: &Build) -> Vec<&'static str> {
    let all: &[&str] = match (build.node.os, build.node.role) {
        (Os::Windows, _) => &[
            "kubelet",
            "kubeadm",
            "kube-proxy",
            "kubectl",
            "kube-log-runner",
        ],
        // A worker asks with kubectl whether the cluster knows it.
        (Os::Linux, Role::ControlPlane | Role::Worker) => &["kubelet", "kubeadm", "kubectl"],
    };
    let minor = build.release.kubernetes.minor();
    let known = all.iter().copied();
    known.filter(|name| has_binary(name, minor)).collect()
}

/// What marks a component as built from source; only Windows nodes run the user's builds.
fn built(build: &Build, binary: &str) -> &'static str {
    let component = match binary {
        "kubelet" => Component::Kubelet,
        "kube-proxy" => Component::KubeProxy,
        "kubeadm" => Component::Kubeadm,
        _ => Component::Kubectl,
    };
    if build.node.os == Os::Windows && build.config.kubernetes.build.contains(&component) {
        " (from source)"
    } else {
        ""
    }
}
