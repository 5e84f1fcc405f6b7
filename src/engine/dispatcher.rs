//! The dispatcher: starts the lanes, takes their messages, alone writes the journal, and decides when
//! the run stops.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::board::Board;
use super::decide::{Verdict, decide};
use super::journal::Journal;
use super::lane::{self, LogPath, MachineLimits, Shared};
use super::plan::{Plan, millis};
use super::recorder::{Message, Recorder};
use super::state::{State, Status};
use super::step::Known;
use crate::channel::Io;
use crate::clock::Clock;
use crate::error::{Failure, Kind, Result};
use crate::event::{Body, Decision, EVENT_VERSION, Event, Outcome, PhaseTime, Sink, Summary};
use crate::names::{LaneName, RunId, StepKey};
use crate::provider::Provider;
use crate::stop::{Level, StopSource};

/// How long lanes may take to end after the second request to stop.
const AT_ONCE: Duration = Duration::from_millis(1500);

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

impl Engine {
    /// Carries out a plan. `requests` brings requests to stop: the first stops politely, the second at
    /// once.
    ///
    /// The result is never an error: what went wrong is in [`Finished`] and was told to the sinks.
    pub async fn run(
        mut self,
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
        if let Some(failure) = must_be_recreated(&plan, &verdicts) {
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

fn must_be_recreated(plan: &Plan, verdicts: &BTreeMap<StepKey, Verdict>) -> Option<Box<Failure>> {
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
            .advise("or undo the change in variables.yml"),
    ))
}

fn panicked(error: &tokio::task::JoinError) -> Box<Failure> {
    Box::new(
        Failure::new(Kind::Bug, "a part of wdev broke down")
            .because(error)
            .permanent(),
    )
}

/// The dispatcher's desk: what it knows while lanes run.
struct Desk {
    engine: Engine,
    seq: u64,
    known: Known,
    source: StopSource,
    first_failure: Option<Box<Failure>>,
    phases: Phases,
}

impl Desk {
    /// Takes messages until every lane has ended; tells whether the run was interrupted.
    async fn attend(
        &mut self,
        lanes: &mut JoinSet<Result<()>>,
        mut messages: mpsc::UnboundedReceiver<Message>,
        requests: &mut mpsc::UnboundedReceiver<StopRequest>,
    ) -> bool {
        let mut requested = 0_u32;
        let mut listening = true;
        loop {
            tokio::select! {
                biased;
                Some(message) = messages.recv() => self.take(message),
                request = requests.recv(), if listening => {
                    let Some(signal) = request else { listening = false; continue };
                    requested += 1;
                    let _ = self.record(Body::Interrupting { signal });
                    if requested == 1 {
                        self.source.raise(Level::Interrupt);
                        continue;
                    }
                    self.source.raise(Level::Kill);
                    let end = async { while lanes.join_next().await.is_some() {} };
                    let _ = self.engine.clock.timeout(AT_ONCE, end).await;
                    lanes.shutdown().await;
                    break;
                }
                ended = lanes.join_next() => match ended {
                    None => break,
                    Some(Ok(Ok(()))) => {}
                    Some(Ok(Err(failure))) => self.fail(failure),
                    Some(Err(error)) => {
                        self.source.raise(Level::Interrupt);
                        self.fail(panicked(&error));
                    }
                },
                () = self.engine.clock.sleep(TICK) => self.tick(),
            }
        }
        while let Ok(message) = messages.try_recv() {
            self.take(message);
        }
        requested > 0
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Tell(body) => {
                let event = self.event(body);
                self.show(&event);
            }
            Message::Record(body, answer) => {
                let failed = match &body {
                    Body::StepFailed { failure, .. } => Some(Box::new(failure.clone())),
                    _ => None,
                };
                let written = self.record(body);
                if let Err(failure) = &written {
                    // Nothing may happen that the journal does not know.
                    self.source.raise(Level::Interrupt);
                    self.fail(failure.clone());
                }
                if let Some(failure) = failed {
                    self.fail(failure);
                    if self.engine.fail_fast {
                        self.source.raise(Level::Interrupt);
                    }
                }
                // A lane that is gone needs no answer.
                let _ = answer.send(written);
            }
        }
    }

