//! Lets the nodes find each other by name.

use std::time::Duration;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use crate::channel::{Effect, Os};
use crate::engine::step::OnChange;
use crate::error::Result;
use crate::render::linux::HostEntry;

/// Names of all nodes in `/etc/hosts`.
///
/// # Errors
/// When the script cannot be rendered.
pub fn step(build: &Build) -> Result<GuestStep> {
    let entries: Vec<HostEntry> = build
        .nodes
        .iter()
        .map(|node| HostEntry {
            address: node.address.into(),
            names: vec![node.name.to_string()],
        })
        .collect();
    let content: Vec<String> = build
        .nodes
        .iter()
        .map(|node| format!("{} {}", node.address, node.name))
        .collect();
    Ok(GuestStep {
        id: "hosts".to_owned(),
        title: "name the nodes in /etc/hosts".to_owned(),
        purpose: "nodes find each other by name without a DNS server".to_owned(),
        phase: "prepare",
        inputs: inputs([("nodes", content.join("\n"))]),
        limits: limits(&build.config.timeouts, Duration::from_secs(2)),
        os: Os::Linux,
        // Names are looked up when they are used: nothing is built on them.
        on_change: OnChange::Alone,
        text: Some(crate::render::linux::hosts(&entries)?),
        effects: vec![Effect::Setting {
            key: "/etc/hosts".to_owned(),
            value: content.join("\n"),
        }],
    })
}
