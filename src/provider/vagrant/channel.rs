//! Scripts through Vagrant's own provisioners, commands and files through direct SSH.
//!
//! A script is written to `steps/NODE/NAME.sh` (a probe to `steps/NODE/probe.sh`) in the rendered
//! folder, where the Vagrantfile names it, and `vagrant provision` uploads and runs it. Secrets that it
//! is given stand in that file for as long as it runs, readable by the owner only; afterwards the file
//! is written anew without them. On the node the wrapper removes its file before it does anything.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sha2::{Digest as _, Sha256};

use super::call::Ended;
use super::node::{Node, write};
use super::records::Entry;
use crate::channel::ssh::{self, remote_line};
use crate::channel::wrap::{End, Reader, Said, not_built, wrap_linux};
use crate::channel::{Channel, Io, Line, Mode, Os, Report, Script};
use crate::error::{Failure, Kind, Result, io_failure};
use crate::event::Stream;
use crate::names::LaneName;

/// The name of the provisioner that runs probes.
const PROBE: &str = "probe";
/// The caller's deadline ends a script; this only keeps a forgotten one from running for ever.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(15);

/// How scripts and files reach one machine.
#[derive(Debug)]
pub struct VagrantChannel {
    name: LaneName,
    node: Option<Arc<Node>>,
}

impl VagrantChannel {
    pub(super) fn new(name: LaneName, node: Option<Arc<Node>>) -> Self {
        Self { name, node }
    }

    fn node(&self) -> Result<&Node> {
        self.node
            .as_deref()
            .ok_or_else(|| super::unknown(&self.name))
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
}

#[async_trait]
impl Channel for VagrantChannel {
    async fn run(&self, script: &Script, io: &Io) -> Result<Report> {
        let node = self.node()?;
        if script.os != Os::Linux || node.machine.os != Os::Linux || script.text.is_none() {
            return Err(not_built(script));
        }
        let nonce = nonce()?;
        let text = wrap_linux(script, &nonce)?;
        let provisioner = match script.mode {
            Mode::Run => script.name.as_str(),
            Mode::Probe => PROBE,
        };
        let steps = node.caller.dir.join("steps").join(node.name());
        let path = steps.join(format!("{provisioner}.sh"));

        let held = node.lock.take(node.patience(), io).await?;
        let written = Written::new(path, &text, script, &nonce)?;
        let mut reader = Reader::new(&nonce);
        let mut seen = Seen::default();
        let mut take = |entry: &Entry| seen.take(entry, node.name(), &mut reader, io);
        let args = ["provision", node.name(), "--provision-with", provisioner];
        let ended = node.call(&held, &args, LONGEST, io, &mut take).await;
        drop(written);
        drop(held);
        verdict(script, node, &ended?, reader, seen, io)
    }

    async fn upload(&self, from: &Path, to: &str, io: &Io) -> Result<()> {
        let node = self.node()?;
        let path = from.to_owned();
        let hash = tokio::task::spawn_blocking(move || hash(&path))
            .await
            .map_err(|error| Failure::new(Kind::Bug, "hashing a file").because(error))??;
        // One shell does it all: a cut connection leaves a temporary file and nothing else.
        let inner = "set -eu; umask 022; t=\"$1.wdev-$$\"; mkdir -p -- \"$(dirname -- \"$1\")\"; \
                     trap 'rm -f -- \"$t\"' EXIT; cat >\"$t\"; \
                     printf '%s  %s\\n' \"$2\" \"$t\" | sha256sum -c --quiet -; \
                     sync -- \"$t\"; mv -f -- \"$t\" \"$1\"; trap - EXIT";
        let words = ["sudo", "-n", "sh", "-c", inner, "sh", to, &hash];
        let line = remote_line(&words.map(str::to_owned));
        let mut tail = Vec::new();
        let mut take = |_: Stream, text: &str| tail.push(text.to_owned());
        let code = connect(node, &line, Some(from), io, &mut take).await?;
        if code == 0 {
            return Ok(());
        }
        Err(Box::new(
            Failure::new(
                Kind::Step,
                format!(
                    "could not copy `{}` to `{to}` on `{}`: exit code {code}",
                    from.display(),
                    node.name()
                ),
            )
            .output(tail),
        ))
    }

    async fn exec(&self, argv: &[String], io: &Io) -> Result<i32> {
        let output = Arc::clone(&io.output);
        let mut take = |stream: Stream, text: &str| {
            output(Line {
                stream,
                text: text.to_owned(),
            });
        };
        connect(self.node()?, &remote_line(argv), None, io, &mut take).await
    }

