//! What a hypervisor needs beside Vagrant: checks of the host, what machines share there, what Vagrant
//! leaves behind.

pub mod at_work;
pub mod docker;
pub mod hyperv;
pub mod libvirt;
mod tool;
pub mod vagrant_home;
pub mod virtualbox;
mod vmware;

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ipnet::Ipv4Net;

use super::MachineRef;
use crate::channel::Io;
use crate::clock::Clock;
use crate::config::model::ProviderName;
use crate::diagnose::Said;
use crate::error::Result;
use crate::ledger::Ledger;
use crate::provider::Features;

/// What a hypervisor needs beside Vagrant. Every operation is safe to do twice and safe to die in.
#[async_trait]
pub trait Hypervisor: Send + Sync + Debug {
    /// Checks that the host can run the sandbox's machines; cheap, changes nothing. `vagrant` is the
    /// version of Vagrant.
    async fn check(&self, _vagrant: (u32, u32, u32), _io: &Io) -> Result<()> {
        Ok(())
    }

    /// Called before every start of a machine through Vagrant, for one machine of the sandbox at a time:
    /// what the machines share on the host is there afterwards.
    async fn before_start(&self, _machine: &MachineRef, _io: &Io) -> Result<()> {
        Ok(())
    }

    /// Called once Vagrant has made the machine and has it running: changes what Vagrant cannot. Returns
    /// whether it had to stop the machine for that; then Vagrant starts it once more.
    async fn before_use(&self, _machine: &MachineRef, _id: &str, _io: &Io) -> Result<bool> {
        Ok(false)
    }

    /// Called once Vagrant has the machine with the hypervisor's `id` running. Returns the MAC address
    /// of its adapter in the nodes' subnet where the guest itself must give it its address.
    async fn after_start(
        &self,
        _machine: &MachineRef,
        _id: &str,
        _io: &Io,
    ) -> Result<Option<String>> {
        Ok(None)
    }

    /// Whether Vagrant sets a guest up, its private adapter above all, only while it makes the machine: one
    /// whose making was cut short is then never set up by a later start.
    fn sets_up_once(&self, _machine: &MachineRef) -> bool {
        false
    }

    /// Called for a machine that runs without Vagrant seeing that, so that Vagrant cannot stop it: turns
    /// it off at once. Returns whether it could.
    async fn power_off(&self, _machine: &MachineRef, _io: &Io) -> Result<bool> {
        Ok(false)
    }

    /// Called after a failed `vagrant up`: removes what an earlier, killed run left half-made under our
    /// unique name and Vagrant does not know (`known` is the id that it does know). Returns whether
    /// trying again makes sense.
    async fn reclaim(
        &self,
        _machine: &MachineRef,
        _known: Option<&str>,
        _said: &Said,
        _io: &Io,
    ) -> Result<bool> {
        Ok(false)
    }

    /// Whether Vagrant's own `destroy` may fail because what is left can be removed by `remove_rest`.
    fn removes_machines(&self) -> bool {
        false
    }

    /// Called after Vagrant's `destroy`: removes what it has left of this machine. Returns whether there
    /// was something.
    async fn remove_rest(&self, _machine: &MachineRef, _io: &Io) -> Result<bool> {
        Ok(false)
    }

    /// Called when the sandbox has no machine left: removes what they shared, unless another sandbox of
    /// this host uses it.
    async fn after_last(&self, _io: &Io) -> Result<()> {
        Ok(())
    }

    /// What changes with every boot, where the hypervisor tells it better than the guest.
    async fn boot_identity(
        &self,
        _id: &str,
        _patience: Duration,
        _io: &Io,
    ) -> Option<Result<String>> {
        None
    }
}

/// What a hypervisor module is told about its sandbox.
#[derive(Debug, Clone)]
pub struct Site {
    /// The sandbox's folder, which stands for it in the ledger.
    pub sandbox: PathBuf,
    /// The folder with the rendered Vagrantfile.
    pub dir: PathBuf,
    /// The name of the sandbox's network, unique on this host.
    pub network: String,
    /// The subnet of the nodes' addresses.
    pub subnet: Ipv4Net,
    /// What the user says of the provider.
    pub choices: Choices,
    /// What wdev has made on this host for several sandboxes.
    pub ledger: Ledger,
    /// For pauses and limits.
    pub clock: Clock,
}

/// What the user says of a provider in `variables.yml`, as it is kept in the sandbox's record.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Choices {
    /// `vagrant.hyperv.switch`: the switch of the first adapter; empty for the `Default Switch`.
    pub hyperv_switch: String,
    /// Whether the network plugin puts other MAC addresses on the wire than the adapter's own.
    pub mac_spoofing: bool,
    /// Whether the network plugin loads drivers that no secure boot accepts.
    pub unsigned_drivers: bool,
    /// Whether libvirt runs machines by emulation.
    pub emulated: bool,
}

/// The module for a provider.
pub(super) fn open(provider: ProviderName, site: Site) -> Arc<dyn Hypervisor> {
    match provider {
        ProviderName::Docker => Arc::new(docker::Docker::new(site)),
        ProviderName::Hyperv => Arc::new(hyperv::HyperV::new(site)),
        ProviderName::Libvirt => Arc::new(libvirt::Libvirt::new(site)),
        ProviderName::VmwareDesktop => Arc::new(vmware::VmWare::new(site)),
        ProviderName::Virtualbox | ProviderName::Auto | ProviderName::Sim => {
            Arc::new(virtualbox::VirtualBox::new(site))
        }
    }
}

/// What a provider can do through Vagrant, and what it needs.
#[must_use]
pub fn features(provider: ProviderName) -> Features {
    let docker = provider == ProviderName::Docker;
    let hyperv = provider == ProviderName::Hyperv;
    Features {
        // libvirt's declares it too, but holds only inside one Vagrant process: see `libvirt`.
        parallel_creation: docker,
        snapshots: !docker,
        static_addresses: !hyperv,
        needs_elevation: hyperv,
        windows: !docker,
        simulated: false,
    }
}
