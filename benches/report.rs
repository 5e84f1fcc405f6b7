//! `make bench`: figures a user or a developer feels, each beside its target.
//!
//! Prints a table and asserts nothing: a slow machine is no bug. Run with an optimised build.

#![allow(clippy::print_stdout, reason = "the table is the result")]

mod cluster;
mod downloads;
mod lanes;
mod latency;
mod machines;
mod scripts;

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::mpsc;
use wdev::clock::Clock;
use wdev::engine::dispatcher::Engine;
use wdev::engine::journal::{Journal, Store};
use wdev::engine::lane::MachineLimits;
use wdev::engine::plan::{Lane, Plan, Planned};
use wdev::engine::state::State;
use wdev::engine::step::{Context, Done, Limits, Probe, Step};
use wdev::error::Result;
use wdev::event::{Body, EVENT_VERSION, Event, Outcome, Summary};
use wdev::names::{LaneName, RunId, StepId};
use wdev::provider::sim::{self, Faults, Settings, Sim};

/// One line of the table.
struct Row {
    what: String,
    measured: String,
    target: &'static str,
    verdict: &'static str,
}

impl Row {
    fn new(what: impl Into<String>, measured: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            measured: measured.into(),
            target: "",
            verdict: "",
        }
    }

    fn against(mut self, target: &'static str, met: bool) -> Self {
        self.target = target;
        self.verdict = if met { "met" } else { "MISSED" };
        self
    }
}

fn main() {
    // `cargo test --all-targets` runs benches too, with this argument missing.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let mut rows = start_up();
    rows.extend(plans());
    rows.extend(scripts::rows());
    rows.push(memory());
    rows.extend(engine_overhead());
    rows.extend(journal_append());
    rows.extend(downloads::rows());
    rows.extend(latency::rows());
    rows.extend(lanes::rows());
    rows.push(cluster::row());

    println!(
        "{:<44} {:>12}  {:<28} verdict",
        "what", "measured", "target"
    );
    for row in rows {
        let Row {
            what,
            measured,
            target,
            verdict,
        } = row;
        println!("{what:<44} {measured:>12}  {target:<28} {verdict}");
    }
}

/// `wdev --version` against `vagrant --version`.
fn start_up() -> Vec<Row> {
    let ours = median(21, || run(wdev().arg("--version")));
    let mut rows = vec![
        Row::new("wdev --version", millis(ours))
            .against("under 10 ms", ours < Duration::from_millis(10)),
    ];
    let vagrant = || {
        let mut command = Command::new("vagrant");
        command.arg("--version");
        command
    };
    if vagrant().stdout(Stdio::null()).status().is_err() {
        rows.push(Row::new("vagrant --version", "no vagrant"));
        return rows;
    }
    let theirs = median(21, || run(&mut vagrant()));
    rows.push(Row::new("vagrant --version", millis(theirs)));
    let factor = theirs.as_secs_f64() / ours.as_secs_f64();
    rows.push(
        Row::new(
            "vagrant --version / wdev --version",
            format!("{factor:.1} x"),
        )
        .against("at least 10 x", factor >= 10.0),
    );
    rows
}

/// `wdev plan` for sandboxes of several sizes.
fn plans() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut times = Vec::new();
    for nodes in [2, 50, 200] {
        let folder = sandbox_of(nodes);
        let time = median(5, || run(&mut simulated(folder.path(), "plan")));
        let row = Row::new(format!("wdev plan, {nodes} nodes"), millis(time));
        rows.push(if nodes == 2 {
            row.against("under 50 ms", time < Duration::from_millis(50))
        } else {
            row
        });
        times.push(time.as_secs_f64());
    }
    if let [small, middle, large] = times[..] {
        // What a node adds between 50 and 200 nodes, against what it adds up to 50.
        // (at least a microsecond a node, so that noise does not divide by nothing).
        let early = ((middle - small) / 48.0).max(1e-6);
        let late = (large - middle) / 150.0;
        let growth = late / early;
        rows.push(
            Row::new(
                "cost of a node, 50..200 against 2..50",
                format!("{growth:.2} x"),
            )
            .against("linear: under 1.5 x", growth < 1.5),
        );
    }
    rows
}

