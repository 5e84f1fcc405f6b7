//! The Vagrantfile: machines without anything on them, and every step as a provisioner that runs only
//! when it is named.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use serde::Serialize;

use super::engine::render;
use crate::config::model::ProviderName;
use crate::error::{Failure, Kind, Result};
use crate::os::Os;

/// The name of every machine's provisioner that runs a probe: the file behind it is written anew
/// before each use.
pub const PROBE: &str = "probe";

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
    /// The subnet that the machines' addresses lie in.
    pub subnet: Ipv4Net,
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
    /// Virtual processors.
    pub cpus: u32,
    /// Memory in MiB.
    pub memory_mib: u64,
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
}

/// One step's script.
#[derive(Debug, Clone, Serialize)]
pub struct StepModel {
    /// The step's id: lower-case letters, digits, hyphens.
    pub name: String,
    /// The script's file, relative to the Vagrantfile's folder, with `/`.
    pub path: String,
}

/// What the template sees of a machine.
#[derive(Serialize)]
struct MachineView<'a> {
    name: &'a str,
    unique_name: &'a str,
    hostname: &'a str,
    r#box: &'a str,
    address: Ipv4Addr,
    ssh_port: u16,
    boot_timeout_s: u64,
    halt_timeout_s: u64,
    extra: &'a str,
    docker_create_args: Vec<String>,
    provisioners: Vec<Provisioner<'a>>,
}

#[derive(Serialize)]
struct Provisioner<'a> {
    name: &'a str,
    path: String,
    upload_path: String,
}

#[derive(Serialize)]
struct View<'a> {
    sandbox: &'a str,
    wdev_version: &'a str,
    provider: ProviderName,
    provider_extra: &'a str,
    netmask: u8,
    machines: Vec<MachineView<'a>>,
}

/// The text of the Vagrantfile, with LF line ends.
///
/// # Errors
/// `Provider` when this version of wdev has no provider block for the provider, or it cannot make a
/// machine of that operating system; `Configuration` when a value holds a NUL character; `Bug` for a
/// step whose name is not an id.
pub fn vagrantfile(model: &VagrantfileModel) -> Result<String> {
    check_provider(model)?;
    let machines = model.machines.iter().map(view).collect::<Result<_>>()?;
    let view = View {
        sandbox: &model.sandbox,
        wdev_version: &model.wdev_version,
        provider: model.provider,
        provider_extra: &model.provider_extra,
        netmask: model.subnet.prefix_len(),
        machines,
    };
    render("vagrant/Vagrantfile.tera", &view)
}

fn check_provider(model: &VagrantfileModel) -> Result<()> {
    let refuse = |message: String| {
        let failure = Failure::new(Kind::Provider, message)
            .advise("`--provider sim` simulates every machine and needs nothing")
            .advise("`--provider docker` makes Linux machines through Vagrant and Docker");
        Err(Box::new(failure.permanent()))
    };
    if model.provider != ProviderName::Docker {
        let name = serde_json::to_value(model.provider).unwrap_or_default();
        let name = name.as_str().unwrap_or_default().to_owned();
        return refuse(format!(
            "the provider `{name}` is not built into this version of wdev yet"
        ));
    }
    match model
        .machines
        .iter()
        .find(|machine| machine.os == Os::Windows)
    {
        Some(machine) => refuse(format!(
            "the provider `docker` cannot make the Windows machine `{}`",
            machine.name
        )),
        None => Ok(()),
    }
}

fn view(machine: &MachineModel) -> Result<MachineView<'_>> {
    let mut provisioners = Vec::with_capacity(machine.steps.len() + 1);
    for step in &machine.steps {
        provisioners.push(provisioner(&step.name, step.path.clone())?);
    }
    let probe_path = format!("steps/{}/{PROBE}.sh", machine.name);
    provisioners.push(provisioner(PROBE, probe_path)?);
    Ok(MachineView {
        name: &machine.name,
        unique_name: &machine.unique_name,
        hostname: &machine.hostname,
        r#box: &machine.r#box,
        address: machine.address,
        ssh_port: ssh_port(&machine.unique_name),
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

/// The port of the host that leads to a machine's SSH, below those that systems give out by themselves.
///
/// Machines that come up at the same time all find Vagrant's one default port free, and all but one of
/// them fail. With ports of their own that is rare; then Vagrant's repair and our next attempt help.
fn ssh_port(unique_name: &str) -> u16 {
    let hash = blake3::hash(unique_name.as_bytes());
    let [first, second, ..] = *hash.as_bytes();
    20_000 + u16::from_le_bytes([first, second]) % 10_000
}

/// Each step has its own path on the node: two scripts under Vagrant's one default path overwrite each
/// other. Vagrant puts that path unquoted into a root shell, so the name must be an id.
fn provisioner(name: &str, path: String) -> Result<Provisioner<'_>> {
    let is_id = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(is_id) {
        let message = format!("`{}` is not a step's id", name.escape_debug());
        return Err(Box::new(Failure::new(Kind::Bug, message).permanent()));
    }
    let upload_path = format!("/tmp/wdev-{name}.sh");
    Ok(Provisioner {
        name,
        path,
        upload_path,
    })
}
