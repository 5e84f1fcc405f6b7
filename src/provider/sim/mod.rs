//! A seeded world of machines without any machine.
//!
//! `docs/simulator.md` says what it models. Nothing here runs by itself: each access first lets all
//! happen that was due since the last one ([`time`]), so that scripts go on while nobody watches, also
//! from one process to the next.

mod channel;
mod cluster;
mod draw;
mod effects;
mod essence;
mod exec;
mod faults;
mod machines;
mod script;
mod store;
mod time;
mod words;
mod world;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use self::faults::{Fault, FaultKind, Faults, REBOOT_FAULTS, RandomFaults};
use self::world::World;
use crate::channel::{Io, Os};
use crate::clock::Clock;
use crate::error::{Failure, Kind, Result};
use crate::names::LaneName;
use crate::stop::Level;

/// A node that the world can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimNode {
    /// Its name.
    pub lane: LaneName,
    /// Its operating system.
    pub os: Os,
    /// Whether it is the control plane.
    pub control_plane: bool,
    /// Its address in the node subnet.
    pub address: Ipv4Addr,
}

/// A world in memory that outlives the [`Sim`]s that are opened on it one after the other.
#[derive(Debug, Default)]
pub struct Memory(Mutex<World>);

/// Where a world is kept.
#[derive(Debug, Clone)]
pub enum Store {
    /// In files in this folder, which is made when it is first needed.
    Folder(PathBuf),
    /// In memory.
    Memory(Arc<Memory>),
}

/// What a world is made from.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The nodes that it can have.
    pub nodes: Vec<SimNode>,
    /// Where it is kept.
    pub store: Store,
    /// Decides every duration, identity and random fault.
    pub seed: u64,
    /// What is to go wrong.
    pub faults: Faults,
    /// By what time passes.
    pub clock: Clock,
}

/// A script that ran to its end, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The node.
    pub node: LaneName,
    /// The identity of its machine at that time.
    pub machine: String,
    /// The script's name.
    pub script: String,
    /// The script's fingerprint.
    pub fingerprint: String,
    /// How often it was performed to its end; more than once is a repetition.
    pub times: u32,
}

/// The simulator: a [`Provider`](super::Provider) whose machines are none.
pub struct Sim {
    inner: Arc<Inner>,
}

struct Inner {
    nodes: BTreeMap<LaneName, SimNode>,
    gates: BTreeMap<LaneName, Gates>,
    /// For names that are not in the settings (any more).
    other: Gates,
    world: Arc<Memory>,
    folder: Option<PathBuf>,
    seed: u64,
    faults: Faults,
    clock: Clock,
    /// The world's time when this was opened, and the clock's.
    base: u64,
    base_clock: Duration,
}

/// One at a time, per node.
#[derive(Default)]
struct Gates {
    machine: tokio::sync::Mutex<()>,
    script: tokio::sync::Mutex<()>,
}

impl Sim {
    /// Opens a world, or begins a new one where there is none. Writes nothing yet.
    ///
    /// # Errors
    /// `Host` when the store cannot be read, `Provider` when what is in it cannot be understood.
    pub fn open(settings: Settings) -> Result<Arc<Self>> {
        let Settings {
            nodes,
            store,
            seed,
            faults,
            clock,
        } = settings;
        let (world, folder) = match store {
            Store::Memory(world) => (world, None),
            Store::Folder(folder) => (
                Arc::new(Memory(Mutex::new(store::load(&folder)?))),
                Some(folder),
            ),
        };
        let seen = lock(&world).at;
        let today = u64::try_from(clock.now().as_millisecond()).unwrap_or_default();
        let inner = Inner {
            gates: nodes
                .iter()
                .map(|node| (node.lane.clone(), Gates::default()))
                .collect(),
            nodes: nodes
                .into_iter()
                .map(|node| (node.lane.clone(), node))
                .collect(),
            other: Gates::default(),
            world,
            folder,
            seed,
            faults,
            clock,
            base: today.max(seen),
            base_clock: clock.elapsed(),
        };
        Ok(Arc::new(Self {
            inner: Arc::new(inner),
        }))
    }

    /// Every script that ran to its end, on machines that are and that were, in order of nodes.
    #[must_use]
    pub fn completions(&self) -> Vec<Completion> {
        self.inner.look(|world, _| {
            let of = |(name, node): (&LaneName, &world::Node)| {
                let done = node.done.iter();
                done.map(|done| Completion {
                    node: name.clone(),
                    machine: done.machine.clone(),
                    script: done.script.clone(),
                    fingerprint: done.fingerprint.clone(),
                    times: done.times,
                })
                .collect::<Vec<_>>()
            };
            world.nodes.iter().flat_map(of).collect()
        })
    }

    /// What a user would see of the world, as canonical JSON: without identities, times and counters.
    /// Two worlds are equal if and only if their essences are.
    #[must_use]
    pub fn essence(&self) -> String {
        self.inner.look(|world, _| essence::essence(world))
    }
}

fn lock(world: &Memory) -> MutexGuard<'_, World> {
    world.0.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    /// The world's time by this opening's clock.
    fn now(&self) -> u64 {
        let passed = self.clock.elapsed().saturating_sub(self.base_clock);
        self.base
            .saturating_add(u64::try_from(passed.as_millis()).unwrap_or(u64::MAX))
    }

    /// Changes the world at its present time, and stores what changed.
    fn with<T>(&self, act: impl FnOnce(&mut World, u64) -> T) -> Result<T> {
        let mut world = lock(&self.world);
        let now = self.now().max(world.at);
        time::advance(&mut world, self.seed, now);
        let answer = act(&mut world, now);
        if let Some(folder) = &self.folder {
            store::save(folder, &mut world)?;
        } else {
            world.dirty.clear();
            world.cluster_dirty = false;
        }
        Ok(answer)
    }

    /// Looks at the world at its present time. Writes nothing: whoever only asks may be a process
    /// beside the one that works.
    fn look<T>(&self, act: impl FnOnce(&World, u64) -> T) -> T {
        let mut world = lock(&self.world);
        let now = self.now().max(world.at);
        time::advance(&mut world, self.seed, now);
        act(&world, now)
    }

    /// Lets `ms` milliseconds pass, unless asked to stop.
    async fn pause(&self, ms: u64, io: &Io) -> Result<()> {
        tokio::select! {
            biased;
            () = io.stop.reached(Level::Interrupt) => Err(interrupted()),
            () = self.clock.sleep(Duration::from_millis(ms)) => Ok(()),
        }
    }

    fn gates(&self, name: &LaneName) -> &Gates {
        self.gates.get(name).unwrap_or(&self.other)
    }

    fn node(&self, name: &LaneName) -> Result<&SimNode> {
        self.nodes.get(name).ok_or_else(|| {
            Box::new(Failure::new(
                Kind::NotFound,
                format!("the simulator knows no node `{name}`"),
            ))
        })
    }

    /// A number for `what` on a node, from `low` to `high`.
    fn between(&self, name: &LaneName, what: &str, low: u64, high: u64) -> u64 {
        draw::between(self.seed, &[what, name.as_str()], low, high)
    }
}

/// Waits for its turn, unless asked to stop.
async fn turn<'g>(
    gate: &'g tokio::sync::Mutex<()>,
    io: &Io,
) -> Result<tokio::sync::MutexGuard<'g, ()>> {
    tokio::select! {
        biased;
        () = io.stop.reached(Level::Interrupt) => Err(interrupted()),
        guard = gate.lock() => Ok(guard),
    }
}

fn interrupted() -> Box<Failure> {
    Box::new(Failure::new(Kind::Interrupted, "interrupted"))
}
