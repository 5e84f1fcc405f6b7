//! Whether a machine runs, seen without Vagrant: its own answer is worth more than Vagrant's, and comes
//! in a tenth of a second instead of two.
//!
//! The boot that a machine had when Vagrant last called it running is kept in `.driver/NODE.running`.
//! Whoever answers with that boot is that machine, since nothing else ever has it. Any other answer,
//! and silence, say nothing: then Vagrant is asked.

use std::time::Duration;

use super::node::{Node, absent, read, write};
use crate::channel::Io;
use crate::provider::{Machine, Power};

/// How long a machine that runs may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Vagrant's word for a machine that runs, with every provider.
const RUNNING: &str = "running";

impl Node {
    /// The machine, when it runs and the boot that it is in is known.
    pub(super) async fn known_to_run(&self, io: &Io) -> Option<Machine> {
        let id = self.id().ok()??;
        let known = read(&self.own(RUNNING)).ok()??;
        let (known_id, known_boot) = known.split_once('\n')?;
        if known_id != id || self.boot_now(io).await? != known_boot {
            return None;
        }
        Some(Machine {
            power: Power::Running,
            id: Some(id),
            detail: RUNNING.to_owned(),
            ..absent()
        })
    }

    /// Keeps the boot of a machine that Vagrant calls running.
    pub(super) async fn remember_running(&self, machine: &Machine, io: &Io) {
        if let (Power::Running, Some(id)) = (machine.power, &machine.id)
            && let Some(boot) = self.boot_now(io).await
        {
            // Only a help: without it Vagrant is asked again.
            let _ = write(&self.own(RUNNING), &format!("{id}\n{boot}"));
        }
    }

    /// Whether the machine answers, without Vagrant.
    pub(super) async fn answers_now(&self, io: &Io) -> bool {
        self.boot_now(io).await.is_some()
    }

    /// The boot that the machine is in, where it can be had without Vagrant.
    async fn boot_now(&self, io: &Io) -> Option<String> {
        if let Some(boot) = self.boot_by_hypervisor(PATIENCE, io).await {
            return boot.ok();
        }
        self.known_boot(PATIENCE, io).await
    }
}
