//! The runner of one lane: its steps in order, each probed or run, retried, rebooted for and verified.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::board::{Board, Waited};
use super::bounded::{Ended, bounded};
use super::decide::Verdict;
use super::plan::{Lane, Planned, millis};
use super::reboot::Reboot;
use super::recorder::Recorder;
use super::step::{Context, Done, Known, Limits, Probe, Step, fingerprint, hashed_inputs};
use crate::channel::Io;
use crate::clock::Clock;
use crate::error::{Failure, Kind, Result};
use crate::event::{Body, Decision};
use crate::names::{LaneName, StepId, StepKey};
use crate::provider::{Power, Provider};
use crate::stop::{Level, Stop};

/// How many of the last lines of output a failure shows.
const TAIL: usize = 20;
/// How long a probe may take; a probe only looks.
const PROBE_LIMIT: Duration = Duration::from_mins(3);
/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Tells where the log of a step is.
pub type LogPath = Box<dyn Fn(&LaneName, &StepId) -> PathBuf + Send + Sync>;

/// What all lanes of a run share.
pub(crate) struct Shared {
    pub provider: Arc<dyn Provider>,
    pub clock: Clock,
    pub recorder: Recorder,
    pub known: Known,
    pub board: Board,
    pub stop: Stop,
    pub verdicts: BTreeMap<StepKey, Verdict>,
    pub limits: MachineLimits,
    pub log_path: LogPath,
}

/// How long machines may take.
#[derive(Debug, Clone, Copy)]
pub struct MachineLimits {
    /// From the start of a machine until it answers.
    pub boot: Duration,
    /// From a reboot until it is proven.
    pub reboot: Duration,
}

/// How a step ended.
enum End {
    Done,
    Failed,
    Stopped,
}

/// Runs one lane to its end.
///
/// # Errors
/// Only when the journal could not be written; all else is recorded and ends the lane.
pub(crate) async fn run(shared: Arc<Shared>, lane: Lane) -> Result<()> {
    for (position, planned) in lane.steps.iter().enumerate() {
        let runner = Runner::new(&shared, &lane, planned);
        let end = match runner.join().await {
            Waited::Ready => runner.step().await?,
            Waited::Stopped => End::Stopped,
            Waited::Blocked(on) => {
                blocked(&shared, &lane.name, &lane.steps[position..], &on).await?;
                return Ok(());
            }
        };
        match end {
            End::Done => shared.board.end(&runner.key, true),
            End::Failed => {
                shared.board.end(&runner.key, false);
                let rest = &lane.steps[position + 1..];
                blocked(&shared, &lane.name, rest, std::slice::from_ref(&runner.key)).await?;
                return Ok(());
            }
            End::Stopped => {
                cancelled(&shared, &lane.name, &lane.steps[position..]).await?;
                return Ok(());
            }
        }
    }
    Ok(())
}

async fn blocked(
    shared: &Shared,
    lane: &LaneName,
    steps: &[Planned],
    on: &[StepKey],
) -> Result<()> {
    let on: Vec<String> = on.iter().map(ToString::to_string).collect();
    for planned in steps {
        let step = planned.step.id();
        shared.board.end(
            &StepKey {
                lane: lane.clone(),
                step: step.clone(),
            },
            false,
        );
        shared
            .recorder
            .record(Body::StepBlocked {
                lane: lane.clone(),
                step,
                on: on.clone(),
            })
            .await?;
    }
    Ok(())
}

async fn cancelled(shared: &Shared, lane: &LaneName, steps: &[Planned]) -> Result<()> {
    for planned in steps {
        let step = planned.step.id();
        shared.board.end(
            &StepKey {
                lane: lane.clone(),
                step: step.clone(),
            },
            false,
        );
        let why = "the run was asked to stop".to_owned();
        shared
            .recorder
            .record(Body::StepCancelled {
                lane: lane.clone(),
                step,
                why,
            })
            .await?;
    }
    Ok(())
}

struct Runner<'a> {
    shared: &'a Arc<Shared>,
    lane: &'a Lane,
    planned: &'a Planned,
    step: &'a dyn Step,
    key: StepKey,
    tail: Arc<Mutex<VecDeque<String>>>,
}

impl<'a> Runner<'a> {
    fn new(shared: &'a Arc<Shared>, lane: &'a Lane, planned: &'a Planned) -> Self {
        let key = StepKey {
            lane: lane.name.clone(),
            step: planned.step.id(),
        };
        Self {
            shared,
            lane,
            planned,
            step: &*planned.step,
            key,
            tail: Arc::default(),
        }
    }

    async fn join(&self) -> Waited {
        let shared = self.shared;
        if shared.stop.level() >= Level::Interrupt {
            return Waited::Stopped;
        }
        let open = shared.board.open(&self.planned.after);
        if !open.is_empty() {
            let on = open.iter().map(ToString::to_string).collect();
            let (lane, step) = self.names();
            shared.recorder.tell(Body::StepWaiting { lane, step, on });
        }
        shared.board.wait(&self.planned.after, &shared.stop).await
    }

