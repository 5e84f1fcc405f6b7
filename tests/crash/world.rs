//! A sandbox whose world and journal outlive the engines that work on it.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::mpsc;
use wdev::clock::Clock;
use wdev::config::model::ProviderName;
use wdev::config::{self, Config, Request};
use wdev::engine::dispatcher::{Engine, Finished};
use wdev::engine::journal::{self, Journal, Store};
use wdev::engine::lane::MachineLimits;
use wdev::error::Failure;
use wdev::event::{Body, Event, Outcome, Summary};
use wdev::home::SandboxFolder;
use wdev::names::{RunId, StepKey};
use wdev::os::Os;
use wdev::plan::node::{Role, nodes};
use wdev::plan::{self, Target};
use wdev::provider::sim::{
    self, Completion, Fault, Faults, Memory, RandomFaults, Settings, Sim, SimNode,
};
use wdev::release::{self, Release};

/// When the engine is dropped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Crash {
    /// It lives to its end.
    Never,
    /// Before it writes this record of the journal, counted from 0.
    Before(usize),
    /// When this part of this record is written.
    In(usize, f64),
    /// When this record is written and synced.
    After(usize),
    /// At this moment of the simulated clock.
    At(Duration),
}

/// How a run ended.
pub enum End {
    /// By itself.
    Finished(Box<Finished>),
    /// By a crash.
    Crash,
}

impl End {
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Finished(finished) if finished.outcome == Outcome::Done)
    }

    pub fn is_crash(&self) -> bool {
        matches!(self, Self::Crash)
    }
}

/// What the journal's store panics with: the process is gone in the middle of a system call.
struct Killed;

/// The journal's bytes, as a disk keeps them.
#[derive(Clone)]
struct Disk {
    bytes: Arc<Mutex<Vec<u8>>>,
    crash: Crash,
    records: usize,
}

impl Store for Disk {
    fn append(&mut self, record: &[u8]) -> io::Result<()> {
        let number = self.records;
        self.records += 1;
        let mut bytes = self.bytes.lock().unwrap();
        let written = match self.crash {
            Crash::Before(at) if at == number => 0,
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "a part of a length is a length"
            )]
            Crash::In(at, part) if at == number => (record.len() as f64 * part) as usize,
            Crash::After(at) if at == number => record.len(),
            _ => {
                bytes.extend_from_slice(record);
                return Ok(());
            }
        };
        bytes.extend_from_slice(&record[..written]);
        drop(bytes);
        std::panic::panic_any(Killed);
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.bytes
            .lock()
            .unwrap()
            .truncate(usize::try_from(length).unwrap());
        Ok(())
    }
}

/// A sandbox whose world and journal outlive the engines that work on it.
pub struct Sandbox {
    config: Config,
    world: Arc<Memory>,
    journal: Arc<Mutex<Vec<u8>>>,
    seed: u64,
    faults: Faults,
    folder: SandboxFolder,
    _dir: tempfile::TempDir,
}

impl Sandbox {
    pub fn new(workers: usize, seed: u64, random: Option<RandomFaults>) -> Self {
        let mut request = Request {
            start: std::env::temp_dir(),
            ..Request::default()
        };
        request.file = Some(variables(workers));
        let config = config::load(&request)
            .unwrap_or_else(|problems| panic!("{problems}"))
            .config;
        let dir = tempfile::tempdir().unwrap();
        Self {
            config,
            folder: SandboxFolder::at(dir.path().to_owned()),
            _dir: dir,
            world: Arc::default(),
            journal: Arc::default(),
            seed,
            faults: Faults {
                scripted: Vec::new(),
                random,
            },
        }
    }

    /// A sandbox in which this one fault strikes.
    pub fn with_fault(workers: usize, seed: u64, fault: &str) -> Self {
        let mut sandbox = Self::new(workers, seed, None);
        sandbox.faults.scripted = vec![Fault::parse(fault).unwrap()];
        sandbox
    }

    /// Changes the configuration for the runs that follow.
    pub fn change(&mut self, change: impl FnOnce(&mut Config)) {
        change(&mut self.config);
    }

    /// One run of `up` in a process of its own.
    pub fn run(&self, crash: Crash) -> End {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let end = runtime.block_on(async {
            let clock = Clock::new();
            let engine = tokio::spawn(self.engine(crash, clock));
            match crash {
                // The engine is dropped, with all its lanes, wherever they are.
                Crash::At(moment) => tokio::time::timeout(moment, engine).await.ok(),
                _ => Some(engine.await),
            }
        });
        match end {
            Some(Ok(finished)) => End::Finished(Box::new(finished)),
            Some(Err(error)) if error.is_panic() => match error.into_panic().downcast::<Killed>() {
                Ok(_) => End::Crash,
                Err(panic) => std::panic::resume_unwind(panic),
            },
            Some(Err(_)) | None => End::Crash,
        }
    }

