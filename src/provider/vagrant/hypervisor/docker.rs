//! What Vagrant does not tell about its docker machines, asked of Docker itself.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;

use super::super::MachineRef;
use super::super::check::LIMIT as CHECK_LIMIT;
use super::tool::ask;
use super::{Hypervisor, Site};
use crate::channel::Io;
use crate::diagnose::{Said, classify, failure};
use crate::error::{Failure, Kind, Result};
use crate::process::{Command, Finished};

/// How long Docker may take to answer.
const LIMIT: Duration = Duration::from_mins(1);
/// The ledger's kind for a network that Vagrant makes when our machines are started by hand.
const BY_HAND: &str = "docker-network";

/// Docker's command line, for one sandbox.
///
/// The machines' network is made and removed here: Vagrant takes a network that has the machines' subnet already
/// (`plugins/providers/docker/action/prepare_networks.rb`). One that it makes itself is gone as soon as
/// any `vagrant destroy` on this host finds it without a running machine (`destroy_network.rb`), also
/// when it belongs to machines of others that are off or about to be connected.
#[derive(Debug)]
pub struct Docker {
    site: Site,
    program: PathBuf,
}

impl Docker {
    /// For one sandbox.
    #[must_use]
    pub fn new(site: Site) -> Self {
        Self::by(site, PathBuf::from("docker"))
    }

    /// For one sandbox, with another program in place of `docker`.
    #[must_use]
    pub fn by(site: Site, program: PathBuf) -> Self {
        Self { site, program }
    }

    /// Checks that the daemon answers.
    async fn answers(&self, io: &Io) -> Result<()> {
        let args = ["version", "--format", "{{.Server.Version}}"];
        let (finished, lines) = self.ask(&args, CHECK_LIMIT, io).await?;
        if finished.ok() && lines.iter().any(|line| !line.trim().is_empty()) {
            return Ok(());
        }
        Err(Box::new(
            Failure::new(Kind::Host, "the Docker daemon does not answer")
                .command("docker version")
                .output(finished.tail)
                .advise("start Docker, and see that `docker version` shows a server")
                .advise("on Linux you must be in the group `docker`")
                .permanent(),
        ))
    }

    /// When the container was started; changes with every start.
    async fn started(&self, container: &str, limit: Duration, io: &Io) -> Result<String> {
        let format = "{{.State.Running}} {{.State.StartedAt}}";
        let args = ["inspect", "--type", "container", "-f", format, container];
        let (finished, lines) = self.ask(&args, limit, io).await?;
        let answer = lines.first().map_or("", |line| line.trim());
        match answer.split_once(' ') {
            Some(("true", started)) if finished.ok() => Ok(started.to_owned()),
            _ => Err(Box::new(
                Failure::new(
                    Kind::Provider,
                    format!("the container `{container}` does not run"),
                )
                .output(finished.tail),
            )),
        }
    }

    /// The id of the container with exactly this name, when there is one.
    async fn find(&self, name: &str, io: &Io) -> Result<Option<String>> {
        // The filter takes a regular expression; names hold none of its special characters but dots.
        let filter = format!("name=^/{}$", name.replace('.', "\\."));
        let args = [
            "ps",
            "-a",
            "--no-trunc",
            "--filter",
            &filter,
            "--format",
            "{{.Names}} {{.ID}}",
        ];
        let (finished, lines) = self.ask(&args, LIMIT, io).await?;
        if !finished.ok() {
            return Err(failed("list containers", finished));
        }
        Ok(lines.iter().find_map(|line| {
            let (names, id) = line.trim().rsplit_once(' ')?;
            names.split(',').any(|it| it == name).then(|| id.to_owned())
        }))
    }

    /// Removes the container with exactly this name; none is fine. Says whether there was one.
    async fn remove(&self, name: &str, io: &Io) -> Result<bool> {
        let Some(id) = self.find(name, io).await? else {
            return Ok(false);
        };
        let (finished, _) = self.ask(&["rm", "-f", "-v", &id], LIMIT, io).await?;
        if finished.ok() || self.find(name, io).await?.is_none() {
            return Ok(true);
        }
        Err(failed(&format!("remove the container `{name}`"), finished))
    }

    /// The network that Vagrant makes for the same subnet when a machine is first started by hand
    /// (`prepare_networks.rb`).
    fn made_by_hand(&self) -> String {
        format!("vagrant_network_{}", self.site.subnet)
    }

