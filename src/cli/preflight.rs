//! What must hold on the host before anything is made.

use super::provider::{self, SimArguments};
use super::run::block_on;
use crate::channel::Io;
use crate::clock::Clock;
use crate::config::model::ProviderName;
use crate::config::{Config, host_memory_mib};
use crate::error::{Failure, Kind, Result};
use crate::home::SandboxFolder;
use crate::plan::record::Record;

/// Checks that the provider is there and works, and that the host has the memory that the machines
/// will take.
///
/// # Errors
/// `Host` when something is missing.
pub(super) fn check(config: &Config, record: &Record, folder: &SandboxFolder) -> Result<()> {
    built(record.provider)?;
    memory(config, record.provider)?;
    if record.provider == ProviderName::Sim {
        return Ok(());
    }
    block_on(false, async {
        let provider = provider::open(record, folder, Clock::new(), &SimArguments::default())?;
        provider.check(&Io::silent()).await
    })
}

/// Refuses what this version of wdev has no Vagrantfile for.
fn built(provider: ProviderName) -> Result<()> {
    if matches!(provider, ProviderName::Sim | ProviderName::Docker) {
        return Ok(());
    }
    Err(Box::new(
        Failure::new(
            Kind::Host,
            format!("the provider `{provider}` is not built yet in this version of wdev"),
        )
        .advise("to see the whole flow without any machine: `--provider sim`")
        .advise("to make and prepare Linux machines: `--provider docker`"),
    ))
}

fn memory(config: &Config, provider: ProviderName) -> Result<()> {
    // Containers take what they use, and a simulation takes nothing.
    if matches!(provider, ProviderName::Sim | ProviderName::Docker) {
        return Ok(());
    }
    let wanted: u64 = config.control_plane.machine.memory_mib
        + config
            .workers
            .iter()
            .map(|worker| worker.machine.memory_mib)
            .sum::<u64>();
    match host_memory_mib() {
        Some(host) if wanted > host => Err(Box::new(
            Failure::new(Kind::Host, "the machines want more memory than this host has")
                .because(format!("together they want {wanted} MiB, the host has {host} MiB"))
                .advise("lower `control_plane.memory` or the workers' `memory`; 2 GiB and 4 GiB are the least that works")
                .advise("or take workers out of variables.yml"),
        )),
        _ => Ok(()),
    }
}
