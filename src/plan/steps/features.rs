//! Windows features that containers need; they count only after a reboot.

use std::time::Duration;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use crate::channel::{Effect, Os};
use crate::engine::step::OnChange;

/// Installs the `Containers` feature. The engine then reboots the node and proves it.
#[must_use]
pub fn step(build: &Build) -> GuestStep {
    GuestStep {
        id: "features".to_owned(),
        title: "install the Containers feature".to_owned(),
        purpose: "Windows runs no containers without it; a reboot follows".to_owned(),
        phase: "prepare",
        inputs: inputs([("features", "Containers".to_owned())]),
        limits: limits(&build.config.timeouts, Duration::from_mins(3)),
        os: Os::Windows,
        on_change: OnChange::Rerun,
        text: None,
        effects: vec![Effect::Feature("Containers".to_owned()), Effect::Hns],
    }
}
