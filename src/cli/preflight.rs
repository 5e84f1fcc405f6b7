//! What must hold on the host before anything is made.

use std::net::Ipv4Addr;
use std::sync::Arc;

use ipnet::Ipv4Net;

use super::provider::{self, SimArguments};
use super::run::block_on;
use crate::channel::{Io, Line};
use crate::clock::Clock;
use crate::config::Config;
use crate::config::model::ProviderName;
use crate::error::{Failure, Kind, Result};
use crate::event::Stream;
use crate::home::{Index, SandboxFolder};
use crate::plan::node::Role;
use crate::plan::record::Record;
use crate::provider::host::{self, Host};
use crate::stop::Stop;
use crate::ui::Ui;

/// Checks that the provider is there and works, and that the host has what the machines will take;
/// tells its warnings. Simulations take nothing.
///
/// # Errors
/// `Host` when something is missing, or an address belongs to another sandbox.
pub(super) fn check(
    config: &Config,
    record: &Record,
    index: &Index,
    folder: &SandboxFolder,
    ui: &Ui,
) -> Result<()> {
    if record.provider == ProviderName::Sim {
        return Ok(());
    }
    let ui = *ui;
    let warn = move |text: &str| ui.err(&format!("warning: {text}"));
    let project = folder.path().ancestors().nth(2).unwrap_or(folder.path());
    let host = Host::read(project);
    for warning in host::check(&host, record.provider)? {
        warn(&warning);
    }
    // Containers take what they use.
    if record.provider != ProviderName::Docker
        && let Some(warning) = memory(&host, config)?
    {
        warn(&warning);
    }
    check_addresses(record, index, folder)?;
    block_on(false, async {
        let provider = provider::open(record, folder, Clock::new(), &SimArguments::default())?;
        provider.check(&warnings(warn)).await
    })?;
    if record.provider == ProviderName::Docker {
        images(record)?;
    }
    Ok(())
}

/// Checks that no other sandbox of this host has the addresses.
///
/// # Errors
/// `Host` when one has.
pub(super) fn check_addresses(
    record: &Record,
    index: &Index,
    folder: &SandboxFolder,
) -> Result<()> {
    if record.provider == ProviderName::Sim {
        return Ok(());
    }
    addresses(record, &others(index, folder))
}

/// Passes on what a check remarks, and nothing else.
pub(super) fn warnings(warn: impl Fn(&str) + Send + Sync + 'static) -> Io {
    Io {
        output: Arc::new(move |line: Line| {
            if line.stream == Stream::Note {
                warn(&line.text);
            }
        }),
        stop: Stop::never(),
    }
}

/// There is no image that wdev could take by itself.
fn images(record: &Record) -> Result<()> {
    let Some(node) = record
        .nodes
        .iter()
        .find(|node| node.machine.r#box.is_empty())
    else {
        return Ok(());
    };
    let key = match node.role {
        Role::ControlPlane => "control_plane.box",
        Role::Worker => "its `box` under `workers`",
    };
    Err(Box::new(
        Failure::new(
            Kind::Configuration,
            format!("the docker machine `{}` needs an image", node.name),
        )
        .because(format!("{key} is empty, and `docker` has no default"))
        .advise(
            "name an image with an SSH server and Vagrant's user; docs/testing.md tells how the \
             tests make theirs",
        ),
    ))
}

fn memory(host: &Host, config: &Config) -> Result<Option<String>> {
    let workers = config.workers.iter();
    let workers: Vec<u64> = workers.map(|worker| worker.machine.memory_mib).collect();
    host::memory(host, config.control_plane.machine.memory_mib, &workers)
}

/// The other sandboxes of this host that may have machines.
fn others(index: &Index, own: &SandboxFolder) -> Vec<(SandboxFolder, Record)> {
    let folders = index
        .all()
        .into_iter()
        .map(|entry| SandboxFolder::at(entry.folder));
    folders
        .filter(|folder| folder.path() != own.path() && folder.exists())
        // A sandbox that cannot be read is its own `up`'s problem, not this one's.
        .filter_map(|folder| {
            Record::find(&folder)
                .ok()
                .flatten()
                .map(|record| (folder, record))
        })
        .filter(|(_, record)| record.provider != ProviderName::Sim)
        .collect()
}

fn addresses(record: &Record, others: &[(SandboxFolder, Record)]) -> Result<()> {
    for (folder, other) in others {
        let Some(what) = taken(record, other) else {
            continue;
        };
        let failure = Failure::new(Kind::Host, format!("{what} is taken")).because(format!(
            "the sandbox `{}` in `{}` has it",
            other.sandbox,
            folder.path().display()
        ));
        let failure = match free_subnet(record.subnet, others) {
            Some(free) => failure.advise(format!(
                "give this one a subnet of its own: `--set network.nodes={free}`"
            )),
            None => failure,
        };
        return Err(Box::new(
            failure.advise("or remove the other one: `wdev destroy` in its folder"),
        ));
    }
    Ok(())
}

/// What `record` cannot have because `other` has it.
fn taken(record: &Record, other: &Record) -> Option<String> {
    let mut nodes = record.nodes.iter();
    if let Some(node) = nodes.find(|node| has(other, node.address)) {
        return Some(format!("the address {} of `{}`", node.address, node.name));
    }
    // Docker gives no part of a subnet to two networks, and each sandbox has a network of its own.
    let both_docker = [record, other].map(|one| one.provider) == [ProviderName::Docker; 2];
    (both_docker && overlap(record.subnet, other.subnet))
        .then(|| format!("the subnet {} of the nodes", record.subnet))
}

fn overlap(one: Ipv4Net, other: Ipv4Net) -> bool {
    one.contains(&other) || other.contains(&one)
}

fn has(record: &Record, address: Ipv4Addr) -> bool {
    record.nodes.iter().any(|node| node.address == address)
}

/// The first subnet of the same size after `wanted` that overlaps with no sandbox.
fn free_subnet(wanted: Ipv4Net, others: &[(SandboxFolder, Record)]) -> Option<Ipv4Net> {
    let size = 1_u32.checked_shl(32 - u32::from(wanted.prefix_len()))?;
    let mut network = u32::from(wanted.network());
    for _ in 0..256 {
        network = network.checked_add(size)?;
        let subnet = Ipv4Net::new(Ipv4Addr::from(network), wanted.prefix_len()).ok()?;
        if !others
            .iter()
            .any(|(_, other)| overlap(subnet, other.subnet))
        {
            return Some(subnet);
        }
    }
    None
}
