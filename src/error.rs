//! The one error type that users see: what failed, on what, why, and what to do next.
//!
//! A [`Failure`] is data, not a formatted text, because it travels: into events, the journal, JSON
//! output and the terminal. Its [`Kind`] decides the exit code; `docs/exit-codes.md` is the contract.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::names::{LaneName, StepId};

/// Whose problem it is, and with that the exit code. The codes are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A bug in wdev.
    Bug,
    /// Wrong arguments.
    Arguments,
    /// Invalid configuration.
    Configuration,
    /// The host is not ready: tool, hypervisor, memory, disk, network range, permission.
    Host,
    /// The provider failed.
    Provider,
    /// A step failed on a node.
    Step,
    /// The cluster did not become ready.
    NotReady,
    /// The source does not build.
    Build,
    /// A check failed, or a component built from the user's source does not run.
    Check,
    /// A deadline passed.
    Deadline,
    /// Another run holds the sandbox.
    Busy,
    /// No such sandbox, node, component or snapshot.
    NotFound,
    /// Interrupted by the user or by SIGTERM.
    Interrupted,
    /// Whoever read our stdout is gone (`wdev plan | head -1`): nothing is left to say, and it is no
    /// error.
    ReaderGone,
    /// A kind written by a newer wdev.
    #[serde(other)]
    Unknown,
}

impl Kind {
    /// The process exit code of this kind.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Bug | Self::Unknown => 1,
            Self::Arguments => 2,
            Self::Configuration => 3,
            Self::Host => 4,
            Self::Provider => 5,
            Self::Step => 6,
            Self::NotReady => 7,
            Self::Build => 8,
            Self::Check => 9,
            Self::Deadline => 10,
            Self::Busy => 11,
            Self::NotFound => 12,
            Self::Interrupted => 130,
            Self::ReaderGone => 0,
        }
    }
}

/// What failed, on what, why, and what to do next.
///
/// Messages are lower-case fragments without a full stop, with `backticks` around what a user could
/// type. Secrets never enter a failure: whoever builds one from a command redacts it first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Decides the exit code.
    pub kind: Kind,
    /// What failed and on what.
    pub message: String,
    /// Why, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// What to do next, each a sentence or a command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<String>,
    /// The lane (a node's name, or `host`) that failed; set by the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<LaneName>,
    /// The step that failed; set by the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// The command that failed, as a line that can be pasted into a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The last lines that the command printed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<String>,
    /// Where the whole output is.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "lossy_path"
    )]
    pub log: Option<PathBuf>,
    /// Whether trying the same again is pointless.
    #[serde(default)]
    pub permanent: bool,
}

impl Failure {
    /// A failure of `kind`, with what failed and on what.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            causes: Vec::new(),
            advice: Vec::new(),
            lane: None,
            step: None,
            command: None,
            output: Vec::new(),
            log: None,
            permanent: false,
        }
    }

    /// Adds why it failed.
    #[must_use]
    pub fn because(mut self, cause: impl fmt::Display) -> Self {
        self.causes.push(cause.to_string());
        self
    }

    /// Adds what to do next.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice.push(advice.into());
        self
    }

    /// Adds the command line that failed. The caller has removed every secret from it.
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }

    /// Adds the last lines of output.
    #[must_use]
    pub fn output(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.output = lines.into_iter().collect();
        self
    }

    /// Marks a failure that the same attempt would only repeat: it is never retried.
    #[must_use]
    pub fn permanent(mut self) -> Self {
        self.permanent = true;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for cause in &self.causes {
            write!(f, ": {cause}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

/// Serializes a path that need not be UTF-8, so that a strange folder name costs a letter and never the
/// event or the record that mentions it.
#[expect(
    clippy::ref_option,
    reason = "serde calls it with a reference to the field"
)]
pub(crate) fn lossy_path<S: serde::Serializer>(
    path: &Option<PathBuf>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    path.as_ref()
        .map(|path| path.to_string_lossy())
        .serialize(serializer)
}

/// The result of everything that a user can make fail.
pub type Result<T, E = Box<Failure>> = std::result::Result<T, E>;

/// Turns an I/O error into a failure that names the path and what was tried.
#[must_use]
pub fn io_failure(doing: &str, path: &std::path::Path, error: &std::io::Error) -> Box<Failure> {
    use std::io::ErrorKind;
    let failure =
        Failure::new(Kind::Host, format!("cannot {doing} `{}`", path.display())).because(error);
    Box::new(match error.kind() {
        ErrorKind::PermissionDenied => {
            failure.advise("check who owns it, and that you may write there")
        }
        ErrorKind::StorageFull => failure.advise("free some disk space, then run the same again"),
        ErrorKind::ReadOnlyFilesystem => failure.advise("use a folder on a writable file system"),
        _ => failure,
    })
}
