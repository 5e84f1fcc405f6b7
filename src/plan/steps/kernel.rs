//! Kernel modules and settings that Kubernetes needs.

use std::time::Duration;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use crate::channel::{Effect, Os};
use crate::engine::step::OnChange;
use crate::error::Result;
use crate::render::linux::{KernelSettings, kernel};

/// Loads the modules and applies the settings, now and at every boot.
///
/// # Errors
/// When the script cannot be rendered.
pub fn step(build: &Build) -> Result<GuestStep> {
    let wanted = KernelSettings::kubernetes()?;
    let module = |name: &str| Effect::Setting {
        key: format!("module {name}"),
        value: "loaded".to_owned(),
    };
    let mut effects: Vec<Effect> = wanted
        .modules
        .iter()
        .map(|wanted| module(&wanted.name))
        .collect();
    effects.extend(wanted.sysctls.iter().map(|(key, value)| Effect::Setting {
        key: key.clone(),
        value: value.clone(),
    }));
    Ok(GuestStep {
        id: "kernel".to_owned(),
        title: "load kernel modules and settings".to_owned(),
        purpose: "pod traffic must be bridged, forwarded and filtered".to_owned(),
        phase: "prepare",
        inputs: inputs([]),
        limits: limits(&build.config.timeouts, Duration::from_secs(3)),
        os: Os::Linux,
        on_change: OnChange::Rerun,
        text: Some(kernel(&wanted)?),
        effects,
    })
}
