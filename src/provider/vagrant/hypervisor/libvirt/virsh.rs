//! libvirt's system instance, asked through `virsh`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use roxmltree::Document;

use super::super::tool::ask;
use super::description::{
    Disk, Network, Volume, disks_in, mac_in, network_in, networks_in, path_of_row, volume_in,
};
use crate::channel::Io;
use crate::clock::Clock;
use crate::error::{Failure, Kind, Result};
use crate::process::{Command, Finished};

/// Where Vagrant's provider makes its machines, unless `qemu_use_session` is on
/// (vagrant-libvirt, lib/vagrant-libvirt/config.rb).
const SYSTEM: &str = "qemu:///system";
/// How long libvirt may take to answer.
const LIMIT: Duration = Duration::from_mins(1);

/// How libvirt says that there is no such thing, in English (`src/util/virerror.c`: "Domain not found",
/// "Network not found", "Storage volume not found", "Storage pool not found").
const NO_SUCH: &str = " not found: ";
/// All that `virsh` says of a machine that cannot be looked up, whatever the cause
/// (`tools/virsh-util.c`).
const NO_DOMAIN: &str = "failed to get domain";
/// How libvirt says that a pool does not run (`src/storage/storage_driver.c`).
const NOT_ACTIVE: &str = "is not active";

/// `virsh`, connected to the system instance.
#[derive(Debug, Clone)]
pub struct Virsh {
    program: PathBuf,
    clock: Clock,
}

/// The volumes of this host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Volumes {
    /// Those that libvirt tells of.
    pub all: Vec<Volume>,
    /// The pools that may hold others, or other ones than it tells: they do not run, or could not be
    /// looked through anew.
    pub unseen: BTreeSet<String>,
}

impl Virsh {
    /// This program, with the clock for its limits.
    pub fn new(program: PathBuf, clock: Clock) -> Self {
        Self { program, clock }
    }

    /// Whether it is installed.
    pub fn is_there(&self) -> bool {
        which::which(&self.program).is_ok()
    }

    /// Asks anything; the exit code is the caller's to judge.
    pub async fn ask(&self, args: &[&str], io: &Io) -> Result<(Finished, Vec<String>)> {
        let command = Command::new(&self.program)
            .args(["--quiet", "--connect", SYSTEM])
            .args(args.iter().copied());
        ask("libvirt", command, LIMIT, self.clock, io).await
    }

    /// Asks for lines, without empty ones.
    async fn lines(&self, args: &[&str], io: &Io) -> Result<Vec<String>> {
        let (finished, lines) = self.ask(args, io).await?;
        if !finished.ok() {
            return Err(failed(args, finished));
        }
        let lines = lines.iter().map(|line| line.trim().to_owned());
        Ok(lines.filter(|line| !line.is_empty()).collect())
    }

    /// Asks for a description. None when libvirt says that there is no such thing.
    async fn xml(&self, args: &[&str], io: &Io) -> Result<Option<String>> {
        let (finished, lines) = self.ask(args, io).await?;
        if !finished.ok() {
            return if says(&finished, NO_SUCH) {
                Ok(None)
            } else {
                Err(failed(args, finished))
            };
        }
        let xml = lines.join("\n");
        match Document::parse(&xml) {
            Ok(_) => Ok(Some(xml)),
            Err(error) => Err(Box::new(
                Failure::new(
                    Kind::Provider,
                    format!("`virsh {}` does not describe it", args.join(" ")),
                )
                .because(error),
            )),
        }
    }

    /// The description of a machine. None when there is no such machine.
    async fn domain(&self, name: &str, io: &Io) -> Result<Option<String>> {
        match self.xml(&["dumpxml", name], io).await {
            Err(failure) if failure.output.iter().any(|line| line.contains(NO_DOMAIN)) => {
                // Why it cannot be looked up is not said.
                if self.domains(io).await?.iter().any(|known| known == name) {
                    return Err(failure);
                }
                Ok(None)
            }
            answer => answer,
        }
    }

    /// Does something; that it was done already is the caller's to ask.
    pub async fn run(&self, args: &[&str], io: &Io) -> Result<()> {
        self.lines(args, io).await.map(|_| ())
    }

    /// The names of all machines.
    pub async fn domains(&self, io: &Io) -> Result<Vec<String>> {
        self.lines(&["list", "--all", "--name"], io).await
    }

