//! Direct SSH: commands and files through the host's own OpenSSH client.
//!
//! The way to a host is a configuration file that is made once per boot (`config`), the key of the host
//! is pinned at the first contact (`pins`), and where the client can do it, one connection serves all
//! commands (`master`).

mod config;
mod ended;
mod pins;
mod start;

#[cfg(unix)]
mod master;
#[cfg(not(unix))]
#[path = "no_master.rs"]
mod master;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use self::config::{at_address, config};
pub use self::ended::Ended;
use self::master::Master;
pub use self::pins::Pins;
use crate::error::{Failure, Kind, Result};
use crate::event::Stream;
use crate::process::{Command, run};
use crate::stop::Stop;

/// How long an unused connection is kept for the next command.
const PERSIST: &str = "ControlPersist=5m";
/// The reports of scripts arrive as one line each, and hold files such as a kubeconfig.
const LONGEST_LINE: usize = 1 << 20;

/// What the client says when the other side takes no more commands over one connection (`MaxSessions` in
/// `sshd_config(5)`); it then makes a connection of its own.
const NO_MORE: &str = "mux_client_request_session: session request failed";

/// Finds the OpenSSH client.
///
/// # Errors
/// `Host` when it is not installed.
pub fn find_program() -> Result<PathBuf> {
    which::which("ssh").map_err(|_| not_installed())
}

/// There is no OpenSSH client.
#[must_use]
pub fn not_installed() -> Box<Failure> {
    Box::new(
        Failure::new(Kind::Host, "OpenSSH's client is not installed")
            .because("there is no `ssh` on your `PATH`")
            .advise("install it: `apt-get install openssh-client`, or on Windows the optional feature `OpenSSH Client`")
            .permanent(),
    )
}

/// Ends the shared connection of the host that `config` describes, when there is one.
pub fn hang_up(config: &Path) {
    if let Some(master) = Master::of(config) {
        master.end();
    }
}

/// Whether there is a shared connection to the host that `config` describes.
#[must_use]
pub fn is_shared(config: &Path) -> bool {
    Master::of(config).is_some_and(|master| master.lives())
}

/// How to reach one host.
#[derive(Debug, Clone)]
pub struct Ssh {
    program: PathBuf,
    config: PathBuf,
    host: String,
    pins: Pins,
    shared: bool,
}

/// One command for the other side.
#[derive(Debug)]
pub struct Talk<'a> {
    /// A line for the other side's shell; never a secret.
    pub line: &'a str,
    /// What it reads from its standard input; otherwise nothing.
    pub input: Option<File>,
    /// What takes its standard output as it is; otherwise it comes line by line.
    pub output: Option<File>,
    /// How long the connection may take.
    pub connect: Duration,
}

impl<'a> Talk<'a> {
    /// A command without input whose output comes line by line.
    #[must_use]
    pub fn new(line: &'a str, connect: Duration) -> Self {
        Self {
            line,
            input: None,
            output: None,
            connect,
        }
    }
}

impl Ssh {
    /// Reaches `host` as the file `config` says, which [`config()`] has made, and believes it to be the
    /// right one by `pins`.
    #[must_use]
    pub fn new(program: PathBuf, config: &Path, host: &str, pins: Pins) -> Self {
        Self {
            program,
            config: config.to_owned(),
            host: host.to_owned(),
            pins,
            shared: true,
        }
    }

    /// With a connection of its own for each command.
    #[must_use]
    pub fn unshared(mut self) -> Self {
        self.shared = false;
        self
    }

    /// The client, without the host and what to do there. It never asks.
    fn client(&self, connect: Duration, options: &[&str]) -> Command {
        let connect = format!("ConnectTimeout={}", connect.as_secs().max(1));
        let keys = self.pins.option();
        let mut command = Command::new(&self.program).arg("-F").arg(&self.config);
        for option in ["BatchMode=yes", &connect, keys].iter().chain(options) {
            command = command.args(["-o", option]);
        }
        command
            .blame(Kind::Provider)
            .longest_line(LONGEST_LINE)
            // The other side has no terminal either: what looks like a question gets no answer and ends.
            .question_after(None)
    }

    /// The client with the command `line`, a line for the other side's shell.
    fn command(&self, line: &str, connect: Duration, master: Option<&Master>) -> Command {
        let path = master.map_or("ControlPath=none".to_owned(), Master::option);
        self.client(connect, &["ControlMaster=no", &path]).args([
            "-T",
            self.host.as_str(),
            "--",
            line,
        ])
    }

    /// The command line of the client up to the host, for messages.
    #[must_use]
    pub fn shown(&self) -> String {
        Command::new("ssh")
            .arg("-F")
            .arg(&self.config)
            .arg(&self.host)
            .line()
    }

    /// A shell for a person at a terminal.
    #[must_use]
    pub fn interactive(&self) -> std::process::Command {
        let mut command = std::process::Command::new(&self.program);
        command.arg("-F").arg(&self.config);
        command.args(["-o", self.pins.option()]).arg(&self.host);
        command
    }

    /// Runs a command on the other side.
    ///
    /// # Errors
    /// As [`run`]; what happens on the other side is in the result.
    pub async fn run(
        &self,
        talk: Talk<'_>,
        stop: &Stop,
        line: &mut (dyn FnMut(Stream, &str) + Send),
    ) -> Result<Ended> {
        let master = match self.shared(talk.connect, stop).await? {
            Ok(master) => master,
            Err(failed) => return Ok(failed),
        };
        let mut command = self.command(talk.line, talk.connect, master.as_ref());
        if let Some(input) = talk.input {
            command = command.stdin(input);
        }
        if let Some(output) = talk.output {
            command = command.stdout(output);
        }
        let mut last_errors = Vec::new();
        let mut alone = master.is_none();
        let mut take = |stream: Stream, text: &str| {
            if stream == Stream::Stderr {
                if text.starts_with(NO_MORE) {
                    alone = true;
                    return;
                }
                last_errors.push(text.to_owned());
                if last_errors.len() > 8 {
                    last_errors.remove(0);
                }
            }
            line(stream, text);
        };
        let finished = run(command, stop, &mut take).await?;
        let ended = ended::ended(&finished, &last_errors);
        match master {
            // The words are the command's own, which may be an ssh that failed.
            Some(master)
                if finished.code == Some(ended::OWN_FAILURE) && !alone && master.lives() =>
            {
                Ok(Ended::Command(ended::OWN_FAILURE))
            }
            // The client says nothing when its master is gone.
            Some(master) if ended == Ended::Command(ended::OWN_FAILURE) && !master.lives() => {
                Ok(Ended::cut("the shared connection ended"))
            }
            _ => Ok(ended),
        }
    }

    /// Ends the shared connection, so that the next command makes a new one.
    pub fn hang_up(&self) {
        hang_up(&self.config);
    }
}
