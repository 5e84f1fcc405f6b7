//! The address that a node was given from inside, where Vagrant knows only another one, which changes.
//!
//! Kept in `.driver/NODE.address` with the machine that it belongs to. Once it is known, the machine is
//! reached by it wherever it answers there; else by the address that Vagrant tells.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::lock::Held;
use super::node::{Node, absent, read, write};
use crate::channel::ssh::{self, Ended, Pins, Ssh, Talk};
use crate::channel::{Io, Os};
use crate::error::{Failure, Kind, Result};
use crate::home::remove_file;
use crate::provider::{Machine, Power};

/// How long the way to a machine in the same network may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How long an adapter that was just connected may take until it carries anything.
const PATIENCE: Duration = Duration::from_mins(1);

impl Node {
    /// From here on the machine is reached by `address`.
    ///
    /// # Errors
    /// `Provider` when it does not answer there.
    pub(super) async fn use_address(&self, address: Ipv4Addr, io: &Io) -> Result<()> {
        let Some(id) = self.id()? else {
            return Err(self.unreached(address, "there is no machine"));
        };
        write(&self.own("address"), &format!("{id} {address}"))?;
        self.ssh(false, io).await?;
        if self.prefer_own_address(io).await? {
            return Ok(());
        }
        io.note(format!(
            "it does not answer at {address}; looking after its adapter"
        ));
        let held = self.lock.take(self.patience(), io).await?;
        self.mend_adapter(&held, id, io).await?;
        let clock = self.caller.clock;
        let waiting = async {
            while !self.prefer_own_address(io).await? {
                clock.sleep(Duration::from_secs(1)).await;
            }
            Ok(())
        };
        match clock.timeout(PATIENCE, waiting).await {
            Some(answered) => answered,
            None => Err(self.unreached(address, "it answers elsewhere, or not at all")),
        }
    }

    /// Vagrant by hand, or a person, may have connected it to something else.
    async fn mend_adapter(&self, held: &Held, id: String, io: &Io) -> Result<()> {
        let machine = Machine {
            power: Power::Running,
            id: Some(id),
            ..absent()
        };
        self.started(machine, io).await?;
        self.answer(held, self.boot, io).await
    }

    /// Takes the machine's own address for the way to it, where it has one and answers there.
    pub(super) async fn prefer_own_address(&self, io: &Io) -> Result<bool> {
        let Some(address) = self.own_address()? else {
            return Ok(false);
        };
        let path = self.own("ssh");
        let Some(known) = read(&path)? else {
            return Ok(false);
        };
        let way = ssh::at_address(&known, address);
        let tried = if way == known {
            path.clone()
        } else {
            self.own("ssh-own")
        };
        if way != known {
            write(&tried, &way)?;
        }
        let pins = Pins::of(&self.own("hosts"), &self.id()?.unwrap_or_default())?;
        let direct = Ssh::new(self.caller.ssh()?, &tried, self.name(), pins).unshared();
        let talk = Talk::new(super::reach::NOTHING, CONNECT);
        let answers = direct.run(talk, &io.stop, &mut |_, _| {}).await? == Ended::Command(0);
        if way != known {
            remove_file(&tried)?;
            if answers {
                ssh::hang_up(&path);
                write(&path, &way)?;
            }
        }
        Ok(answers)
    }

    /// Where a machine is reached by Vagrant's word because it did not answer at its own address, as in the
    /// middle of a boot, it is asked there again.
    pub(super) async fn return_to_own_address(&self, io: &Io) -> Result<()> {
        let Some(address) = self.own_address()? else {
            return Ok(());
        };
        let known = read(&self.own("ssh"))?.unwrap_or_default();
        if ssh::at_address(&known, address) != known {
            self.prefer_own_address(io).await?;
        }
        Ok(())
    }

    /// The machine's own address, when it was given one.
    fn own_address(&self) -> Result<Option<Ipv4Addr>> {
        let known = read(&self.own("address"))?.unwrap_or_default();
        let id = self.id()?;
        Ok(known
            .split_once(' ')
            .filter(|(of, _)| id.as_deref() == Some(of))
            .and_then(|(_, address)| address.parse().ok()))
    }

    fn unreached(&self, address: Ipv4Addr, why: &str) -> Box<Failure> {
        let name = self.name();
        Box::new(
            Failure::new(
                Kind::Provider,
                format!("`{name}` does not answer at its own address {address}"),
            )
            .because(why)
            .advise("see whether the host's own address in that network is still there")
            .advise(format!(
                "and what the node has: `wdev exec {name} -- {}`",
                match self.machine.os {
                    Os::Linux => "ip address",
                    Os::Windows => "ipconfig",
                }
            )),
        )
    }
}
