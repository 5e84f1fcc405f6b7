//! The container runtime.

use std::time::Duration;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use crate::channel::effect::Condition;
use crate::channel::{Effect, Os};
use crate::engine::step::OnChange;

/// Installs and starts the container runtime.
#[must_use]
pub fn step(build: &Build) -> GuestStep {
    let runtime = &build.config.container_runtime;
    let (name, version) = (runtime.name.clone(), runtime.version.clone());
    let needs = match build.node.os {
        Os::Windows => Effect::Needs {
            condition: Condition::Feature("Containers".to_owned()),
            message:
                "hcsshim: the Host Compute Service is not available: the feature Containers is \
                      not active"
                    .to_owned(),
        },
        Os::Linux => Effect::Needs {
            condition: Condition::Setting {
                key: "net.ipv4.ip_forward".to_owned(),
                value: "1".to_owned(),
            },
            message: "/proc/sys/net/ipv4/ip_forward contents are not set to 1".to_owned(),
        },
    };
    GuestStep {
        id: "container-runtime".to_owned(),
        title: format!("install {name} {version}"),
        purpose: "the kubelet runs no container without it".to_owned(),
        phase: "runtime",
        inputs: inputs([("container_runtime", format!("{name} {version}"))]),
        limits: limits(&build.config.timeouts, Duration::from_secs(30)),
        os: build.node.os,
        on_change: OnChange::Rerun,
        text: None,
        effects: vec![
            needs,
            Effect::Package {
                name: name.clone(),
                version,
            },
            Effect::Service {
                name: name.clone(),
                needs: vec![],
            },
            Effect::Running(name),
        ],
    }
}
