//! Sets the node's clock by the host's.
//!
//! Certificates, tokens and leases depend on it. A live snapshot that is brought back stands behind by the
//! time since it was made, and a host that slept wakes machines that did not notice. A Windows node's clock is
//! part of its first contact.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;

use super::Build;
use super::guest::{GuestStep, done, inputs, judge, limits};
use crate::channel::{Effect, Mode, Os, Report, Secret};
use crate::engine::step::{Context, Done, OnChange, Probe, Step};
use crate::error::{Failure, Kind, Result};

/// How far a clock may be off.
pub(super) const TOLERANCE_MS: i64 = 2000;

/// A step whose script sets the node's clock, among other things: its probe reports `clock_ms` and `uptime_ms`, and
/// its run sets the clock by the secret `host_at_boot`.
pub struct Clock {
    guest: GuestStep,
}

/// What a node told of its clock, and when it was asked; all in milliseconds, times since 1970.
#[derive(Debug, Clone, Copy)]
struct Reading {
    clock: i64,
    uptime: i64,
    asked: i64,
    told: i64,
}

/// Compares and sets the clock of a Linux node.
///
/// # Errors
/// When the script cannot be rendered.
pub fn step(build: &Build) -> Result<Clock> {
    Ok(Clock {
        guest: GuestStep {
            id: "clock".to_owned(),
            title: "set the clock by this host's".to_owned(),
            purpose: "certificates and tokens are only good at the right time".to_owned(),
            phase: "machine",
            inputs: inputs([]),
            limits: limits(&build.config.timeouts, Duration::from_secs(2)),
            os: Os::Linux,
            // Nothing is built on the very second.
            on_change: OnChange::Alone,
            text: Some(crate::render::linux::clock(TOLERANCE_MS)?),
            effects: vec![
                Effect::Takes(300),
                Effect::Setting {
                    key: "clock".to_owned(),
                    value: "the host's".to_owned(),
                },
            ],
        },
    })
}

impl Reading {
    /// Reads the facts of a script; nothing where it has none, as in a simulation.
    fn new(report: &Report, asked: i64, told: i64) -> Option<Self> {
        let fact = |name| report.facts.get(name)?.parse().ok();
        Some(Self {
            clock: fact("clock_ms")?,
            uptime: fact("uptime_ms")?,
            asked,
            told,
        })
    }

    /// How far the clock is ahead of the host's, at least: the answer was under way for an unknown part
    /// of the time between question and answer.
    fn ahead(self) -> i64 {
        if self.clock > self.told {
            self.clock - self.told
        } else {
            (self.clock - self.asked).min(0)
        }
    }

    /// What is wrong with the clock, in words.
    fn complaint(self) -> Option<String> {
        let ahead = self.ahead();
        let seconds = ahead.unsigned_abs().div_ceil(1000);
        match ahead {
            ahead if ahead > TOLERANCE_MS => {
                Some(format!("its clock is {seconds} s ahead of this host's"))
            }
            ahead if ahead < -TOLERANCE_MS => {
                Some(format!("its clock stands {seconds} s behind this host's"))
            }
            _ => None,
        }
    }

    /// The host's time when the node's uptime was 0, taken half-way between question and answer.
    fn host_at_boot(self) -> i64 {
        self.asked.midpoint(self.told) - self.uptime
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

impl From<GuestStep> for Clock {
    fn from(guest: GuestStep) -> Self {
        Self { guest }
    }
}

impl Clock {
    /// Asks the node for its time. A simulated node has none; then its report alone counts.
    async fn ask(&self, cx: &Context) -> Result<(Report, Option<Reading>)> {
        let script = self.guest.script_for(Mode::Probe);
        let asked = now();
        let report = cx.channel().run(&script, &cx.io).await?;
        let reading = Reading::new(&report, asked, now());
        Ok((report, reading))
    }
}

#[async_trait]
impl Step for Clock {
    told_by!(guest);
    run_as!(guest);

    async fn probe(&self, cx: &Context) -> Result<Probe> {
        let (report, reading) = self.ask(cx).await?;
        let complaint = reading.and_then(Reading::complaint);
        Ok(complaint.map_or_else(|| judge(report), Probe::Missing))
    }

    async fn run(&self, cx: &Context) -> Result<Done> {
        let (_, reading) = self.ask(cx).await?;
        let mut script = self.guest.script_for(Mode::Run);
        if let Some(reading) = reading {
            // No secret, but like one it is for this run alone and no part of the fingerprint.
            let given = Secret::new(reading.host_at_boot().to_string());
            script.secrets.insert("host_at_boot".to_owned(), given);
        }
        Ok(done(cx.channel().run(&script, &cx.io).await?))
    }

    async fn verify(&self, cx: &Context, _done: &Done) -> Result<()> {
        let (report, reading) = self.ask(cx).await?;
        if let Some(why) = reading.and_then(Reading::complaint) {
            return Err(Box::new(
                Failure::new(Kind::Step, "the clock was set, but it is not right")
                    .because(why)
                    .advise("see whether something on the node sets it: NTP, the guest tools"),
            ));
        }
        let asked = std::future::ready(Ok(judge(report)));
        self.guest.proven(&Done::default(), asked).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(clock: i64) -> Reading {
        Reading {
            clock,
            uptime: 60_000,
            asked: 1_000_000,
            told: 1_006_000,
        }
    }

    #[test]
    fn only_what_the_way_to_the_node_cannot_explain_is_a_wrong_clock() {
        for good in [998_500, 1_000_000, 1_003_000, 1_006_000, 1_007_500] {
            assert_eq!(reading(good).complaint(), None, "{good}");
        }
        let behind = reading(972_000).complaint().unwrap();
        assert!(behind.contains("28 s behind"), "{behind}");
        let ahead = reading(1_066_000).complaint().unwrap();
        assert!(ahead.contains("60 s ahead"), "{ahead}");
    }

    #[test]
    fn the_nodes_uptime_carries_the_hosts_time_there() {
        assert_eq!(reading(0).host_at_boot(), 1_003_000 - 60_000);
    }
}
