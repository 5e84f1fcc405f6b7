//! Plans of scripted steps, and what became of them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::mpsc;
use wdev::clock::Clock;
use wdev::engine::dispatcher::Engine;
use wdev::engine::journal::{self, Journal, Store};
use wdev::engine::lane::MachineLimits;
use wdev::engine::plan::{Lane, Plan, Planned};
use wdev::engine::state::State;
use wdev::engine::step::Limits;
use wdev::error::Failure;
use wdev::event::{Body, Event, Outcome, Sink, Summary};
use wdev::names::{LaneName, RunId, StepKey};

use super::machine::Booting;
use super::scripted::{Act, Scripted, Shared, World};

/// A journal's disk that can be full for the record that begins a step.
struct Disk {
    bytes: Shared<Vec<u8>>,
    full_at: Option<StepKey>,
}

impl Store for Disk {
    fn append(&mut self, record: &[u8]) -> io::Result<()> {
        let text = String::from_utf8_lossy(record);
        if let Some(key) = &self.full_at
            && text.contains("step_started")
            && text.contains(&format!("\"step\":\"{}\"", key.step))
        {
            // A full disk takes a part of the record.
            self.bytes.lock().unwrap().extend_from_slice(&record[..10]);
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes.lock().unwrap().extend_from_slice(record);
        Ok(())
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.bytes
            .lock()
            .unwrap()
            .truncate(usize::try_from(length).unwrap());
        Ok(())
    }
}

struct Collect(Shared<Vec<Event>>);

impl Sink for Collect {
    fn event(&mut self, event: &Event) {
        self.0.lock().unwrap().push(event.clone());
    }
}

/// A plan of scripted steps, and the world and journal that outlive its runs.
#[derive(Clone)]
pub struct Bench {
    lanes: Vec<(String, Vec<(String, Act)>)>,
    after: Vec<(StepKey, StepKey)>,
    limits: Limits,
    fail_fast: bool,
    stops: Vec<u64>,
    full_at: Option<StepKey>,
    world: Shared<World>,
    machine: Booting,
    journal: Shared<Vec<u8>>,
}

impl Bench {
    pub fn new() -> Self {
        Self {
            lanes: Vec::new(),
            after: Vec::new(),
            limits: Limits {
                expected: Duration::from_secs(1),
                deadline: Duration::from_secs(100),
                attempts: 3,
                pause: Duration::from_secs(5),
            },
            fail_fast: false,
            stops: Vec::new(),
            full_at: None,
            world: Shared::default(),
            machine: Booting::default(),
            journal: Shared::default(),
        }
    }

    pub fn lane(mut self, name: &str, steps: &[(&str, Act)]) -> Self {
        let steps = steps.iter().map(|(id, act)| {
            // A step may take as long as its script says.
            if let Act::Takes(seconds) = act {
                self.limits.deadline = self.limits.deadline.max(Duration::from_secs(seconds + 100));
            }
            ((*id).to_owned(), *act)
        });
        let steps = steps.collect();
        self.lanes.push((name.to_owned(), steps));
        self
    }

    pub fn after(mut self, step: &str, on: &str) -> Self {
        self.after.push((key(step), key(on)));
        self
    }

    pub fn attempts(mut self, attempts: u32) -> Self {
        self.limits.attempts = attempts;
        self
    }

    pub fn fail_fast(mut self) -> Self {
        self.fail_fast = true;
        self
    }

    /// Asks to stop after that many seconds.
    pub fn stop_at(mut self, second: u64) -> Self {
        self.stops.push(second);
        self
    }

    pub fn disk_full_at(mut self, step: &str) -> Self {
        self.full_at = Some(key(step));
        self
    }

    fn plan(&self) -> Plan {
        let lanes = self.lanes.iter().map(|(name, steps)| {
            let lane = LaneName::new(name);
            let steps = steps.iter().map(|(id, act)| {
                let key = StepKey::new(&lane, id);
                Planned {
                    step: Arc::new(Scripted {
                        id: id.clone(),
                        act: *act,
                        limits: self.limits,
                        world: Arc::clone(&self.world),
                        machine: self.machine.clone(),
                    }),
                    after: self
                        .after
                        .iter()
                        .filter(|(step, _)| *step == key)
                        .map(|(_, on)| on.clone())
                        .collect(),
                    skip: None,
                }
            });
            Lane {
                name: lane.clone(),
                title: name.clone(),
                steps: steps.collect(),
            }
        });
        Plan {
            command: "up",
            sandbox: "test".to_owned(),
            lanes: lanes.collect(),
            resumes: true,
        }
    }

    pub fn plan_error(self) -> Failure {
        *self.plan().check().unwrap_err()
    }

