//! What a sandbox was last made of, so that it can be halted, reached and destroyed when its
//! `variables.yml` has changed, is broken or is gone.

use std::net::Ipv4Addr;
use std::path::Path;

use ipnet::Ipv4Net;
use serde::{Deserialize, Serialize};

use super::node::{Node, Role};
use crate::channel::Os;
use crate::config::model::{CniName, MachineSpec, ProviderName};
use crate::engine::journal;
use crate::engine::state::{MACHINE, State};
use crate::error::{Failure, Kind, Result, io_failure};
use crate::event::Event;
use crate::home::{SandboxFolder, write_whole};
use crate::names::LaneName;
use crate::provider::vagrant::hypervisor::Choices;
use crate::release::Release;

/// The version of the record's format.
const VERSION: u32 = 1;
/// How long a machine may take to boot when nobody knows what was asked for.
const BOOT_SECONDS: u64 = 15 * 60;

/// What a sandbox was last made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The version of this format.
    pub version: u32,
    /// The sandbox's name.
    pub sandbox: String,
    /// What makes its machines; never `auto`.
    pub provider: ProviderName,
    /// The subnet that the nodes' addresses lie in.
    pub subnet: Ipv4Net,
    /// The name of their network on this host.
    #[serde(default)]
    pub network: String,
    /// What the user says of the provider.
    #[serde(default)]
    pub choices: Choices,
    /// Its nodes, also those that `variables.yml` no longer names but whose machines may exist.
    pub nodes: Vec<Node>,
    /// The seed of the simulated world, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sim_seed: Option<u64>,
    /// How many seconds a machine may take to boot.
    pub boot_seconds: u64,
    /// The network plugin that was last asked for; none in a record of a wdev that did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cni: Option<CniName>,
    /// Every version of it, as it was settled once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<Release>,
}

impl Record {
    /// A record in the current format.
    #[must_use]
    pub fn new(
        sandbox: &str,
        provider: ProviderName,
        subnet: Ipv4Net,
        network: String,
        nodes: Vec<Node>,
        boot_seconds: u64,
    ) -> Self {
        let sandbox = sandbox.to_owned();
        Self {
            version: VERSION,
            sandbox,
            provider,
            subnet,
            network,
            choices: Choices::default(),
            nodes,
            sim_seed: None,
            cni: None,
            boot_seconds,
            release: None,
        }
    }

    /// The record of a sandbox; none where it never was up. A record that is lost or damaged is made
    /// again from the journal, as far as halting and removing the machines needs it.
    ///
    /// # Errors
    /// `Host` when it cannot be read, a newer wdev wrote it, or the journal cannot stand in for it.
    pub fn find(folder: &SandboxFolder) -> Result<Option<Self>> {
        let path = folder.record();
        let damage = match std::fs::read(&path) {
            Ok(bytes) => match Self::parse(&bytes, &path)? {
                Ok(record) => return Ok(Some(record)),
                Err(damage) => Some(damage),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(io_failure("read", &path, &error)),
        };
        match (journal::read(&folder.journal()), damage) {
            (Ok(recorded), _) => Ok(Self::from_journal(folder, &recorded.events)),
            (Err(failure), damage) => Err(Box::new(
                Failure::new(
                    Kind::Host,
                    format!("cannot tell what `{}` was made of", folder.path().display()),
                )
                .because(damage.unwrap_or_else(|| format!("`{}` is gone", path.display())))
                .because(failure)
                .advise("restore one of the two files from a backup")
                .advise(
                    "or remove the machines with the provider's own tool: their names begin with \
                     `wdev-`; then remove the folder",
                ),
            )),
        }
    }

    /// The inner error says how the record is damaged.
    fn parse(bytes: &[u8], path: &Path) -> Result<std::result::Result<Self, String>> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        // The version first: a newer record may have another shape.
        if serde_json::from_slice::<Version>(bytes).is_ok_and(|found| found.version > VERSION) {
            return Err(Box::new(
                Failure::new(
                    Kind::Host,
                    format!("`{}` was written by a newer wdev", path.display()),
                )
                .advise("use the wdev that made this sandbox, or a newer one"),
            ));
        }
        Ok(serde_json::from_slice(bytes)
            .map_err(|error| format!("`{}` is damaged: {error}", path.display())))
    }

    /// What the journal knows: which machines may exist, and by what names. None where it knows none.
    fn from_journal(folder: &SandboxFolder, events: &[Event]) -> Option<Self> {
        let state = State::from_events(events);
        let provider = ProviderName::from_name(state.provider.as_deref()?)?;
        let machines = state.created.iter().filter(|(_, what, _)| what == MACHINE);
        let nodes: Vec<Node> = machines
            .map(|(lane, _, unique_name)| Node {
                name: lane.clone(),
                role: Role::Worker,
                os: Os::Linux,
                os_title: "unknown".to_owned(),
                address: Ipv4Addr::UNSPECIFIED,
                machine: MachineSpec::default(),
                unique_name: unique_name.clone(),
            })
            .collect();
        let sandbox = folder.path().file_name()?.to_string_lossy();
        let first = nodes.first()?;
        let prefix = first.unique_name.strip_suffix(&format!("-{}", first.name));
        let network = prefix.unwrap_or_default().to_owned();
        let subnet = Ipv4Net::default();
        Some(Self::new(
            &sandbox,
            provider,
            subnet,
            network,
            nodes,
            BOOT_SECONDS,
        ))
    }

    /// The node of that name.
    #[must_use]
    pub fn node(&self, name: &LaneName) -> Option<&Node> {
        self.nodes.iter().find(|node| node.name == *name)
    }

    /// Writes the record in one move.
    ///
    /// # Errors
    /// `Host` when it cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut text = serde_json::to_vec_pretty(self).map_err(|error| {
            Failure::new(Kind::Bug, "cannot write the sandbox's record").because(error)
        })?;
        text.push(b'\n');
        write_whole(path, &text)
    }

    /// Takes over nodes of an earlier record that this one no longer has; returns their names.
    pub fn keep(&mut self, earlier: &Self) -> Vec<String> {
        let mut kept = Vec::new();
        for node in &earlier.nodes {
            if !self.nodes.iter().any(|mine| mine.name == node.name) {
                kept.push(node.name.to_string());
                self.nodes.push(node.clone());
            }
        }
        kept
    }
}
