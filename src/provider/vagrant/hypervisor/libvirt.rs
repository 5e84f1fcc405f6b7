//! libvirt beside Vagrant.
//!
//! The plugin guards what machines share, the network and the boxes' base volumes, by locks inside one
//! process (`action/create_networks.rb`, `action/handle_box_image.rb`), and wdev starts a process per
//! machine: so machines are made in turn, and boot side by side.

mod description;
mod images;
pub mod kvm;
mod layers;
mod range;
mod virsh;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;

use self::description::Network;
use self::images::Images;
pub use self::images::Pruned;
use self::virsh::Virsh;
use super::super::MachineRef;
use super::super::lock::MachineLock;
use super::at_work::Watch;
use super::vagrant_home::VagrantHome;
use super::{Hypervisor, Site};
use crate::channel::{Io, Os};
use crate::clock::Clock;
use crate::config::model::ProviderName;
use crate::diagnose::Said;
use crate::error::{Failure, Kind, Result};
use crate::ledger::Ledger;

/// Vagrant's name of the provider.
const PROVIDER: &str = "libvirt";
/// The network through which Vagrant reaches the machines, shared by all of its projects
/// (vagrant-libvirt, `lib/vagrant-libvirt/config.rb`: `management_network_name`).
const MANAGEMENT: &str = "vagrant-libvirt";
/// The ledger's word for a network.
const NETWORK: &str = "libvirt-network";
/// How the plugin says that an earlier, killed run has left a machine or its disk
/// (`lib/vagrant-libvirt/errors.rb`).
const LEFT: [&str; 2] = ["DomainNameExists", "DomainVolumeExists"];
/// The same in its words (`locales/en.yml`), for messages that lost their class.
const LEFT_WORDS: [&str; 2] = [
    "of domain about to create is already taken",
    "Volume for domain is already created",
];

/// What is asked on this host. Tests put others in their place.
#[derive(Debug, Clone)]
pub struct Tools {
    /// `virsh`.
    pub virsh: PathBuf,
    /// `qemu-img`.
    pub image: PathBuf,
    /// How it is known whether a Vagrant is at work.
    pub watch: Watch,
    /// How long the copy of a box's disk may stand still before it counts as given up.
    pub stall: Duration,
    /// Vagrant's own folder, with the boxes.
    pub vagrant_home: Option<PathBuf>,
}

impl Tools {
    /// Those on `PATH`.
    #[must_use]
    pub fn of_host() -> Self {
        Self {
            virsh: "virsh".into(),
            image: "qemu-img".into(),
            watch: Watch::Processes,
            stall: Duration::from_mins(1),
            vagrant_home: VagrantHome::of_user().map(|home| home.path().to_owned()),
        }
    }
}

/// libvirt, for one sandbox.
#[derive(Debug)]
pub struct Libvirt {
    site: Site,
    virsh: Virsh,
    tools: Tools,
}

impl Libvirt {
    /// For one sandbox on this host.
    #[must_use]
    pub fn new(site: Site) -> Self {
        Self::on(site, Tools::of_host())
    }

    /// For one sandbox, with these tools.
    #[must_use]
    pub fn on(site: Site, tools: Tools) -> Self {
        let virsh = Virsh::new(tools.virsh.clone(), site.clock);
        Self { site, virsh, tools }
    }

