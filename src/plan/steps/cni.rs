//! The network plugin.

use std::time::Duration;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use crate::channel::effect::Condition;
use crate::channel::{Effect, Os};
use crate::config::model::CniName;
use crate::engine::step::OnChange;

/// The step's id: nodes become Ready after it.
pub const ID: &str = "cni";

/// The plugin's name as users write it.
#[must_use]
pub fn name(cni: CniName) -> &'static str {
    match cni {
        CniName::Calico => "calico",
        CniName::Antrea => "antrea",
        CniName::Flannel => "flannel",
        CniName::None => "none",
    }
}

/// Applies the network plugin to the cluster.
#[must_use]
pub fn step(build: &Build) -> GuestStep {
    let cni = &build.config.cni;
    let title = format!("apply {} {}", name(cni.name), cni.version);
    GuestStep {
        id: ID.to_owned(),
        title,
        purpose: "no node becomes Ready without a network plugin".to_owned(),
        phase: "network",
        inputs: inputs([
            ("cni", format!("{} {}", name(cni.name), cni.version)),
            ("network.pods", build.config.network.pods.to_string()),
        ]),
        limits: limits(&build.config.timeouts, Duration::from_secs(10)),
        os: Os::Linux,
        on_change: OnChange::Rerun,
        text: None,
        effects: vec![
            Effect::Needs {
                condition: Condition::ControlPlane,
                message:
                    "The connection to the server was refused - did you specify the right host \
                          or port?"
                        .to_owned(),
            },
            Effect::Manifest(manifest(build)),
        ],
    }
}

/// What the plugin is called in the cluster.
#[must_use]
pub fn manifest(build: &Build) -> String {
    let cni = &build.config.cni;
    format!("cni-{}-{}", name(cni.name), cni.version)
}
