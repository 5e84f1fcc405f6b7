//! Steps that act as they are told, and the world that they change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use wdev::channel::Line;
use wdev::engine::step::{Context, Done, Limits, Probe, Step};
use wdev::error::{Failure, Kind, Result};
use wdev::event::Stream;
use wdev::names::StepId;
use wdev::stop::Level;

use super::machine::Booting;

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Takes that many seconds and listens to stops.
    Takes(u64),
    /// Fails that often, then is done.
    Fails(u32),
    /// Fails every time.
    FailsAlways,
    /// Fails, and says that a retry is pointless.
    FailsForGood,
    /// Prints that many lines, then fails.
    SaysAndFails(u32),
    /// Never ends, but listens to stops.
    Hangs,
    /// Never ends and never listens.
    HangsDeaf,
    /// Ends well as soon as it is asked to stop.
    FinishesWhenStopped,
    /// Returns without an error, but the node does not show it.
    LiesThatItIsDone,
    /// Wants that many reboots in a row before it counts. The run asks for the first one, or leaves it to
    /// the probe to say so.
    Reboots { wants: u32, asks: bool },
    /// Breaks down.
    Panics,
}

/// What is true of the node, whatever any engine believes.
#[derive(Default)]
pub struct World {
    pub executed: Vec<String>,
    pub shown: BTreeSet<String>,
    pub tries: BTreeMap<String, u32>,
    pub changed: BTreeSet<String>,
    pub lost: BTreeSet<String>,
    /// The boot from which on a step counts.
    pub counts_from: BTreeMap<String, u32>,
}

/// What runs of the engine share with the test.
pub type Shared<T> = Arc<Mutex<T>>;

/// A step that acts as it is told.
pub struct Scripted {
    pub id: String,
    pub act: Act,
    pub limits: Limits,
    pub world: Shared<World>,
    pub machine: Booting,
}

impl Scripted {
    /// Whether the machine has to be rebooted before the step counts.
    fn reboot_pending(&self) -> bool {
        let world = self.world.lock().unwrap();
        let from = world.counts_from.get(&self.id);
        from.is_some_and(|from| self.machine.boots() < *from)
    }
}

#[async_trait]
impl Step for Scripted {
    fn id(&self) -> StepId {
        StepId::new(&self.id)
    }

    fn title(&self) -> String {
        self.id.clone()
    }

    fn purpose(&self) -> String {
        "a test asks for it".to_owned()
    }

    fn phase(&self) -> &'static str {
        "test"
    }

    fn inputs(&self) -> BTreeMap<String, String> {
        let changed = self.world.lock().unwrap().changed.contains(&self.id);
        BTreeMap::from([("input".to_owned(), changed.to_string())])
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    async fn probe(&self, _cx: &Context) -> Result<Probe> {
        if self.reboot_pending() {
            return Ok(Probe::RebootPending("an update is pending".to_owned()));
        }
        let world = self.world.lock().unwrap();
        if world.lost.contains(&self.id) {
            Ok(Probe::Missing("lost".to_owned()))
        } else {
            Ok(Probe::InPlace)
        }
    }

    async fn run(&self, cx: &Context) -> Result<Done> {
        let tries = {
            let mut world = self.world.lock().unwrap();
            world.executed.push(self.id.clone());
            let tries = world.tries.entry(self.id.clone()).or_default();
            *tries += 1;
            *tries
        };
        let failure = || Box::new(Failure::new(Kind::Step, format!("`{}` failed", self.id)));
        match self.act {
            Act::Takes(seconds) => tokio::select! {
                () = cx.clock.sleep(Duration::from_secs(seconds)) => {}
                () = cx.io.stop.reached(Level::Interrupt) => {
                    return Err(Box::new(Failure::new(Kind::Interrupted, "stopped")));
                }
            },
            Act::Fails(times) if tries > times => {}
            Act::Fails(_) | Act::FailsAlways => return Err(failure()),
            Act::FailsForGood => return Err(Box::new(failure().permanent())),
            Act::SaysAndFails(lines) => {
                for number in 1..=lines {
                    (cx.io.output)(Line {
                        stream: Stream::Stdout,
                        text: format!("line {number}"),
                    });
                }
                return Err(failure());
            }
            Act::Hangs => {
                cx.io.stop.reached(Level::Interrupt).await;
                return Err(failure());
            }
            Act::HangsDeaf => std::future::pending().await,
            Act::FinishesWhenStopped => cx.io.stop.reached(Level::Interrupt).await,
            Act::LiesThatItIsDone => return Ok(Done::default()),
            Act::Reboots { wants, asks } => {
                let mut world = self.world.lock().unwrap();
                let from = self.machine.boots() + wants;
                world.counts_from.entry(self.id.clone()).or_insert(from);
                world.shown.insert(self.id.clone());
                return Ok(Done {
                    reboot_wanted: asks,
                    ..Done::default()
                });
            }
            Act::Panics => panic!("a step breaks down, as the test asks"),
        }
        let mut world = self.world.lock().unwrap();
        world.shown.insert(self.id.clone());
        world.lost.remove(&self.id);
        Ok(Done::default())
    }

    async fn verify(&self, _cx: &Context, _done: &Done) -> Result<()> {
        if !self.reboot_pending() && self.world.lock().unwrap().shown.contains(&self.id) {
            Ok(())
        } else {
            Err(Box::new(Failure::new(
                Kind::Step,
                "the node does not show it",
            )))
        }
    }
}
