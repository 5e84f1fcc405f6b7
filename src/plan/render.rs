//! What a plan looks like as files: the Vagrantfile and every script, to read and to use by hand.

use std::path::{Path, PathBuf};

use super::node::Node;
use super::record::Record;
use crate::boxes::{self, Arch, Artifact};
use crate::channel::wrap::BY_HAND;
use crate::channel::wrap_windows::wrap_windows;
use crate::channel::{Mode, Os, Script, wrap};
use crate::config::Config;
use crate::config::model::ProviderName;
use crate::config::redact_url;
use crate::engine::plan::Plan;
use crate::engine::step::Step;
use crate::error::Result;
use crate::render::vagrantfile::{PROBE, SSH_ACCESS};
use crate::render::{
    MachineModel, RenderedFile, StepModel, VagrantfileModel, vagrantfile, write_all,
};

/// Stands for the script with the key of the sandbox until wdev has both.
const NO_KEY_YET: &str = "# wdev writes this before the first contact with the machine.
throw 'the key that the machine shall let in is made by `wdev up`: run that'
";

/// Writes what has changed; returns the files that were written. Node by node: the scripts of hundreds of them need
/// not be in memory at once. The Vagrantfile comes last, when all that it names is there.
///
/// # Errors
/// When something cannot be rendered or written.
pub fn write(plan: &Plan, record: &Record, config: &Config, folder: &Path) -> Result<Vec<PathBuf>> {
    let (mut written, mut machines) = (Vec::new(), Vec::new());
    for node in &record.nodes {
        let (files, machine) = of_node(plan, node, record.provider, config)?;
        written.extend(write_all(folder, &files)?);
        machines.push(machine);
    }
    if record.provider != ProviderName::Sim {
        let file = vagrantfile_of(record, config, machines)?;
        written.extend(write_all(folder, &[file])?);
    }
    Ok(written)
}

/// The scripts of a node, and what the Vagrantfile says of it.
fn of_node(
    plan: &Plan,
    node: &Node,
    provider: ProviderName,
    config: &Config,
) -> Result<(Vec<RenderedFile>, MachineModel)> {
    let path = |name: &str| {
        let ending = node.os.script_ending();
        format!("steps/{}/{name}.{ending}", node.name)
    };
    let (mut files, mut steps) = (Vec::new(), Vec::new());
    for step in steps_of(plan, node) {
        let secret = step.needs_secret();
        let script = step.script().filter(|script| is_written(script, node));
        // Whoever runs it by hand on Windows gives what is missing in the environment: its help says so.
        if let Some(script) = script.filter(|_| !secret || node.os == Os::Windows) {
            let path = path(&script.name);
            files.push(step_file(&path, &script)?);
            if !secret {
                let (name, path) = (script.name, Some(path));
                steps.push(StepModel { name, path });
            }
        }
        if secret {
            let name = step.id().to_string();
            steps.push(StepModel { name, path: None });
        }
    }
    // Vagrant wants every file to be there; a probe is written just before it is run.
    let probe = path(PROBE);
    files.push(match node.os {
        Os::Linux => {
            RenderedFile::text(&probe, "#!/bin/bash\n# wdev writes each probe here.\n").executable()
        }
        Os::Windows => RenderedFile::text(&probe, "# wdev writes each probe here.\n").crlf(),
    });
    if node.os == Os::Windows && provider != ProviderName::Sim {
        let path = path(SSH_ACCESS);
        files.push(RenderedFile::text(&path, NO_KEY_YET).crlf());
        steps.push(StepModel {
            name: SSH_ACCESS.to_owned(),
            path: Some(path),
        });
    }
    Ok((files, machine(node, provider, config, steps, probe)))
}

fn vagrantfile_of(
    record: &Record,
    config: &Config,
    machines: Vec<MachineModel>,
) -> Result<RenderedFile> {
    let secret = machines
        .iter()
        .any(|machine| redact_url(&machine.box_url) != machine.box_url);
    let model = VagrantfileModel {
        sandbox: record.sandbox.clone(),
        wdev_version: env!("CARGO_PKG_VERSION").to_owned(),
        provider: record.provider,
        provider_extra: extra(config, record.provider.as_str()),
        network: record.network.clone(),
        subnet: record.subnet,
        hyperv_switch: record.choices.hyperv_switch.clone(),
        emulated: record.choices.emulated,
        cpu_model: config.vagrant.libvirt_cpu_model.clone(),
        unsigned_drivers: record.choices.unsigned_drivers,
        machines,
    };
    let file = RenderedFile::text("Vagrantfile", vagrantfile(&model)?);
    // A URL may hold a password.
    Ok(if secret { file.secret() } else { file })
}

fn steps_of<'a>(plan: &'a Plan, node: &Node) -> impl Iterator<Item = &'a dyn Step> {
    let name = node.name.clone();
    let lanes = plan.lanes.iter().filter(move |lane| lane.name == name);
    lanes.flat_map(|lane| lane.steps.iter().map(|planned| &*planned.step))
}

/// Whether this version of wdev has the script's text, and the node runs it.
fn is_written(script: &Script, node: &Node) -> bool {
    script.os == node.os && script.mode == Mode::Run && script.text.is_some()
}

fn step_file(path: &str, script: &Script) -> Result<RenderedFile> {
    Ok(match script.os {
        // A hook may hold what only its owner should read.
        Os::Linux => RenderedFile::text(path, wrap::wrap_linux(script, BY_HAND)?)
            .executable()
            .secret(),
        Os::Windows => RenderedFile::text(path, wrap_windows(script, BY_HAND)?)
            .crlf()
            .secret(),
    })
}

fn machine(
    node: &Node,
    provider: ProviderName,
    config: &Config,
    steps: Vec<StepModel>,
    probe: String,
) -> MachineModel {
    let spec = node.machine.clone();
    let known = boxes::known(&spec.r#box, provider, Arch::host());
    let fact = |of: fn(&Artifact) -> &str| known.map_or("", |known| of(known.artifact)).to_owned();
    MachineModel {
        name: node.name.to_string(),
        unique_name: node.unique_name.clone(),
        hostname: node.name.to_string(),
        os: node.os,
        r#box: spec.r#box,
        box_version: spec.box_version,
        box_url: spec.box_url,
        box_checksum: spec.box_checksum,
        communicator: spec.communicator,
        disk_bus: fact(|artifact| &artifact.disk_bus),
        nic: fact(|artifact| &artifact.nic),
        cpus: spec.cpus,
        memory_mib: spec.memory_mib,
        nested_virtualization: spec.nested_virtualization,
        address: node.address,
        boot_timeout_s: config.timeouts.boot.as_secs(),
        halt_timeout_s: HALT_SECONDS,
        extra: extra(config, node.name.as_str()),
        steps,
        probe,
    }
}

/// How long a machine may take to shut down by itself: Windows needs minutes.
const HALT_SECONDS: u64 = 300;

fn extra(config: &Config, key: &str) -> String {
    config.vagrant.extra.get(key).cloned().unwrap_or_default()
}
