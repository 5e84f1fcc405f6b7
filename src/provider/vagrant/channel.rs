//! How scripts, files and commands reach one machine: over direct SSH, and where there is no SSH client
//! or the way cannot be asked, through Vagrant.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::direct::{self, Order};
use super::listen::nonce;
use super::node::Node;
use super::provision::provision;
use super::{through, transfer};
use crate::channel::wrap::not_built;
use crate::channel::{Channel, Io, Line, Report, Script};
use crate::error::{Kind, Result};
use crate::event::Stream;
use crate::names::LaneName;

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
        let node = self.node()?;
        if script.os != node.machine.os || script.text.is_none() {
            return Err(not_built(script));
        }
        // Said once, before anything is tried.
        node.guest().wrap(script, "0", &[])?;
        if !node.has_client() {
            return provision(node, script, io).await;
        }
        match node.ssh(false, io).await {
            Ok(_) => direct::run(node, script, io).await,
            Err(failure) if failure.kind == Kind::Provider => {
                io.note(format!("{failure}; going through Vagrant"));
                provision(node, script, io).await
            }
            Err(failure) => Err(failure),
        }
    }

    async fn upload(&self, from: &Path, to: &str, io: &Io) -> Result<()> {
        let node = self.node()?;
        if node.has_client() {
            transfer::upload(node, from, to, io).await
        } else {
            let hash = transfer::hash(from).await?;
            through::upload(node, from, to, &hash, io).await
        }
    }

    async fn download(&self, from: &str, to: &Path, io: &Io) -> Result<()> {
        let node = self.node()?;
        if node.has_client() {
            transfer::download(node, from, to, io).await
        } else {
            through::download(node, from, to, io).await
        }
    }

    async fn exec(&self, argv: &[String], io: &Io) -> Result<i32> {
        let node = self.node()?;
        if !node.has_client() {
            return through::exec(node, argv, io).await;
        }
        let output = Arc::clone(&io.output);
        let nonce = nonce()?;
        let line = node.guest().exec(argv, &nonce)?;
        let mut ending = node.guest().ending(&nonce);
        let mut take = |stream: Stream, text: &str| {
            let shown = match (&mut ending, stream) {
                (Some(ending), Stream::Stderr) => ending.line(text),
                _ => Some(text),
            };
            if let Some(text) = shown {
                output(Line {
                    stream,
                    text: text.to_owned(),
                });
            }
        };
        let code = node.command(Order::new(&line), io, &mut take).await?;
        Ok(ending.and_then(|ending| ending.exit_code()).unwrap_or(code))
    }

    async fn boot_identity(&self, patience: Duration, io: &Io) -> Result<String> {
        self.node()?.boot_identity(patience, io).await
    }
}
