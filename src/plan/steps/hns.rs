//! The host network service of a Windows node.

use std::time::Duration;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use crate::channel::effect::Condition;
use crate::channel::{Effect, Os};
use crate::engine::step::OnChange;
use crate::error::Result;
use crate::render::windows::prepare;

/// Makes the host network service ready, which comes with the feature `Containers` and is often what a reboot
/// breaks: every `up` asks it.
///
/// # Errors
/// When the script cannot be rendered.
pub fn step(build: &Build) -> Result<GuestStep> {
    Ok(GuestStep {
        id: "hns".to_owned(),
        title: "make the host network service ready".to_owned(),
        purpose: "it makes the networks of containers, and a reboot may have broken it".to_owned(),
        phase: "prepare",
        inputs: inputs([]),
        limits: limits(&build.config.timeouts, Duration::from_secs(5)),
        os: Os::Windows,
        on_change: OnChange::Rerun,
        text: Some(prepare::hns()?),
        effects: vec![
            Effect::Needs {
                condition: Condition::Feature("Containers".to_owned()),
                message: "there is no service hns, although the feature Containers is active"
                    .to_owned(),
            },
            Effect::Hns,
        ],
    })
}
