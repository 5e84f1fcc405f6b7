//! What the templates see: the model with everything that follows from it.

use std::net::Ipv4Addr;

use serde::Serialize;

use super::identity::{ports, private_mac};
use super::{MachineModel, PROBE, VagrantfileModel};
use crate::config::model::{Communicator, ProviderName};
use crate::error::{Failure, Kind, Result};
use crate::os::Os;

/// The switch that Windows clients have from the start: its id is everywhere the same, its name follows
/// the language of the system.
/// <https://learn.microsoft.com/en-us/virtualization/community/team-blog/2017/20170726-hyper-v-virtual-machine-gallery-and-networking-improvements>
const DEFAULT_SWITCH: [&str; 2] = ["C08CB7B8-9B3C-408E-8E30-5E16A3AEB444", "Default Switch"];
/// The processor of emulated machines where nobody names one: what every QEMU has.
const EMULATED_CPU: &str = "qemu64";

#[derive(Serialize)]
pub(super) struct View<'a> {
    sandbox: &'a str,
    wdev_version: &'a str,
    provider: ProviderName,
    provider_extra: &'a str,
    network: &'a str,
    netmask: Ipv4Addr,
    prefix_length: u8,
    host_address: Ipv4Addr,
    switches: Vec<&'a str>,
    emulated: bool,
    cpu_model: &'a str,
    unsigned_drivers: bool,
    machines: Vec<MachineView<'a>>,
}

#[derive(Serialize)]
struct MachineView<'a> {
    name: &'a str,
    unique_name: &'a str,
    /// The unique name without the machine's own at its end.
    name_prefix: &'a str,
    hostname: &'a str,
    windows: bool,
    winrm: bool,
    r#box: &'a str,
    box_version: &'a str,
    box_url: String,
    box_checksum: String,
    box_checksum_type: &'a str,
    disk_bus: &'a str,
    nic: &'a str,
    cpus: u32,
    memory_mib: u64,
    nested: bool,
    address: Ipv4Addr,
    mac: String,
    ssh_port: u16,
    winrm_port: u16,
    winrm_ssl_port: u16,
    boot_timeout_s: u64,
    halt_timeout_s: u64,
    extra: &'a str,
    docker_create_args: Vec<String>,
    provisioners: Vec<Provisioner<'a>>,
}

#[derive(Serialize)]
struct Provisioner<'a> {
    name: &'a str,
    secret: bool,
    path: &'a str,
    upload_path: String,
}

impl<'a> View<'a> {
    pub(super) fn new(model: &'a VagrantfileModel) -> Result<Self> {
        let cpu_model = match model.cpu_model.as_str() {
            "" if model.emulated => EMULATED_CPU,
            chosen => chosen,
        };
        let switches = match model.hyperv_switch.as_str() {
            "" => DEFAULT_SWITCH.to_vec(),
            chosen => vec![chosen],
        };
        let machines = model.machines.iter();
        Ok(Self {
            sandbox: &model.sandbox,
            wdev_version: &model.wdev_version,
            provider: model.provider,
            provider_extra: &model.provider_extra,
            network: &model.network,
            netmask: model.subnet.netmask(),
            prefix_length: model.subnet.prefix_len(),
            host_address: model.subnet.hosts().next().unwrap_or(model.subnet.addr()),
            switches,
            emulated: model.emulated,
            cpu_model,
            unsigned_drivers: model.unsigned_drivers,
            machines: machines
                .map(|machine| MachineView::new(machine, model.provider))
                .collect::<Result<_>>()?,
        })
    }
}

impl<'a> MachineView<'a> {
    fn new(machine: &'a MachineModel, provider: ProviderName) -> Result<Self> {
        let windows = machine.os == Os::Windows;
        let mut provisioners = Vec::with_capacity(machine.steps.len() + 1);
        for step in &machine.steps {
            provisioners.push(provisioner(&step.name, step.path.as_deref(), machine.os)?);
        }
        provisioners.push(provisioner(PROBE, Some(&machine.probe), machine.os)?);
        // Vagrant takes both in lower case only.
        let checksum = machine
            .box_checksum
            .split_once(':')
            .map(|(_, digits)| digits);
        let unique = machine.unique_name.as_str();
        let ports = ports(unique);
        let mac = windows.then(|| private_mac(provider, unique)).flatten();
        Ok(Self {
            name: &machine.name,
            unique_name: unique,
            name_prefix: unique.strip_suffix(&machine.name).unwrap_or(unique),
            hostname: &machine.hostname,
            windows,
            winrm: windows && machine.communicator != Communicator::Ssh,
            r#box: &machine.r#box,
            box_version: &machine.box_version,
            box_url: box_url(&machine.box_url),
            box_checksum: checksum.unwrap_or_default().to_ascii_lowercase(),
            box_checksum_type: "sha256",
            disk_bus: &machine.disk_bus,
            nic: &machine.nic,
            cpus: machine.cpus,
            memory_mib: machine.memory_mib,
            nested: machine.nested_virtualization,
            address: machine.address,
            mac: mac.unwrap_or_default(),
            ssh_port: ports.ssh,
            winrm_port: ports.winrm,
            winrm_ssl_port: ports.winrm_ssl,
            boot_timeout_s: machine.boot_timeout_s,
            halt_timeout_s: machine.halt_timeout_s,
            extra: &machine.extra,
            docker_create_args: vec![
                format!("--cpus={}", machine.cpus),
                format!("--memory={}m", machine.memory_mib),
            ],
            provisioners,
        })
    }
}

/// Of a path Vagrant makes a URL, after it has taken every `%` in it for an escape.
fn box_url(url: &str) -> String {
    if url.contains("://") || url.starts_with("file:") {
        url.to_owned()
    } else {
        url.replace('%', "%25")
    }
}

/// Each step has its own path on the node: two scripts under Vagrant's one default path overwrite each
/// other. Vagrant puts that path unquoted into a root shell, so the name must be an id.
fn provisioner<'a>(name: &'a str, path: Option<&'a str>, os: Os) -> Result<Provisioner<'a>> {
    let is_id = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(is_id) {
        let message = format!("`{}` is not a step's id", name.escape_debug());
        return Err(Box::new(Failure::new(Kind::Bug, message).permanent()));
    }
    let folder = match os {
        Os::Linux => "/tmp",
        // Every user may write there; what others have written only administrators read.
        Os::Windows => "C:/Windows/Temp",
    };
    Ok(Provisioner {
        name,
        secret: path.is_none(),
        path: path.unwrap_or_default(),
        upload_path: format!("{folder}/wdev-{name}.{}", os.script_ending()),
    })
}
