//! What each effect does to the world, what it needs, and whether it is in place.

use std::collections::BTreeMap;

use super::cluster;
use super::draw::digits;
use super::words;
use super::world::{Cluster, Feature, Machine, Member, Service, Token, World};
use crate::channel::effect::Condition;
use crate::channel::{Effect, Os};
use crate::names::LaneName;

/// The service that makes a machine a node.
pub(super) const KUBELET: &str = "kubelet";

/// What came of trying an effect.
pub(super) enum Tried {
    Done,
    /// Not yet; try again then.
    Wait(u64),
    /// In the real tool's words.
    Failed(String),
}

/// Performs an effect on `name` at `now`. `token` is the join token that the script was given.
pub(super) fn perform(
    world: &mut World,
    seed: u64,
    name: &LaneName,
    effect: &Effect,
    token: Option<&Token>,
    now: u64,
) -> Tried {
    let done = match effect {
        Effect::Takes(_) => Ok(()),
        Effect::Needs { condition, message } => holds(world, name, condition)
            .then_some(())
            .ok_or_else(|| message.clone()),
        Effect::ControlPlane { version, address } => {
            control_plane(world, seed, name, version, address, now)
        }
        Effect::JoinToken => cluster::own(world, name).map(|cluster| {
            cluster::mint(cluster, now);
        }),
        Effect::Join { address } => join(world, name, address, token, now),
        Effect::Left { node, force } => leave(world, name, &LaneName::from(node.as_str()), *force),
        Effect::Manifest(manifest) => apply(world, manifest, now),
        Effect::NodeReady => return wait(world.cluster_ready(seed, name), now),
        Effect::PodsReady(manifest) => {
            if !cluster::answers(world) {
                Err(words::no_api(&cluster::address(world)))
            } else if !cluster::applied(world, manifest) {
                Err(words::no_such_workload(manifest))
            } else {
                return wait(cluster::pods_ready(world, seed, manifest), now);
            }
        }
        _ => match world.machine_mut(name) {
            Some(machine) => local(machine, effect),
            None => Err("the machine is gone".to_owned()),
        },
    };
    match done {
        Ok(()) => {
            world.cluster_dirty |= matches!(
                effect,
                Effect::ControlPlane { .. } | Effect::JoinToken | Effect::Manifest(_)
            );
            Tried::Done
        }
        Err(message) => Tried::Failed(message),
    }
}

/// Waits for a moment that is known, or asks again later.
fn wait(ready: Option<u64>, now: u64) -> Tried {
    const ASK_AGAIN: u64 = 5_000;
    match ready {
        Some(at) if at <= now => Tried::Done,
        Some(at) => Tried::Wait(at),
        None => Tried::Wait(now + ASK_AGAIN),
    }
}

/// The effects that concern one machine only.
fn local(machine: &mut Machine, effect: &Effect) -> Result<(), String> {
    match effect {
        Effect::File { path, content } => {
            machine.files.insert(path.clone(), content.clone());
        }
        Effect::Setting { key, value } => {
            machine.settings.insert(key.clone(), value.clone());
        }
        Effect::Package { name, version } => {
            machine.packages.insert(name.clone(), version.clone());
        }
        Effect::Feature(name) => {
            if machine.os == Os::Linux {
                return Err(words::wrong_os(&format!("the Windows feature {name}")));
            }
            machine
                .features
                .entry(name.clone())
                .or_insert(Feature::Pending);
        }
        Effect::Service { name, needs } => match machine.services.get_mut(name) {
            Some(service) => service.needs.clone_from(needs),
            None => {
                machine.services.insert(
                    name.clone(),
                    Service {
                        needs: needs.clone(),
                        enabled: false,
                        running: false,
                    },
                );
            }
        },
        Effect::Running(name) => return start(machine, name),
        Effect::Hns => machine.hns_broken = false,
        Effect::Image(name) => {
            machine.images.insert(name.clone());
        }
        _ => {}
    }
    Ok(())
}

