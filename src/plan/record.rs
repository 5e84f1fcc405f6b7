//! What a sandbox was last made of, so that it can be halted, reached and destroyed when its
//! `variables.yml` has changed, is broken or is gone.

use std::path::Path;

use ipnet::Ipv4Net;
use serde::{Deserialize, Serialize};

use super::node::Node;
use crate::config::model::ProviderName;
use crate::error::{Failure, Kind, Result, io_failure};
use crate::home::write_whole;

/// The version of the record's format.
const VERSION: u32 = 1;

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
    pub network: String,
    /// Its nodes, also those that `variables.yml` no longer names but whose machines may exist.
    pub nodes: Vec<Node>,
    /// The seed of the simulated world, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sim_seed: Option<u64>,
    /// How many seconds a machine may take to boot.
    pub boot_seconds: u64,
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
            nodes,
            sim_seed: None,
            boot_seconds,
        }
    }

    /// Reads the record of a sandbox; none where it never was up.
    ///
    /// # Errors
    /// `Host` when it cannot be read or a newer wdev wrote it.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_failure("read", path, &error)),
        };
        let record: Self = serde_json::from_slice(&bytes).map_err(|error| {
            Failure::new(Kind::Host, format!("`{}` is damaged", path.display()))
                .because(error)
                .advise("run `wdev up` to write it anew from variables.yml")
        })?;
        if record.version > VERSION {
            return Err(Box::new(
                Failure::new(
                    Kind::Host,
                    format!("`{}` was written by a newer wdev", path.display()),
                )
                .advise("use the wdev that made this sandbox, or a newer one"),
            ));
        }
        Ok(Some(record))
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