/// The peak memory of an `up` with 200 simulated nodes.
fn memory() -> Row {
    let what = "peak memory of up, 200 simulated nodes";
    let folder = sandbox_of(200);
    let started = Instant::now();
    match peak_memory_kib(simulated(folder.path(), "up")) {
        Some(peak) => {
            let took = started.elapsed().as_secs_f64();
            let what = format!("{what} ({took:.1} s)");
            Row::new(what, format!("{} MiB", peak / 1024))
                .against("under 100 MB", peak * 1024 < 100_000_000)
        }
        None => Row::new(what, "unknown"),
    }
}

/// What the engine adds to a step that does nothing: with a journal in memory, so that only the
/// engine counts, and with one on this disk, where each step waits for two records to be safe.
fn engine_overhead() -> Vec<Row> {
    let folder = tempfile::tempdir().expect("temporary folder");
    let file = folder.path().join("journal.jsonl");
    let on_disk = || Journal::open(&file).expect("a journal").0;
    let in_memory = || {
        let store = Box::new(Memory(Vec::new()));
        Journal::open_in(store, &[], Path::new("memory"))
            .expect("a journal")
            .0
    };
    let alone = per_step(2000, in_memory());
    let synced = per_step(200, on_disk());
    vec![
        Row::new("engine per step, journal in memory", micros(alone))
            .against("under 1 ms", alone < Duration::from_millis(1)),
        Row::new("engine per step, journal synced", micros(synced)),
    ]
}

/// Runs an engine with four lanes of `steps` empty steps each; the time for each of all steps.
fn per_step(steps: u32, journal: Journal) -> Duration {
    let lanes = ["host", "cp", "winw1", "winw2"].map(|name| Lane {
        name: LaneName::from(name),
        title: String::new(),
        steps: (0..steps)
            .map(|number| Planned {
                step: Arc::new(Nothing(number)),
                after: Vec::new(),
                skip: None,
            })
            .collect(),
    });
    let plan = Plan {
        command: "up",
        sandbox: "bench".to_owned(),
        lanes: lanes.to_vec(),
        resumes: true,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let took = runtime.block_on(async {
        let clock = Clock::new();
        let provider = Sim::open(Settings {
            nodes: Vec::new(),
            store: sim::Store::Memory(Arc::default()),
            seed: 0,
            faults: Faults::default(),
            clock,
        });
        let limit = Duration::from_mins(1);
        let engine = Engine {
            provider: provider.expect("the simulator"),
            clock,
            journal,
            state: State::default(),
            sinks: Vec::new(),
            run: RunId::from("bench"),
            fail_fast: false,
            limits: MachineLimits {
                boot: limit,
                reboot: limit,
            },
            log_path: Box::new(|_, _| PathBuf::new()),
        };
        let (_open, requests) = mpsc::unbounded_channel();
        let started = Instant::now();
        let finished = engine.run(plan, requests, &|_, _| Summary::default()).await;
        assert_eq!(finished.outcome, Outcome::Done);
        started.elapsed()
    });
    took / (4 * steps)
}

/// A step that does nothing and has done it at once.
struct Nothing(u32);

#[async_trait]
impl Step for Nothing {
    fn id(&self) -> StepId {
        StepId::new(format!("nothing-{}", self.0))
    }

    fn title(&self) -> String {
        "do nothing".to_owned()
    }

    fn purpose(&self) -> String {
        "the engine is measured".to_owned()
    }

    fn phase(&self) -> &'static str {
        "machine"
    }

    fn inputs(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("number".to_owned(), self.0.to_string())])
    }

    fn limits(&self) -> Limits {
        Limits {
            expected: Duration::ZERO,
            deadline: Duration::from_mins(1),
            attempts: 1,
            pause: Duration::ZERO,
        }
    }

    async fn probe(&self, _cx: &Context) -> Result<Probe> {
        Ok(Probe::InPlace)
    }

    async fn run(&self, _cx: &Context) -> Result<Done> {
        Ok(Done::default())
    }
}

