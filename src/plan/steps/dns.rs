//! The DNS servers that the user has set for the nodes.

use std::time::Duration;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use crate::channel::{Effect, Os};
use crate::engine::step::OnChange;
use crate::error::Result;

/// Sets the servers of `network.dns`. Without any, the node's own stay, or come back where an earlier run
/// has set others.
///
/// # Errors
/// When the script cannot be rendered.
pub fn step(build: &Build) -> Result<GuestStep> {
    let servers = &build.config.network.dns;
    let names: Vec<String> = servers.iter().map(ToString::to_string).collect();
    let names = names.join(" ");
    Ok(GuestStep {
        id: "dns".to_owned(),
        title: if servers.is_empty() {
            "leave the node its own DNS servers".to_owned()
        } else {
            format!("look up names at {names}")
        },
        purpose: "images are pulled by name".to_owned(),
        phase: "prepare",
        inputs: inputs([("network.dns", names.clone())]),
        limits: limits(&build.config.timeouts, Duration::from_secs(2)),
        os: Os::Linux,
        // Names are looked up when they are used: nothing is built on the servers.
        on_change: OnChange::Alone,
        text: Some(crate::render::linux::dns(servers)?),
        effects: vec![Effect::Setting {
            key: "dns".to_owned(),
            value: names,
        }],
    })
}
