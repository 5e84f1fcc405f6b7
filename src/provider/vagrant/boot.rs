//! What changes with every boot of a machine, asked of the machine itself.

use std::time::Duration;

use super::direct::Order;
use super::node::Node;
use super::through;
use crate::channel::Io;
use crate::channel::ssh::{Ended, Talk};
use crate::error::{Failure, Kind, Result};
use crate::event::Stream;

impl Node {
    /// See [`crate::channel::Channel::boot_identity`].
    pub(super) async fn boot_identity(&self, patience: Duration, io: &Io) -> Result<String> {
        if let Some(told) = self.boot_by_hypervisor(patience, io).await {
            return told;
        }
        let asking = async {
            if !self.has_client() {
                return through::boot_identity(self, io).await;
            }
            let line = self.guest().boot_identity()?;
            let mut first = None;
            let mut take = |stream: Stream, text: &str| keep_first(&mut first, stream, text);
            let code = self.command(Order::new(&line), io, &mut take).await?;
            first.filter(|_| code == 0).ok_or_else(|| self.untold())
        };
        let told = self.caller.clock.timeout(patience, asking).await;
        told.unwrap_or_else(|| Err(self.untold()))
    }

    /// The same from a machine that answers the way it was last reached; Vagrant is not asked.
    pub(super) async fn known_boot(&self, patience: Duration, io: &Io) -> Option<String> {
        if !self.own("ssh").is_file() {
            return None;
        }
        let (way, line) = (self.known_way().ok()?, self.guest().boot_identity().ok()?);
        let mut first = None;
        let mut take = |stream: Stream, text: &str| keep_first(&mut first, stream, text);
        let asking = way.run(Talk::new(&line, patience), &io.stop, &mut take);
        let ended = self.caller.clock.timeout(patience, asking).await?.ok()?;
        first.filter(|_| ended == Ended::Command(0))
    }

    fn untold(&self) -> Box<Failure> {
        Box::new(Failure::new(
            Kind::Provider,
            format!("`{}` does not tell its boot identity", self.name()),
        ))
    }
}

fn keep_first(first: &mut Option<String>, stream: Stream, text: &str) {
    if stream == Stream::Stdout && first.is_none() {
        *first = Some(text.trim().to_owned()).filter(|line| !line.is_empty());
    }
}
