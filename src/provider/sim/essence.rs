//! What a user would see of a world, and nothing else.

use std::collections::BTreeMap;

use serde::Serialize;

use super::cluster;
use super::world::{Feature, Machine, Service, Stage, World};
use crate::channel::Os;
use crate::names::LaneName;

#[derive(Serialize)]
struct Essence<'w> {
    machines: BTreeMap<&'w LaneName, MachineEssence<'w>>,
    cluster: Option<ClusterEssence<'w>>,
}

#[derive(Serialize)]
struct MachineEssence<'w> {
    power: &'static str,
    os: Os,
    address: String,
    files: &'w BTreeMap<String, String>,
    settings: &'w BTreeMap<String, String>,
    packages: &'w BTreeMap<String, String>,
    features: &'w BTreeMap<String, Feature>,
    services: &'w BTreeMap<String, Service>,
    images: Vec<&'w str>,
    /// What a user would call broken.
    trouble: Vec<&'static str>,
}

#[derive(Serialize)]
struct ClusterEssence<'w> {
    version: &'w str,
    address: &'w str,
    control_plane: &'w LaneName,
    members: BTreeMap<&'w LaneName, MemberEssence<'w>>,
    manifests: Vec<&'w str>,
}

#[derive(Serialize)]
struct MemberEssence<'w> {
    address: &'w str,
    /// The node object of a machine that is gone.
    stale: bool,
}

/// The essence of a world as JSON with its keys in order.
pub(super) fn essence(world: &World) -> String {
    let machines = world
        .nodes
        .iter()
        .filter_map(|(name, node)| Some((name, machine(node.machine.as_ref()?))))
        .collect();
    let cluster = world.cluster.as_ref().map(|found| ClusterEssence {
        version: &found.version,
        address: &found.address,
        control_plane: &found.node,
        members: world
            .nodes
            .iter()
            .filter_map(|(name, node)| Some((name, node.member.as_ref()?)))
            .filter(|(_, member)| member.cluster == found.id)
            .map(|(name, member)| {
                let essence = MemberEssence {
                    address: &member.address,
                    stale: !cluster::joined(world, name),
                };
                (name, essence)
            })
            .collect(),
        manifests: found.manifests.keys().map(String::as_str).collect(),
    });
    let essence = Essence { machines, cluster };
    // Maps with text as keys always become JSON.
    serde_json::to_string_pretty(&essence).unwrap_or_default()
}

fn trouble(machine: &Machine) -> Vec<&'static str> {
    let known = [
        (machine.hns_broken, "HNS does not answer"),
        (machine.half_joined, "half joined"),
    ];
    let found = known.into_iter().filter(|(is, _)| *is);
    found.map(|(_, what)| what).collect()
}

fn machine(machine: &Machine) -> MachineEssence<'_> {
    MachineEssence {
        power: match &machine.stage {
            Stage::Making { .. } => "half made",
            Stage::Off => "off",
            Stage::On(boot) if boot.settled => "running",
            Stage::On(_) => "booting",
        },
        os: machine.os,
        address: machine.address.to_string(),
        files: &machine.files,
        settings: &machine.settings,
        packages: &machine.packages,
        features: &machine.features,
        services: &machine.services,
        images: machine.images.iter().map(String::as_str).collect(),
        trouble: trouble(machine),
    }
}
