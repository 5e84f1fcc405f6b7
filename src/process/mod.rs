//! Child processes: started in a group of their own, watched, stopped with their whole tree.
//!
//! A child has no terminal and an empty standard input, so a question ends as an error within
//! seconds. Its output arrives line by line, as text that can be shown. When the future of a run is
//! dropped, the child's tree is killed; a deadline is therefore the caller's `timeout` around it.

mod failure;
pub mod lines;
mod prompt;
mod run;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use self::run::run;
pub use self::system::{is_root, user};
use crate::error::Kind;
pub use crate::event::Stream;

/// How many of the last lines a failure shows.
pub const TAIL: usize = 40;

/// A program to run, with all that it is given.
#[derive(Debug)]
pub struct Command {
    program: PathBuf,
    args: Vec<OsString>,
    environment: Option<BTreeMap<OsString, OsString>>,
    shown: Vec<(String, OsString)>,
    dir: Option<PathBuf>,
    stdin: Option<File>,
    stdout: Option<File>,
    stderr: Option<File>,
    grace: Duration,
    drain: Duration,
    question_after: Option<Duration>,
    longest_line: usize,
    keep_leftovers: bool,
    blame: Kind,
}

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The last lines that it printed, at most [`TAIL`].
    pub tail: Vec<String>,
    /// Whether something that it had started still held its output open and was killed.
    pub leftovers_killed: bool,
}

impl Finished {
    /// Whether the child ended with exit code 0.
    #[must_use]
    pub fn ok(&self) -> bool {
        self.code == Some(0)
    }

    /// How it ended, in a few words: `exit code 1`, `signal 9`.
    #[must_use]
    pub fn ending(&self) -> String {
        match (self.code, self.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "no exit code".to_owned(),
        }
    }
}

impl Command {
    /// Runs `program`, found on `PATH` when it has no folder.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            environment: None,
            shown: Vec::new(),
            dir: None,
            stdin: None,
            stdout: None,
            stderr: None,
            grace: Duration::from_secs(10),
            drain: Duration::from_secs(2),
            question_after: Some(Duration::from_secs(2)),
            longest_line: 64 * 1024,
            keep_leftovers: false,
            blame: Kind::Host,
        }
    }

    /// Adds an argument. Never a secret: argument lists are visible to every user of the host.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments; see [`Command::arg`].
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// The whole environment, in place of wdev's own.
    #[must_use]
    pub fn environment(mut self, environment: BTreeMap<OsString, OsString>) -> Self {
        self.environment = Some(environment);
        self
    }

    /// A variable of the environment that [`Command::line`] shows, because the line would not work
    /// without it.
    #[must_use]
    pub fn shown(mut self, name: &str, value: impl Into<OsString>) -> Self {
        let value = value.into();
        if let Some(environment) = &mut self.environment {
            environment.insert(name.into(), value.clone());
        }
        self.shown.push((name.to_owned(), value));
        self
    }

    /// The folder to run in.
    #[must_use]
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// What the child reads from its standard input; otherwise nothing. The child and what it starts
    /// hold the file open, and on Unix with it a lock that is taken on it.
    #[must_use]
    pub fn stdin(mut self, file: File) -> Self {
        self.stdin = Some(file);
        self
    }

    /// Takes the child's standard output as it is, in place of lines.
    #[must_use]
    pub fn stdout(mut self, file: File) -> Self {
        self.stdout = Some(file);
        self
    }

    /// Takes the child's standard error as it is, in place of lines.
    #[must_use]
    pub fn stderr(mut self, file: File) -> Self {
        self.stderr = Some(file);
        self
    }

    /// How long an interrupted child may take to end before its tree is killed.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// How long what the child has started may hold its output open after its own end.
    #[must_use]
    pub fn drain(mut self, drain: Duration) -> Self {
        self.drain = drain;
        self
    }

    /// How long an unfinished line that looks like a question may stand; `None` takes no line for a
    /// question.
    #[must_use]
    pub fn question_after(mut self, after: Option<Duration>) -> Self {
        self.question_after = after;
        self
    }

    /// The longest line in bytes; longer ones arrive in pieces.
    #[must_use]
    pub fn longest_line(mut self, bytes: usize) -> Self {
        self.longest_line = bytes;
        self
    }

    /// Leaves what the child has started running after the child's own end, as far as it does not hold
    /// the output open. Without this, nothing outlives the child. On Windows, where what a hypervisor
    /// starts is a service's child and not in the job, this has no effect.
    #[must_use]
    pub fn keep_leftovers(mut self) -> Self {
        self.keep_leftovers = true;
        self
    }

    /// The kind of the failure when the child asks a question.
    #[must_use]
    pub fn blame(mut self, kind: Kind) -> Self {
        self.blame = kind;
        self
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The command as a line that can be pasted into a POSIX shell, on Windows into PowerShell.
    #[must_use]
    pub fn line(&self) -> String {
        system::line(&self.shown, self.program.as_os_str(), &self.args)
    }
}

/// Puts a program in the place of this one, so that its signals, its terminal and its exit code are the
/// program's own. Where the system cannot do that, runs it with our streams and returns how it ended.
///
/// # Errors
/// When it cannot be started.
pub fn become_program(
    command: &mut std::process::Command,
) -> std::io::Result<std::process::ExitStatus> {
    system::become_program(command)
}

/// When this process was started by another wdev to reach a child's console, as on Windows, does that
/// and says whether it could; otherwise nothing.
#[must_use]
pub fn press_ctrl_c() -> Option<bool> {
    system::press_ctrl_c(std::env::args_os())
}

/// One word of a command that a user of this host is told: for a POSIX shell, on Windows for PowerShell.
#[must_use]
pub fn word(word: impl AsRef<OsStr>) -> String {
    system::word(word.as_ref())
}

/// Quotes one word for a POSIX shell.
#[must_use]
pub fn quote(word: impl AsRef<OsStr>) -> String {
    let word = word.as_ref().to_string_lossy().replace('\0', "\u{fffd}");
    shlex::try_quote(&word).map_or_else(|_| word.clone(), std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn the_line_can_be_pasted() {
        let command = Command::new("/opt/my tools/vagrant")
            .args(["up", "it's", "$(id)"])
            .shown("VAGRANT_CWD", "/a b");
        assert_eq!(
            shlex::split(&command.line()).unwrap(),
            [
                "VAGRANT_CWD=/a b",
                "/opt/my tools/vagrant",
                "up",
                "it's",
                "$(id)"
            ]
        );
    }
}
