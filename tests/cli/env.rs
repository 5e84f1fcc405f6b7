//! A project of one's own to run wdev in.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// After this long a wdev that says nothing hangs.
pub const HANG: Duration = Duration::from_mins(2);

/// A temporary project with a `WDEV_HOME` of its own and a clean environment.
pub struct Env {
    root: TempDir,
    /// The folder that wdev is run in.
    pub project: PathBuf,
    /// `WDEV_HOME`.
    pub home: PathBuf,
}

impl Env {
    /// An empty project.
    pub fn new() -> Self {
        Self::named("project")
    }

    /// An empty project in a folder of that name, which may have several parts.
    pub fn named(name: impl AsRef<OsStr>) -> Self {
        let root = TempDir::new().unwrap();
        let project = root.path().join(name.as_ref());
        std::fs::create_dir_all(&project).unwrap();
        let home = root.path().join("home");
        Self {
            root,
            project,
            home,
        }
    }

    /// The folder that all of it is in.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Writes a file of the project.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.project.join(name), text).unwrap();
    }

    /// The folder of the default sandbox.
    pub fn sandbox(&self) -> PathBuf {
        self.project.join(".wdev").join("default")
    }

    /// The journal of the default sandbox.
    pub fn journal(&self) -> PathBuf {
        self.sandbox().join("journal.jsonl")
    }

    /// `program` in the project, with nothing of the tester's environment but the `PATH`.
    pub fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.project)
            .env_clear()
            .env("HOME", self.root.path())
            .env("WDEV_HOME", &self.home)
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for kept in ["PATH", "SystemRoot", "TEMP", "LLVM_PROFILE_FILE"] {
            if let Some(value) = std::env::var_os(kept) {
                command.env(kept, value);
            }
        }
        command
    }

    /// wdev with these arguments.
    pub fn wdev(&self, args: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_wdev"));
        command.args(args);
        command
    }

    /// Runs wdev to its end.
    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.wdev(args))
    }

    /// `wdev up` on the simulator, with these arguments as well.
    pub fn up(&self, args: &[&str]) -> Ran {
        self.run(&[&["up", "--provider", "sim"], args].concat())
    }

    /// A line for `sh` in which `wdev` and its arguments are `"$@"`, run to its end.
    pub fn shell(&self, line: &str, args: &[&str]) -> Ran {
        let mut command = self.program("sh");
        command.args(["-c", line, "sh", env!("CARGO_BIN_EXE_wdev")]);
        Ran::of(command.args(args))
    }

    /// Starts an `up` on the simulator that takes minutes unless it is stopped.
    pub fn start(&self, args: &[&str]) -> Running {
        let all = [
            &["up", "--provider", "sim", "--sim-speed", "1", "-o", "json"],
            args,
        ]
        .concat();
        Running::of(self.wdev(&all))
    }

    /// What `status -o json` says.
    pub fn status(&self) -> Value {
        self.run(&["status", "-o", "json"]).exits(0).json()
    }
}

/// A wdev that has ended.
#[derive(Debug)]
pub struct Ran {
    command: String,
    status: ExitStatus,
    /// What it wrote to stdout.
    pub out: String,
    /// What it wrote to stderr.
    pub err: String,
}

impl Ran {
    /// Runs it to its end.
    ///
    /// # Panics
    /// When it does not end.
    pub fn of(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let out = child.stdout.take().map(drain);
        let err = child.stderr.take().map(drain);
        let mut read = |stream: Option<Receiver<Vec<u8>>>| {
            let bytes = stream.map(|stream| stream.recv_timeout(HANG));
            let Ok(bytes) = bytes.transpose() else {
                let _ = child.kill();
                panic!("{command:?} hangs");
            };
            String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
        };
        let (out, err) = (read(out), read(err));
        Self {
            command: format!("{command:?}"),
            status: child.wait().unwrap(),
            out,
            err,
        }
    }

