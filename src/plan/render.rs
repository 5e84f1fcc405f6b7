//! What a plan looks like as files: the Vagrantfile and every script, to read and to use by hand.

use std::path::{Path, PathBuf};

use super::node::Node;
use super::record::Record;
use crate::channel::{Mode, Os, Script, wrap};
use crate::config::Config;
use crate::config::model::ProviderName;
use crate::engine::plan::Plan;
use crate::error::Result;
use crate::render::vagrantfile::PROBE;
use crate::render::{
    MachineModel, RenderedFile, StepModel, VagrantfileModel, vagrantfile, write_all,
};

/// What stands for the one-time text in a script that a person runs.
const BY_HAND: &str = "by-hand";

/// Writes what has changed; returns the files that were written.
///
/// # Errors
/// When something cannot be rendered or written.
pub fn write(plan: &Plan, record: &Record, config: &Config, folder: &Path) -> Result<Vec<PathBuf>> {
    write_all(folder, &files(plan, record, config)?)
}

fn files(plan: &Plan, record: &Record, config: &Config) -> Result<Vec<RenderedFile>> {
    let mut files = Vec::new();
    let mut machines = Vec::new();
    for node in &record.nodes {
        let mut steps = Vec::new();
        for script in scripts(plan, node) {
            let path = format!("steps/{}/{}.sh", node.name, script.name);
            let text = wrap::wrap_linux(&script, BY_HAND)?;
            // A hook may hold what only its owner should read.
            files.push(RenderedFile::text(&path, text).executable().secret());
            steps.push(StepModel {
                name: script.name,
                path,
            });
        }
        if node.os == Os::Linux {
            // Vagrant wants every file to be there; a probe is written just before it is run.
            let path = format!("steps/{}/{PROBE}.sh", node.name);
            files.push(
                RenderedFile::text(path, "#!/bin/bash\n# wdev writes each probe here.\n")
                    .executable(),
            );
        }
        machines.push(machine(node, config, steps));
    }
    if record.provider != ProviderName::Sim {
        let model = VagrantfileModel {
            sandbox: record.sandbox.clone(),
            wdev_version: env!("CARGO_PKG_VERSION").to_owned(),
            provider: record.provider,
            provider_extra: extra(config, record.provider.as_str()),
            subnet: record.subnet,
            machines,
        };
        files.push(RenderedFile::text("Vagrantfile", vagrantfile(&model)?));
    }
    Ok(files)
}

/// The scripts of a node that this version of wdev can write.
fn scripts(plan: &Plan, node: &Node) -> Vec<Script> {
    plan.lanes
        .iter()
        .filter(|lane| lane.name == node.name)
        .flat_map(|lane| &lane.steps)
        .filter_map(|planned| planned.step.script())
        .filter(|script| {
            script.os == Os::Linux && script.mode == Mode::Run && script.text.is_some()
        })
        .collect()
}

fn machine(node: &Node, config: &Config, steps: Vec<StepModel>) -> MachineModel {
    let spec = node.machine.clone();
    MachineModel {
        name: node.name.to_string(),
        unique_name: node.unique_name.clone(),
        hostname: node.name.to_string(),
        os: node.os,
        r#box: spec.r#box,
        box_version: spec.box_version,
        box_url: spec.box_url,
        box_checksum: spec.box_checksum,
        cpus: spec.cpus,
        memory_mib: spec.memory_mib,
        address: node.address,
        boot_timeout_s: config.timeouts.boot.as_secs(),
        halt_timeout_s: HALT_SECONDS,
        extra: extra(config, node.name.as_str()),
        steps,
    }
}

/// How long a machine may take to shut down by itself: Windows needs minutes.
const HALT_SECONDS: u64 = 300;

fn extra(config: &Config, key: &str) -> String {
    config.vagrant.extra.get(key).cloned().unwrap_or_default()
}
