//! `make bench`: figures a user or a developer feels, each beside its target.
//!
//! Prints a table and asserts nothing: a slow machine is no bug. Run with an optimised build.

#![allow(clippy::print_stdout, reason = "the table is the result")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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
    rows.push(memory());
    rows.extend(engine_overhead());
    rows.extend(journal_append());

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

/// What the engine adds to a step that does nothing.
fn engine_overhead() -> Vec<Row> {
    Vec::new()
}

/// One record appended to a journal and synced to the disk.
fn journal_append() -> Vec<Row> {
    Vec::new()
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
    while child.try_wait().expect("a child").is_none() {
        // The mark only grows, so the last reading before the end is the answer.
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = mark.and_then(|mark| mark.trim().trim_end_matches(" kB").parse().ok());
        peak = kib.or(peak);
        std::thread::sleep(Duration::from_millis(1));
    }
    peak
}
