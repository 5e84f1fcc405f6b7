//! kube-proxy on a Windows worker.

use std::time::Duration;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use crate::channel::effect::Condition;
use crate::channel::{Effect, Os};
use crate::config::model::{CniName, KubeProxy};
use crate::engine::step::OnChange;

/// Runs kube-proxy on the worker.
#[must_use]
pub fn step(build: &Build) -> GuestStep {
    GuestStep {
        id: "kube-proxy".to_owned(),
        title: "run kube-proxy as a service".to_owned(),
        purpose: "service addresses do not work on the node without it".to_owned(),
        phase: "network",
        inputs: inputs([("kubernetes.version", build.release.kubernetes.bare())]),
        limits: limits(&build.config.timeouts, Duration::from_secs(5)),
        os: Os::Windows,
        on_change: OnChange::Rerun,
        text: None,
        effects: vec![
            Effect::Needs {
                condition: Condition::Joined,
                message: "Failed to retrieve node info: nodes not found".to_owned(),
            },
            Effect::Service {
                name: "kube-proxy".to_owned(),
                needs: vec!["kubelet".to_owned()],
            },
            Effect::Running("kube-proxy".to_owned()),
        ],
    }
}

/// Why this sandbox runs no kube-proxy.exe as a service, if it does not.
#[must_use]
pub fn needless(build: &Build) -> Option<String> {
    match (build.config.kube_proxy, build.config.cni.name) {
        // https://antrea.io/docs/main/docs/windows/: AntreaProxy replaces it.
        (_, CniName::Antrea) => Some("Antrea replaces kube-proxy on Windows".to_owned()),
        (_, CniName::None) => {
            Some("`cni: none`: your own network plugin decides what carries services".to_owned())
        }
        (KubeProxy::None, _) => Some("`kube_proxy: none`".to_owned()),
        (KubeProxy::Hostprocess, _) => {
            Some("`kube_proxy: hostprocess`: it runs in the cluster".to_owned())
        }
        (KubeProxy::Service, _) => None,
    }
}
