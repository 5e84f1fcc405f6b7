//! Runs a script through Vagrant's own provisioners and tells whether it came to its end.
//!
//! A script is written to `steps/NODE/NAME.sh` (a probe to `steps/NODE/probe.sh`) in the rendered
//! folder, where the Vagrantfile names it, and `vagrant provision` uploads and runs it. Secrets that it
//! is given stand in that file for as long as it runs, readable by the owner only; afterwards the file
//! is written anew without them. On the node the wrapper removes its file before it does anything.

use std::path::PathBuf;
use std::time::Duration;

use super::call::Ended;
use super::node::{Node, read, write};
use super::records::Entry;
use crate::channel::wrap::{End, Layout, Reader, Said, not_built, wrap_linux_in};
use crate::channel::{Io, Line, Mode, Os, Report, Script, Secret};
use crate::error::{Failure, Kind, Result};
use crate::event::Stream;
use crate::home::remove_file;

/// The name of the provisioner that runs probes.
const PROBE: &str = "probe";
/// The caller's deadline ends a script; this only keeps a forgotten one from running for ever.
const LONGEST: Duration = Duration::from_hours(24);
/// Shorter secrets are not looked for in the output: that would only maim it.
const SHORTEST_SECRET: usize = 6;

/// Runs the script on the node; see [`crate::channel::Channel::run`].
pub(super) async fn provision(node: &Node, script: &Script, io: &Io) -> Result<Report> {
    if script.os != Os::Linux || node.machine.os != Os::Linux || script.text.is_none() {
        return Err(not_built(script));
    }
    let nonce = nonce()?;
    let provisioner = match script.mode {
        Mode::Run => script.name.as_str(),
        Mode::Probe => PROBE,
    };
    let held = node.lock.take(node.patience(), io).await?;
    let unseen = Unseen::new(node, script);
    let layout = Layout {
        unseen: unseen.earlier()?,
        ..Layout::default()
    };
    let steps = node.caller.dir.join("steps").join(node.name());
    let written = Written::new(
        steps.join(format!("{provisioner}.sh")),
        script,
        &nonce,
        &layout,
    )?;
    unseen.begins(&nonce, &layout.unseen)?;
    let mut reader = Reader::new(&nonce);
    let mut seen = Seen {
        secrets: script.secrets.values().cloned().collect(),
        ..Seen::default()
    };
    let mut take = |entry: &Entry| seen.take(entry, node.name(), &mut reader, io);
    let args = ["provision", node.name(), "--provision-with", provisioner];
    let ended = node.call(&held, &args, LONGEST, io, &mut take).await;
    drop(written);
    let ended = ended.map_err(|mut failure| {
        // Vagrant's own lines may hold what the script was given or made.
        failure.output = std::mem::take(&mut seen.tail);
        failure
    })?;
    let end = reader.finish(script.mode);
    if end.is_some() {
        unseen.was_seen()?;
    }
    drop(held);
    let judged = Judged {
        name: &script.name,
        node,
        ended: &ended,
        seen,
    };
    match end {
        Some((End::Done, report)) => Ok(report),
        Some((End::Earlier, report)) => {
            io.note("finished by an earlier run");
            Ok(report)
        }
        Some((End::Failed(code, why), _)) => Err(Box::new(judged.failed(code, why))),
        Some((End::Busy(seconds), _)) => Err(Box::new(judged.busy(seconds))),
        None if ended.finished.ok() => Err(Box::new(judged.unproven())),
        None => Err(Box::new(judged.by_vagrant())),
    }
}

/// What Vagrant printed about a script, beside the script's own output.
#[derive(Debug, Default)]
struct Seen {
    /// Vagrant said that it runs the provisioner.
    began: bool,
    /// Vagrant's last remark of its own.
    remark: Option<String>,
    /// The last lines that the user saw.
    tail: Vec<String>,
    /// What is not shown even if the script prints it.
    secrets: Vec<Secret>,
}

impl Seen {
    fn take(&mut self, entry: &Entry, node: &str, reader: &mut Reader, io: &Io) {
        let record = match entry {
            Entry::Raw(text) => return self.show(text, io),
            Entry::Record(record) => record,
        };
        if record.target != node {
            return;
        }
        let Some((loudness, lines)) = record.talk() else {
            return;
        };
        for line in lines {
            if loudness != "detail" {
                self.began |= line.starts_with("Running provisioner:");
                self.remark = Some(line.to_owned());
            } else if !line.starts_with("Running: ") {
                for said in reader.line(line) {
                    match said {
                        Said::Output(text) => self.show(&text, io),
                        Said::Waiting(seconds) => io.note(format!(
                            "waiting for a script that an earlier run left behind ({seconds} s)"
                        )),
                        Said::Protocol => {}
                    }
                }
            }
        }
    }

