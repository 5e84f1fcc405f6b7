//! Hyper-V beside Vagrant, which knows only a machine's first adapter: the second one, in the nodes'
//! subnet, and its switch are wdev's own.

mod scripts;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use self::scripts::Scripts;
use super::{Hypervisor, Site};
use crate::channel::Io;
use crate::diagnose::Said;
use crate::error::{Failure, Kind, Result};
use crate::provider::vagrant::MachineRef;

/// What the ledger calls a switch.
const SWITCH: &str = "hyperv-switch";
/// The name of the second adapter.
const ADAPTER: &str = "wdev";
/// How long a script may look around: the first use of a cmdlet's module takes seconds.
const LOOK: Duration = Duration::from_mins(2);
/// How long it may take to make or remove a switch.
const CHANGE: Duration = Duration::from_mins(3);
/// How long a machine may take to be stopped and changed.
const TEND: Duration = Duration::from_mins(10);

/// Hyper-V.
#[derive(Debug)]
pub struct HyperV {
    site: Site,
    scripts: Scripts,
}

#[derive(Serialize)]
struct Network<'a> {
    switch: &'a str,
    subnet: String,
    address: String,
}

#[derive(Serialize)]
struct Check<'a> {
    first_switch: &'a str,
    switch: &'a str,
    subnet: String,
    address: String,
}

#[derive(Serialize)]
struct Switch<'a> {
    switch: &'a str,
}

#[derive(Serialize)]
struct Given<'a> {
    machine: &'a str,
    switch: &'a str,
    adapter: &'a str,
    mac_spoofing: bool,
    secure_boot: &'a str,
    /// Whether it may be stopped for a change.
    stop: bool,
}

#[derive(Serialize)]
struct Rest<'a> {
    folder: &'a str,
    keep: &'a str,
}

#[derive(Deserialize)]
struct Nothing {}

#[derive(Deserialize)]
struct Tended {
    mac: String,
    off: bool,
}

#[derive(Deserialize)]
struct Removed {
    removed: u32,
}

impl HyperV {
    /// For one sandbox on this host.
    #[must_use]
    pub fn new(site: Site) -> Self {
        Self::on(site, scripts::powershell())
    }

    /// For one sandbox on a host with another program in place of Windows PowerShell.
    #[must_use]
    pub fn on(site: Site, powershell: PathBuf) -> Self {
        let scripts = Scripts::new(site.dir.join("host"), powershell, site.clock);
        Self { site, scripts }
    }

    /// One for each subnet: sandboxes with the same one share it.
    fn switch(&self) -> String {
        let subnet = self.site.subnet;
        format!("wdev-{}-{}", subnet.network(), subnet.prefix_len())
    }

    /// This host's own address in the subnet: the first.
    fn address(&self) -> String {
        let first = self.site.subnet.hosts().next();
        first.unwrap_or(self.site.subnet.addr()).to_string()
    }

    /// Gives the machine its second adapter and what the network plugin needs.
    async fn tend(&self, of: &MachineRef, id: &str, stop: bool, io: &Io) -> Result<Tended> {
        let choices = &self.site.choices;
        let machine = Given {
            machine: id,
            switch: &self.switch(),
            adapter: ADAPTER,
            mac_spoofing: choices.mac_spoofing,
            secure_boot: if choices.unsigned_drivers {
                "off"
            } else {
                "keep"
            },
            stop,
        };
        let name = of.lane.as_str();
        self.scripts.run("machine", name, &machine, TEND, io).await
    }

    /// Removes machines whose files are in the folder that Vagrant keeps for this one, but the `known`
    /// one. Returns whether there were any.
    async fn remove_lost(
        &self,
        machine: &MachineRef,
        known: Option<&str>,
        io: &Io,
    ) -> Result<bool> {
        let machines = self.site.dir.join(".vagrant").join("machines");
        let folder = machines.join(machine.lane.as_str());
        let rest = Rest {
            folder: &folder.to_string_lossy(),
            keep: known.unwrap_or_default(),
        };
        let removed: Removed = self
            .scripts
            .run("machine-remove", machine.lane.as_str(), &rest, CHANGE, io)
            .await?;
        Ok(removed.removed > 0)
    }
}

#[async_trait]
impl Hypervisor for HyperV {
    async fn check(&self, _vagrant: (u32, u32, u32), io: &Io) -> Result<()> {
        if !cfg!(windows) && std::env::var_os(scripts::VARIABLE).is_none() {
            return Err(Box::new(
                Failure::new(Kind::Host, "Hyper-V is a part of Windows")
                    .because(format!("this host runs {}", std::env::consts::OS))
                    .advise("use `provider: libvirt` or `provider: virtualbox` on this host")
                    .advise("in WSL, run `wdev.exe` in a terminal of Windows instead")
                    .permanent(),
            ));
        }
        let check = Check {
            first_switch: &self.site.choices.hyperv_switch,
            switch: &self.switch(),
            subnet: self.site.subnet.to_string(),
            address: self.address(),
        };
        let Nothing {} = self
            .scripts
            .run("check", check.switch, &check, LOOK, io)
            .await?;
        Ok(())
    }

    async fn before_start(&self, _machine: &MachineRef, io: &Io) -> Result<()> {
        let switch = self.switch();
        let network = Network {
            switch: &switch,
            subnet: self.site.subnet.to_string(),
            address: self.address(),
        };
        let mut book = self.site.ledger.open(self.site.clock).await?;
        let facts = BTreeMap::from([("subnet".to_owned(), network.subnet.clone())]);
        book.claim(SWITCH, &switch, &self.site.sandbox, facts)?;
        let Nothing {} = self
            .scripts
            .run("network", &switch, &network, CHANGE, io)
            .await?;
        Ok(())
    }

    async fn before_use(&self, machine: &MachineRef, id: &str, io: &Io) -> Result<bool> {
        Ok(self.tend(machine, id, true, io).await?.off)
    }

    async fn after_start(&self, machine: &MachineRef, id: &str, io: &Io) -> Result<Option<String>> {
        Ok(Some(self.tend(machine, id, false, io).await?.mac))
    }

    async fn reclaim(
        &self,
        machine: &MachineRef,
        known: Option<&str>,
        _said: &Said,
        io: &Io,
    ) -> Result<bool> {
        self.remove_lost(machine, known, io).await
    }

    async fn remove_rest(&self, machine: &MachineRef, io: &Io) -> Result<bool> {
        self.remove_lost(machine, None, io).await
    }

    /// Also of switches that an earlier subnet of the sandbox has left.
    async fn after_last(&self, io: &Io) -> Result<()> {
        let mut book = self.site.ledger.open(self.site.clock).await?;
        let names: Vec<String> = book.all(SWITCH).map(|entry| entry.name.clone()).collect();
        for name in names {
            if book.release(SWITCH, &name, &self.site.sandbox)?.is_none() {
                continue;
            }
            let gone = Switch { switch: &name };
            let removed: Result<Nothing> = self
                .scripts
                .run("network-remove", &name, &gone, CHANGE, io)
                .await;
            match removed {
                Ok(Nothing {}) => book.forget(SWITCH, &name)?,
                // A machine of somebody else's is connected to it. The entry stays, for the next sandbox
                // that goes.
                Err(failure) if failure.kind == Kind::Host => {
                    io.note(format!("the switch `{name}` stays: {failure}"));
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }
}