    /// Probes or runs the step, as decided.
    async fn step(&self) -> Result<End> {
        let verdict = self
            .shared
            .verdicts
            .get(&self.key)
            .cloned()
            .unwrap_or_default();
        let (lane, step) = self.names();
        match verdict.decision {
            Decision::Skip => {
                let why = verdict.why;
                self.shared
                    .recorder
                    .record(Body::StepSkipped { lane, step, why })
                    .await?;
                return Ok(End::Done);
            }
            Decision::Probe => {
                self.shared.recorder.tell(Body::StepProbing {
                    lane: lane.clone(),
                    step: step.clone(),
                });
                let probed = bounded(self.shared.clock, PROBE_LIMIT, &self.shared.stop, |stop| {
                    let cx = self.context(stop);
                    async move { self.step.probe(&cx).await }
                });
                let why = match probed.await {
                    Ended::Returned(Ok(Probe::InPlace)) => {
                        let why = "in place".to_owned();
                        self.shared
                            .recorder
                            .record(Body::StepSkipped { lane, step, why })
                            .await?;
                        return Ok(End::Done);
                    }
                    Ended::Stopped => return Ok(End::Stopped),
                    Ended::Returned(Ok(Probe::Missing(why))) => why,
                    Ended::Returned(Err(failure)) => format!("could not be asked: {failure}"),
                    Ended::Deadline => "it did not answer in time".to_owned(),
                };
                self.note(format!("no longer in place: {why}"));
            }
            Decision::Run | Decision::Recreate | Decision::Unknown => {}
        }
        self.attempts().await
    }

    async fn attempts(&self) -> Result<End> {
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
            let mut failure = match self.attempt(limits, changed).await? {
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
    async fn attempt(
        &self,
        limits: Limits,
        changed: bool,
    ) -> Result<std::result::Result<Done, Option<Box<Failure>>>> {
        let shared = self.shared;
        if let Err(failure) = self.machine_runs().await {
            return Ok(Err(failure));
        }
        let name = &self.lane.name;
        let pending = shared.known.read(|state| state.reboots.get(name).cloned());
        if let Some(pending) = pending.filter(|_| !self.is_first()) {
            self.note("finishing the reboot that was begun".to_owned());
            if let Err(failure) = self.reboot(&pending.boot).await? {
                return Ok(Err(failure));
            }
        }
        let ran = bounded(shared.clock, limits.deadline, &shared.stop, |stop| {
            let mut cx = self.context(stop);
            cx.changed = changed;
            async move { self.step.run(&cx).await }
        });
        let done = match self.settle(ran.await, limits.deadline) {
            Ok(done) => done,
            Err(failure) => return Ok(Err(failure)),
        };
        if done.reboot_wanted {
            let boot = match self.ask_boot().await {
                Ok(boot) => boot,
                Err(failure) => return Ok(Err(failure)),
            };
            let (lane, step) = self.names();
            shared
                .recorder
                .record(Body::RebootStarted {
                    lane,
                    step,
                    boot: boot.clone(),
                })
                .await?;
            if let Err(failure) = self.reboot(&boot).await? {
                return Ok(Err(failure));
            }
        }
        let verified = bounded(shared.clock, limits.deadline, &shared.stop, |stop| {
            let cx = self.context(stop);
            let done = &done;
            async move { self.step.verify(&cx, done).await }
        });
        Ok(self.settle(verified.await, limits.deadline).map(|()| done))
    }

    /// Brings a machine back that went off under a step, so that the next attempt can work.
    async fn machine_runs(&self) -> std::result::Result<(), Option<Box<Failure>>> {
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

    async fn reboot(&self, before: &str) -> Result<std::result::Result<(), Option<Box<Failure>>>> {
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

    async fn ask_boot(&self) -> std::result::Result<String, Option<Box<Failure>>> {
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
            limit: self.shared.limits.reboot,
            io,
        }
    }

    fn settle<T>(
        &self,
        ended: Ended<T>,
        limit: Duration,
    ) -> std::result::Result<T, Option<Box<Failure>>> {
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

    fn machine(&self) -> Option<String> {
        self.shared
            .known
            .read(|state| state.machines.get(&self.lane.name).cloned())
    }

    /// The first step of a node's lane is the one that makes the machine.
    fn is_first(&self) -> bool {
        self.lane.name.is_host()
            || self
                .lane
                .steps
                .first()
                .is_some_and(|first| first.step.id() == self.key.step)
    }

    fn names(&self) -> (LaneName, StepId) {
        (self.key.lane.clone(), self.key.step.clone())
    }

    fn note(&self, text: String) {
        self.io(self.shared.stop.clone()).note(text);
    }

    fn io(&self, stop: Stop) -> Io {
        let key = self.key.clone();
        let recorder = self.shared.recorder.clone();
        let tail = Arc::clone(&self.tail);
        let output = move |line: crate::channel::Line| {
            let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
            if tail.len() == TAIL {
                tail.pop_front();
            }
            tail.push_back(line.text.clone());
            let StepKey { lane, step } = key.clone();
            recorder.tell(Body::StepOutput {
                lane,
                step,
                stream: line.stream,
                line: line.text,
            });
        };
        Io {
            output: Arc::new(output),
            stop,
        }
    }

    fn context(&self, stop: Stop) -> Context {
        Context {
            lane: self.lane.name.clone(),
            provider: Arc::clone(&self.shared.provider),
            io: self.io(stop),
            clock: self.shared.clock,
            recorder: self.shared.recorder.clone(),
            known: self.shared.known.clone(),
            machine: self.machine(),
            changed: false,
        }
    }
}
