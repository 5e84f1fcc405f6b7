//! What the journal adds up to: the only truth about progress.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::error::Failure;
use crate::event::{Body, Event, Outcome};
use crate::names::{LaneName, RunId, StepId, StepKey};

/// The sum of a journal.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    /// The last word on each step.
    pub steps: BTreeMap<StepKey, StepRecord>,
    /// The machine of each node.
    pub machines: BTreeMap<LaneName, String>,
    /// Reboots that were begun and not proven, by node.
    pub reboots: BTreeMap<LaneName, PendingReboot>,
    /// The boots that were seen of each node's machine, the last one at the end.
    pub boots: BTreeMap<LaneName, Vec<String>>,
    /// What was about to be created on the host and has not been removed: lane, kind, name.
    pub created: BTreeSet<(LaneName, String, String)>,
    /// The provider that the machines belong to.
    pub provider: Option<String>,
    /// The last run.
    pub last_run: Option<LastRun>,
    /// How many times any step was finished.
    pub finished: u64,
}

/// The last word on a step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRecord {
    /// How the last run of it went.
    pub status: Status,
    /// The last time that it was finished on this machine; kept while it is done again.
    pub done: Option<DoneRecord>,
}

impl StepRecord {
    fn of(done: DoneRecord) -> Self {
        Self {
            status: Status::Done,
            done: Some(done),
        }
    }
}

/// How the last run of a step went.
#[derive(Debug, Clone, PartialEq)]
pub enum Status {
    /// It was begun and nothing more is known.
    Started,
    /// It failed for good.
    Failed(Failure),
    /// It was stopped.
    Cancelled,
    /// It is done.
    Done,
}

/// A finished step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoneRecord {
    /// Of its inputs.
    pub fingerprint: String,
    /// A short hash of each input.
    pub inputs: BTreeMap<String, String>,
    /// What it learnt.
    pub facts: BTreeMap<String, String>,
    /// The machine that it was done on.
    pub machine: Option<String>,
    /// How long it took.
    pub took_ms: u64,
    /// Its place among all finished steps, counted from 1.
    pub place: u64,
    /// The place at which it was first finished on this machine.
    pub first: u64,
    /// The inputs that have changed since then, and the place at which each last did.
    pub changed: BTreeMap<String, u64>,
}

/// A reboot that was begun and not proven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingReboot {
    /// The step that wanted it.
    pub step: StepKey,
    /// The boot identity that must change.
    pub boot: String,
    /// What the step had learnt.
    pub facts: BTreeMap<String, String>,
}

/// The last run of the sandbox.
#[derive(Debug, Clone, PartialEq)]
pub struct LastRun {
    /// Which.
    pub run: RunId,
    /// Its command.
    pub command: String,
    /// When it began.
    pub started: Timestamp,
    /// How it ended; nothing when it did not live to say so.
    pub outcome: Option<Outcome>,
    /// Its first failure.
    pub failure: Option<Failure>,
}

