//! Windows features that containers need; they count only after a reboot.

use std::time::Duration;

use super::guest::{GuestStep, inputs, limits};
use super::{Build, cni};
use crate::channel::{Effect, Os};
use crate::engine::step::OnChange;
use crate::error::Result;
use crate::release::windows_node;
use crate::render::windows::prepare;

/// Installs `Containers`, and what the network plugin and the user want beside it. The engine then reboots the
/// node and proves it.
///
/// # Errors
/// When the script cannot be rendered.
pub fn step(build: &Build) -> Result<GuestStep> {
    let asked = build.worker().map_or(&[][..], |worker| &worker.features);
    let plugin = cni::name(build.config.cni.name);
    let hypervisor = build.node.machine.nested_virtualization;
    let wanted = windows_node::features(plugin, asked, hypervisor)?;
    let all: Vec<_> = wanted.roles.iter().chain(&wanted.enabled).collect();
    let names = all.iter().map(|name| name.as_str()).collect::<Vec<_>>();
    let names = names.join(", ");
    Ok(GuestStep {
        id: "features".to_owned(),
        title: format!("install the Windows features {names}"),
        purpose: "Windows runs no containers without `Containers`; a reboot follows".to_owned(),
        phase: "prepare",
        inputs: inputs([("features", names)]),
        limits: limits(&build.config.timeouts, Duration::from_mins(3)),
        os: Os::Windows,
        on_change: OnChange::Rerun,
        text: Some(prepare::features(&wanted)?),
        effects: all
            .into_iter()
            .map(|name| Effect::Feature(name.clone()))
            .collect(),
    })
}
