//! The container runtime.

use std::time::Duration;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use crate::channel::effect::Condition;
use crate::channel::{Effect, Os};
use crate::config::model::DISTRIBUTION;
use crate::engine::step::OnChange;
use crate::error::{Failure, Kind, Result};
use crate::release::Artifact;
use crate::release::containerd::Version;
use crate::render::kubernetes::{self, Cluster};
use crate::render::linux::{ContainerRuntime, Origin, container_runtime};
use crate::render::windows;

/// The artifacts that the script installs, beside containerd and runc from the distribution.
const ARTIFACTS: [&str; 4] = ["containerd", "runc", "crictl", "cni-plugins"];
/// The same of a Windows node: the network plugin brings its CNI plugins, and runc is for Linux.
const ARTIFACTS_ON_WINDOWS: [&str; 2] = ["containerd", "crictl"];

/// Installs and starts the container runtime.
///
/// # Errors
/// `Configuration` for a containerd that wdev cannot configure.
pub fn step(build: &Build) -> Result<GuestStep> {
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
    let text = match build.node.os {
        Os::Linux => Some(script(build)?),
        Os::Windows => Some(script_on_windows(build)?),
    };
    let mut made_of = vec![format!("{name} {version}")];
    made_of.extend(
        artifacts(build)
            .iter()
            .map(|artifact| format!("{} {}", artifact.name, artifact.version)),
    );
    Ok(GuestStep {
        id: "container-runtime".to_owned(),
        title: format!("install {name} {version}"),
        purpose: "the kubelet runs no container without it".to_owned(),
        phase: "runtime",
        inputs: inputs([("container_runtime", made_of.join(", "))]),
        limits: limits(&build.config.timeouts, Duration::from_secs(30)),
        os: build.node.os,
        on_change: OnChange::Rerun,
        text,
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
    })
}

/// The artifacts that the script of this node installs.
#[must_use]
pub fn artifacts(build: &Build) -> Vec<Artifact> {
    match build.node.os {
        Os::Linux => build.artifacts(&ARTIFACTS),
        Os::Windows => build.artifacts(&ARTIFACTS_ON_WINDOWS),
    }
}

fn script_on_windows(build: &Build) -> Result<String> {
    // A distribution has none for Windows: the artifact is of the version that wdev takes by itself.
    let artifacts = artifacts(build);
    let artifact = artifacts.iter().find(|one| one.name == "containerd");
    let version = parsed(artifact.map_or("", |one| one.version.as_str()))?;
    let cluster = Cluster::new(build.config, build.release)?;
    let windows = build.worker().map_or("", |worker| worker.windows.as_str());
    windows::container_runtime(
        &cluster.containerd_on_windows(version, windows)?,
        &kubernetes::crictl(Os::Windows)?,
    )
}

fn parsed(asked: &str) -> Result<Version> {
    Version::parse(asked).ok_or_else(|| {
        let message = format!("`{asked}` is no version of containerd");
        Box::new(
            Failure::new(Kind::Configuration, message)
                .advise("set `container_runtime.version` to one, or to `distribution`")
                .permanent(),
        )
    })
}

fn script(build: &Build) -> Result<String> {
    let asked = build.config.container_runtime.version.as_str();
    let cluster = Cluster::new(build.config, build.release)?;
    let (origin, configurations) = if asked == DISTRIBUTION {
        let variants = cluster.containerd_variants(Os::Linux)?;
        let text = |version: Version| format!("{}.{}", version.major, version.minor);
        let variants = variants.into_iter().map(|one| (text(one.from), one.text));
        (Origin::Distribution, variants.collect())
    } else {
        let text = cluster.containerd(parsed(asked)?, Os::Linux)?;
        // It is for the version that is asked for, whatever the program says of itself.
        (Origin::Upstream, vec![("0".to_owned(), text)])
    };
    container_runtime(&ContainerRuntime {
        origin,
        configurations: &configurations,
        crictl_configuration: &kubernetes::crictl(Os::Linux)?,
    })
}
