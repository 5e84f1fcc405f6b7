//! What must hold on the host before anything is made.

use crate::config::model::ProviderName;
use crate::config::{Config, host_memory_mib};
use crate::error::{Failure, Kind, Result};

/// Checks the host's memory against what the machines will take.
///
/// # Errors
/// `Host` when they want more than the host has.
pub(super) fn check(config: &Config, provider: ProviderName) -> Result<()> {
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
