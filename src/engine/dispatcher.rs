//! The dispatcher: looks what became of the machines, decides each step, starts the lanes and sees the
//! run to its end.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::board::Board;
use super::decide::{Verdict, decide};
use super::desk::{Desk, panicked};
use super::journal::Journal;
use super::lane::{self, LogPath, MachineLimits, Shared};
use super::phases::Phases;
use super::plan::Plan;
use super::recorder::Recorder;
use super::state::{State, Status};
use super::step::Known;
use crate::channel::Io;
use crate::clock::Clock;
use crate::error::{Failure, Kind, Result};
use crate::event::{Body, Decision, Outcome, Sink, Summary};
use crate::names::{LaneName, RunId, StepKey};
use crate::provider::Provider;
use crate::stop::{Level, StopSource};

/// Nodes whose machine is not the one that the journal knows: what it was, and what it is.
type Replaced = BTreeMap<LaneName, (String, Option<String>)>;

/// All that a run needs beside its plan.
pub struct Engine {
    /// What makes and reaches the machines.
    pub provider: Arc<dyn Provider>,
    /// The clock.
    pub clock: Clock,
    /// The journal, open for writing.
    pub journal: Journal,
    /// What the journal holds.
    pub state: State,
    /// Who listens.
    pub sinks: Vec<Box<dyn Sink>>,
    /// This run.
    pub run: RunId,
    /// Whether the first failure ends all other work.
    pub fail_fast: bool,
    /// How long machines may take.
    pub limits: MachineLimits,
    /// Where a step's log is.
    pub log_path: LogPath,
}

/// How a run ended.
#[derive(Debug)]
pub struct Finished {
    /// In one word.
    pub outcome: Outcome,
    /// The first failure.
    pub failure: Option<Box<Failure>>,
    /// What the journal holds now.
    pub state: State,
    /// The last event, a [`Body::RunFinished`].
    pub last: Body,
}

/// A request to stop, such as a signal; the text names it.
pub type StopRequest = String;

/// What stands and how to reach it, asked for at the end: the nodes from what the journal knows.
pub type Summarise<'a> = &'a (dyn Fn(&State, Outcome) -> Summary + Sync);

/// What is to be done before a plan begins.
pub type Prepare<'a> = &'a (dyn Fn() -> Result<()> + Sync);

impl Engine {
    /// Carries out a plan. `requests` brings requests to stop: the first stops politely, the second at
    /// once.
    ///
    /// The result is never an error: what went wrong is in [`Finished`] and was told to the sinks.
    pub async fn run(
        self,
        plan: Plan,
        requests: mpsc::UnboundedReceiver<StopRequest>,
        summarise: Summarise<'_>,
    ) -> Finished {
        self.run_after(&|| Ok(()), plan, requests, summarise).await
    }

    /// As [`Engine::run`], with something to do once nothing stands against the plan and before
    /// anything of it begins. Where it fails, nothing begins.
    pub async fn run_after(
        mut self,
        prepare: Prepare<'_>,
        plan: Plan,
        mut requests: mpsc::UnboundedReceiver<StopRequest>,
        summarise: Summarise<'_>,
    ) -> Finished {
        let began = self.clock.elapsed();
        let source = StopSource::new();
        let replaced =
            match replaced(&self.provider, &self.state, &plan, &source, &mut requests).await {
                Ok(replaced) => replaced,
                Err(failure) => return self.refuse(&plan, failure, summarise, began),
            };
        let verdicts = self.decided(&plan, &replaced);
        let known = Known::new(std::mem::take(&mut self.state));
        let (recorder, messages) = Recorder::new();
        let shared = Arc::new(Shared {
            provider: Arc::clone(&self.provider),
            clock: self.clock,
            recorder,
            known: known.clone(),
            board: Board::new(&plan),
            stop: source.stop(),
            verdicts: verdicts.clone(),
            limits: self.limits,
            log_path: std::mem::replace(&mut self.log_path, Box::new(|_, _| PathBuf::new())),
        });
        let mut desk = Desk {
            seq: 0,
            first_failure: None,
            phases: Phases::new(&plan),
            known,
            source,
            engine: self,
        };
        let mut opening = vec![started(&plan, &verdicts, &*desk.engine.provider)];
        opening.extend(
            replaced
                .into_iter()
                .map(|(lane, (was, now))| Body::MachineReplaced { lane, was, now }),
        );
        for body in opening {
            if let Err(failure) = desk.record(body) {
                return desk.finish(Outcome::Failed, Some(failure), summarise, began);
            }
        }
        if let Some(failure) = must_be_recreated(&plan, &verdicts).or_else(|| prepare().err()) {
            return desk.finish(Outcome::Failed, Some(failure), summarise, began);
        }
        let mut lanes = JoinSet::new();
        for lane in plan.lanes {
            lanes.spawn(lane::run(Arc::clone(&shared), lane));
        }
        drop(shared);
        let interrupted = desk.attend(&mut lanes, messages, &mut requests).await;
        let failure = desk.first_failure.take();
        let outcome = match (interrupted, &failure) {
            (true, _) => Outcome::Interrupted,
            (false, Some(_)) => Outcome::Failed,
            (false, None) => Outcome::Done,
        };
        desk.finish(outcome, failure, summarise, began)
    }

