//! How to reach one machine directly.
//!
//! Vagrant is asked once per boot; the answer, with what wdev adds to it, is kept in `.driver/NODE.ssh`,
//! the machine's keys in `.driver/NODE.hosts`.

use std::path::Path;
use std::time::Duration;

use super::lock::Held;
use super::node::{ASK, CONNECT, Node, write};
use super::records::Entry;
use crate::channel::Io;
use crate::channel::guest::{Guest, guest};
use crate::channel::ssh::{self, Ended, Pins, Ssh, Talk};
use crate::error::{Failure, Kind, Result};

/// After how many attempts to reach a machine that boots Vagrant is asked again for the way.
const ASK_AGAIN: u32 = 10;
/// Every shell of every system understands this.
pub(super) const NOTHING: &str = "exit 0";

impl Node {
    /// What differs with the machine's operating system.
    pub(super) fn guest(&self) -> &'static dyn Guest {
        guest(self.machine.os)
    }

    /// Whether there is an SSH client, and a server on the machine; else everything goes through Vagrant.
    pub(super) fn has_client(&self) -> bool {
        self.caller.ssh().is_ok() && !self.is_without_ssh()
    }

    /// How to reach the machine directly. Asked of Vagrant once per boot; `fresh` asks again.
    ///
    /// # Errors
    /// `Host` when there is no SSH client; else when Vagrant cannot tell.
    pub(super) async fn ssh(&self, fresh: bool, io: &Io) -> Result<Ssh> {
        if !fresh && self.own("ssh").is_file() {
            self.return_to_own_address(io).await?;
            return self.known_way();
        }
        self.caller.ssh()?;
        let held = self.lock.take(self.patience(), io).await?;
        self.ssh_held(&held, fresh, io).await
    }

    /// The way that was asked for during this boot.
    pub(super) fn known_way(&self) -> Result<Ssh> {
        let program = self.caller.ssh()?;
        let pins = Pins::of(&self.own("hosts"), &self.id()?.unwrap_or_default())?;
        let way = Ssh::new(program, &self.own("ssh"), self.name(), pins);
        // A client that was named may be anything; the host's own is OpenSSH.
        Ok(if self.caller.ssh.is_some() {
            way.unshared()
        } else {
            way
        })
    }

    async fn ssh_held(&self, held: &Held, fresh: bool, io: &Io) -> Result<Ssh> {
        if fresh || !self.own("ssh").is_file() {
            let asked = self.ask_for_the_way(held, io).await?;
            let keys = self.own("hosts");
            ssh::hang_up(&self.own("ssh"));
            let key = self.our_key();
            let text = ssh::config(
                self.name(),
                &self.machine.unique,
                &keys,
                key.as_deref(),
                &asked,
            );
            write(&self.own("ssh"), &text)?;
            self.prefer_own_address(io).await?;
        }
        self.known_way()
    }

    async fn ask_for_the_way(&self, held: &Held, io: &Io) -> Result<String> {
        let mut config = None;
        let mut take = |entry: &Entry| {
            if let Entry::Record(record) = entry
                && record.kind == "ssh-config"
            {
                config = Some(record.value(0).to_owned());
            }
        };
        let args = ["ssh-config", self.name()];
        let ended = self.call(held, &args, ASK, io, &mut take).await?;
        match config {
            Some(config) if ended.finished.ok() => Ok(config),
            _ => Err(Box::new(ended.failure())),
        }
    }

    /// Waits, for at most `limit`, until the machine answers over SSH.
    pub(super) async fn answer(&self, held: &Held, limit: Duration, io: &Io) -> Result<()> {
        if !self.has_client() {
            // Vagrant itself has waited for it.
            return Ok(());
        }
        let clock = self.caller.clock;
        let mut why = String::from("it was not asked");
        let asking = async {
            for attempt in 0_u32.. {
                let fresh = attempt % ASK_AGAIN == 1;
                let ssh = self.ssh_held(held, fresh, io).await?;
                let talk = Talk::new(NOTHING, CONNECT);
                match ssh.run(talk, &io.stop, &mut |_, _| {}).await? {
                    Ended::Command(0) => {
                        self.prefer_own_address(io).await?;
                        return Ok(());
                    }
                    Ended::Command(code) => why = format!("`{NOTHING}` ended with {code}"),
                    Ended::Connection {
                        changed_key: true,
                        why,
                        ..
                    } => return Err(self.another_key(&why)),
                    Ended::Connection { why: words, .. } => why = words,
                }
                clock.sleep(Duration::from_secs(1)).await;
            }
            Ok(())
        };
        match clock.timeout(limit, asking).await {
            Some(answered) => answered,
            None => Err(Box::new(
                Failure::new(
                    Kind::Provider,
                    format!("the machine `{}` does not answer", self.name()),
                )
                .because(why)
                .advise("raise `timeouts.boot` in `variables.yml` if it only needs longer"),
            )),
        }
    }

    /// A shell on the machine for a person at a terminal.
    pub(super) async fn ssh_command(&self, io: &Io) -> Result<std::process::Command> {
        let ssh = self.ssh(false, io).await?;
        // The port may have moved with a boot that was not ours.
        let known = ssh
            .run(Talk::new(NOTHING, CONNECT), &io.stop, &mut |_, _| {})
            .await?;
        match known {
            Ended::Command(0) => Ok(ssh.interactive()),
            Ended::Connection {
                changed_key: true,
                why,
                ..
            } => Err(self.another_key(&why)),
            _ => Ok(self.ssh(true, io).await?.interactive()),
        }
    }

    /// Somebody else answers in the machine's place, or it made itself new keys.
    pub(super) fn another_key(&self, why: &str) -> Box<Failure> {
        let file = self.own("hosts");
        let shown = crate::process::quote(file.as_os_str());
        Box::new(
            Failure::new(
                Kind::Provider,
                format!(
                    "`{}` answers with another host key than before",
                    self.name()
                ),
            )
            .because(why)
            .advise("another machine may have its address: look at it before you go on")
            .advise(format!(
                "if you gave it new keys yourself, remove `{shown}` and run the same again"
            ))
            .permanent(),
        )
    }

    /// What the way to the machine was, until it is asked for again; ends the shared connection.
    pub(super) fn forget_way(&self) -> Result<()> {
        let path: &Path = &self.own("ssh");
        ssh::hang_up(path);
        crate::home::remove_file(path)
    }
}
