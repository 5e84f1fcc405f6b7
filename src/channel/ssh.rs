//! Direct SSH: commands and files through the host's own OpenSSH client, by a configuration file that
//! somebody else (such as Vagrant) has made.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use serde::Deserialize;

use crate::error::{Failure, Kind, Result};
use crate::event::Stream;
use crate::process::{Command, Finished, quote, run};
use crate::stop::Stop;

/// What the client ends with when it fails itself; a command may end with it too.
const OWN_FAILURE: i32 = 255;

/// Finds the OpenSSH client.
///
/// # Errors
/// `Host` when it is not installed.
pub fn find_program() -> Result<PathBuf> {
    which::which("ssh").map_err(|_| {
        Box::new(
            Failure::new(Kind::Host, "OpenSSH's client is not installed")
                .because("there is no `ssh` on your `PATH`")
                .advise("install it: `apt-get install openssh-client`, or on Windows the optional feature `OpenSSH Client`")
                .permanent(),
        )
    })
}

/// How to reach one host.
#[derive(Debug, Clone)]
pub struct Ssh {
    program: PathBuf,
    config: PathBuf,
    host: String,
}

/// How a command on the other side ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The command itself ended, with this exit code.
    Command(i32),
    /// The connection failed, with the client's own words.
    Connection {
        /// Whether the command may have begun.
        begun: bool,
        /// Why.
        why: String,
    },
}

#[derive(Deserialize)]
struct Table {
    failures: Vec<Known>,
}

#[derive(Deserialize)]
struct Known {
    text: String,
    begun: bool,
}

static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| {
    // A test holds that the data parses; without it a lost connection looks like exit code 255.
    serde_json::from_str::<Table>(include_str!("ssh_failures.json"))
        .map(|table| table.failures)
        .unwrap_or_default()
});

impl Ssh {
    /// Reaches `host` as the configuration file `config` says.
    #[must_use]
    pub fn new(program: PathBuf, config: &Path, host: &str) -> Self {
        Self {
            program,
            config: config.to_owned(),
            host: host.to_owned(),
        }
    }

    /// The client with the command `remote`, a line for the other side's shell. It never asks, and
    /// gives up a silent connection after a minute.
    #[must_use]
    pub fn command(&self, remote: &str, connect: Duration) -> Command {
        let connect = format!("ConnectTimeout={}", connect.as_secs().max(1));
        let mut command = Command::new(&self.program).arg("-F").arg(&self.config);
        for option in [
            "BatchMode=yes",
            &connect,
            "ServerAliveInterval=15",
            "ServerAliveCountMax=4",
            // Vagrant's configuration silences the reason of a failure.
            "LogLevel=ERROR",
            "ControlPath=none",
        ] {
            command = command.args(["-o", option]);
        }
        command
            .args(["-T", self.host.as_str(), "--", remote])
            .blame(Kind::Provider)
            // The other side has no terminal either: what looks like a question gets no answer and ends.
            .question_after(None)
    }

    /// A shell for a person at a terminal.
    #[must_use]
    pub fn interactive(&self) -> std::process::Command {
        let mut command = std::process::Command::new(&self.program);
        command.arg("-F").arg(&self.config).arg(&self.host);
        command
    }

    /// Runs `remote` on the other side, with `input` on its standard input.
    ///
    /// # Errors
    /// As [`run`]; what happens on the other side is in the result.
    pub async fn run(
        &self,
        remote: &str,
        input: Option<File>,
        connect: Duration,
        stop: &Stop,
        line: &mut (dyn FnMut(Stream, &str) + Send),
    ) -> Result<Ended> {
        let mut command = self.command(remote, connect);
        if let Some(input) = input {
            command = command.stdin(input);
        }
        let mut last_errors = Vec::new();
        let mut take = |stream: Stream, text: &str| {
            if stream == Stream::Stderr {
                last_errors.push(text.to_owned());
                if last_errors.len() > 5 {
                    last_errors.remove(0);
                }
            }
            line(stream, text);
        };
        let finished = run(command, stop, &mut take).await?;
        Ok(ended(&finished, &last_errors))
    }
}

fn ended(finished: &Finished, errors: &[String]) -> Ended {
    let Some(code) = finished.code else {
        return Ended::Connection {
            begun: true,
            why: format!("`ssh` ended with {}", finished.ending()),
        };
    };
    let known = errors.iter().rev().find_map(|line| {
        KNOWN
            .iter()
            .find(|known| line.contains(&known.text))
            .map(|known| (line, known))
    });
    match known {
        Some((line, known)) if code == OWN_FAILURE => Ended::Connection {
            begun: known.begun,
            why: line.trim().to_owned(),
        },
        _ => Ended::Command(code),
    }
}

/// The words of a command as one line for a POSIX shell on the other side.
#[must_use]
pub fn remote_line(argv: &[String]) -> String {
    argv.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(code: i32) -> Finished {
        Finished {
            code: Some(code),
            signal: None,
            tail: Vec::new(),
            leftovers_killed: false,
        }
    }

    #[test]
    fn a_lost_connection_is_told_from_a_command_that_ends_with_255() {
        let refused = ["ssh: connect to host 127.0.0.1 port 2222: Connection refused".to_owned()];
        assert!(matches!(
            ended(&finished(255), &refused),
            Ended::Connection { begun: false, .. }
        ));
        let closed = ["Connection to 127.0.0.1 closed by remote host.".to_owned()];
        assert!(matches!(
            ended(&finished(255), &closed),
            Ended::Connection { begun: true, .. }
        ));
        assert_eq!(
            ended(&finished(255), &["own words".to_owned()]),
            Ended::Command(255)
        );
        assert_eq!(ended(&finished(3), &refused), Ended::Command(3));
    }

    #[test]
    fn words_survive_the_other_sides_shell() {
        let argv = [
            "echo".to_owned(),
            "a b".to_owned(),
            "$(id)'\"".to_owned(),
            String::new(),
        ];
        assert_eq!(shlex::split(&remote_line(&argv)).unwrap(), argv);
    }
}
