//! Gives a Windows node its name.

use std::time::Duration;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use crate::channel::{Effect, Os};
use crate::engine::step::OnChange;
use crate::error::Result;
use crate::render::windows;

/// The node's name as the computer's own. A reboot follows, which the engine proves; the simulator renames
/// without one.
///
/// # Errors
/// When the script cannot be rendered.
pub fn step(build: &Build) -> Result<GuestStep> {
    let name = build.node.name.as_str();
    Ok(GuestStep {
        id: "computer-name".to_owned(),
        title: "give the computer its name".to_owned(),
        purpose:
            "a box names every machine alike or at random, and the node registers under that name"
                .to_owned(),
        phase: "prepare",
        inputs: inputs([("name", name.to_owned())]),
        limits: limits(&build.config.timeouts, Duration::from_secs(10)),
        os: Os::Windows,
        on_change: OnChange::Rerun,
        text: Some(windows::computer_name(name)?),
        effects: vec![Effect::Setting {
            key: "computer name".to_owned(),
            value: name.to_owned(),
        }],
    })
}
