//! One call of Vagrant: under the machine's lock, with the right environment, its records read, its
//! errors explained, and tried again when another Vagrant was in the way.

use std::path::PathBuf;
use std::time::Duration;

use super::environment::environment;
use super::lock::Held;
use super::records::{Entry, parse};
use crate::channel::{Io, Line};
use crate::clock::Clock;
use crate::diagnose::{Said, classify, failure_after};
use crate::error::{Failure, Kind, Result};
use crate::event::Stream;
use crate::process::{Command, Finished, run};

/// How long to pause before a call that was locked out is tried again, in milliseconds. Foreign
/// Vagrant processes hold the machine's index entry for under a second at a time.
const PAUSES: [u64; 6] = [300, 700, 1500, 3000, 6000, 10_000];
/// How long an interrupted Vagrant may take to end: it lets the running script end first.
const GRACE: Duration = Duration::from_secs(15);
/// Reports arrive as one line each, and hold files such as a kubeconfig.
const LONGEST_LINE: usize = 1 << 20;
/// How many lines of standard error are kept to explain a failure; the cause comes first there.
const KEPT_ERRORS: usize = 30;

/// How to call Vagrant for one sandbox.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The program.
    pub program: PathBuf,
    /// The folder with the Vagrantfile.
    pub dir: PathBuf,
    /// Vagrant's name of the provider.
    pub provider: &'static str,
    /// For pauses and limits.
    pub clock: Clock,
    /// The OpenSSH client, when it is not the one on `PATH`.
    pub ssh: Option<PathBuf>,
}

/// What a call is about.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The arguments, the subcommand first.
    pub args: &'a [&'a str],
    /// The machine, for messages.
    pub node: &'a str,
    /// How long it may take.
    pub limit: Duration,
}

/// How a call ended.
#[derive(Debug)]
pub struct Ended {
    /// How the process ended.
    pub finished: Finished,
    /// Vagrant's own account of what went wrong.
    pub said: Said,
    /// The command line.
    pub command: String,
    doing: String,
}

impl Ended {
    /// The failure that this end means.
    #[must_use]
    pub fn failure(&self) -> Failure {
        let tail: Vec<String> = self
            .finished
            .tail
            .iter()
            .flat_map(|line| shown(line))
            .collect();
        failure_after(&self.doing, &self.said, &self.finished.ending(), &tail)
            .command(&self.command)
            .output(tail)
    }

    /// Nothing, or the failure that this end means.
    pub fn good(self) -> Result<()> {
        if self.finished.ok() {
            Ok(())
        } else {
            Err(Box::new(self.failure()))
        }
    }
}

/// The lines of a record as a user may see them; none for what only programs read.
fn shown(line: &str) -> Vec<String> {
    match parse(line) {
        Entry::Raw(text) => vec![text],
        Entry::Record(record) => record.talk().map_or_else(Vec::new, |(_, lines)| {
            lines
                .into_iter()
                .filter(|line| !line.trim().is_empty())
                .map(str::to_owned)
                .collect()
        }),
    }
}

impl Caller {
    /// A plain command in Vagrant's environment, without the lock.
    pub fn command(&self, args: &[&str]) -> Result<Command> {
        let environment = environment(std::env::vars_os(), &self.dir, self.provider)?;
        Ok(Command::new(&self.program)
            .args(args.iter().copied())
            .environment(environment)
            .shown("VAGRANT_CWD", self.dir.as_os_str())
            .shown("VAGRANT_DOTFILE_PATH", self.dir.join(".vagrant"))
            .grace(GRACE)
            .longest_line(LONGEST_LINE)
            .blame(Kind::Provider))
    }

    /// The OpenSSH client.
    pub fn ssh(&self) -> Result<PathBuf> {
        match &self.ssh {
            Some(named) if named.is_file() => Ok(named.clone()),
            Some(_) => Err(crate::channel::ssh::not_installed()),
            None => crate::channel::ssh::find_program(),
        }
    }

    /// Calls Vagrant and passes on every entry that it prints.
    ///
    /// # Errors
    /// When Vagrant cannot be started, asks something, takes too long or is interrupted. Its exit code
    /// and its errors are in the result.
    pub async fn call(
        &self,
        held: &Held,
        call: Call<'_>,
        io: &Io,
        entry: &mut (dyn FnMut(&Entry) + Send),
    ) -> Result<Ended> {
        let mut pauses = PAUSES.into_iter();
        loop {
            let ended = self.once(held, call, io, entry).await?;
            let locked = !ended.finished.ok() && classify(&ended.said).is_some_and(|it| it.retry);
            let Some(pause) = pauses.next().filter(|_| locked) else {
                return Ok(ended);
            };
            io.note(format!(
                "another Vagrant is at work on `{}`; trying again",
                call.node
            ));
            tokio::select! {
                () = self.clock.sleep(Duration::from_millis(pause)) => {}
                () = io.stop.reached(crate::stop::Level::Interrupt) => return Ok(ended),
            }
        }
    }

    async fn once(
        &self,
        held: &Held,
        call: Call<'_>,
        io: &Io,
        entry: &mut (dyn FnMut(&Entry) + Send),
    ) -> Result<Ended> {
        let mut command = self.command(call.args)?.arg("--machine-readable");
        if let Some(file) = held.for_child() {
            command = command.stdin(file);
        }
        if self.provider != "docker" {
            // Hypervisors' tools start machines and services as their own children.
            command = command.keep_leftovers();
        }
        let line = command.line();
        let doing = format!(
            "`vagrant {}` of `{}`",
            call.args.first().unwrap_or(&""),
            call.node
        );
        let mut said = Said::default();
        let mut errors: Vec<String> = Vec::new();
        let mut take = |stream: Stream, text: &str| {
            if stream == Stream::Stderr {
                if errors.len() < KEPT_ERRORS && !text.trim().is_empty() {
                    errors.push(text.trim().to_owned());
                }
                entry(&Entry::Raw(text.to_owned()));
                return;
            }
            let parsed = parse(text);
            if let Entry::Record(record) = &parsed
                && record.kind == "error-exit"
            {
                record.value(0).clone_into(&mut said.class);
                record.value(1).clone_into(&mut said.text);
            }
            entry(&parsed);
        };
        let running = run(command, &io.stop, &mut take);
        let Some(finished) = self.clock.timeout(call.limit, running).await else {
            return Err(Box::new(
                Failure::new(
                    Kind::Deadline,
                    format!("{doing} took longer than {} s", call.limit.as_secs()),
                )
                .advise("run the command yourself to see what it waits for")
                .command(line),
            ));
        };
        let finished = finished?;
        if said.text.is_empty() {
            said.text = errors.join("\n");
        }
        Ok(Ended {
            finished,
            said,
            command: line,
            doing,
        })
    }
}

/// Passes on what Vagrant says to its user, as it comes.
pub fn narrate(io: &Io) -> impl FnMut(&Entry) + Send + use<> {
    let output = std::sync::Arc::clone(&io.output);
    move |entry| {
        let lines: Vec<String> = match entry {
            Entry::Raw(text) => vec![text.clone()],
            Entry::Record(record) => match record.talk() {
                Some((_, lines)) => lines.into_iter().map(str::to_owned).collect(),
                None => return,
            },
        };
        for text in lines.into_iter().filter(|line| !line.trim().is_empty()) {
            output(Line {
                stream: Stream::Stdout,
                text,
            });
        }
    }
}