/// A journal's store that is as quick as can be.
struct Memory(Vec<u8>);

impl Store for Memory {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.0
            .truncate(usize::try_from(length).unwrap_or(usize::MAX));
        Ok(())
    }
}

/// One record appended to a journal and synced to the disk, beside the disk's own part of it.
fn journal_append() -> Vec<Row> {
    let folder = tempfile::tempdir().expect("temporary folder");
    let (mut journal, _) = Journal::open(&folder.path().join("journal.jsonl")).expect("a journal");
    let event = Event {
        v: EVENT_VERSION,
        seq: 0,
        at: jiff::Timestamp::UNIX_EPOCH,
        run: RunId::from("bench"),
        body: Body::StepFinished {
            lane: LaneName::from("winw1"),
            step: StepId::from("machine"),
            took_ms: 81_234,
            fingerprint: "0123456789abcdef".to_owned(),
            inputs: ["box", "box_version", "cpus", "memory", "address"]
                .map(|name| (name.to_owned(), "0123456789ab".to_owned()))
                .into(),
            facts: BTreeMap::new(),
            machine: Some("0123456789abcdef".repeat(4)),
        },
    };
    let ours = median(301, || {
        let started = Instant::now();
        journal.append(&event).expect("a record");
        started.elapsed()
    });
    let mut file = std::fs::File::create(folder.path().join("bare")).expect("a file");
    let record = vec![b'x'; 500];
    let disk = median(301, || {
        let started = Instant::now();
        file.write_all(&record).expect("a write");
        file.sync_data().expect("a sync");
        started.elapsed()
    });
    vec![
        Row::new("journal: append a record and sync it", micros(ours)),
        Row::new("  of that a bare write and sync", micros(disk)),
    ]
}

fn wdev() -> Command {
    Command::new(env!("CARGO_BIN_EXE_wdev"))
}

/// A command on a sandbox of the simulator.
fn simulated(folder: &Path, command: &str) -> Command {
    let mut wdev = wdev();
    wdev.args([command, "--provider", "sim"])
        .current_dir(folder)
        .env("WDEV_HOME", folder.join("home"));
    wdev
}

/// A folder with a configuration of `nodes` nodes, the control plane included.
fn sandbox_of(nodes: u32) -> tempfile::TempDir {
    use std::fmt::Write as _;
    let folder = tempfile::tempdir().expect("temporary folder");
    let mut text = String::from("version: 1\nnetwork: {nodes: 192.168.56.0/23}\nworkers:\n");
    for worker in 1..nodes {
        let _ = writeln!(text, "  - {{name: winw{worker}}}");
    }
    std::fs::write(folder.path().join("variables.yml"), text).expect("variables.yml");
    folder
}

/// Runs a command to its end and returns how long it took.
fn run(command: &mut Command) -> Duration {
    let started = Instant::now();
    let output = command
        .stdin(Stdio::null())
        .output()
        .expect("the command starts");
    let took = started.elapsed();
    assert!(
        output.status.success(),
        "{command:?} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    took
}

fn median(times: usize, mut once: impl FnMut() -> Duration) -> Duration {
    let mut taken: Vec<_> = (0..times).map(|_| once()).collect();
    taken.sort_unstable();
    taken[times / 2]
}

fn micros(time: Duration) -> String {
    format!("{:.0} us", time.as_secs_f64() * 1e6)
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

/// Runs a command to its end and returns the most memory that it ever held, in KiB, by the kernel's
/// own high-water mark; nothing on systems without `/proc`.
fn peak_memory_kib(mut command: Command) -> Option<u64> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = None;
    let ended = loop {
        if let Some(ended) = child.try_wait().expect("a child") {
            break ended;
        }
        // The mark only grows, so the last reading before the end is the answer.
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = mark.and_then(|mark| mark.trim().trim_end_matches(" kB").parse().ok());
        peak = kib.or(peak);
        std::thread::sleep(Duration::from_millis(1));
    };
    assert!(ended.success(), "{command:?}: {ended}");
    peak
}
