//! The first steps on a stock Windows machine: what it is, its clock, firewall, power plan, updates.

use std::time::Duration;

use super::Build;
use super::clock::{Clock, TOLERANCE_MS};
use super::guest::{GuestStep, inputs, limits};
use crate::channel::{Effect, Os};
use crate::engine::step::OnChange;
use crate::error::Result;
use crate::render::windows::prepare;

/// The step's id.
pub const ID: &str = "first-contact";
/// The fact that names the state of the node's licence.
pub const LICENCE: &str = "licence";
/// The fact that says when the licence ends, where it does.
pub const LICENCE_ENDS: &str = "licence_ends";

/// Makes a stock Windows machine reachable and quiet, and sets its clock.
///
/// # Errors
/// When the script cannot be rendered.
pub fn step(build: &Build) -> Result<Clock> {
    let setting = |key: &str, value: String| Effect::Setting {
        key: key.to_owned(),
        value,
    };
    let windows = build.worker().map_or("", |worker| worker.windows.as_str());
    Ok(GuestStep {
        id: ID.to_owned(),
        title: "make the machine reachable and quiet".to_owned(),
        purpose:
            "a stock box sleeps, updates itself when it likes, and has its own idea of the time"
                .to_owned(),
        phase: "prepare",
        inputs: inputs([
            ("address", build.node.address.to_string()),
            ("windows", windows.to_owned()),
        ]),
        limits: limits(&build.config.timeouts, Duration::from_secs(40)),
        os: Os::Windows,
        on_change: OnChange::Rerun,
        text: Some(prepare::first_contact(windows, TOLERANCE_MS)?),
        effects: vec![
            Effect::Service {
                name: "sshd".to_owned(),
                needs: vec![],
            },
            Effect::Running("sshd".to_owned()),
            setting("firewall 10250/tcp", "open".to_owned()),
            setting("power plan", "high performance".to_owned()),
            setting("address", build.node.address.to_string()),
        ],
    }
    .into())
}
