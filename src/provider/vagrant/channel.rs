//! Scripts through Vagrant's own provisioners, commands and files through direct SSH.
//!
//! What happens to a script is in `provision`.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sha2::{Digest as _, Sha256};

use super::node::Node;
use super::provision::provision;
use crate::channel::ssh::{self, remote_line};
use crate::channel::{Channel, Io, Line, Report, Script};
use crate::error::{Failure, Kind, Result, io_failure};
use crate::event::Stream;
use crate::names::LaneName;

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

#[async_trait]
impl Channel for VagrantChannel {
    async fn run(&self, script: &Script, io: &Io) -> Result<Report> {
        provision(self.node()?, script, io).await
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
        if let Some(started) = node.boot_by_hypervisor(patience, io).await {
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

fn hash(path: &Path) -> Result<String> {
    let mut hasher = Sha256::new();
    std::fs::File::open(path)
        .and_then(|mut file| std::io::copy(&mut file, &mut IntoHash(&mut hasher)))
        .map_err(|error| io_failure("read", path, &error))?;
    let mut hex = String::new();
    for byte in hasher.finalize() {
        let _ = write!(hex, "{byte:02x}");
    }
    Ok(hex)
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
