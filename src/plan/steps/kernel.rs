//! Kernel modules and settings that Kubernetes needs.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use crate::channel::{Effect, Os};
use crate::error::{Failure, Kind, Result};

/// What `linux_kernel.json` holds.
#[derive(Deserialize)]
struct Wanted {
    modules: Vec<String>,
    sysctls: BTreeMap<String, String>,
    #[serde(rename = "source")]
    _source: String,
}

/// Loads the modules and applies the settings, now and at every boot.
///
/// # Errors
/// When the script cannot be rendered.
pub fn step(build: &Build) -> Result<GuestStep> {
    let wanted: Wanted = serde_json::from_str(include_str!("linux_kernel.json")).map_err(|error| {
        Box::new(Failure::new(Kind::Bug, "cannot read the list of kernel settings").because(error))
    })?;
    let modules: Vec<&str> = wanted.modules.iter().map(String::as_str).collect();
    let mut effects: Vec<Effect> = modules
        .iter()
        .map(|module| Effect::Setting { key: format!("module {module}"), value: "loaded".to_owned() })
        .collect();
    effects.extend(
        wanted
            .sysctls
            .iter()
            .map(|(key, value)| Effect::Setting { key: key.clone(), value: value.clone() }),
    );
    Ok(GuestStep {
        id: "kernel".to_owned(),
        title: "load kernel modules and settings".to_owned(),
        purpose: "pod traffic must be bridged, forwarded and filtered".to_owned(),
        phase: "prepare",
        inputs: inputs([]),
        limits: limits(&build.config.timeouts, Duration::from_secs(3)),
        os: Os::Linux,
        text: Some(crate::render::linux::kernel(&modules, &wanted.sysctls)?),
        effects,
    })
}