    pub fn run(self) -> Run {
        self.plan().check().unwrap();
        let shown: Shared<Vec<Event>> = Shared::default();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let before = journal::parse(&self.journal.lock().unwrap(), Path::new("journal"))
            .unwrap()
            .events
            .len();
        let (failure, took) = runtime.block_on(async {
            let clock = Clock::new();
            let bytes = self.journal.lock().unwrap().clone();
            let disk = Disk {
                bytes: Arc::clone(&self.journal),
                full_at: self.full_at.clone(),
            };
            let (journal, recorded) =
                Journal::open_in(Box::new(disk), &bytes, Path::new("journal")).unwrap();
            let engine = Engine {
                provider: Arc::new(self.machine.clone()),
                clock,
                journal,
                state: State::from_events(&recorded.events),
                sinks: vec![Box::new(Collect(Arc::clone(&shown)))],
                run: RunId::from("run"),
                fail_fast: self.fail_fast,
                limits: MachineLimits {
                    boot: Duration::from_mins(1),
                    reboot: Duration::from_mins(1),
                },
                log_path: Box::new(|lane, step| PathBuf::from(format!("{lane}-{step}.log"))),
            };
            let (requests, stop) = mpsc::unbounded_channel();
            for second in self.stops.clone() {
                let requests = requests.clone();
                tokio::spawn(async move {
                    clock.sleep(Duration::from_secs(second)).await;
                    let _ = requests.send("test".to_owned());
                });
            }
            let finished = engine
                .run(self.plan(), stop, &|_, _| Summary::default())
                .await;
            drop(requests);
            (finished.failure, clock.elapsed().as_secs())
        });
        let shown = Arc::try_unwrap(shown).map_or_else(
            |shared| shared.lock().unwrap().clone(),
            |own| own.into_inner().unwrap(),
        );
        Run {
            bench: self,
            shown,
            failure,
            took,
            before,
        }
    }
}

fn key(text: &str) -> StepKey {
    let (lane, step) = text.split_once('/').unwrap();
    StepKey::new(&LaneName::new(lane), step)
}

/// What became of a plan.
pub struct Run {
    bench: Bench,
    shown: Vec<Event>,
    failure: Option<Box<Failure>>,
    took: u64,
    before: usize,
}

impl Run {
    pub fn outcome(&self) -> Outcome {
        match &self.shown.last().unwrap().body {
            Body::RunFinished { outcome, .. } => *outcome,
            other => panic!("the last event is {other:?}"),
        }
    }

    pub fn failure(&self) -> Failure {
        *self.failure.clone().unwrap()
    }

    /// Seconds of the virtual clock.
    pub fn took(&self) -> u64 {
        self.took
    }

    /// The journal's events of this run.
    pub fn events(&self) -> Vec<Event> {
        let bytes = self.bench.journal.lock().unwrap();
        journal::parse(&bytes, Path::new("journal"))
            .unwrap()
            .events
            .split_off(self.before)
    }

    /// What the sinks were shown.
    pub fn shown(&self) -> &[Event] {
        &self.shown
    }

    /// The steps in the order in which they were really begun, over all runs.
    pub fn executed(&self) -> Vec<String> {
        self.bench.world.lock().unwrap().executed.clone()
    }

    fn which(&self, wanted: impl Fn(&Body) -> bool) -> Vec<String> {
        let events = self.shown.iter().filter(|event| wanted(&event.body));
        events
            .filter_map(|event| Some(format!("{}/{}", event.body.lane()?, event.body.step()?)))
            .collect()
    }

    pub fn finished(&self) -> Vec<String> {
        self.which(|body| matches!(body, Body::StepFinished { .. }))
    }

    pub fn failed(&self) -> Vec<String> {
        self.which(|body| matches!(body, Body::StepFailed { .. }))
    }

    pub fn blocked(&self) -> Vec<String> {
        self.which(|body| matches!(body, Body::StepBlocked { .. }))
    }

    pub fn cancelled(&self) -> Vec<String> {
        self.which(|body| matches!(body, Body::StepCancelled { .. }))
    }

    pub fn skipped(&self) -> Vec<String> {
        self.which(|body| matches!(body, Body::StepSkipped { .. }))
    }

    pub fn attempts(&self, step: &str) -> usize {
        self.which(|body| matches!(body, Body::StepStarted { .. }))
            .iter()
            .filter(|key| *key == step)
            .count()
    }

    /// The pauses before further attempts of a step, in seconds.
    pub fn pauses(&self, step: &str) -> Vec<u64> {
        let wanted = key(step);
        let pauses = self.shown.iter().filter_map(|event| match &event.body {
            Body::StepRetry {
                lane,
                step,
                delay_ms,
                ..
            } if StepKey::new(lane, step.as_str()) == wanted => Some(delay_ms / 1000),
            _ => None,
        });
        pauses.collect()
    }

    /// The second in which a step was begun.
    pub fn started(&self, step: &str) -> u64 {
        let wanted = key(step);
        let begin: Timestamp = self.shown.first().unwrap().at;
        let event = self.shown.iter().find(|event| {
            matches!(&event.body, Body::StepStarted { lane, step, .. }
                if StepKey::new(lane, step.as_str()) == wanted)
        });
        event
            .unwrap()
            .at
            .duration_since(begin)
            .unsigned_abs()
            .as_secs()
    }

    /// The same plan once more, on the same world and journal, undisturbed.
    pub fn again(self) -> Self {
        let bench = Bench {
            stops: Vec::new(),
            full_at: None,
            fail_fast: false,
            ..self.bench
        };
        bench.run()
    }

    /// As [`Run::again`], but asked to stop after that many seconds.
    pub fn again_until(self, second: u64) -> Self {
        self.bench.stop_at(second).run()
    }

    /// Changes the input of a step.
    pub fn change(self, step: &str) -> Self {
        self.bench
            .world
            .lock()
            .unwrap()
            .changed
            .insert(step.to_owned());
        self
    }

    /// Takes a step's result away from the node.
    pub fn lose(self, step: &str) -> Self {
        self.bench
            .world
            .lock()
            .unwrap()
            .lost
            .insert(step.to_owned());
        self
    }
}