    /// The id of the machine with this name, when there is one.
    pub async fn domain_id(&self, name: &str, io: &Io) -> Result<Option<String>> {
        if !self.domains(io).await?.iter().any(|known| known == name) {
            return Ok(None);
        }
        let ids = self.lines(&["domuuid", name], io).await?;
        Ok(ids.into_iter().next())
    }

    /// Turns a machine off at once; one that is off already stays so.
    pub async fn power_off(&self, name: &str, io: &Io) -> Result<()> {
        let args = ["destroy", name];
        let (finished, _) = self.ask(&args, io).await?;
        if !finished.ok()
            && self
                .lines(&["list", "--name"], io)
                .await?
                .contains(&name.to_owned())
        {
            return Err(failed(&args, finished));
        }
        Ok(())
    }

    /// A machine's disks; none when it is gone.
    pub async fn disks(&self, domain: &str, io: &Io) -> Result<Vec<Disk>> {
        let xml = self.domain(domain, io).await?;
        Ok(xml.as_deref().map(disks_in).unwrap_or_default())
    }

    /// The files of a machine's disks, without the layers below them; none when it is gone.
    pub async fn files(&self, domain: &str, io: &Io) -> Result<BTreeSet<String>> {
        let disks = self.disks(domain, io).await?;
        Ok(disks.into_iter().filter_map(|disk| disk.path).collect())
    }

    /// The networks that a machine is defined to be in; none when it is gone.
    pub async fn networks_of(&self, domain: &str, io: &Io) -> Result<BTreeSet<String>> {
        let xml = self.domain(domain, io).await?;
        Ok(xml.as_deref().map(networks_in).unwrap_or_default())
    }

    /// The MAC address of a machine's adapter in a network.
    pub async fn mac(&self, domain: &str, network: &str, io: &Io) -> Result<Option<String>> {
        let xml = self.domain(domain, io).await?;
        Ok(xml.as_deref().and_then(|xml| mac_in(xml, network)))
    }

    /// All networks, running or not.
    pub async fn networks(&self, io: &Io) -> Result<Vec<Network>> {
        let mut networks = Vec::new();
        for name in self.lines(&["net-list", "--all", "--name"], io).await? {
            if let Some(xml) = self.xml(&["net-dumpxml", &name], io).await? {
                networks.push(network_in(&name, &xml));
            }
        }
        Ok(networks)
    }

    /// Stops a network and forgets it.
    pub async fn remove_network(&self, name: &str, io: &Io) -> Result<()> {
        // Fails where it does not run.
        self.ask(&["net-destroy", name], io).await?;
        self.run(&["net-undefine", name], io).await
    }

    /// The volumes of all pools.
    pub async fn volumes(&self, io: &Io) -> Result<Volumes> {
        let mut volumes = Volumes::default();
        for pool in self.lines(&["pool-list", "--all", "--name"], io).await? {
            // Files that came or went without libvirt's knowledge. It stops a pool that it cannot read.
            let (refreshed, _) = self.ask(&["pool-refresh", &pool], io).await?;
            if !refreshed.ok() {
                volumes.unseen.insert(pool.clone());
            }
            let args = ["vol-list", &pool];
            let (finished, rows) = self.ask(&args, io).await?;
            if !finished.ok() {
                if says(&finished, NO_SUCH) || says(&finished, NOT_ACTIVE) {
                    volumes.unseen.insert(pool);
                    continue;
                }
                return Err(failed(&args, finished));
            }
            for path in rows.iter().filter_map(|row| path_of_row(row)) {
                if let Some(xml) = self.xml(&["vol-dumpxml", path], io).await? {
                    volumes.all.extend(volume_in(&xml, &pool));
                }
            }
        }
        Ok(volumes)
    }

    /// Removes the volume with this file.
    pub async fn remove_volume(&self, path: &str, io: &Io) -> Result<()> {
        self.run(&["vol-delete", path], io).await
    }
}

fn says(finished: &Finished, words: &str) -> bool {
    finished.tail.iter().any(|line| line.contains(words))
}

fn failed(args: &[&str], finished: Finished) -> Box<Failure> {
    Box::new(
        Failure::new(
            Kind::Provider,
            format!(
                "libvirt refuses `virsh {}`: {}",
                args.join(" "),
                finished.ending()
            ),
        )
        .output(finished.tail),
    )
}