    fn fail(&mut self, failure: Box<Failure>) {
        // A lane that ends because the run ends has nothing of its own to say.
        if self.first_failure.is_none() && failure.kind != Kind::Interrupted {
            self.first_failure = Some(failure);
        }
    }

    fn record(&mut self, body: Body) -> Result<()> {
        let event = self.event(body);
        self.engine.journal.append(&event)?;
        self.known.write(|state| state.apply(&event));
        self.phases.note(&event, self.engine.clock.elapsed());
        self.show(&event);
        Ok(())
    }

    fn event(&mut self, body: Body) -> Event {
        let seq = self.seq;
        self.seq += 1;
        let (at, run) = (self.engine.clock.now(), self.engine.run.clone());
        Event {
            v: EVENT_VERSION,
            seq,
            at,
            run,
            body,
        }
    }

    fn show(&mut self, event: &Event) {
        self.engine
            .sinks
            .iter_mut()
            .for_each(|sink| sink.event(event));
    }

    fn tick(&mut self) {
        let now = self.engine.clock.now();
        self.engine.sinks.iter_mut().for_each(|sink| sink.tick(now));
    }

    fn finish(
        mut self,
        outcome: Outcome,
        failure: Option<Box<Failure>>,
        summarise: Summarise<'_>,
        began: Duration,
    ) -> Finished {
        let mut summary = self.known.read(|state| summarise(state, outcome));
        summary.phases = self.phases.times();
        let took_ms = millis(self.engine.clock.elapsed().saturating_sub(began));
        let simulated = self.engine.provider.features().simulated;
        let failure_shown = failure.as_deref().cloned();
        let body = Body::RunFinished {
            outcome,
            took_ms,
            failure: failure_shown,
            summary,
            simulated,
        };
        let event = self.event(body);
        // A journal that cannot be written has been reported as the failure already.
        let written = self.engine.journal.append(&event);
        self.known.write(|state| state.apply(&event));
        self.show(&event);
        let failure = failure.or_else(|| written.err());
        let outcome = if failure.is_some() && outcome == Outcome::Done {
            Outcome::Failed
        } else {
            outcome
        };
        Finished {
            outcome,
            failure,
            state: self.known.read(State::clone),
            last: event.body,
        }
    }
}

/// How often sinks are told the time.
const TICK: Duration = Duration::from_secs(1);

/// Measures phases: from the first start to the last end of their steps.
struct Phases {
    of_step: BTreeMap<StepKey, String>,
    order: Vec<String>,
    spans: BTreeMap<String, (Duration, Duration)>,
}

impl Phases {
    fn new(plan: &Plan) -> Self {
        let of_step = plan
            .lanes
            .iter()
            .flat_map(|lane| lane.steps.iter().map(move |planned| (lane, planned)))
            .map(|(lane, planned)| {
                let key = StepKey {
                    lane: lane.name.clone(),
                    step: planned.step.id(),
                };
                (key, planned.step.phase().to_owned())
            })
            .collect();
        Self {
            of_step,
            order: Vec::new(),
            spans: BTreeMap::new(),
        }
    }

    fn note(&mut self, event: &Event, now: Duration) {
        let (Body::StepStarted { lane, step, .. }
        | Body::StepFinished { lane, step, .. }
        | Body::StepFailed { lane, step, .. }) = &event.body
        else {
            return;
        };
        let Some(phase) = self.of_step.get(&StepKey {
            lane: lane.clone(),
            step: step.clone(),
        }) else {
            return;
        };
        if let Some(span) = self.spans.get_mut(phase) {
            span.1 = now;
        } else {
            self.order.push(phase.clone());
            self.spans.insert(phase.clone(), (now, now));
        }
    }

    fn times(&self) -> Vec<PhaseTime> {
        self.order
            .iter()
            .filter_map(|phase| {
                let (start, end) = self.spans.get(phase)?;
                Some(PhaseTime {
                    phase: phase.clone(),
                    took_ms: millis(end.saturating_sub(*start)),
                })
            })
            .collect()
    }
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
