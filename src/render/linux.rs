//! The bodies of the steps for Linux nodes.
//!
//! A body is bash that defines two functions, `wdev_run` and `wdev_probe`, and does nothing else. The
//! wrapper around it provides `wdev_fact KEY VALUE`, `wdev_not_in_place REASON`, `wdev_want_reboot`,
//! `wdev_log TEXT` and `wdev_stamped`, sets strict mode, and calls the functions outside of any
//! condition, where a failed command ends them.

mod network;
mod software;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use serde::{Deserialize, Serialize};

pub use network::{dns, proxy};
pub use software::{
    BIN_FOLDER, CACHE, ContainerRuntime, Origin, Programs, container_runtime, fetch, kubernetes,
};

use super::engine::render;
use crate::error::{Failure, Kind, Result};

/// What a kernel must offer: modules and settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelSettings {
    /// The modules, in the order in which they are loaded.
    pub modules: Vec<KernelModule>,
    /// The sysctls, by name with dots.
    pub sysctls: BTreeMap<String, String>,
}

/// A kernel module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelModule {
    /// Its name.
    pub name: String,
    /// A path that exists once the module works, for one that may be built in and is then not listed
    /// under `/sys/module`; empty for none.
    #[serde(default)]
    pub proof: String,
}

impl KernelSettings {
    /// What Kubernetes asks of every Linux node, from `templates/linux/kernel.yaml`.
    ///
    /// # Errors
    /// `Bug` when that file cannot be read.
    pub fn kubernetes() -> Result<Self> {
        serde_saphyr::from_str(include_str!("../../templates/linux/kernel.yaml")).map_err(|error| {
            let failure = Failure::new(Kind::Bug, "cannot read wdev's own `kernel.yaml`");
            Box::new(failure.because(error).permanent())
        })
    }
}

/// The names of one address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostEntry {
    /// The address.
    pub address: IpAddr,
    /// The names, the main one first.
    pub names: Vec<String>,
}

/// Finds out what the machine is, and fails on a system that wdev does not know.
/// Facts: `os_id`, `os_version`, `arch`, `kernel`, `boot_id`, `memory_mib`.
pub fn facts() -> Result<String> {
    render(
        "templates/linux/facts.sh.tera",
        &BTreeMap::<String, String>::new(),
    )
}

/// Asks, as a probe, for the administrator's kubeconfig: with `fetch` for itself, as the secret
/// `kubeconfig`, otherwise for the hashes of its certificates, as the facts `authority` and `certificate`.
pub fn kubeconfig(fetch: bool) -> Result<String> {
    render(
        "templates/linux/kubeconfig.sh.tera",
        &BTreeMap::from([("fetch", fetch)]),
    )
}

/// Compares the clock with the host's, given as `host_at_boot`, and sets it when it is off by more than
/// `tolerance_ms` milliseconds. Facts: `clock_ms`, `uptime_ms`.
pub fn clock(tolerance_ms: i64) -> Result<String> {
    render(
        "templates/linux/clock.sh.tera",
        &BTreeMap::from([("tolerance_ms", tolerance_ms)]),
    )
}

/// Loads kernel modules and sets sysctls, now and for every boot.
pub fn kernel(settings: &KernelSettings) -> Result<String> {
    #[derive(Serialize)]
    struct View<'a> {
        modules: Vec<&'a str>,
        proofs: Vec<&'a str>,
        keys: Vec<&'a str>,
        values: Vec<&'a str>,
    }
    let view = View {
        modules: settings
            .modules
            .iter()
            .map(|module| module.name.as_str())
            .collect(),
        proofs: settings
            .modules
            .iter()
            .map(|module| module.proof.as_str())
            .collect(),
        keys: settings.sysctls.keys().map(String::as_str).collect(),
        values: settings.sysctls.values().map(String::as_str).collect(),
    };
    render("templates/linux/kernel.sh.tera", &view)
}

/// Turns swap off, now and for every boot.
pub fn swap() -> Result<String> {
    render(
        "templates/linux/swap.sh.tera",
        &BTreeMap::<String, String>::new(),
    )
}

/// Makes the nodes' names known in `/etc/hosts`, in one marked block.
///
/// # Errors
/// `Configuration` for a name that is not a host name: the file has no quoting.
pub fn hosts(entries: &[HostEntry]) -> Result<String> {
    #[derive(Serialize)]
    struct View {
        lines: Vec<String>,
    }
    let mut lines = Vec::with_capacity(entries.len());
    for entry in entries {
        for name in &entry.names {
            check_host_name(name)?;
        }
        lines.push(format!("{}\t{}", entry.address, entry.names.join(" ")));
    }
    render("templates/linux/hosts.sh.tera", &View { lines })
}

/// Host names: RFC 1123 section 2.1.
fn check_host_name(name: &str) -> Result<()> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let good = name.len() <= 253
        && name.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && label.chars().all(is_part)
                && !label.starts_with('-')
                && !label.ends_with('-')
        });
    if good {
        return Ok(());
    }
    let message = format!("`{}` is not a host name", name.escape_debug());
    Err(Box::new(
        Failure::new(Kind::Configuration, message).permanent(),
    ))
}

/// Gives the node the address `address` on the adapter with the MAC address `mac`, now and for every boot;
/// with an empty `mac`, on the only adapter without a way out. Fact: `adapter`, its name.
pub fn address(address: Ipv4Addr, prefix: u8, mac: &str) -> Result<String> {
    render(
        "templates/linux/address.sh.tera",
        &BTreeMap::from([
            ("mac", mac.to_ascii_lowercase()),
            ("address", address.to_string()),
            ("prefix", prefix.to_string()),
        ]),
    )
}

/// Runs the user's own script `text` with bash and fails with its exit code. The file may have
/// Windows line ends.
pub fn hook(text: &str) -> Result<String> {
    let text = text.replace("\r\n", "\n");
    render(
        "templates/linux/hook.sh.tera",
        &BTreeMap::from([("text", text)]),
    )
}