/// Starts a service, now and with every boot.
fn start(machine: &mut Machine, name: &str) -> Result<(), String> {
    let os = machine.os;
    let Some(service) = machine.services.get(name) else {
        return Err(words::no_service(os, name));
    };
    if let Some(missing) = service.needs.iter().find(|need| !machine.runs(need)) {
        return Err(words::service_fails(os, name, missing));
    }
    if let Some(service) = machine.services.get_mut(name) {
        service.enabled = true;
        service.running = true;
    }
    Ok(())
}

/// kubeadm starts the kubelet and waits for it.
fn start_kubelet(world: &mut World, name: &LaneName) -> Result<(), String> {
    let machine = world.machine_mut(name).ok_or("the machine is gone")?;
    start(machine, KUBELET).map_err(|why| format!("{}: {why}", words::NO_KUBELET))
}

fn control_plane(
    world: &mut World,
    seed: u64,
    name: &LaneName,
    version: &str,
    address: &str,
    now: u64,
) -> Result<(), String> {
    let machine = world.machine(name).ok_or("the machine is gone")?;
    if machine.os == Os::Windows {
        return Err(words::wrong_os("a control plane"));
    }
    if !machine.control_plane {
        return Err(format!("`{name}` is a worker by its configuration"));
    }
    let id = machine.id.clone();
    let cluster = match &world.cluster {
        Some(cluster) if cluster.machine == id => {
            if cluster.version != version || cluster.address != address {
                return Err(words::already_initialised(
                    &cluster.version,
                    &cluster.address,
                ));
            }
            cluster.id.clone()
        }
        Some(cluster) => {
            return Err(format!(
                "the simulator knows one control plane, and that is `{}`",
                cluster.node
            ));
        }
        None => digits(seed, &["cluster", &id]),
    };
    start_kubelet(world, name)?;
    world.cluster.get_or_insert_with(|| Cluster {
        id: cluster.clone(),
        version: version.to_owned(),
        address: address.to_owned(),
        node: name.clone(),
        machine: id.clone(),
        manifests: BTreeMap::new(),
        tokens: BTreeMap::new(),
        tokens_made: 0,
    });
    if !cluster::joined(world, name) {
        world.node(name).member = Some(Member {
            cluster,
            machine: id,
            address: address.to_owned(),
            since: now,
        });
    }
    Ok(())
}

fn join(
    world: &mut World,
    name: &LaneName,
    address: &str,
    token: Option<&Token>,
    now: u64,
) -> Result<(), String> {
    // What was begun and not ended is reset first.
    if let Some(machine) = world.machine_mut(name) {
        machine.half_joined = false;
    }
    if cluster::joined(world, name) {
        if let Some(member) = &mut world.node(name).member {
            address.clone_into(&mut member.address);
        }
        return start_kubelet(world, name);
    }
    if !cluster::answers(world) {
        return Err(words::no_api_to_join(&cluster::address(world)));
    }
    let token = token.ok_or(words::NO_TOKEN)?;
    let cluster = world.cluster.as_ref().ok_or(words::NO_TOKEN)?;
    if !token
        .number
        .is_some_and(|number| cluster::valid(cluster, number, now))
    {
        return Err(words::bad_token(&token.id));
    }
    let cluster = cluster.id.clone();
    start_kubelet(world, name)?;
    let machine = world.machine(name).ok_or("the machine is gone")?.id.clone();
    world.node(name).member = Some(Member {
        cluster,
        machine,
        address: address.to_owned(),
        since: now,
    });
    Ok(())
}

/// Pods end only on a node that answers.
fn leave(world: &mut World, name: &LaneName, node: &LaneName, force: bool) -> Result<(), String> {
    cluster::own(world, name)?;
    let alive = world
        .machine(node)
        .is_some_and(|machine| machine.answers() && machine.runs(KUBELET));
    if cluster::member(world, node) && !alive && !force {
        return Err(words::not_drained(node.as_str()));
    }
    if let Some(known) = world.nodes.get_mut(node) {
        known.member = None;
        world.touch(node);
    }
    Ok(())
}

