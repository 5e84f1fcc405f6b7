//! The dispatcher's desk: takes the lanes' messages, alone writes the journal, and decides when to stop.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};

use super::dispatcher::{Engine, Finished, StopRequest, Summarise};
use super::phases::Phases;
use super::plan::millis;
use super::recorder::Message;
use super::state::State;
use super::step::Known;
use crate::error::{Failure, Kind, Result};
use crate::event::{Body, EVENT_VERSION, Event, Outcome};
use crate::stop::{Level, StopSource};

/// How long lanes may take to end after the second request to stop.
const AT_ONCE: Duration = Duration::from_millis(1500);
/// How often sinks are told the time.
const TICK: Duration = Duration::from_secs(1);

/// The dispatcher's desk: what it knows while lanes run.
pub(crate) struct Desk {
    pub engine: Engine,
    pub seq: u64,
    pub known: Known,
    pub source: StopSource,
    pub first_failure: Option<Box<Failure>>,
    pub phases: Phases,
}

impl Desk {
    /// Takes messages until every lane has ended; tells whether the run was interrupted.
    pub async fn attend(
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
                // First, or a flood of output could keep Ctrl-C from being heard.
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
                Some(message) = messages.recv() => self.take(message),
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

    pub fn record(&mut self, body: Body) -> Result<()> {
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

    pub fn finish(
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
        let body = Body::RunFinished {
            outcome,
            took_ms,
            failure: failure.as_deref().cloned(),
            summary,
            simulated,
        };
        let mut event = self.event(body);
        let written = self.engine.journal.append(&event);
        // A journal that cannot be written has mostly been reported as the failure already.
        let failure = failure.or_else(|| written.err());
        if let Body::RunFinished {
            outcome,
            failure: told,
            ..
        } = &mut event.body
        {
            if failure.is_some() && *outcome == Outcome::Done {
                *outcome = Outcome::Failed;
            }
            *told = failure.as_deref().cloned();
        }
        self.known.write(|state| state.apply(&event));
        self.show(&event);
        Finished {
            outcome: match &event.body {
                Body::RunFinished { outcome, .. } => *outcome,
                _ => outcome,
            },
            failure,
            state: self.known.read(State::clone),
            last: event.body,
        }
    }
}

/// The failure for a task that panicked.
pub(crate) fn panicked(error: &JoinError) -> Box<Failure> {
    Box::new(
        Failure::new(Kind::Bug, "a part of wdev broke down")
            .because(error)
            .permanent(),
    )
}
