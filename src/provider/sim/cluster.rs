//! The simulated cluster: who is in it, its join tokens, and what is ready when.

use super::draw::{between, digits};
use super::effects::KUBELET;
use super::words;
use super::world::{Cluster, Node, Token, World};
use crate::channel::Os;
use crate::names::LaneName;

/// Manifests whose name starts so are the network plugin.
const NETWORK_PLUGIN: &str = "cni-";

/// Whether the API server answers.
pub(super) fn answers(world: &World) -> bool {
    world.cluster.as_ref().is_some_and(|cluster| {
        world.machine(&cluster.node).is_some_and(|machine| {
            machine.id == cluster.machine && machine.answers() && machine.runs(KUBELET)
        })
    })
}

/// Where the API server is, or would be.
pub(super) fn address(world: &World) -> String {
    world
        .cluster
        .as_ref()
        .map_or("localhost", |cluster| cluster.address.as_str())
        .to_owned()
}

/// Whether the node's present machine is in the living cluster.
pub(super) fn joined(world: &World, name: &LaneName) -> bool {
    world
        .nodes
        .get(name)
        .is_some_and(|node| joined_node(world, node))
}

/// Whether the living cluster has a node object of that name, whatever became of its machine.
pub(super) fn member(world: &World, name: &LaneName) -> bool {
    let member = world.nodes.get(name).and_then(|node| node.member.as_ref());
    match (&world.cluster, member) {
        (Some(cluster), Some(member)) => member.cluster == cluster.id,
        _ => false,
    }
}

fn joined_node(world: &World, node: &Node) -> bool {
    match (&world.cluster, &node.member, &node.machine) {
        (Some(cluster), Some(member), Some(machine)) => {
            member.cluster == cluster.id && member.machine == machine.id
        }
        _ => false,
    }
}

/// The cluster, when `name` is its control plane and it answers.
pub(super) fn own<'w>(world: &'w mut World, name: &LaneName) -> Result<&'w mut Cluster, String> {
    let refused = words::no_api(&address(world));
    if !answers(world) {
        return Err(refused);
    }
    match &mut world.cluster {
        Some(cluster) if cluster.node == *name => Ok(cluster),
        _ => Err(refused),
    }
}

/// Makes a join token and returns its number.
pub(super) fn mint(cluster: &mut Cluster, now: u64) -> u64 {
    cluster
        .tokens
        .retain(|_, made| made.saturating_add(words::TOKEN_LIFE) > now);
    cluster.tokens_made += 1;
    cluster.tokens.insert(cluster.tokens_made, now);
    cluster.tokens_made
}

/// The token of that number, as kubeadm writes tokens.
pub(super) fn token(seed: u64, cluster: &str, number: u64) -> String {
    let number = number.to_string();
    let id = digits(seed, &["token id", cluster, &number]);
    let secret = digits(seed, &["token", cluster, &number]);
    format!("{}.{secret}", id.get(..6).unwrap_or(&id))
}

/// What may be kept of a token that somebody gives.
pub(super) fn given(world: &World, seed: u64, text: &str) -> Token {
    let known = |cluster: &Cluster| {
        let mut numbers = cluster.tokens.keys().rev().copied();
        numbers.find(|number| token(seed, &cluster.id, *number) == text)
    };
    Token {
        id: text.split('.').next().unwrap_or_default().to_owned(),
        number: world.cluster.as_ref().and_then(known),
    }
}

/// Whether the token of that number is known and not expired.
pub(super) fn valid(cluster: &Cluster, number: u64, now: u64) -> bool {
    cluster
        .tokens
        .get(&number)
        .is_some_and(|made| made.saturating_add(words::TOKEN_LIFE) > now)
}

pub(super) fn applied(world: &World, manifest: &str) -> bool {
    world
        .cluster
        .as_ref()
        .is_some_and(|cluster| cluster.manifests.contains_key(manifest))
}

/// When the pods of a manifest run on a node, once its machine and its kubelet do: the node pulls the
/// image as soon as it knows of it.
fn pods_on(seed: u64, name: &LaneName, node: &Node, manifest: &str, since: u64) -> Option<u64> {
    let machine = node.machine.as_ref()?;
    let member = node.member.as_ref()?;
    if !machine.answers() || !machine.runs(KUBELET) {
        return None;
    }
    let pull = between(seed, &["pull", name.as_str(), manifest], 10_000, 60_000);
    Some(member.since.max(since) + pull)
}

/// Whether a manifest's pods are meant for machines of that kind: a name may end in `-windows` or
/// `-linux`.
fn meant_for(manifest: &str, os: Os) -> bool {
    match os {
        Os::Linux => !manifest.ends_with("-windows"),
        Os::Windows => !manifest.ends_with("-linux"),
    }
}

/// When every pod of a manifest runs on every node that it is meant for ; nothing when that
/// cannot be told yet, such as while one is off.
pub(super) fn pods_ready(world: &World, seed: u64, manifest: &str) -> Option<u64> {
    let since = *world.cluster.as_ref()?.manifests.get(manifest)?;
    let mut ready = since;
    for (name, node) in &world.nodes {
        let meant = node
            .machine
            .as_ref()
            .is_some_and(|machine| meant_for(manifest, machine.os));
        if meant && joined_node(world, node) {
            ready = ready.max(pods_on(seed, name, node, manifest, since)?);
        }
    }
    Some(ready)
}

impl World {
    /// When the node is Ready: joined, kubelet running, network plugin applied and running on it.
    pub fn cluster_ready(&self, seed: u64, name: &LaneName) -> Option<u64> {
        let node = self.nodes.get(name)?;
        if !joined_node(self, node) || !answers(self) {
            return None;
        }
        let machine = node.machine.as_ref()?;
        if machine.hns_broken {
            return None;
        }
        let os = machine.os;
        self.cluster
            .as_ref()?
            .manifests
            .iter()
            .filter(|(manifest, _)| manifest.starts_with(NETWORK_PLUGIN) && meant_for(manifest, os))
            .filter_map(|(manifest, since)| pods_on(seed, name, node, manifest, *since))
            .max()
    }
}
