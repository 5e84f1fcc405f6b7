//! One step in its lane: waited for, probed or run.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::board::Waited;
use super::bounded::{Ended, bounded};
use super::lane::Shared;
use super::plan::{Lane, Planned};
use super::step::{Context, Probe, Step};
use crate::channel::Io;
use crate::error::Result;
use crate::event::{Body, Decision};
use crate::names::{LaneName, StepId, StepKey};
use crate::stop::{Level, Stop};

/// How many of the last lines of output a failure shows.
const TAIL: usize = 20;
/// How long a probe may take; a probe only looks.
const PROBE_LIMIT: Duration = Duration::from_mins(3);

/// How a step ended.
pub(crate) enum End {
    Done,
    Failed,
    Stopped,
}

/// Runs one step of a lane.
pub(crate) struct Runner<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) lane: &'a Lane,
    pub(super) planned: &'a Planned,
    pub(super) step: &'a dyn Step,
    pub(super) key: StepKey,
    pub(super) tail: Arc<Mutex<VecDeque<String>>>,
}

impl<'a> Runner<'a> {
    pub(super) fn new(shared: &'a Arc<Shared>, lane: &'a Lane, planned: &'a Planned) -> Self {
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

    pub(super) async fn join(&self) -> Waited {
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
    pub(super) async fn step(&self) -> Result<End> {
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
                    Ended::Returned(Ok(Probe::Missing(why) | Probe::RebootPending(why))) => why,
                    Ended::Returned(Err(failure)) => format!("could not be asked: {failure}"),
                    Ended::Deadline => "it did not answer in time".to_owned(),
                };
                self.note(format!("no longer in place: {why}"));
            }
            Decision::Run | Decision::Recreate | Decision::Unknown => {}
        }
        self.attempts().await
    }

    pub(super) fn machine(&self) -> Option<String> {
        self.shared
            .known
            .read(|state| state.machines.get(&self.lane.name).cloned())
    }

    /// The first step of a node's lane is the one that makes the machine.
    pub(super) fn is_first(&self) -> bool {
        self.lane.name.is_host()
            || self
                .lane
                .steps
                .first()
                .is_some_and(|first| first.step.id() == self.key.step)
    }

    pub(super) fn names(&self) -> (LaneName, StepId) {
        (self.key.lane.clone(), self.key.step.clone())
    }

    pub(super) fn note(&self, text: String) {
        self.io(self.shared.stop.clone()).note(text);
    }

    pub(super) fn io(&self, stop: Stop) -> Io {
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

    pub(super) fn context(&self, stop: Stop) -> Context {
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
