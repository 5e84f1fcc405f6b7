//! `wdev up`: from nothing to a cluster, on one screen.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::Target;
use super::node::{Node, Role, nodes};
use super::steps::download::Download;
use super::steps::equipped::Equipped;
use super::steps::guest::{GuestStep, inputs};
use super::steps::host::SimulatedHostStep;
use super::steps::machine::Machine;
use super::steps::{
    Build, address, clock, cluster_ready, cni, computer_name, container_runtime, control_plane,
    dns, download, facts, features, first_contact, hns, hook, hosts, images, kernel, kube_proxy,
    kubeconfig, kubernetes, node_ready, proxy, swap, worker_join,
};
use crate::channel::Os;
use crate::config::model::{CniName, PHASES, ProviderName};
use crate::engine::plan::{Lane, Plan, Planned};
use crate::engine::step::Step;
use crate::error::Result;
use crate::names::{LaneName, StepKey};
use crate::provider::vagrant::hypervisor::features;
use crate::release::Artifact;

/// A Windows box holds five to twelve GB.
const FETCH_A_BOX: Duration = Duration::from_hours(1);

/// The plan that makes the sandbox or completes it.
///
/// # Errors
/// When a script cannot be rendered or a hook cannot be read.
pub fn plan(target: &Target) -> Result<Plan> {
    let nodes = nodes(target)?;
    let images = images::files(target.config)?;
    let mut lanes = vec![host(target)];
    for node in &nodes {
        let build = Build {
            config: target.config,
            provider: target.provider,
            node,
            folder: target.folder,
            nodes: &nodes,
            release: target.release,
            images: &images,
            store: target.store,
        };
        lanes.push(match node.role {
            Role::ControlPlane => control_plane_lane(target, &build)?,
            Role::Worker => worker_lane(target, &build, &nodes[0].name)?,
        });
    }
    let plan = Plan {
        command: "up",
        sandbox: target.config.sandbox.clone(),
        lanes,
        resumes: true,
    };
    plan.check()?;
    Ok(plan)
}

fn host(target: &Target) -> Lane {
    let kubernetes = &target.config.kubernetes;
    let built: Vec<String> = kubernetes
        .build
        .iter()
        .map(|component| component.as_str().to_owned())
        .collect();
    let mut steps = LaneBuilder::new(LaneName::host());
    steps.push(Download {
        release: target.release.clone(),
        store: target.store.cloned(),
    });
    let why = built
        .is_empty()
        .then(|| "`kubernetes.build` names no component".to_owned());
    steps.push_unless(
        why,
        SimulatedHostStep {
            id: "build",
            title: "build your components from source".to_owned(),
            purpose: "the Windows nodes run your build".to_owned(),
            inputs: inputs([("kubernetes.build", built.join(","))]),
            takes: Duration::from_secs(90),
        },
    );
    steps.into_lane("this machine".to_owned())
}

fn control_plane_lane(target: &Target, build: &Build) -> Result<Lane> {
    let mut steps = LaneBuilder::new(build.node.name.clone());
    steps.push(machine(target, build));
    own_address(&mut steps, build)?;
    steps.push(clock::step(build)?);
    steps.hooks(build, "machine")?;
    linux_prepare(&mut steps, build)?;
    steps.after_host(download::ID).push(equipped(
        build,
        container_runtime::step(build)?,
        container_runtime::artifacts(build),
    ));
    steps.hooks(build, "runtime")?;
    steps.push(equipped(
        build,
        kubernetes::step(build)?,
        kubernetes::artifacts(build),
    ));
    steps.hooks(build, "kubernetes")?;
    load_images(&mut steps, build)?;
    steps.push(control_plane::step(build)?);
    steps.push(kubeconfig::step(build)?);
    steps.hooks(build, "cluster")?;
    steps.push_unless(no_cni(build), cni::step(build));
    steps.hooks(build, "network")?;
    steps.push_unless(no_network(build), node_ready::step(build)?);
    for worker in build.nodes.iter().filter(|node| node.role == Role::Worker) {
        steps.after(StepKey::new(&worker.name, node_ready::ID));
    }
    steps.push_unless(no_cni(build), cluster_ready::step(build)?);
    steps.hooks(build, "verify")?;
    Ok(steps.into_lane(build.node.title()))
}

fn worker_lane(target: &Target, build: &Build, control_plane: &LaneName) -> Result<Lane> {
    let mut steps = LaneBuilder::new(build.node.name.clone());
    steps.push(machine(target, build));
    if build.node.os == Os::Linux {
        own_address(&mut steps, build)?;
        steps.push(clock::step(build)?);
    }
    steps.hooks(build, "machine")?;
    match build.node.os {
        Os::Linux => linux_prepare(&mut steps, build)?,
        Os::Windows => {
            own_address(&mut steps, build)?;
            steps.push(computer_name::step(build)?);
            steps.push(first_contact::step(build)?);
            steps.push(features::step(build)?);
            steps.push(hns::step(build)?);
            steps.hooks(build, "prepare")?;
        }
    }
    steps.after_host(download::ID).push(equipped(
        build,
        container_runtime::step(build)?,
        container_runtime::artifacts(build),
    ));
    steps.hooks(build, "runtime")?;
    if build.node.os == Os::Windows {
        steps.after_host("build");
    }
    steps.push(equipped(
        build,
        kubernetes::step(build)?,
        kubernetes::artifacts(build),
    ));
    steps.hooks(build, "kubernetes")?;
    load_images(&mut steps, build)?;
    steps
        .after(StepKey::new(control_plane, control_plane::ID))
        .push(worker_join::step(build, control_plane)?);
    steps.hooks(build, "cluster")?;
    if build.node.os == Os::Windows {
        steps.push_unless(kube_proxy::needless(build), kube_proxy::step(build));
    }
    steps.hooks(build, "network")?;
    steps
        .after(StepKey::new(control_plane, cni::ID))
        .push_unless(no_network(build), node_ready::step(build)?);
    steps.hooks(build, "verify")?;
    Ok(steps.into_lane(build.node.title()))
}