    /// Makes the network where it is missing; one that came with a start by hand serves as well.
    ///
    /// # Errors
    /// `Host` when another network has addresses of its subnet.
    async fn ensure_network(&self, io: &Io) -> Result<()> {
        let name = self.site.network.as_str();
        let by_hand = self.made_by_hand();
        let mut book = self.site.ledger.open(self.site.clock).await?;
        let there = self.has_network(&by_hand, io).await?;
        // One that was there before wdev first looked is somebody else's, unless only our machines are
        // in it; one that comes later is ours, since two networks cannot have one subnet.
        if !there
            || book.find(BY_HAND, &by_hand).is_some()
            || self.only_ours_in(&by_hand, io).await?
        {
            book.claim(BY_HAND, &by_hand, &self.site.sandbox, BTreeMap::new())?;
        }
        if there || self.has_network(name, io).await? {
            return Ok(());
        }
        let subnet = self.site.subnet.to_string();
        let args = ["network", "create", "--subnet", &subnet, name];
        let (finished, _) = self.ask(&args, LIMIT, io).await?;
        if finished.ok() {
            return Ok(());
        }
        let said = Said {
            class: String::new(),
            text: finished.tail.join(" "),
        };
        let doing = format!("making the network `{name}` with the subnet `{subnet}`");
        Err(Box::new(
            failure(&doing, &said, &finished.ending()).output(finished.tail),
        ))
    }

    /// Whether the network has machines, running or not, and all of them are this sandbox's.
    async fn only_ours_in(&self, network: &str, io: &Io) -> Result<bool> {
        let filter = format!("network={network}");
        let args = ["ps", "-a", "--filter", &filter, "--format", "{{.Names}}"];
        let (finished, lines) = self.ask(&args, LIMIT, io).await?;
        if !finished.ok() {
            return Err(failed("list containers", finished));
        }
        // What a sandbox has on this host is named after its network.
        let prefix = format!("{}-", self.site.network);
        let mut names = lines
            .iter()
            .map(|line| line.trim())
            .filter(|it| !it.is_empty());
        let some = names.clone().next().is_some();
        Ok(some && names.all(|name| name.starts_with(&prefix)))
    }

    /// Removes a network once no machine, running or not, belongs to it; none is fine. Says whether it is
    /// gone.
    async fn remove_network(&self, name: &str, io: &Io) -> Result<bool> {
        let filter = format!("network={name}");
        let args = ["ps", "-a", "-q", "--filter", &filter];
        let (finished, lines) = self.ask(&args, LIMIT, io).await?;
        if !finished.ok() || lines.iter().any(|line| !line.trim().is_empty()) {
            return Ok(false);
        }
        if !self.has_network(name, io).await? {
            return Ok(true);
        }
        let (finished, _) = self.ask(&["network", "rm", name], LIMIT, io).await?;
        if finished.ok() {
            return Ok(true);
        }
        Err(failed(&format!("remove the network `{name}`"), finished))
    }

    async fn has_network(&self, name: &str, io: &Io) -> Result<bool> {
        let args = ["network", "ls", "--format", "{{.Name}}"];
        let (finished, lines) = self.ask(&args, LIMIT, io).await?;
        if finished.ok() {
            return Ok(lines.iter().any(|line| line.trim() == name));
        }
        Err(failed("list networks", finished))
    }

    async fn ask(
        &self,
        args: &[&str],
        limit: Duration,
        io: &Io,
    ) -> Result<(Finished, Vec<String>)> {
        let command = Command::new(&self.program).args(args.iter().copied());
        ask("Docker", command, limit, self.site.clock, io).await
    }
}

#[async_trait]
impl Hypervisor for Docker {
    async fn check(&self, _vagrant: (u32, u32, u32), io: &Io) -> Result<()> {
        self.answers(io).await
    }

    async fn before_start(&self, _machine: &MachineRef, io: &Io) -> Result<()> {
        self.ensure_network(io).await
    }

    async fn reclaim(
        &self,
        machine: &MachineRef,
        known: Option<&str>,
        said: &Said,
        io: &Io,
    ) -> Result<bool> {
        let name = machine.unique.as_str();
        if classify(said).is_none_or(|failure| failure.id != "docker-name-taken") {
            return Ok(false);
        }
        match self.find(name, io).await? {
            Some(found) if known != Some(found.as_str()) => {
                io.note(format!("removing the half-made container `{name}`"));
                self.remove(name, io).await
            }
            _ => Ok(false),
        }
    }

    fn removes_machines(&self) -> bool {
        true
    }

    async fn remove_rest(&self, machine: &MachineRef, io: &Io) -> Result<bool> {
        self.remove(&machine.unique, io).await
    }

    async fn after_last(&self, io: &Io) -> Result<()> {
        self.remove_network(&self.site.network, io).await?;
        let by_hand = self.made_by_hand();
        let mut book = self.site.ledger.open(self.site.clock).await?;
        let last = book.release(BY_HAND, &by_hand, &self.site.sandbox)?;
        if last.is_some() && self.remove_network(&by_hand, io).await? {
            book.forget(BY_HAND, &by_hand)?;
        }
        Ok(())
    }

    /// The time of the container's start: containers share the boot id of their host.
    async fn boot_identity(&self, id: &str, patience: Duration, io: &Io) -> Option<Result<String>> {
        Some(self.started(id, patience, io).await)
    }
}

fn failed(doing: &str, finished: Finished) -> Box<Failure> {
    Box::new(
        Failure::new(
            Kind::Provider,
            format!("Docker could not {doing}: {}", finished.ending()),
        )
        .output(finished.tail),
    )
}