    fn images(&self) -> Images<'_> {
        Images {
            virsh: &self.virsh,
            tools: &self.tools,
            ledger: &self.site.ledger,
            clock: self.site.clock,
        }
    }

    /// Whether `virsh` is there; tells if not. A sandbox must go also where libvirt has gone.
    fn can_ask(&self, io: &Io) -> bool {
        let there = self.virsh.is_there();
        if !there {
            io.note("there is no `virsh` any more: what libvirt still has of the sandbox stays");
        }
        there
    }

    async fn answers(&self, io: &Io) -> Result<()> {
        let (finished, _) = self.virsh.ask(&["version"], io).await?;
        if finished.ok() {
            return Ok(());
        }
        let said = finished.tail.join("\n");
        let failure = Failure::new(Kind::Host, "libvirt does not answer")
            .command("virsh --connect qemu:///system version")
            .output(finished.tail);
        let denied = [
            "authentication",
            "Permission denied",
            "access denied",
            "polkit",
        ];
        let failure = if denied.iter().any(|word| said.contains(word)) {
            failure
                .because("you may not use the system instance `qemu:///system`")
                .advise("add yourself to the group `libvirt` and log in again: `sudo usermod -aG libvirt $USER`")
        } else {
            failure
                .advise("start it: `sudo systemctl start libvirtd`, or `virtqemud.socket virtnetworkd.socket virtstoraged.socket` where libvirt is split")
                .advise("see that `virsh --connect qemu:///system version` works")
        };
        Err(Box::new(failure.permanent()))
    }

    /// The sandbox's network must be free to be made, or be what it should be.
    /// With `mend`, one that is left from other settings goes.
    async fn check_network(&self, networks: &[Network], mend: bool, io: &Io) -> Result<()> {
        let Site {
            network: name,
            subnet,
            ..
        } = &self.site;
        let Some(own) = networks.iter().find(|network| network.name == *name) else {
            return match range::taken(*subnet, name, networks, &range::routes()) {
                Some(why) => Err(range::refused(*subnet, why)),
                None => Ok(()),
            };
        };
        if own.subnets.contains(subnet) {
            return Ok(());
        }
        // Left from before `network.nodes` was changed.
        if self.user_of(name, io).await?.is_some() {
            return Err(Box::new(
                Failure::new(
                    Kind::Host,
                    format!("the sandbox's network `{name}` has other addresses than {subnet}"),
                )
                .because("machines use it, and they cannot move to other addresses")
                .advise("go back to the former `network.nodes`")
                .advise("or make the sandbox anew: `wdev destroy`, then `wdev up`")
                .permanent(),
            ));
        }
        if !mend {
            return Ok(());
        }
        io.note(format!(
            "removing the network `{name}`: other addresses are asked for now"
        ));
        self.virsh.remove_network(name, io).await
    }

    /// The name of a machine, running or not, that is in the network.
    async fn user_of(&self, network: &str, io: &Io) -> Result<Option<String>> {
        for domain in self.virsh.domains(io).await? {
            if self.virsh.networks_of(&domain, io).await?.contains(network) {
                return Ok(Some(domain));
            }
        }
        Ok(None)
    }

    /// Removes the network, unless a machine is in it or it is not there. Returns what keeps it.
    async fn drop_network(&self, name: &str, io: &Io) -> Result<Option<String>> {
        let networks = self.virsh.networks(io).await?;
        let Some(network) = networks.iter().find(|network| network.name == name) else {
            return Ok(None);
        };
        if let Some(user) = self.user_of(name, io).await? {
            return Ok(Some(format!("the machine `{user}` is in it")));
        }
        if network.connected {
            return Ok(Some("something that runs is connected to it".to_owned()));
        }
        self.virsh.remove_network(name, io).await?;
        Ok(None)
    }

    /// Notes that this sandbox uses the network of all of Vagrant's projects, where wdev is about to
    /// cause it or has.
    async fn claim_management(&self, io: &Io) -> Result<()> {
        // Another sandbox that is just giving it up holds the ledger meanwhile.
        let mut open = self.site.ledger.open(self.site.clock).await?;
        let networks = self.virsh.networks(io).await?;
        let there = networks.iter().any(|network| network.name == MANAGEMENT);
        if there && open.find(NETWORK, MANAGEMENT).is_none() {
            return Ok(());
        }
        open.claim(NETWORK, MANAGEMENT, &self.site.sandbox, BTreeMap::new())
    }

    /// Notes base volumes that the machine has caused.
    async fn settle(&self, unique: &str, disks: &BTreeSet<String>, io: &Io) -> Result<()> {
        let sandbox = &self.site.sandbox;
        self.images().settle(unique, disks, sandbox, io).await
    }

    /// Removes a machine by its name, with those of its disks that carry it. Says whether there was one.
    async fn remove(&self, unique: &str, io: &Io) -> Result<bool> {
        let disks = self.virsh.files(unique, io).await?;
        self.settle(unique, &disks, io).await?;
        let mut found = false;
        if self.virsh.domain_id(unique, io).await?.is_some() {
            found = true;
            // Fails where it is off.
            self.virsh.ask(&["destroy", unique], io).await?;
            let args = [
                "undefine",
                unique,
                "--managed-save",
                "--snapshots-metadata",
                "--nvram",
            ];
            self.virsh.run(&args, io).await?;
        }
        for volume in self.virsh.volumes(io).await?.all {
            // A disk of another machine, or one that the user has added, may stay.
            let attached = disks.contains(&volume.path) && belongs(&volume.name, unique);
            if attached || is_main_disk(&volume.name, unique) {
                found = true;
                self.virsh.remove_volume(&volume.path, io).await?;
            }
        }
        Ok(found)
    }
}

/// Whether a volume is the first or a further disk of the box, as the plugin names them
/// (`action/create_domain.rb`): `NAME.img`, `NAME_1.img`.
fn is_main_disk(volume: &str, unique: &str) -> bool {
    let rest = volume
        .strip_prefix(unique)
        .and_then(|rest| rest.strip_suffix(".img"));
    match rest {
        Some("") => true,
        Some(rest) => rest.strip_prefix('_').is_some_and(|digits| {
            !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit())
        }),
        None => false,
    }
}

/// Whether a volume's name begins with the machine's (further disks: `NAME-vdb.qcow2`).
fn belongs(volume: &str, unique: &str) -> bool {
    volume
        .strip_prefix(unique)
        .is_some_and(|rest| rest.starts_with(['-', '_', '.']))
}

#[async_trait]
impl Hypervisor for Libvirt {
    async fn check(&self, _vagrant: (u32, u32, u32), io: &Io) -> Result<()> {
        self.answers(io).await?;
        if !self.site.choices.emulated
            && let Some(unusable) = kvm::lacks()
        {
            return Err(kvm::refused(&unusable));
        }
        let networks = self.virsh.networks(io).await?;
        self.check_network(&networks, false, io).await
    }