impl State {
    /// Adds up events in order.
    #[must_use]
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut state = Self::default();
        for event in events {
            state.apply(event);
        }
        state
    }

    /// Takes one more event.
    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::RunStarted {
                command, provider, ..
            } => {
                self.provider = Some(provider.clone());
                self.last_run = Some(LastRun {
                    run: event.run.clone(),
                    command: command.clone(),
                    started: event.at,
                    outcome: None,
                    failure: None,
                });
            }
            Body::StepStarted { lane, step, .. } => {
                self.set(lane, step.as_str(), Status::Started);
            }
            Body::StepFailed {
                lane,
                step,
                failure,
                ..
            } => {
                self.set(lane, step.as_str(), Status::Failed(failure.clone()));
            }
            Body::StepCancelled { lane, step, .. } => {
                // A step that never began is not undone by being cancelled.
                if let Some(record) = self.steps.get_mut(&StepKey::new(lane, step.as_str()))
                    && record.status == Status::Started
                {
                    record.status = Status::Cancelled;
                }
            }
            Body::StepFinished {
                lane,
                step,
                took_ms,
                fingerprint,
                inputs,
                facts,
                machine,
            } => {
                if let Some(machine) = machine {
                    self.machines.insert(lane.clone(), machine.clone());
                }
                let key = StepKey::new(lane, step.as_str());
                let (place, first, changed) = self.finish(&key, fingerprint, inputs);
                let done = DoneRecord {
                    fingerprint: fingerprint.clone(),
                    inputs: inputs.clone(),
                    facts: facts.clone(),
                    machine: machine.clone(),
                    took_ms: *took_ms,
                    place,
                    first,
                    changed,
                };
                self.steps.insert(key, StepRecord::of(done));
            }
            Body::BootSeen { lane, boot } => self.saw(lane, boot),
            Body::RebootStarted {
                lane,
                step,
                boot,
                facts,
            } => self.reboots_from(lane, step, boot, facts),
            Body::RebootProven { lane, boot, .. } => {
                self.saw(lane, boot);
                self.reboots.remove(lane);
            }
            Body::MachineReplaced { lane, .. } => self.forget(lane),
            Body::Intent { lane, what, name } => {
                self.created
                    .insert((lane.clone(), what.clone(), name.clone()));
            }
            Body::Removed { lane, what, name } => {
                self.created
                    .remove(&(lane.clone(), what.clone(), name.clone()));
                if what == MACHINE {
                    self.forget(lane);
                }
            }
            Body::RunFinished {
                outcome, failure, ..
            } => {
                if let Some(last) = &mut self.last_run {
                    last.outcome = Some(*outcome);
                    last.failure.clone_from(failure);
                }
            }
            Body::StepProbing { .. }
            | Body::StepSkipped { .. }
            | Body::StepWaiting { .. }
            | Body::StepOutput { .. }
            | Body::StepRetry { .. }
            | Body::StepBlocked { .. }
            | Body::Warning { .. }
            | Body::Interrupting { .. }
            | Body::Unknown => {}
        }
    }

    /// Counts one more finished step; returns its place, the first one, and what changed since.
    fn finish(
        &mut self,
        key: &StepKey,
        fingerprint: &str,
        inputs: &BTreeMap<String, String>,
    ) -> (u64, u64, BTreeMap<String, u64>) {
        self.finished += 1;
        let place = self.finished;
        let record = self.steps.get(key);
        let Some(before) = record.and_then(|record| record.done.as_ref()) else {
            return (place, place, BTreeMap::new());
        };
        let mut changed = before.changed.clone();
        if before.fingerprint != fingerprint {
            let names = changed_inputs(&before.inputs, inputs);
            changed.extend(names.into_iter().map(|name| (name, place)));
        }
        (place, before.first, changed)
    }

    /// A fact that a finished step has left.
    #[must_use]
    pub fn fact(&self, lane: &LaneName, step: &str, key: &str) -> Option<&str> {
        let record = self.steps.get(&StepKey::new(lane, step))?;
        record.done.as_ref()?.facts.get(key).map(String::as_str)
    }

    fn set(&mut self, lane: &LaneName, step: &str, status: Status) {
        self.steps
            .entry(StepKey::new(lane, step))
            .and_modify(|record| record.status = status.clone())
            .or_insert(StepRecord { status, done: None });
    }

    /// A reboot of the machine, which runs this boot, is about to begin.
    fn reboots_from(
        &mut self,
        lane: &LaneName,
        step: &StepId,
        boot: &str,
        facts: &BTreeMap<String, String>,
    ) {
        self.saw(lane, boot);
        let pending = PendingReboot {
            step: StepKey::new(lane, step.as_str()),
            boot: boot.to_owned(),
            facts: facts.clone(),
        };
        self.reboots.insert(lane.clone(), pending);
    }

    /// The machine runs this boot now.
    fn saw(&mut self, lane: &LaneName, boot: &str) {
        let boots = self.boots.entry(lane.clone()).or_default();
        boots.retain(|known| known != boot);
        boots.push(boot.to_owned());
    }

    /// Nothing that was done on a machine holds once the machine is gone.
    pub(crate) fn forget(&mut self, lane: &LaneName) {
        self.machines.remove(lane);
        self.reboots.remove(lane);
        self.boots.remove(lane);
        self.steps.retain(|key, _| key.lane != *lane);
    }
}

/// The names of the inputs that differ, sorted.
pub(crate) fn changed_inputs(
    before: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> Vec<String> {
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    names
        .into_iter()
        .filter(|name| before.get(*name) != now.get(*name))
        .cloned()
        .collect()
}

/// The kind of a machine in [`Body::Intent`] and [`Body::Removed`].
pub const MACHINE: &str = "machine";