    async fn boot_identity(&self, patience: Duration, io: &Io) -> Result<String> {
        let node = self.node()?;
        if let Some(started) = node.container_started(patience, io).await {
            return started;
        }
        let mut lines = Vec::new();
        let mut take = |stream: Stream, text: &str| {
            if stream == Stream::Stdout {
                lines.push(text.trim().to_owned());
            }
        };
        let asking = connect(
            node,
            "cat /proc/sys/kernel/random/boot_id",
            None,
            io,
            &mut take,
        );
        let code = node.caller.clock.timeout(patience, asking).await;
        match (code, lines.into_iter().find(|line| !line.is_empty())) {
            (Some(Ok(0)), Some(identity)) => Ok(identity),
            (Some(Err(failure)), _) => Err(failure),
            _ => Err(Box::new(Failure::new(
                Kind::Provider,
                format!("`{}` does not tell its boot identity", node.name()),
            ))),
        }
    }
}

/// Runs a line on the node; where the way there has changed since it was last asked, asks once more.
async fn connect(
    node: &Node,
    line: &str,
    input: Option<&Path>,
    io: &Io,
    take: &mut (dyn FnMut(Stream, &str) + Send),
) -> Result<i32> {
    let mut fresh = false;
    loop {
        let input = match input {
            Some(path) => {
                Some(std::fs::File::open(path).map_err(|error| io_failure("open", path, &error))?)
            }
            None => None,
        };
        let way = node.ssh(fresh, io).await?;
        match way.run(line, input, CONNECT, &io.stop, take).await? {
            ssh::Ended::Command(code) => return Ok(code),
            ssh::Ended::Connection { begun: false, .. } if !fresh => fresh = true,
            ssh::Ended::Connection { begun, why } => {
                let what = if begun {
                    "the connection was cut"
                } else {
                    "it cannot be reached"
                };
                return Err(Box::new(
                    Failure::new(Kind::Provider, format!("`{}`: {what}", node.name()))
                        .because(why)
                        .advise("see whether it runs with `wdev status`")
                        .advise("`wdev up` mends a machine that does not answer"),
                ));
            }
        }
    }
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
        if self.tail.len() == crate::process::TAIL {
            self.tail.remove(0);
        }
        self.tail.push(text.to_owned());
        (io.output)(Line {
            stream: Stream::Stdout,
            text: text.to_owned(),
        });
    }
}

fn verdict(
    script: &Script,
    node: &Node,
    ended: &Ended,
    reader: Reader,
    seen: Seen,
    io: &Io,
) -> Result<Report> {
    let name = &script.name;
    let on = node.name();
    let step = |message: String| {
        Failure::new(Kind::Step, message)
            .command(&ended.command)
            .output(seen.tail.clone())
    };
    match reader.finish(script.mode) {
        Some((End::Done, report)) => Ok(report),
        Some((End::Earlier, report)) => {
            io.note("finished by an earlier run");
            Ok(report)
        }
        Some((End::Failed(code, why), _)) => {
            let failure = if why.is_empty() {
                step(format!(
                    "the script `{name}` failed on `{on}` with exit code {code}"
                ))
            } else {
                step(format!("the script `{name}` failed on `{on}`")).because(why)
            };
            Err(Box::new(failure))
        }
        Some((End::Busy(seconds), _)) => Err(Box::new(
            step(format!(
                "another script of wdev is at work on `{on}` and did not end within {seconds} s"
            ))
            .advise(format!(
                "see what it does: `wdev exec {on} -- ps -ef`; restarting the node ends it"
            )),
        )),
        None if ended.finished.ok() => Err(Box::new(
            step(format!(
                "the end of the script `{name}` on `{on}` could not be proven"
            ))
            .because(unproven(&seen, node))
            .advise("run the same again: the script waits for what is left of itself"),
        )),
        None => {
            let mut failure = ended.failure();
            if failure.kind == Kind::Step {
                failure.message = format!("the script `{name}` failed on `{on}`");
            }
            failure.output = seen.tail;
            Err(Box::new(failure))
        }
    }
}

/// Why Vagrant's exit code was 0 and yet the script did not come to its end.
fn unproven(seen: &Seen, node: &Node) -> String {
    if seen.began {
        return "the connection was cut, or the machine stopped, while it ran; Vagrant calls that a success"
            .to_owned();
    }
    match &seen.remark {
        Some(remark) => format!("Vagrant did not run it and said: {remark}"),
        None => format!(
            "Vagrant never ran it: its Vagrantfile in `{}` does not name it",
            node.caller.dir.display()
        ),
    }
}

/// A script file that holds secrets only while this lives.
struct Written {
    path: PathBuf,
    without_secrets: Option<String>,
}

impl Written {
    fn new(path: PathBuf, text: &str, script: &Script, nonce: &str) -> Result<Self> {
        let without_secrets = if script.secrets.is_empty() {
            None
        } else {
            let mut bare = script.clone();
            bare.secrets.clear();
            Some(wrap_linux(&bare, nonce)?)
        };
        write(&path, text)?;
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

fn hash(path: &Path) -> Result<String> {
    let mut hasher = Sha256::new();
    std::fs::File::open(path)
        .and_then(|mut file| std::io::copy(&mut file, &mut IntoHash(&mut hasher)))
        .map_err(|error| io_failure("read", path, &error))?;
    Ok(hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

/// Lets a hash be written to.
struct IntoHash<'a>(&'a mut Sha256);

impl std::io::Write for IntoHash<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
