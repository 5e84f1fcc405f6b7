//! Runs of the built `wdev`, and what their events tell.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use wdev::error::Failure;
use wdev::event::{Body, Event, LaneInfo, StepInfo};

use super::wait_for;

/// No run of these tests takes this long; one that does hangs.
pub const LIMIT: Duration = Duration::from_mins(20);

/// A run of `wdev` in a process group of its own.
pub struct Run {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
    args: String,
}

/// A run that has ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit code; none when a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    args: String,
}

impl Run {
    /// Starts `command` with its output kept in files named after `stem`.
    pub fn start(mut command: Command, stem: &Path) -> Self {
        let stdout = stem.with_extension("out");
        let stderr = stem.with_extension("err");
        let create = |path: &Path| File::create(path).expect("output file");
        command
            .stdin(Stdio::null())
            .stdout(create(&stdout))
            .stderr(create(&stderr))
            .process_group(0);
        let args = command
            .get_args()
            .map(|arg| arg.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" ");
        let child = command.spawn().expect("wdev starts");
        Self {
            child,
            stdout,
            stderr,
            args,
        }
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has told so far.
    pub fn events(&self) -> Events {
        Events::parse(&read(&self.stdout))
    }

    /// Waits for `check` to give something while this goes on.
    ///
    /// # Panics
    /// With all output when it ends before that, or after [`LIMIT`].
    pub fn wait_for<T>(&mut self, what: &str, mut check: impl FnMut(&Self) -> Option<T>) -> T {
        wait_for(what, LIMIT, || {
            let over = self.is_over();
            let found = check(self);
            assert!(
                found.is_some() || !over,
                "`wdev {}` ended before {what}\n--- stdout\n{}\n--- stderr\n{}",
                self.args,
                read(&self.stdout),
                read(&self.stderr),
            );
            found
        })
    }

    /// Waits until the run says that a step of `lane` waits for what an earlier run left at work.
    pub fn wait_for_word_of_waiting(&mut self, lane: &str) {
        self.wait_for(&format!("word that {lane} waits"), |run| {
            let events = run.events();
            let lines = events.output_of_lane(lane);
            lines.iter().any(|line| line.contains("wait")).then_some(())
        });
    }

    /// Waits until the run says that it was asked to stop.
    pub fn wait_for_interrupting(&mut self) {
        self.wait_for("word of the interrupt", |run| {
            let asked = |event: &Event| matches!(event.body, Body::Interrupting { .. });
            run.events().0.iter().any(asked).then_some(())
        });
    }

    /// Sends `signal` to the process group, as a terminal does.
    pub fn signal(&self, signal: &str) {
        kill(signal, &[format!("-{}", self.pid())]);
    }

    /// Kills wdev alone, like a crash: its children live on.
    pub fn kill(mut self) {
        self.signal("KILL");
        let _ = self.child.wait();
    }

    /// Kills wdev and every process below it, like a power cut.
    pub fn kill_tree(mut self) {
        let mut pids = descendants(self.pid());
        pids.push(self.pid());
        let pids: Vec<_> = pids.iter().map(u32::to_string).collect();
        kill("KILL", &pids);
        let _ = self.child.wait();
    }

    /// Kills, of all that runs below wdev, only the Vagrants: as soon as there is one. Says whether there
    /// was one before the run ended.
    pub fn kill_vagrant(&mut self) -> bool {
        self.wait_for("a Vagrant or the end", |run| {
            let over = !Path::new(&format!("/proc/{}/exe", run.pid())).exists();
            let below = descendants(run.pid()).into_iter();
            let vagrants: Vec<_> = below
                .filter(|pid| command_line(*pid).contains("--machine-readable"))
                .map(|pid| pid.to_string())
                .collect();
            if !vagrants.is_empty() {
                kill("KILL", &vagrants);
            }
            (over || !vagrants.is_empty()).then_some(!vagrants.is_empty())
        })
    }

    /// Whether it has ended.
    pub fn is_over(&mut self) -> bool {
        self.child.try_wait().expect("wdev is a child").is_some()
    }

    /// Waits for the end.
    pub fn end(self) -> Ended {
        self.end_within(LIMIT)
    }

    /// Waits for the end, but not longer than `limit`.
    pub fn end_within(mut self, limit: Duration) -> Ended {
        let child = &mut self.child;
        let status = wait_for(&format!("the end of `wdev {}`", self.args), limit, || {
            child.try_wait().expect("wdev is a child")
        });
        Ended {
            code: status.code(),
            stdout: read(&self.stdout),
            stderr: read(&self.stderr),
            args: self.args.clone(),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !self.is_over() {
            self.signal("KILL");
            let _ = self.child.wait();
        }
    }
}

impl Ended {
    /// The same, once the exit code is `code`.
    ///
    /// # Panics
    /// With all output when it is another one.
    #[must_use]
    pub fn with_code(self, code: i32) -> Self {
        assert!(
            self.code == Some(code),
            "`wdev {}` ended with {:?} instead of {code}\n--- stdout\n{}\n--- stderr\n{}",
            self.args,
            self.code,
            self.stdout,
            self.stderr,
        );
        self
    }

    pub fn events(&self) -> Events {
        Events::parse(&self.stdout)
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {}", self.stdout))
    }
}

/// The events of a run, in order.
pub struct Events(pub Vec<Event>);

impl Events {
    fn parse(text: &str) -> Self {
        // The last line of a run that goes on, or was killed, may not be whole.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let parse = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("no event ({error}): {line}"))
        };
        Self(whole.lines().map(parse).collect())
    }

    /// The steps of `lane` that began to run, in order.
    pub fn started(&self, at_lane: &str) -> Vec<&str> {
        self.steps(|body| match body {
            Body::StepStarted { lane, step, .. } if lane.as_str() == at_lane => Some(step.as_str()),
            _ => None,
        })
    }

    /// The steps of `lane` that were done, in order.
    pub fn finished(&self, at_lane: &str) -> Vec<&str> {
        self.steps(|body| match body {
            Body::StepFinished { lane, step, .. } if lane.as_str() == at_lane => {
                Some(step.as_str())
            }
            _ => None,
        })
    }

    /// The steps of `lane` that were announced, in order.
    pub fn announced(&self, lane: &str) -> Vec<&str> {
        self.announcement(lane)
            .map(|info| info.step.as_str())
            .collect()
    }

    /// The first announced step of `lane` whose id or title has `part` in it.
    pub fn step(&self, lane: &str, part: &str) -> Option<&str> {
        let found = self
            .announcement(lane)
            .find(|info| info.step.as_str().contains(part) || info.title.contains(part));
        found.map(|info| info.step.as_str())
    }

    fn announcement(&self, lane: &str) -> impl Iterator<Item = &StepInfo> {
        let lanes = self.0.iter().find_map(|event| match &event.body {
            Body::RunStarted { lanes, .. } => Some(lanes),
            _ => None,
        });
        let of_lane = move |info: &&LaneInfo| info.lane.as_str() == lane;
        lanes
            .into_iter()
            .flatten()
            .filter(of_lane)
            .flat_map(|info| &info.steps)
    }

    /// Every line that the step of `lane` whose id or title has `part` in it printed.
    pub fn output(&self, at_lane: &str, part: &str) -> Vec<&str> {
        let at_step = self.step(at_lane, part);
        self.steps(|body| match body {
            Body::StepOutput {
                lane, step, line, ..
            } if lane.as_str() == at_lane && Some(step.as_str()) == at_step => Some(line.as_str()),
            _ => None,
        })
    }

    /// Every line that the steps of `lane` printed.
    pub fn output_of_lane(&self, at_lane: &str) -> Vec<&str> {
        self.steps(|body| match body {
            Body::StepOutput { lane, line, .. } if lane.as_str() == at_lane => Some(line.as_str()),
            _ => None,
        })
    }

    /// When the step began and when it was done.
    pub fn span(&self, at_lane: &str, at_step: &str) -> (jiff::Timestamp, jiff::Timestamp) {
        let find = |wanted: fn(&Body) -> Option<(&str, &str)>| {
            let found = self
                .0
                .iter()
                .find(|e| wanted(&e.body) == Some((at_lane, at_step)));
            found
                .unwrap_or_else(|| panic!("no begin or end of {at_lane}/{at_step}"))
                .at
        };
        let begin = find(|body| match body {
            Body::StepStarted { lane, step, .. } => Some((lane.as_str(), step.as_str())),
            _ => None,
        });
        let end = find(|body| match body {
            Body::StepFinished { lane, step, .. } => Some((lane.as_str(), step.as_str())),
            _ => None,
        });
        (begin, end)
    }

    /// How many events came before the first that `wanted` takes.
    pub fn position(&self, wanted: impl Fn(&Body) -> bool) -> Option<usize> {
        self.0.iter().position(|event| wanted(&event.body))
    }

    /// The machines that were found to be gone or other ones.
    pub fn replaced(&self) -> Vec<&str> {
        self.steps(|body| match body {
            Body::MachineReplaced { lane, .. } => Some(lane.as_str()),
            _ => None,
        })
    }

    /// The boots that a reboot of `node` was to end, and those that it was proven by.
    pub fn reboots(&self, node: &str) -> (Vec<&str>, Vec<&str>) {
        let begun = self.steps(|body| match body {
            Body::RebootStarted { lane, boot, .. } if lane.as_str() == node => Some(boot.as_str()),
            _ => None,
        });
        let proven = self.steps(|body| match body {
            Body::RebootProven { lane, boot, .. } if lane.as_str() == node => Some(boot.as_str()),
            _ => None,
        });
        (begun, proven)
    }

    /// The first failure, as the last event tells it.
    pub fn failure(&self) -> Option<&Failure> {
        self.0.iter().find_map(|event| match &event.body {
            Body::RunFinished { failure, .. } => failure.as_ref(),
            _ => None,
        })
    }

    fn steps<'a, T>(&'a self, pick: impl Fn(&'a Body) -> Option<T>) -> Vec<T> {
        self.0
            .iter()
            .filter_map(|event| pick(&event.body))
            .collect()
    }
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

fn kill(signal: &str, targets: &[String]) {
    // Some of them may be gone already.
    let _ = Command::new("kill")
        .args(["-s", signal, "--"])
        .args(targets)
        .stderr(Stdio::null())
        .status()
        .expect("kill can be run");
}

/// The arguments of a process; empty when it is gone.
fn command_line(pid: u32) -> String {
    read(Path::new(&format!("/proc/{pid}/cmdline"))).replace('\0', " ")
}

/// The command lines of all processes that work for what is in `folder`: it is in their arguments or
/// their environment, or they stand in it.
pub fn working_for(folder: &Path) -> Vec<String> {
    let name = folder.to_string_lossy();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let line = command_line(pid);
        let stands =
            fs::read_link(entry.path().join("cwd")).is_ok_and(|path| path.starts_with(folder));
        // A process that has ended, but was not waited for, has no arguments any more.
        if !line.is_empty()
            && (stands
                || line.contains(&*name)
                || read(&entry.path().join("environ")).contains(&*name))
        {
            found.push(line);
        }
    }
    found
}

/// Every process below `pid`, by `/proc`.
fn descendants(pid: u32) -> Vec<u32> {
    let parent_of = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in parentheses may hold spaces; the state and the parent follow the last one.
        stat.rsplit_once(')')?
            .1
            .split_whitespace()
            .nth(1)?
            .parse()
            .ok()
    };
    let all: Vec<(u32, u32)> = fs::read_dir("/proc")
        .expect("/proc")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, parent_of(pid)?)))
        .collect();
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(
            all.iter()
                .filter(|(_, of)| *of == parent)
                .map(|(pid, _)| pid),
        );
        next += 1;
    }
    found.split_off(1)
}
