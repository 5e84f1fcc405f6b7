//! Runs wdev's own PowerShell scripts on a Hyper-V host.
//!
//! They lie in `powershell/host/`, are part of the program, and are written into the rendered folder's
//! `host/`, each beside the parameters that it was last given for a machine or switch, to be read and
//! used by hand. What they print is described in `common.ps1`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::channel::Io;
use crate::clock::Clock;
use crate::error::{Failure, Kind, Result};
use crate::event::Stream;
use crate::home::write_whole;
use crate::process::{Command, run};
use crate::provider::vagrant::node::make_folder;

/// Names the program to use in place of Windows PowerShell.
pub const VARIABLE: &str = "WDEV_POWERSHELL";

macro_rules! scripts {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../../../../powershell/host/", $name)))),+]
    };
}

const SCRIPTS: [(&str, &str); 6] = scripts![
    "common.ps1",
    "check.ps1",
    "network.ps1",
    "network-remove.ps1",
    "machine.ps1",
    "machine-remove.ps1",
];

/// A line that a script prints.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Word {
    /// Something was changed.
    Change { text: String },
    /// It came to its end; the rest differs with the script.
    Result,
    /// It came to an end that a person must know of.
    Failure {
        message: String,
        why: String,
        advice: Vec<String>,
    },
}

/// The scripts of one sandbox.
#[derive(Debug)]
pub struct Scripts {
    folder: PathBuf,
    /// Windows PowerShell, or what stands for it.
    powershell: PathBuf,
    clock: Clock,
}

impl Scripts {
    /// Keeps the scripts in `folder`, which need not exist.
    pub fn new(folder: PathBuf, powershell: PathBuf, clock: Clock) -> Self {
        Self {
            folder,
            powershell,
            clock,
        }
    }

    /// Runs the script `name` (without `.ps1`) and returns its result. `of` is the machine or switch that
    /// it is run for: at one time a script may run for several.
    ///
    /// # Errors
    /// `Host` when this host must be changed by a person first, `Provider` when a cmdlet failed,
    /// `Deadline` after `limit`; `Interrupted`.
    pub async fn run<P: Serialize, R: for<'a> Deserialize<'a>>(
        &self,
        name: &str,
        of: &str,
        parameters: &P,
        limit: Duration,
        io: &Io,
    ) -> Result<R> {
        let given = self.write(name, of, parameters)?;
        let command = self.command(name, &given);
        let line = command.line();
        let mut end = None;
        let mut take = |stream: Stream, text: &str| {
            let word = match stream {
                Stream::Stdout => serde_json::from_str::<Word>(text).ok(),
                _ => None,
            };
            match word {
                Some(Word::Change { text }) => io.note(text),
                Some(word) => end = Some((word, text.to_owned())),
                None if text.trim().is_empty() => {}
                None => io.note(format!("PowerShell: {text}")),
            }
        };
        let running = run(command, &io.stop, &mut take);
        let Some(finished) = self.clock.timeout(limit, running).await else {
            return Err(Box::new(
                Failure::new(
                    Kind::Deadline,
                    format!("`{name}.ps1` took longer than {} s", limit.as_secs()),
                )
                .advise("run the command yourself to see what it waits for")
                .command(line),
            ));
        };
        let finished = finished?;
        let failure = match end {
            Some((Word::Result, text)) if finished.ok() => match serde_json::from_str(&text) {
                Ok(result) => return Ok(result),
                Err(error) => Failure::new(
                    Kind::Bug,
                    format!("the result of `{name}.ps1` cannot be read"),
                )
                .because(error),
            },
            Some((
                Word::Failure {
                    message,
                    why,
                    advice,
                },
                _,
            )) => {
                let kind = match finished.code {
                    Some(1) => Kind::Bug,
                    Some(4) => Kind::Host,
                    _ => Kind::Provider,
                };
                let mut failure = Failure::new(kind, message);
                if !why.is_empty() {
                    failure = failure.because(why);
                }
                failure.advice = advice;
                failure.permanent = kind != Kind::Provider;
                return Err(Box::new(failure.command(line)));
            }
            _ => Failure::new(
                Kind::Provider,
                format!("`{name}.ps1` did not come to its end"),
            )
            .because(finished.ending())
            .advise("run the command yourself to see why"),
        };
        Err(Box::new(failure.command(line).output(finished.tail)))
    }

    /// Writes the scripts and the parameters of one; returns the latter's path.
    fn write<P: Serialize>(&self, name: &str, of: &str, parameters: &P) -> Result<PathBuf> {
        make_folder(&self.folder)?;
        for (script, text) in SCRIPTS {
            let path = self.folder.join(script);
            // 5.1 takes any line end; Windows' own editor may not.
            if std::fs::read(&path).ok().as_deref() != Some(text.as_bytes()) {
                write_whole(&path, text.as_bytes())?;
            }
        }
        let path = self.folder.join(format!("{name}-{of}.json"));
        let text = serde_json::to_vec_pretty(parameters).map_err(|error| {
            Failure::new(Kind::Bug, "cannot write a script's parameters").because(error)
        })?;
        write_whole(&path, &text)?;
        Ok(path)
    }

    fn command(&self, name: &str, parameters: &Path) -> Command {
        Command::new(&self.powershell)
            .args([
                "-NoProfile",
                "-NonInteractive",
                "-ExecutionPolicy",
                "Bypass",
            ])
            .arg("-File")
            .arg(self.folder.join(format!("{name}.ps1")))
            .arg("-ParametersFile")
            .arg(parameters)
            .environment(environment(std::env::vars_os()))
    }
}

/// Windows PowerShell on this host.
pub fn powershell() -> PathBuf {
    std::env::var_os(VARIABLE)
        .filter(|chosen| !chosen.is_empty())
        .map_or_else(|| PathBuf::from("powershell"), PathBuf::from)
}

/// The user's environment, without the modules of a PowerShell 7 that wdev was started from: Windows
/// PowerShell cannot load them.
fn environment(
    base: impl IntoIterator<Item = (OsString, OsString)>,
) -> BTreeMap<OsString, OsString> {
    base.into_iter()
        .filter(|(name, _)| !cfg!(windows) || !name.eq_ignore_ascii_case("PSModulePath"))
        .collect()
}
