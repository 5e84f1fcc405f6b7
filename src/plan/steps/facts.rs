//! Learns what the node is, and refuses what wdev does not support.

use std::time::Duration;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use crate::channel::{Effect, Os};
use crate::engine::step::OnChange;
use crate::error::Result;

/// Operating system, architecture, kernel and memory of the node.
///
/// # Errors
/// When the script cannot be rendered.
pub fn step(build: &Build) -> Result<GuestStep> {
    Ok(GuestStep {
        id: "facts".to_owned(),
        title: "learn what the node is".to_owned(),
        purpose: "later steps depend on its system and architecture".to_owned(),
        phase: "prepare",
        inputs: inputs([]),
        limits: limits(&build.config.timeouts, Duration::from_secs(2)),
        os: Os::Linux,
        on_change: OnChange::Rerun,
        text: Some(crate::render::linux::facts()?),
        effects: vec![Effect::Takes(800)],
    })
}
