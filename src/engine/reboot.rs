//! A reboot that is proven: the boot identity changed, and the node has been steadily ready since.
//!
//! A script never reboots its node; it reports that it wants a reboot. Windows can boot twice in a row
//! after a feature installation, so one good answer is not enough.

use std::time::Duration;

use crate::channel::Io;
use crate::clock::Clock;
use crate::error::{Failure, Kind, Result};
use crate::names::LaneName;
use crate::provider::{Power, Provider};

/// How often a node that boots is asked.
const PAUSE: Duration = Duration::from_secs(2);
/// How long one question may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many answers in a row must name the same boot.
const STEADY: u32 = 3;
/// How often the node is told to boot.
const RESTARTS: u32 = 3;

/// What the engine knows of the node that is to be rebooted.
pub(crate) struct Reboot<'a> {
    pub provider: &'a dyn Provider,
    pub lane: &'a LaneName,
    pub clock: Clock,
    /// How long one boot may take.
    pub limit: Duration,
    pub io: &'a Io,
}

impl Reboot<'_> {
    /// The node's boot identity now.
    pub async fn identity(&self) -> Result<String> {
        self.provider
            .channel(self.lane)
            .boot_identity(PATIENCE, self.io)
            .await
    }

    /// Reboots the node unless it already runs another boot than `before`; returns the new identity.
    ///
    /// # Errors
    /// `Deadline` when it did not come back steadily within the limit, however often it was told to.
    pub async fn prove(&self, before: &str) -> Result<String> {
        for restart in 0..=RESTARTS {
            if restart > 0 {
                self.restart().await?;
            }
            // Before the first restart one question is enough: an earlier run may have done it.
            let limit = if restart == 0 { PATIENCE } else { self.limit };
            if let Some(boot) = self
                .clock
                .timeout(limit, self.settled(before, restart == 0))
                .await
            {
                match boot {
                    Some(boot) => return Ok(boot),
                    None => continue,
                }
            }
            if restart > 0 {
                self.io.note(format!(
                    "no proven reboot within {} s (try {restart} of {RESTARTS})",
                    self.limit.as_secs()
                ));
            }
        }
        Err(Box::new(
            Failure::new(
                Kind::Deadline,
                format!("the node `{}` did not come back from its reboot", self.lane),
            )
            .because(format!(
                "its boot identity did not change and stay within {} s, {RESTARTS} times",
                self.limit.as_secs()
            ))
            .advise("look at the machine's console for an update or a recovery screen")
            .advise("raise `timeouts.reboot` in variables.yml if the machine is only slow"),
        ))
    }

    async fn restart(&self) -> Result<()> {
        let machine = self.provider.inspect(self.lane, self.io).await?;
        if machine.power == Power::Running {
            self.provider.restart(self.lane, self.io).await
        } else {
            self.provider.up(self.lane, self.io).await.map(|_| ())
        }
    }

    /// Waits until the node has answered [`STEADY`] times in a row with one boot that is not `before`.
    /// With `once`, gives up with `None` as soon as it answers with `before`.
    async fn settled(&self, before: &str, once: bool) -> Option<String> {
        let mut seen = String::new();
        let mut times = 0;
        loop {
            match self.identity().await {
                Ok(boot) if boot == before => {
                    if once {
                        return None;
                    }
                    times = 0;
                }
                Ok(boot) if boot == seen => times += 1,
                Ok(boot) => {
                    seen = boot;
                    times = 1;
                }
                Err(_) => times = 0,
            }
            if times >= STEADY {
                return Some(seen);
            }
            self.clock.sleep(PAUSE).await;
        }
    }
}
