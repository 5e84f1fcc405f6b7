//! The first steps on a stock Windows machine: firewall, power plan, updates.

use std::time::Duration;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use crate::channel::{Effect, Os};
use crate::engine::step::OnChange;

/// Makes a stock Windows machine reachable and quiet.
#[must_use]
pub fn step(build: &Build) -> GuestStep {
    let setting = |key: &str, value: String| Effect::Setting {
        key: key.to_owned(),
        value,
    };
    GuestStep {
        id: "first-contact".to_owned(),
        title: "make the machine reachable and quiet".to_owned(),
        purpose: "a stock box has no SSH server, sleeps, and updates itself when it likes"
            .to_owned(),
        phase: "prepare",
        inputs: inputs([("address", build.node.address.to_string())]),
        limits: limits(&build.config.timeouts, Duration::from_secs(40)),
        os: Os::Windows,
        on_change: OnChange::Rerun,
        text: None,
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
}
