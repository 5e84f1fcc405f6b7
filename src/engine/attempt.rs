//! The attempts of one step: run, rebooted for, verified, retried.

use std::sync::PoisonError;
use std::time::Duration;

use super::bounded::{Ended, bounded};
use super::plan::millis;
use super::reboot::Reboot;
use super::runner::{End, Runner};
use super::step::{Done, Limits, Probe, fingerprint, hashed_inputs};
use crate::channel::{ANSWER, Io};
use crate::error::{Failure, Kind, Result};
use crate::event::Body;
use crate::provider::Power;
use crate::stop::Level;

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// The pause before a node that does not answer is asked again.
const PAUSE: Duration = Duration::from_secs(10);

/// How many reboots in a row one attempt does at most, as long as the node asks for the next one.
const REBOOTS: u32 = 3;

/// How an attempt ended: well, with a failure, or with nothing where the run was asked to stop.
type Tried<T> = std::result::Result<T, Option<Box<Failure>>>;

impl Runner<'_> {
    pub(super) async fn attempts(&self) -> Result<End> {
        let shared = self.shared;
        let limits = self.step.limits();
        let began = shared.clock.elapsed();
        let fingerprint = fingerprint(self.step);
        let changed = shared.known.read(|state| {
            let done = state
                .steps
                .get(&self.key)
                .and_then(|record| record.done.as_ref());
            done.is_some_and(|done| done.fingerprint != fingerprint)
        });
        for attempt in 1.. {
            let (lane, step) = self.names();
            let started = Body::StepStarted {
                lane,
                step,
                attempt,
                fingerprint: fingerprint.clone(),
            };
            shared.recorder.record(started).await?;
            let mut failure = match self.attempt(limits, changed, attempt > 1).await? {
                Ok(done) => {
                    let (lane, step) = self.names();
                    let machine = done.machine.or_else(|| self.machine());
                    shared
                        .recorder
                        .record(Body::StepFinished {
                            lane,
                            step,
                            took_ms: millis(shared.clock.elapsed().saturating_sub(began)),
                            fingerprint,
                            inputs: hashed_inputs(self.step),
                            facts: done.facts,
                            machine,
                        })
                        .await?;
                    return Ok(End::Done);
                }
                Err(None) => return Ok(End::Stopped),
                Err(Some(failure)) => failure,
            };
            self.complete(&mut failure);
            let (lane, step) = self.names();
            if failure.permanent || attempt >= limits.attempts {
                let took_ms = millis(shared.clock.elapsed().saturating_sub(began));
                let failure = *failure;
                shared
                    .recorder
                    .record(Body::StepFailed {
                        lane,
                        step,
                        took_ms,
                        failure,
                    })
                    .await?;
                return Ok(End::Failed);
            }
            let pause = limits
                .pause
                .saturating_mul(1 << (attempt - 1).min(16))
                .min(LONGEST_PAUSE);
            let (of, delay_ms) = (limits.attempts, millis(pause));
            shared
                .recorder
                .record(Body::StepRetry {
                    lane,
                    step,
                    attempt,
                    of,
                    delay_ms,
                    failure: *failure,
                })
                .await?;
            tokio::select! {
                () = shared.clock.sleep(pause) => {}
                () = shared.stop.reached(Level::Interrupt) => return Ok(End::Stopped),
            }
        }
        Ok(End::Failed)
    }

    /// One attempt: mends the machine where it must, runs, reboots where that is wanted, verifies.
    /// The inner error is the failure, or nothing when the run was asked to stop.
    async fn attempt(&self, limits: Limits, changed: bool, again: bool) -> Result<Tried<Done>> {
        let shared = self.shared;
        // The lane's first step has found the machine running; only a failed attempt casts doubt on it.
        if again {
            if let Err(failure) = self.machine_runs().await {
                return Ok(Err(failure));
            }
            if self.answers().await.is_err() {
                return Ok(Err(None));
            }
        }
        let name = &self.lane.name;
        let pending = shared.known.read(|state| state.reboots.get(name).cloned());
        if let Some(pending) = pending.filter(|_| !self.is_first()) {
            self.note("finishing the reboot that was begun".to_owned());
            if let Err(failure) = self.reboot(&pending.boot).await? {
                return Ok(Err(failure));
            }
            if pending.step == self.key && !changed {
                // The run before this one did it, up to the reboot.
                let done = match self.ask().await {
                    Some(Probe::InPlace) => Done {
                        proven: true,
                        ..Done::default()
                    },
                    Some(Probe::RebootPending(_)) => Done {
                        reboot_wanted: true,
                        ..Done::default()
                    },
                    _ => return self.run(limits, changed).await,
                };
                let facts = pending.facts;
                return self.conclude(limits, Done { facts, ..done }).await;
            }
        }
        self.run(limits, changed).await
    }

    async fn run(&self, limits: Limits, changed: bool) -> Result<Tried<Done>> {
        let shared = self.shared;
        let ran = bounded(shared.clock, limits.deadline, &shared.stop, |stop| {
            let mut cx = self.context(stop);
            cx.changed = changed;
            async move { self.step.run(&cx).await }
        });
        match self.settle(ran.await, limits.deadline) {
            Ok(done) => self.conclude(limits, done).await,
            Err(failure) => Ok(Err(failure)),
        }
    }

    /// Reboots where the run wanted that, and verifies; again where the node then says that it waits for
    /// yet another reboot, as Windows does after some features and updates.
    async fn conclude(&self, limits: Limits, done: Done) -> Result<Tried<Done>> {
        let shared = self.shared;
        let mut reboots = 0;
        let mut wanted = done.reboot_wanted;
        loop {
            if wanted {
                if let Err(failure) = self.begin_reboot(&done).await? {
                    return Ok(Err(failure));
                }
                reboots += 1;
            }
            let verified = bounded(shared.clock, limits.deadline, &shared.stop, |stop| {
                let cx = self.context(stop);
                let done = &done;
                async move { self.step.verify(&cx, done).await }
            });
            let failure = match self.settle(verified.await, limits.deadline) {
                Ok(()) => return Ok(Ok(done)),
                Err(failure) => failure,
            };
            // Only a node that answered can say that it waits for a reboot.
            let answered = failure
                .as_ref()
                .is_some_and(|it| matches!(it.kind, Kind::Step | Kind::NotReady) && !it.permanent);
            if !answered {
                return Ok(Err(failure));
            }
            let Some(Probe::RebootPending(why)) = self.ask().await else {
                return Ok(Err(failure));
            };
            if reboots >= REBOOTS {
                return Ok(Err(Some(self.reboots_in_vain(why))));
            }
            self.note(format!("a reboot is needed: {why}"));
            wanted = true;
        }
    }

    fn reboots_in_vain(&self, why: String) -> Box<Failure> {
        Box::new(
            Failure::new(
                Kind::Step,
                format!(
                    "`{}` still waits for a reboot after {REBOOTS} in a row",
                    self.lane.name
                ),
            )
            .because(why)
            .advise("look at the node's console: an update or an installer may not come to its end")
            .permanent(),
        )
    }

    /// Asks the node whether the step is done; nothing when it could not be asked.
    async fn ask(&self) -> Option<Probe> {
        let limit = self.step.limits().deadline;
        let probed = bounded(self.shared.clock, limit, &self.shared.stop, |stop| {
            let cx = self.context(stop);
            async move { self.step.probe(&cx).await }
        });
        match probed.await {
            Ended::Returned(Ok(probe)) => Some(probe),
            _ => None,
        }
    }

    /// Waits until the node answers again: a machine that boots once more under a step runs long before
    /// it answers, and attempts made meanwhile would be lost. A node that stays silent has its attempt
    /// nevertheless, which says why it fails. The error is a request to stop.
    async fn answers(&self) -> std::result::Result<(), ()> {
        let (shared, name) = (self.shared, &self.lane.name);
        let reboots = shared.known.read(|state| state.reboots.contains_key(name));
        // The machine is made, or is rebooted, by means of their own.
        if self.is_first() || reboots || self.machine().is_none() {
            return Ok(());
        }
        let boot = shared.limits.boot;
        let waited = bounded(shared.clock, boot, &shared.stop, |stop| {
            let io = self.io(stop);
            async move {
                let mut silent = false;
                loop {
                    let machine = shared.provider.inspect(name, &io).await?;
                    if !machine.power.may_run() {
                        return Ok(());
                    }
                    let channel = shared.provider.channel(name);
                    if channel.boot_identity(ANSWER, &io).await.is_ok() {
                        return Ok(());
                    }
                    if !silent {
                        io.note("waiting until the node answers again");
                        silent = true;
                    }
                    shared.clock.sleep(PAUSE).await;
                }
            }
        });
        match waited.await {
            Ended::Stopped => Err(()),
            Ended::Returned(_) | Ended::Deadline => Ok(()),
        }
    }

    /// Brings a machine back that went off under a step, so that the next attempt can work.
    async fn machine_runs(&self) -> Tried<()> {
        let Some(id) = self.machine().filter(|_| !self.is_first()) else {
            return Ok(());
        };
        let boot = self.shared.limits.boot;
        let seen = bounded(self.shared.clock, boot, &self.shared.stop, |stop| {
            let io = self.io(stop);
            async move {
                let machine = self.shared.provider.inspect(&self.lane.name, &io).await?;
                if matches!(machine.power, Power::Running | Power::Absent) {
                    return Ok(machine);
                }
                io.note("the machine is not running; starting it");
                self.shared.provider.up(&self.lane.name, &io).await
            }
        });
        let machine = self.settle(seen.await, boot)?;
        if machine.id.as_ref() == Some(&id) {
            return Ok(());
        }
        let name = &self.lane.name;
        Err(Some(Box::new(
            Failure::new(
                Kind::Provider,
                format!("the machine of `{name}` was removed or replaced during the run"),
            )
            .advise("run the same command again: it begins anew on this node")
            .permanent(),
        )))
    }

    /// Writes down that the node is about to reboot, and does it.
    async fn begin_reboot(&self, done: &Done) -> Result<Tried<()>> {
        if self.shared.stop.level() >= Level::Interrupt {
            return Ok(Err(None));
        }
        let boot = match self.ask_boot().await {
            Ok(boot) => boot,
            Err(failure) => return Ok(Err(failure)),
        };
        let (lane, step) = self.names();
        self.shared
            .recorder
            .record(Body::RebootStarted {
                lane,
                step,
                boot: boot.clone(),
                facts: done.facts.clone(),
            })
            .await?;
        self.reboot(&boot).await
    }

    /// Sees a reboot from `before` through to its proof.
    async fn reboot(&self, before: &str) -> Result<Tried<()>> {
        let shared = self.shared;
        let began = shared.clock.elapsed();
        // The proof has a deadline of its own for each try; this one only ends a provider that hangs.
        let limit = shared.limits.reboot.saturating_mul(6);
        let proven = bounded(shared.clock, limit, &shared.stop, |stop| {
            let io = self.io(stop);
            async move { self.rebooter(&io).prove(before).await }
        });
        let boot = match self.settle(proven.await, limit) {
            Ok(boot) => boot,
            Err(failure) => return Ok(Err(failure)),
        };
        let (lane, step) = self.names();
        let took_ms = millis(shared.clock.elapsed().saturating_sub(began));
        shared
            .recorder
            .record(Body::RebootProven {
                lane,
                step,
                boot,
                took_ms,
            })
            .await?;
        Ok(Ok(()))
    }

    async fn ask_boot(&self) -> Tried<String> {
        let limit = self.shared.limits.reboot;
        let asked = bounded(self.shared.clock, limit, &self.shared.stop, |stop| {
            let io = self.io(stop);
            async move { self.rebooter(&io).identity().await }
        });
        self.settle(asked.await, limit)
    }

    fn rebooter<'b>(&'b self, io: &'b Io) -> Reboot<'b> {
        Reboot {
            provider: &*self.shared.provider,
            lane: &self.lane.name,
            clock: self.shared.clock,
            seen: self.shared.known.read(|state| {
                let boots = state.boots.get(&self.lane.name);
                boots.cloned().unwrap_or_default()
            }),
            limit: self.shared.limits.reboot,
            io,
        }
    }

    fn settle<T>(&self, ended: Ended<T>, limit: Duration) -> Tried<T> {
        match ended {
            Ended::Returned(Ok(done)) => Ok(done),
            Ended::Returned(Err(failure)) => Err(Some(failure)),
            Ended::Stopped => Err(None),
            Ended::Deadline => Err(Some(Box::new(
                Failure::new(
                    Kind::Deadline,
                    format!("`{}` did not end in time", self.step.title()),
                )
                .because(format!("it may take {} s", limit.as_secs()))
                .advise("raise the limit under `timeouts` in variables.yml if it is only slow"),
            ))),
        }
    }

    /// Adds to a failure what only the engine knows.
    fn complete(&self, failure: &mut Failure) {
        failure.lane = Some(self.key.lane.clone());
        failure.step = Some(self.key.step.clone());
        failure.log = Some((self.shared.log_path)(&self.key.lane, &self.key.step));
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        if failure.output.is_empty() {
            failure.output = tail.iter().cloned().collect();
        }
        tail.clear();
    }
}