/// As soon as the node can be reached by SSH, which then goes to this address.
fn own_address(steps: &mut LaneBuilder, build: &Build) -> Result<()> {
    if address::needless(build).is_none() {
        steps.push(address::step(build)?);
    }
    Ok(())
}

/// Before anything asks for them: what is there is not pulled.
fn load_images(steps: &mut LaneBuilder, build: &Build) -> Result<()> {
    if build.node.os == Os::Linux
        && let Some(step) = images::step(build)?
    {
        steps.push(step);
    }
    Ok(())
}

fn linux_prepare(steps: &mut LaneBuilder, build: &Build) -> Result<()> {
    steps.push(facts::step(build)?);
    steps.push(hosts::step(build)?);
    steps.push(kernel::step(build)?);
    steps.push(swap::step(build)?);
    steps.push(dns::step(build)?);
    steps.push(proxy::step(build)?);
    steps.hooks(build, "prepare")
}

/// A script with the artifacts that it installs.
fn equipped(build: &Build, script: GuestStep, artifacts: Vec<Artifact>) -> Equipped {
    Equipped {
        script,
        artifacts,
        store: build.store.cloned(),
        guest_download: build.config.artifacts.guest_download,
    }
}

fn machine(target: &Target, build: &Build) -> Machine {
    let node = build.node;
    let extra = |key: &str| {
        target
            .config
            .vagrant
            .extra
            .get(key)
            .cloned()
            .unwrap_or_default()
    };
    Machine {
        node: node.clone(),
        deadline: machine_deadline(target, build.nodes),
        // A container's size is fixed when it is made.
        resizable: target.provider != ProviderName::Docker,
        extra: extra(target.provider.as_str()) + &extra(node.name.as_str()),
    }
}

/// How long making a machine may take: to boot, after the machines before it where they are made one
/// after the other, and after its box has come over the network and was unpacked.
fn machine_deadline(target: &Target, nodes: &[Node]) -> Duration {
    let boot = target.config.timeouts.boot;
    match target.provider {
        ProviderName::Sim | ProviderName::Docker | ProviderName::Auto => boot,
        provider => {
            let machines = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
            let turns = if features(provider).parallel_creation {
                1
            } else {
                machines
            };
            FETCH_A_BOX.saturating_mul(boxes(nodes)) + boot.saturating_mul(turns)
        }
    }
}

/// How many boxes the machines are made of.
fn boxes(nodes: &[Node]) -> u32 {
    let all: BTreeSet<_> = nodes
        .iter()
        .map(|node| {
            (
                &node.machine.r#box,
                &node.machine.box_version,
                &node.machine.box_url,
            )
        })
        .collect();
    u32::try_from(all.len()).unwrap_or(u32::MAX)
}

fn no_cni(build: &Build) -> Option<String> {
    (build.config.cni.name == CniName::None)
        .then(|| "`cni: none`: no node becomes Ready before you bring a network plugin".to_owned())
}

/// Why no node can become Ready: nobody brings a network plugin, neither wdev nor a hook of the user's.
fn no_network(build: &Build) -> Option<String> {
    let hooks = &build.config.hooks;
    no_cni(build).filter(|_| hooks.iter().all(|hook| hook.phase != "network"))
}

/// Puts the steps of one lane in order.
struct LaneBuilder {
    lane: Lane,
    after: Vec<StepKey>,
}

impl LaneBuilder {
    fn new(name: LaneName) -> Self {
        Self {
            lane: Lane {
                name,
                title: String::new(),
                steps: Vec::new(),
            },
            after: Vec::new(),
        }
    }

    /// The next step waits for this step of another lane.
    fn after(&mut self, key: StepKey) -> &mut Self {
        self.after.push(key);
        self
    }

    fn after_host(&mut self, step: &str) -> &mut Self {
        self.after(StepKey::new(&LaneName::host(), step))
    }

    fn push(&mut self, step: impl Step + 'static) {
        self.push_unless(None, step);
    }

    fn push_unless(&mut self, skip: Option<String>, step: impl Step + 'static) {
        let after = std::mem::take(&mut self.after);
        self.lane.steps.push(Planned {
            step: Arc::new(step),
            after,
            skip,
        });
    }

    /// The user's hooks at the end of a phase.
    fn hooks(&mut self, build: &Build, phase: &str) -> Result<()> {
        let Some(phase) = PHASES.into_iter().find(|known| *known == phase) else {
            return Ok(());
        };
        let hooks = &build.config.hooks;
        let mine = hooks
            .iter()
            .filter(|hook| hook.phase == phase && build.node.is_meant_by(&hook.node));
        for (index, hook) in mine.enumerate() {
            self.push(hook::step(build, hook, phase, index + 1)?);
        }
        Ok(())
    }

    fn into_lane(self, title: String) -> Lane {
        Lane { title, ..self.lane }
    }
}
