//! A reboot that is proven: the boot identity changed, and the node has been steadily ready since.
//!
//! A script never reboots its node; it reports that it wants a reboot. Windows can boot twice in a row
//! after a feature installation, so one good answer is not enough.

use std::time::Duration;

use crate::channel::{ANSWER, Io};
use crate::clock::Clock;
use crate::error::{Failure, Kind, Result};
use crate::names::LaneName;
use crate::provider::{Power, Provider};

/// How often a node that boots is asked.
const PAUSE: Duration = Duration::from_secs(2);
/// How long it may take to see that an earlier run has rebooted the node already.
const FIRST_LOOK: Duration = Duration::from_mins(3);
/// How many answers in a row must name the same boot.
const STEADY: u32 = 3;
/// How often the node is told to boot.
const RESTARTS: u32 = 3;

/// What the engine knows of the node that is to be rebooted.
pub(crate) struct Reboot<'a> {
    pub provider: &'a dyn Provider,
    pub lane: &'a LaneName,
    pub clock: Clock,
    /// The boots that were seen of it: one that comes back, with a snapshot, proves nothing.
    pub seen: Vec<String>,
    /// How long one boot may take.
    pub limit: Duration,
    pub io: &'a Io,
}

impl Reboot<'_> {
    /// The node's boot identity now.
    pub async fn identity(&self) -> Result<String> {
        self.provider
            .channel(self.lane)
            .boot_identity(ANSWER, self.io)
            .await
    }

    /// Reboots the node unless it already runs a boot that is neither `before` nor was seen; returns the
    /// new identity.
    ///
    /// # Errors
    /// `Deadline` when it did not come back steadily within the limit, however often it was told to.
    pub async fn prove(&self, before: &str) -> Result<String> {
        for restart in 0..=RESTARTS {
            if restart > 0 {
                self.restart().await?;
            }
            // Before the first restart: an earlier run may have done it, or may have just begun to.
            let limit = match restart {
                0 => self.limit.min(FIRST_LOOK),
                _ => self.limit,
            };
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

    async fn is_off(&self) -> bool {
        let machine = self.provider.inspect(self.lane, self.io).await;
        machine.is_ok_and(|it| !it.power.may_run())
    }

    async fn restart(&self) -> Result<()> {
        let machine = self.provider.inspect(self.lane, self.io).await?;
        if machine.power == Power::Running {
            self.provider.restart(self.lane, self.io).await
        } else {
            self.provider.up(self.lane, self.io).await.map(|_| ())
        }
    }

    /// Waits until the node has answered [`STEADY`] times in a row with one new boot. With `once`, gives
    /// up with `None` as soon as it answers with an old one or is found off.
    async fn settled(&self, before: &str, once: bool) -> Option<String> {
        let mut seen = String::new();
        let mut times = 0;
        loop {
            match self.identity().await {
                Ok(boot) if boot == before || self.seen.contains(&boot) => {
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
                Err(_) if once && self.is_off().await => return None,
                Err(_) => times = 0,
            }
            if times >= STEADY {
                return Some(seen);
            }
            self.clock.sleep(PAUSE).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::provider::double::{Acts, Double};

    /// A machine that runs one boot after the other: the next one with every restart.
    #[derive(Default)]
    struct Host {
        boots: Mutex<Vec<&'static str>>,
        restarts: Mutex<u32>,
        ponders: Duration,
    }

    impl Acts for Host {
        fn restart(&self) {
            *self.restarts.lock().unwrap() += 1;
            self.boots.lock().unwrap().remove(0);
        }

        fn ponders(&self) -> Duration {
            self.ponders
        }

        fn boot(&self) -> Option<String> {
            Some(self.boots.lock().unwrap()[0].to_owned())
        }
    }

    /// Proves a reboot from `two`, when `one` and `two` were seen; returns the new boot and how often the
    /// machine was told to restart.
    async fn proven(boots: &[&'static str]) -> (String, u32) {
        proven_in(boots, Duration::ZERO).await
    }

    /// The same of a machine that takes this long to tell its boot.
    async fn proven_in(boots: &[&'static str], ponders: Duration) -> (String, u32) {
        let host = Arc::new(Host {
            boots: Mutex::new(boots.to_vec()),
            ponders,
            ..Host::default()
        });
        let reboot = Reboot {
            provider: &Double(Arc::clone(&host)),
            lane: &LaneName::new("cp"),
            clock: Clock::new(),
            seen: vec!["one".to_owned(), "two".to_owned()],
            limit: Duration::from_mins(10),
            io: &Io::silent(),
        };
        let boot = reboot.prove("two").await.unwrap();
        let restarts = *host.restarts.lock().unwrap();
        (boot, restarts)
    }

    #[tokio::test(start_paused = true)]
    async fn a_reboot_that_an_earlier_run_brought_about_counts() {
        assert_eq!(proven(&["three"]).await, ("three".to_owned(), 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_machine_that_is_slow_to_answer_is_believed() {
        let slow = Duration::from_secs(45);
        let known = ("three".to_owned(), 0);
        assert_eq!(proven_in(&["three"], slow).await, known);
        let told = ("three".to_owned(), 1);
        assert_eq!(proven_in(&["two", "three"], slow).await, told);
    }

    #[tokio::test(start_paused = true)]
    async fn a_boot_that_a_snapshot_brought_back_is_no_reboot() {
        assert_eq!(proven(&["one", "three"]).await, ("three".to_owned(), 1));
    }
}