    fn show(&mut self, text: &str, io: &Io) {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            if secret.reveal().len() >= SHORTEST_SECRET {
                text = text.replace(secret.reveal(), "***");
            }
        }
        if self.tail.len() == crate::process::TAIL {
            self.tail.remove(0);
        }
        self.tail.push(text.clone());
        (io.output)(Line {
            stream: Stream::Stdout,
            text,
        });
    }
}

/// All that is known about a script that did not end well.
struct Judged<'a> {
    name: &'a str,
    node: &'a Node,
    ended: &'a Ended,
    seen: Seen,
}

impl Judged<'_> {
    fn failure(&self, message: String) -> Failure {
        Failure::new(Kind::Step, message)
            .command(&self.ended.command)
            .output(self.seen.tail.iter().cloned())
    }

    fn failed(&self, code: i32, why: String) -> Failure {
        let (name, on) = (self.name, self.node.name());
        if why.is_empty() {
            self.failure(format!(
                "the script `{name}` failed on `{on}` with exit code {code}"
            ))
        } else {
            self.failure(format!("the script `{name}` failed on `{on}`"))
                .because(why)
        }
    }

    fn busy(&self, seconds: u64) -> Failure {
        let on = self.node.name();
        self.failure(format!(
            "another script of wdev is at work on `{on}` and did not end within {seconds} s"
        ))
        .advise(format!(
            "see what it does: `wdev exec {on} -- ps -ef`; restarting the node ends it"
        ))
    }

    /// Vagrant's exit code was 0, and yet the script did not come to its end.
    fn unproven(&self) -> Failure {
        let failure = self.failure(format!(
            "the end of the script `{}` on `{}` could not be proven",
            self.name,
            self.node.name()
        ));
        if self.seen.began {
            return failure
                .because(
                    "the connection was cut, or the machine stopped, while it ran; Vagrant calls that a success",
                )
                .advise("run the same again: the script waits for what is left of itself");
        }
        match &self.seen.remark {
            Some(remark) => failure
                .because(format!("Vagrant did not run it and said: {remark}"))
                .advise("`wdev up` starts a machine that does not run"),
            None => failure
                .because(format!(
                    "Vagrant never ran it: the Vagrantfile in `{}` does not name it for this machine",
                    self.node.caller.dir.display()
                ))
                .advise("render the files again with `wdev render`, then run the same again"),
        }
    }

    fn by_vagrant(self) -> Failure {
        let mut failure = self.ended.failure();
        if failure.kind == Kind::Step {
            failure.message = format!(
                "the script `{}` failed on `{}`",
                self.name,
                self.node.name()
            );
        }
        failure.output = self.seen.tail;
        failure
    }
}

/// Remembers, across the death of wdev, that a script was begun and its end not seen.
struct Unseen {
    path: Option<PathBuf>,
    fingerprint: String,
}

impl Unseen {
    fn new(node: &Node, script: &Script) -> Self {
        Self {
            path: (script.mode == Mode::Run).then(|| node.own(&format!("{}.unseen", script.name))),
            fingerprint: script.fingerprint.clone(),
        }
    }

    /// The nonces of earlier runs with the same inputs whose end was not seen.
    fn earlier(&self) -> Result<Vec<String>> {
        let Some(path) = &self.path else {
            return Ok(Vec::new());
        };
        let text = read(path)?.unwrap_or_default();
        let mut words = text.split_whitespace().map(str::to_owned);
        if words.next().as_ref() == Some(&self.fingerprint) {
            Ok(words.collect())
        } else {
            Ok(Vec::new())
        }
    }

    fn begins(&self, nonce: &str, earlier: &[String]) -> Result<()> {
        match &self.path {
            Some(path) => write(
                path,
                &format!("{} {} {nonce}", self.fingerprint, earlier.join(" ")),
            ),
            None => Ok(()),
        }
    }

    fn was_seen(&self) -> Result<()> {
        self.path.as_ref().map_or(Ok(()), |path| remove_file(path))
    }
}

/// A script file that holds secrets only while this lives.
struct Written {
    path: PathBuf,
    without_secrets: Option<String>,
}

impl Written {
    fn new(path: PathBuf, script: &Script, nonce: &str, layout: &Layout) -> Result<Self> {
        let without_secrets = if script.secrets.is_empty() {
            None
        } else {
            let mut bare = script.clone();
            bare.secrets.clear();
            Some(wrap_linux_in(&bare, nonce, layout)?)
        };
        write(&path, &wrap_linux_in(script, nonce, layout)?)?;
        Ok(Self {
            path,
            without_secrets,
        })
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        if let Some(text) = &self.without_secrets
            && write(&self.path, text).is_err()
        {
            // Better no script than one with secrets.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// What only a script that ran to its end can print: 128 random bits.
fn nonce() -> Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        Failure::new(Kind::Host, "the host has no random numbers").because(error)
    })?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}
