//! How scripts, files and commands reach a node.
//!
//! A channel knows nothing of steps: it is given a [`Script`], runs it once, and reports what the
//! node proved. An exit code of 0 proves nothing (Vagrant returns it for a cut connection), so every
//! script ends with a one-time marker that only a script run to its end can print.

pub mod effect;
pub mod guest;
pub mod powershell;
pub mod ssh;
pub mod wrap;
pub mod wrap_windows;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

pub use self::effect::Effect;
use crate::error::Result;
use crate::event::Stream;
pub use crate::os::Os;
use crate::stop::Stop;

/// How long a node may take to tell its boot. Windows PowerShell alone takes tens of seconds to start on a
/// machine that has just booted, or has too little of a busy host.
pub(crate) const ANSWER: Duration = Duration::from_mins(1);

/// What a script is run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// To change the node. Safe to do twice.
    Run,
    /// To tell whether the change is in place, without changing anything.
    Probe,
}

/// A value that must never be shown or stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Wraps a secret.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The secret itself. Whoever calls this keeps it out of every log, event and argument list.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A script for one node.
#[derive(Debug, Clone)]
pub struct Script {
    /// Names the script on the node and in the rendered files; lower-case letters, digits, hyphens.
    pub name: String,
    /// The operating system that it is written for.
    pub os: Os,
    /// Run or probe.
    pub mode: Mode,
    /// The rendered text, or nothing where this version of wdev has no script yet: then only the
    /// simulator can run it, by its effects.
    pub text: Option<String>,
    /// What the text changes, in terms that the simulator can perform and check.
    pub effects: Vec<Effect>,
    /// Changes when the script's inputs change: a finished run of the same fingerprint counts.
    pub fingerprint: String,
    /// Secrets for this run, by name. They reach the node without an argument list or a log.
    pub secrets: BTreeMap<String, Secret>,
}

/// What a script that ran to its end reported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Whether the change is in place. After [`Mode::Run`] false may also mean that nobody has looked.
    pub in_place: bool,
    /// Why a probe says that it is not, in a few words.
    pub why: Option<String>,
    /// Whether the node must be rebooted before the change counts. Of a probe that says "not in place":
    /// whether a reboot is what is missing.
    pub reboot_wanted: bool,
    /// What was learnt, without secrets.
    pub facts: BTreeMap<String, String>,
    /// Secrets that the script made, such as a join token.
    pub secrets: BTreeMap<String, Secret>,
}

/// A line of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Where it came from.
    pub stream: Stream,
    /// The text without line end, lossily decoded, without terminal escapes.
    pub text: String,
}

/// What a long operation is given to talk and to listen with.
#[derive(Clone)]
pub struct Io {
    /// Takes each line of output as it comes.
    pub output: Arc<dyn Fn(Line) + Send + Sync>,
    /// Tells when to stop; see [`Stop`] for who acts on what.
    pub stop: Stop,
}

impl Io {
    /// Passes on one of wdev's own remarks.
    pub fn note(&self, text: impl Into<String>) {
        (self.output)(Line {
            stream: Stream::Note,
            text: text.into(),
        });
    }

    /// An `Io` that drops all output and never stops.
    #[must_use]
    pub fn silent() -> Self {
        Self {
            output: Arc::new(|_| {}),
            stop: Stop::never(),
        }
    }
}

/// How scripts, files and commands reach one node.
#[async_trait]
pub trait Channel: Send + Sync {
    /// Runs a script to its end and returns what it proved.
    ///
    /// Never are two scripts at work on a node at the same time, whoever started them: where an
    /// earlier run left one behind, this waits for it, within the caller's deadline.
    ///
    /// # Errors
    /// `Step` when the script failed or its end could not be proven; `Provider` when the node could
    /// not be reached; `Interrupted` when `io.stop` asked for it.
    async fn run(&self, script: &Script, io: &Io) -> Result<Report>;

    /// Copies a file from the host to the node, replacing what is there in one move.
    async fn upload(&self, from: &Path, to: &str, io: &Io) -> Result<()>;

    /// Copies a file from the node to the host, replacing what is there in one move.
    async fn download(&self, from: &str, to: &Path, io: &Io) -> Result<()>;

    /// Runs a command on the node with its output passed on as it comes; returns its exit code.
    async fn exec(&self, argv: &[String], io: &Io) -> Result<i32>;

    /// What changes with every boot of the node and with nothing else.
    ///
    /// # Errors
    /// When the node does not answer: normal while it boots. `patience` bounds one attempt.
    async fn boot_identity(&self, patience: Duration, io: &Io) -> Result<String>;
}