    fn engine(
        &self,
        crash: Crash,
        clock: Clock,
    ) -> impl Future<Output = Finished> + Send + 'static {
        let release = release_of(&self.config);
        let target = Target {
            testbed: wdev::plan::Testbed::None,
            config: &self.config,
            provider: ProviderName::Sim,
            folder: &self.folder,
            prefix: "wdev-test",
            release: &release,
            store: None,
        };
        let plan = plan::up::plan(&target).unwrap();
        let bytes = self.journal.lock().unwrap().clone();
        let disk = Disk {
            bytes: Arc::clone(&self.journal),
            crash,
            records: 0,
        };
        let (journal, recorded) =
            Journal::open_in(Box::new(disk), &bytes, Path::new("journal")).unwrap();
        let engine = Engine {
            provider: self.sim(clock),
            clock,
            journal,
            state: wdev::engine::state::State::from_events(&recorded.events),
            sinks: Vec::new(),
            run: RunId::from("run"),
            fail_fast: false,
            limits: MachineLimits {
                boot: self.config.timeouts.boot,
                reboot: self.config.timeouts.reboot,
            },
            log_path: Box::new(|_, _| PathBuf::from("log")),
        };
        let (requests, stop) = mpsc::unbounded_channel();
        async move {
            // Nobody asks this run to stop.
            let _requests = requests;
            engine.run(plan, stop, &|_, _| Summary::default()).await
        }
    }

    fn sim(&self, clock: Clock) -> Arc<Sim> {
        let release = release_of(&self.config);
        let target = Target {
            testbed: wdev::plan::Testbed::None,
            config: &self.config,
            provider: ProviderName::Sim,
            folder: &self.folder,
            prefix: "wdev-test",
            release: &release,
            store: None,
        };
        let nodes = nodes(&target).unwrap().into_iter().map(|node| SimNode {
            lane: node.name,
            os: node.os,
            control_plane: node.role == Role::ControlPlane,
            address: Ipv4Addr::from(node.address.octets()),
        });
        Sim::open(Settings {
            nodes: nodes.collect(),
            store: sim::Store::Memory(Arc::clone(&self.world)),
            seed: self.seed,
            faults: self.faults.clone(),
            clock,
        })
        .unwrap()
    }

    /// What is the same in two worlds that a user cannot tell apart.
    pub fn essence(&self) -> String {
        self.look(Sim::essence)
    }

    /// How often each script ran to its end.
    pub fn completions(&self) -> Vec<Completion> {
        self.look(Sim::completions)
    }

    fn look<T>(&self, look: impl FnOnce(&Sim) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async { look(&self.sim(Clock::new())) })
    }

    /// The whole records of the journal.
    pub fn events(&self) -> Vec<Event> {
        journal::parse(&self.journal.lock().unwrap(), Path::new("journal"))
            .unwrap()
            .events
    }

    /// The failure of the last run.
    pub fn last_failure(&self) -> Option<Failure> {
        self.events()
            .into_iter()
            .rev()
            .find_map(|event| match event.body {
                Body::RunFinished { failure, .. } => failure,
                _ => None,
            })
    }
}

/// A configuration file with that many workers; kept for the whole test run.
fn variables(workers: usize) -> PathBuf {
    static FILES: Mutex<BTreeMap<usize, tempfile::TempPath>> = Mutex::new(BTreeMap::new());
    let mut files = FILES.lock().unwrap();
    let file = files.entry(workers).or_insert_with(|| {
        let names = (1..=workers).map(|number| format!("  - {{name: w{number}}}\n"));
        let text = format!("workers:\n{}", names.collect::<String>());
        let file = tempfile::Builder::new().suffix(".yml").tempfile().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file.into_temp_path()
    });
    file.to_path_buf()
}

/// The moment in the middle of each finished step, counted from the begin of the run.
pub fn middles(events: &[Event]) -> Vec<(String, Duration)> {
    let begin = events.first().map_or_else(Timestamp::now, |event| event.at);
    let mut started: BTreeMap<StepKey, Timestamp> = BTreeMap::new();
    let mut middles = Vec::new();
    for event in events {
        match &event.body {
            Body::StepStarted { lane, step, .. } => {
                started.insert(StepKey::new(lane, step.as_str()), event.at);
            }
            Body::StepFinished { lane, step, .. } => {
                let key = StepKey::new(lane, step.as_str());
                let from = started[&key].duration_since(begin).unsigned_abs();
                let to = event.at.duration_since(begin).unsigned_abs();
                middles.push((key.to_string(), (from + to) / 2));
            }
            _ => {}
        }
    }
    middles
}

/// A number that depends on `seed` alone.
pub fn draw(seed: u64) -> u64 {
    // SplitMix64, https://prng.di.unimi.it/splitmix64.c
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Does `work` for every item, on all processors; the first panic ends the test.
pub fn share_out<T: Send>(items: Vec<T>, work: impl Fn(T) + Sync) {
    // A crash that a test asks for is no news; any other panic is.
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !info.payload().is::<Killed>() {
            quiet(info);
        }
    }));
    let items: Vec<Mutex<Option<T>>> = items
        .into_iter()
        .map(|item| Mutex::new(Some(item)))
        .collect();
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(item) = item.lock().unwrap().take() {
                        work(item);
                    }
                }
            });
        }
    });
}

fn release_of(config: &Config) -> Release {
    let exact = release::assumed(&config.kubernetes.version);
    Release::new(config, Os::Windows, exact)
}