    /// It ended with this exit code, and did not break down.
    #[track_caller]
    pub fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.status.code(), Some(code), "{self}");
        assert!(!self.err.contains("panicked"), "{self}");
        self
    }

    /// stderr has these words, however it is wrapped.
    #[track_caller]
    pub fn says(&self, words: &str) -> &Self {
        assert!(
            plain(&self.err).contains(&plain(words)),
            "no `{words}` in {self}"
        );
        self
    }

    /// stderr has not these words.
    #[track_caller]
    pub fn does_not_say(&self, words: &str) -> &Self {
        assert!(
            !plain(&self.err).contains(&plain(words)),
            "`{words}` in {self}"
        );
        self
    }

    /// stdout has these words, however they are spaced.
    #[track_caller]
    pub fn prints(&self, words: &str) -> &Self {
        assert!(
            plain(&self.out).contains(&plain(words)),
            "no `{words}` in {self}"
        );
        self
    }

    /// stdout as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {self}"))
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            command,
            status,
            out,
            err,
        } = self;
        write!(
            f,
            "{command}: {status}\n--- stdout\n{out}\n--- stderr\n{err}"
        )
    }
}

/// A text without the line breaks and columns that depend on a width.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn drain(mut stream: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}

/// Reads a file or a pipe to its end, without waiting for it to be opened.
#[cfg(unix)]
pub fn drain_file(path: PathBuf) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let _ = sender.send(std::fs::read(path).unwrap_or_default());
    });
    receiver
}

/// A wdev that is at work and writes events; it is killed when dropped.
pub struct Running {
    child: Child,
    events: Receiver<Value>,
    err: Option<Receiver<Vec<u8>>>,
}

impl Running {
    /// Starts it.
    pub fn of(mut command: Command) -> Self {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().unwrap();
        let err = child.stderr.take().map(drain);
        let out = BufReader::new(child.stdout.take().unwrap());
        let (sender, events) = channel();
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if let Ok(event) = serde_json::from_str(&line)
                    && sender.send(event).is_err()
                {
                    break;
                }
            }
        });
        Self { child, events, err }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for an event of this type, of this step as `lane/step` where one is named; gives it.
    pub fn until(&self, kind: &str, step: &str) -> Value {
        loop {
            let event = self
                .events
                .recv_timeout(HANG)
                .unwrap_or_else(|error| panic!("no {kind} of {step}: {error}"));
            let body = &event["body"];
            let of = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
            if of("type") == kind
                && (step.is_empty() || format!("{}/{}", of("lane"), of("step")) == step)
            {
                return body.clone();
            }
        }
    }

    /// Sends a signal to it alone.
    #[cfg(unix)]
    pub fn signal(&self, name: &str) {
        signal(name, &self.pid().to_string());
    }

    /// Sends a signal to its whole process group, as a terminal does.
    #[cfg(unix)]
    pub fn signal_group(&self, name: &str) {
        signal(name, &format!("-{}", self.pid()));
    }

    /// Kills it with no chance to do anything.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end; gives the exit code and what it said on stderr.
    pub fn end(self) -> (Option<i32>, String) {
        self.end_within(HANG).expect("it ends")
    }

    /// The same, unless it or what it has started goes on for longer than `limit` without a word.
    pub fn end_within(mut self, limit: Duration) -> Option<(Option<i32>, String)> {
        while self.events.recv_timeout(limit).is_ok() {}
        let err = self.err.take()?.recv_timeout(limit).ok()?;
        let status = self.child.wait().unwrap();
        Some((status.code(), String::from_utf8_lossy(&err).into_owned()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(unix)]
fn signal(name: &str, target: &str) {
    let line = format!("kill -s {name} -- {target}");
    let sent = Command::new("sh").args(["-c", &line]).status().unwrap();
    assert!(sent.success(), "{line}");
}

/// Whether this process may do what it likes with files: then permissions keep nobody out.
#[cfg(unix)]
pub fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    output.stdout == b"0\n"
}