    fn decided(&self, plan: &Plan, replaced: &Replaced) -> BTreeMap<StepKey, Verdict> {
        if replaced.is_empty() {
            return decide(plan, &self.state);
        }
        let mut state = self.state.clone();
        for lane in replaced.keys() {
            state.forget(lane);
        }
        let mut verdicts = decide(plan, &state);
        for (key, verdict) in &mut verdicts {
            if let Some((_, now)) = replaced.get(&key.lane)
                && verdict.decision == Decision::Run
            {
                verdict.why = match now {
                    Some(_) => "the machine is another one than before".to_owned(),
                    None => "the machine is gone".to_owned(),
                };
            }
        }
        verdicts
    }

    /// Ends a run that could not even look at its machines.
    fn refuse(
        self,
        plan: &Plan,
        failure: Box<Failure>,
        summarise: Summarise<'_>,
        began: Duration,
    ) -> Finished {
        let verdicts = decide(plan, &self.state);
        let outcome = match failure.kind {
            Kind::Interrupted => Outcome::Interrupted,
            _ => Outcome::Failed,
        };
        let mut desk = Desk {
            seq: 0,
            first_failure: None,
            phases: Phases::new(plan),
            known: Known::new(self.state.clone()),
            source: StopSource::new(),
            engine: self,
        };
        let opening = started(plan, &verdicts, &*desk.engine.provider);
        let failure = desk.record(opening).err().unwrap_or(failure);
        desk.finish(outcome, Some(failure), summarise, began)
    }
}

/// Nodes whose machine is no longer the one that the journal knows: what it was, and what it is.
async fn replaced(
    provider: &Arc<dyn Provider>,
    state: &State,
    plan: &Plan,
    source: &StopSource,
    requests: &mut mpsc::UnboundedReceiver<StopRequest>,
) -> Result<Replaced> {
    if !plan.resumes || state.machines.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut looks = JoinSet::new();
    for (lane, id) in &state.machines {
        if !plan.lanes.iter().any(|planned| planned.name == *lane) {
            continue;
        }
        let (provider, lane, id) = (Arc::clone(provider), lane.clone(), id.clone());
        let io = Io {
            stop: source.stop(),
            ..Io::silent()
        };
        looks.spawn(async move {
            let machine = provider.inspect(&lane, &io).await?;
            Ok((machine.id.as_ref() != Some(&id)).then_some((lane, (id, machine.id))))
        });
    }
    let mut replaced = BTreeMap::new();
    loop {
        tokio::select! {
            look = looks.join_next() => match look {
                Some(Ok(Ok(look))) => replaced.extend(look),
                Some(Ok(Err(failure))) => return Err(failure),
                Some(Err(error)) => return Err(panicked(&error)),
                None => return Ok(replaced),
            },
            Some(signal) = requests.recv() => {
                source.raise(Level::Kill);
                return Err(Box::new(Failure::new(Kind::Interrupted, format!("interrupted by {signal}"))));
            }
        }
    }
}

fn started(plan: &Plan, verdicts: &BTreeMap<StepKey, Verdict>, provider: &dyn Provider) -> Body {
    Body::RunStarted {
        command: plan.command.to_owned(),
        sandbox: plan.sandbox.clone(),
        provider: provider.name().to_owned(),
        simulated: provider.features().simulated,
        wdev: env!("CARGO_PKG_VERSION").to_owned(),
        lanes: plan.describe(verdicts),
    }
}

/// Why nothing of the plan may be done: nodes whose machine cannot be changed in place.
#[must_use]
pub fn must_be_recreated(
    plan: &Plan,
    verdicts: &BTreeMap<StepKey, Verdict>,
) -> Option<Box<Failure>> {
    let wanted: Vec<(&StepKey, &Verdict)> = verdicts
        .iter()
        .filter(|(_, verdict)| verdict.decision == Decision::Recreate)
        .collect();
    let (first, _) = wanted.first()?;
    let mut failure = Failure::new(
        Kind::Configuration,
        format!(
            "the node `{}` would have to be recreated, so nothing was touched",
            first.lane
        ),
    );
    for (key, verdict) in &wanted {
        failure = failure.because(format!("`{}`: {}", key.lane, verdict.why));
    }
    Some(Box::new(
        failure
            .advise(format!(
                "to recreate it, losing what is on it: `wdev {} --recreate`",
                plan.command
            ))
            .advise("or undo the change in variables.yml, in the environment or in the flags"),
    ))
}

/// The state of a node in one word, from what the journal knows of its steps: `absent`, `failed`,
/// `ready` or `incomplete`.
#[must_use]
pub fn node_state(steps: &[StepKey], state: &State) -> &'static str {
    let statuses: Vec<Option<&Status>> = steps
        .iter()
        .map(|key| state.steps.get(key).map(|record| &record.status))
        .collect();
    if !matches!(statuses.first(), Some(Some(_))) {
        "absent"
    } else if statuses
        .iter()
        .flatten()
        .any(|status| matches!(status, Status::Failed(_)))
    {
        "failed"
    } else if statuses
        .iter()
        .all(|status| matches!(status, Some(Status::Done)))
    {
        "ready"
    } else {
        "incomplete"
    }
}
