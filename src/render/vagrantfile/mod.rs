//! The Vagrantfile: machines without anything on them, and every step as a provisioner that runs only
//! when it is named.

mod identity;
mod view;

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use serde::Serialize;

use super::engine::render;
use crate::config::model::{Communicator, ProviderName};
use crate::error::{Failure, Kind, Result};
use crate::os::Os;

pub use identity::private_mac;

/// The name of every machine's provisioner that runs a probe: the file behind it is written anew
/// before each use.
pub const PROBE: &str = "probe";
/// The name of a Windows machine's provisioner that makes it reachable over SSH.
pub const SSH_ACCESS: &str = "ssh-access";

/// What a Vagrantfile is made from. Every text is quoted; only the two `extra` are Ruby.
#[derive(Debug, Clone, Serialize)]
pub struct VagrantfileModel {
    /// The sandbox's name.
    pub sandbox: String,
    /// The version of wdev that writes it.
    pub wdev_version: String,
    /// What makes the machines.
    pub provider: ProviderName,
    /// The user's own Ruby for the provider's block, where the variable is `p`; may be empty.
    pub provider_extra: String,
    /// The name of the machines' network on this host.
    pub network: String,
    /// The subnet that the machines' addresses lie in.
    pub subnet: Ipv4Net,
    /// Hyper-V: the switch of every first adapter; empty for the `Default Switch`.
    pub hyperv_switch: String,
    /// libvirt: whether the machines are emulated.
    pub emulated: bool,
    /// libvirt: the processor that the machines see; empty for the default.
    pub cpu_model: String,
    /// Whether the network plugin has drivers that a secure boot would not load.
    pub unsigned_drivers: bool,
    /// The machines.
    pub machines: Vec<MachineModel>,
}

/// One machine.
#[derive(Debug, Clone, Serialize)]
pub struct MachineModel {
    /// Vagrant's name for it: the node's name.
    pub name: String,
    /// The hypervisor's name for it, unique on the host.
    pub unique_name: String,
    /// The host name that it gives itself.
    pub hostname: String,
    /// Its operating system.
    pub os: Os,
    /// The box; for `docker` an image.
    pub r#box: String,
    /// The box's version; may be empty.
    pub box_version: String,
    /// Where the box comes from; may be empty.
    pub box_url: String,
    /// `sha256:…` of the box; may be empty.
    pub box_checksum: String,
    /// How Vagrant reaches it first.
    pub communicator: Communicator,
    /// libvirt: the bus of its disk; empty for what the box itself says.
    pub disk_bus: String,
    /// libvirt: its network adapters; empty for what the box itself says.
    pub nic: String,
    /// Virtual processors.
    pub cpus: u32,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Whether it can run virtual machines itself.
    pub nested_virtualization: bool,
    /// Its address in the subnet.
    pub address: Ipv4Addr,
    /// How long it may take to answer after its start, in seconds.
    pub boot_timeout_s: u64,
    /// How long it may take to shut down before it is switched off, in seconds.
    pub halt_timeout_s: u64,
    /// The user's own Ruby for this machine's block, where the variable is `node`; may be empty.
    pub extra: String,
    /// Its steps.
    pub steps: Vec<StepModel>,
    /// The file behind [`PROBE`], as in [`StepModel::path`].
    pub probe: String,
}

/// One step's script.
#[derive(Debug, Clone, Serialize)]
pub struct StepModel {
    /// The step's id: lower-case letters, digits, hyphens.
    pub name: String,
    /// The script's file, relative to the Vagrantfile's folder, with `/`; none for a step that needs a
    /// secret of the moment, which only wdev can give it.
    pub path: Option<String>,
}

/// The text of the Vagrantfile, with LF line ends.
///
/// # Errors
/// `Provider` when Vagrant does not make the provider's machines; `Configuration` when a value holds a
/// NUL character; `Bug` for a step whose name is not an id.
pub fn vagrantfile(model: &VagrantfileModel) -> Result<String> {
    if matches!(model.provider, ProviderName::Auto | ProviderName::Sim) {
        let message = format!(
            "there is no Vagrantfile for the provider `{}`",
            model.provider
        );
        return Err(Box::new(Failure::new(Kind::Provider, message).permanent()));
    }
    render("vagrant/Vagrantfile.tera", &view::View::new(model)?)
}