fn apply(world: &mut World, manifest: &str, now: u64) -> Result<(), String> {
    if !cluster::answers(world) {
        return Err(words::no_api(&cluster::address(world)));
    }
    if let Some(cluster) = &mut world.cluster {
        cluster.manifests.entry(manifest.to_owned()).or_insert(now);
    }
    Ok(())
}

/// Whether a condition holds on `name`.
pub(super) fn holds(world: &World, name: &LaneName, condition: &Condition) -> bool {
    let Some(machine) = world.machine(name) else {
        return false;
    };
    match condition {
        Condition::Feature(feature) => machine.features.get(feature) == Some(&Feature::Active),
        Condition::Running(service) => machine.runs(service),
        Condition::File(path) => machine.files.contains_key(path),
        Condition::Setting { key, value } => machine.settings.get(key) == Some(value),
        Condition::ControlPlane => cluster::answers(world),
        Condition::Joined => cluster::joined(world, name),
    }
}

/// Why an effect is not in place on `name`, or nothing when it is. With `boot_later` a feature that
/// waits for a reboot counts as in place.
pub(super) fn missing(
    world: &World,
    seed: u64,
    name: &LaneName,
    effect: &Effect,
    boot_later: bool,
    now: u64,
) -> Option<String> {
    let Some(machine) = world.machine(name) else {
        return Some("there is no machine".to_owned());
    };
    let (in_place, why) = match effect {
        Effect::Takes(_) | Effect::Needs { .. } | Effect::JoinToken => return None,
        Effect::File { path, content } => match machine.files.get(path) {
            None => (false, format!("there is no {path}")),
            Some(found) => (found == content, format!("{path} is another one")),
        },
        Effect::Setting { key, value } => match machine.settings.get(key) {
            None => (false, format!("{key} is not set")),
            Some(found) => (found == value, format!("{key} is {found}, not {value}")),
        },
        Effect::Package { name, version } => match machine.packages.get(name) {
            None => (false, format!("{name} is not installed")),
            Some(found) => (
                found == version,
                format!("{name} is {found}, not {version}"),
            ),
        },
        Effect::Feature(feature) => match machine.features.get(feature) {
            None => (false, format!("the feature {feature} is not installed")),
            Some(Feature::Pending) => (
                boot_later,
                format!("the feature {feature} waits for a reboot"),
            ),
            Some(Feature::Active) => return None,
        },
        Effect::Service { name, needs } => match machine.services.get(name) {
            None => (false, format!("there is no service {name}")),
            Some(found) => (
                found.needs == *needs,
                format!("the service {name} is set up otherwise"),
            ),
        },
        Effect::Running(name) => (machine.runs(name), format!("{name} is not running")),
        Effect::Hns => (
            !machine.hns_broken,
            "the Host Networking Service does not answer".to_owned(),
        ),
        Effect::Image(image) => (
            machine.images.contains(image),
            format!("{image} is not pulled"),
        ),
        Effect::ControlPlane { version, address } => (
            world.cluster.as_ref().is_some_and(|cluster| {
                cluster.machine == machine.id
                    && cluster.version == *version
                    && cluster.address == *address
            }),
            format!("no control plane {version} listens at {address}"),
        ),
        Effect::Join { address } => (
            cluster::joined(world, name)
                && !machine.half_joined
                && world
                    .nodes
                    .get(name)
                    .and_then(|node| node.member.as_ref())
                    .is_some_and(|member| member.address == *address),
            format!("the node has not joined as {address}"),
        ),
        Effect::Left { node, .. } => (
            !cluster::member(world, &LaneName::from(node.as_str())),
            format!("the cluster still knows {node}"),
        ),
        Effect::Manifest(manifest) => (
            cluster::applied(world, manifest),
            format!("{manifest} is not applied"),
        ),
        Effect::NodeReady => (
            world.cluster_ready(seed, name).is_some_and(|at| at <= now),
            "the node is not Ready".to_owned(),
        ),
        Effect::PodsReady(manifest) => (
            cluster::applied(world, manifest)
                && cluster::pods_ready(world, seed, manifest).is_some_and(|at| at <= now),
            format!("pods of {manifest} are not running"),
        ),
    };
    (!in_place).then_some(why)
}