    async fn before_start(&self, machine: &MachineRef, io: &Io) -> Result<()> {
        let networks = self.virsh.networks(io).await?;
        self.check_network(&networks, true, io).await?;
        self.claim_management(io).await?;
        let unique = &machine.unique;
        if self.virsh.domain_id(unique, io).await?.is_none() {
            let boxes = images::boxes(&self.site.dir);
            let sandbox = &self.site.sandbox;
            let images = self.images();
            images.before_making(unique, sandbox, &boxes, io).await?;
        }
        Ok(())
    }

    async fn after_start(
        &self,
        machine: &MachineRef,
        _id: &str,
        io: &Io,
    ) -> Result<Option<String>> {
        let disks = self.virsh.files(&machine.unique, io).await?;
        self.settle(&machine.unique, &disks, io).await?;
        match machine.os {
            // Vagrant sets the address.
            Os::Linux => Ok(None),
            Os::Windows => {
                let network = &self.site.network;
                self.virsh.mac(&machine.unique, network, io).await
            }
        }
    }

    async fn power_off(&self, machine: &MachineRef, io: &Io) -> Result<bool> {
        self.virsh.power_off(&machine.unique, io).await?;
        Ok(true)
    }

    async fn reclaim(
        &self,
        machine: &MachineRef,
        known: Option<&str>,
        said: &Said,
        io: &Io,
    ) -> Result<bool> {
        let class = said.class.rsplit("::").next().unwrap_or_default();
        let text = said.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let left = LEFT.contains(&class) || LEFT_WORDS.iter().any(|words| text.contains(words));
        if !left {
            return Ok(false);
        }
        let found = self.virsh.domain_id(&machine.unique, io).await?;
        if found.is_some() && found.as_deref() == known {
            return Ok(false);
        }
        io.note(format!(
            "removing the half-made machine `{}`",
            machine.unique
        ));
        self.remove(&machine.unique, io).await
    }

    fn removes_machines(&self) -> bool {
        true
    }

    /// `action_up` has `CreateNetworkInterfaces` and `SetHostname` for machines that are not there yet, and
    /// for no others (vagrant-libvirt, `lib/vagrant-libvirt/action.rb`). Windows guests are set up by steps.
    fn sets_up_once(&self, machine: &MachineRef) -> bool {
        machine.os == Os::Linux
    }

    async fn remove_rest(&self, machine: &MachineRef, io: &Io) -> Result<bool> {
        if !self.can_ask(io) {
            return Ok(false);
        }
        self.remove(&machine.unique, io).await
    }

    async fn after_last(&self, io: &Io) -> Result<()> {
        if !self.can_ask(io) {
            return Ok(());
        }
        let network = &self.site.network;
        // Vagrant may not have written down yet that there is one.
        let ours = format!("{network}-");
        let domains = self.virsh.domains(io).await?;
        if domains.iter().any(|domain| domain.starts_with(&ours)) {
            return Ok(());
        }
        if let Some(why) = self.drop_network(network, io).await? {
            io.note(format!("the network `{network}` stays: {why}"));
        }
        let clock = self.site.clock;
        let mut open = self.site.ledger.open(clock).await?;
        let last = open.release(NETWORK, MANAGEMENT, &self.site.sandbox)?;
        // Others may have come to use it since; then it is theirs.
        if last.is_some() {
            self.drop_network(MANAGEMENT, io).await?;
            open.forget(NETWORK, MANAGEMENT)?;
        }
        Ok(())
    }
}

/// Removes the boxes' base volumes that machines of wdev's have caused and that nothing uses; with
/// `dry_run` only tells which.
///
/// # Errors
/// `Busy` when a machine is being made; `Host` when libvirt or the ledger cannot be asked.
pub async fn prune(
    tools: &Tools,
    ledger: &Ledger,
    clock: Clock,
    dry_run: bool,
    io: &Io,
) -> Result<Vec<Pruned>> {
    const PATIENCE: Duration = Duration::from_mins(2);
    let making = MachineLock::for_making(ledger.lock_file(ProviderName::Libvirt.as_str()), clock);
    let _held = making.take(PATIENCE, io).await?;
    let images = Images {
        virsh: &Virsh::new(tools.virsh.clone(), clock),
        tools,
        ledger,
        clock,
    };
    images.prune(dry_run, io).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machines_disk_is_never_taken_for_a_rest() {
        assert!(is_main_disk("wdev-a-cp.img", "wdev-a-cp"));
        assert!(is_main_disk("wdev-a-cp_1.img", "wdev-a-cp"));
        assert!(!is_main_disk("wdev-a-cp-2.img", "wdev-a-cp"));
        assert!(!is_main_disk("wdev-a-cp2.img", "wdev-a-cp"));
        assert!(!is_main_disk(
            "b_vagrant_box_image_0_1_box.img",
            "wdev-a-cp"
        ));
        assert!(belongs("wdev-a-cp-vdb.qcow2", "wdev-a-cp"));
        assert!(!belongs("wdev-a-cp2.img", "wdev-a-cp"));
    }
}
