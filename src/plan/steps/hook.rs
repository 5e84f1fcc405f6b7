//! The user's own step scripts.

use std::time::Duration;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use crate::channel::{Effect, Os};
use crate::config::model::Hook;
use crate::engine::step::OnChange;
use crate::error::{Result, io_failure};

/// A user's script as a step of a node; `number` counts from 1 within the node's phase.
///
/// # Errors
/// When the script cannot be read or rendered.
pub fn step(build: &Build, hook: &Hook, phase: &'static str, number: usize) -> Result<GuestStep> {
    let text = std::fs::read_to_string(&hook.script)
        .map_err(|error| io_failure("read the hook", &hook.script, &error))?;
    let file = hook
        .script
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let rendered = match build.node.os {
        Os::Linux => Some(crate::render::linux::hook(&text)?),
        Os::Windows => Some(crate::render::windows::hook(&text)?),
    };
    Ok(GuestStep {
        id: format!("hook-{phase}-{number}"),
        title: format!("run your hook {file}"),
        purpose: format!("`hooks` asks for it after the phase `{phase}`"),
        phase,
        inputs: inputs([("hook", text.clone())]),
        limits: limits(&build.config.timeouts, Duration::from_secs(5)),
        os: build.node.os,
        on_change: OnChange::Rerun,
        text: rendered,
        effects: vec![Effect::Setting {
            key: format!("hook-{phase}-{number}"),
            value: text,
        }],
    })
}
