//! Turns swap off for good.

use std::time::Duration;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use crate::channel::{Effect, Os};
use crate::engine::step::OnChange;
use crate::error::Result;

/// No swap, now and after every boot: the kubelet refuses to start with it.
///
/// # Errors
/// When the script cannot be rendered.
pub fn step(build: &Build) -> Result<GuestStep> {
    Ok(GuestStep {
        id: "swap".to_owned(),
        title: "turn swap off for good".to_owned(),
        purpose: "the kubelet does not start while swap is on".to_owned(),
        phase: "prepare",
        inputs: inputs([]),
        limits: limits(&build.config.timeouts, Duration::from_secs(2)),
        os: Os::Linux,
        on_change: OnChange::Rerun,
        text: Some(crate::render::linux::swap()?),
        effects: vec![Effect::Setting {
            key: "swap".to_owned(),
            value: "off".to_owned(),
        }],
    })
}
