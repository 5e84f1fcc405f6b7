//! Whether this host's VirtualBox can make the sandbox's machines.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use ipnet::Ipv4Net;
use serde::Deserialize;

use super::manage::Manage;
use super::networks::Networks;
use super::output::{self, Version};
use crate::channel::Io;
use crate::error::{Failure, Kind, Result};
use crate::provider::vagrant::hypervisor::at_work::Watch;

/// How long VirtualBox may take to tell its version.
const LIMIT: Duration = Duration::from_secs(30);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Facts {
    #[serde(rename = "source")]
    _source: String,
    host_only: HostOnly,
    module_missing: ModuleMissing,
    kvm: Vec<Kvm>,
    kvm_since_linux: (u32, u32),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HostOnly {
    #[serde(rename = "source")]
    _source: String,
    default: Ipv4Net,
    checked_since: Version,
    macos_unchecked_since: Version,
    macos_networks_since: Version,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModuleMissing {
    #[serde(rename = "source")]
    _source: String,
    words: Vec<String>,
    advice: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kvm {
    #[serde(rename = "source")]
    _source: String,
    #[serde(default)]
    from: Option<Version>,
    #[serde(default)]
    below: Option<Version>,
    enabled_at_load: bool,
    message: String,
}

static FACTS: LazyLock<Option<Facts>> = LazyLock::new(|| {
    // A test holds that the data parses.
    serde_json::from_str(include_str!("../virtualbox.json")).ok()
});

/// Where things of this host are. Tests put others in their place.
#[derive(Debug, Clone)]
pub struct Places {
    /// `VBoxManage`; none where it is not installed.
    pub manage: Option<PathBuf>,
    /// The folder with VirtualBox' `networks.conf`.
    pub etc_vbox: PathBuf,
    /// The folder in which Linux shows its kernel's modules.
    pub modules: PathBuf,
    /// The file in which Linux tells its version.
    pub kernel: PathBuf,
    /// How it is known whether a Vagrant is at work on what is here.
    pub watch: Watch,
}

impl Places {
    /// Those of this host.
    #[must_use]
    pub fn of_host() -> Self {
        Self {
            manage: super::manage::find(),
            etc_vbox: PathBuf::from("/etc/vbox"),
            modules: PathBuf::from("/sys/module"),
            kernel: PathBuf::from("/proc/sys/kernel/osrelease"),
            watch: Watch::Processes,
        }
    }
}

/// Asks VirtualBox for its version.
///
/// # Errors
/// `Host` when it does not answer with one, or says that its kernel module is missing.
pub async fn version(manage: &Manage, io: &Io) -> Result<Version> {
    let program = manage.program().display();
    let answer = manage.call(&["--version"], LIMIT, io).await?;
    let printed = answer.printed();
    if let Some(facts) = FACTS.as_ref() {
        let missing = &facts.module_missing;
        // Its lines break anywhere.
        let said = printed.join(" ");
        if missing.words.iter().any(|words| said.contains(words)) {
            let mut failure = Failure::new(Kind::Host, "VirtualBox' kernel module is not loaded")
                .because(format!("`{program} --version` says so"))
                .output(printed);
            for advice in &missing.advice {
                failure = failure.advise(advice);
            }
            return Err(Box::new(failure.permanent()));
        }
    }
    let found = answer
        .good()
        .then(|| output::version(answer.lines()))
        .flatten();
    found.ok_or_else(|| {
        let failure = Failure::new(
            Kind::Host,
            format!("`{program} --version` does not tell VirtualBox' version"),
        );
        Box::new(
            failure
                .output(printed)
                .advise("repair or reinstall VirtualBox")
                .permanent(),
        )
    })
}

/// Whether the host has host-only networks in place of interfaces.
#[must_use]
pub fn has_networks(version: Version) -> bool {
    let since = FACTS
        .as_ref()
        .map(|facts| facts.host_only.macos_networks_since);
    cfg!(target_os = "macos") && since.is_some_and(|since| version >= since)
}

/// Checks that the nodes' subnet may be that of a host-only network.
///
/// # Errors
/// `Host` when it may not, with the line to add.
pub fn subnet(places: &Places, version: Version, subnet: Ipv4Net) -> Result<()> {
    let Some(facts) = FACTS.as_ref().map(|facts| &facts.host_only) else {
        return Ok(());
    };
    let macos = cfg!(target_os = "macos");
    let free = cfg!(windows)
        || version < facts.checked_since
        || macos && version >= facts.macos_unchecked_since;
    if free {
        return Ok(());
    }
    let networks = Networks::read(&places.etc_vbox, facts.default);
    match networks.refusal(subnet, facts.default) {
        Some(failure) => Err(Box::new(failure)),
        None => Ok(()),
    }
}

/// What keeps machines from starting on this Linux, as far as it can be seen beforehand: KVM and
/// VirtualBox both want the processor's virtualisation.
#[must_use]
pub fn kvm(places: &Places, version: Version) -> Option<&'static str> {
    let facts = FACTS.as_ref()?;
    let loaded = ["kvm_intel", "kvm_amd"]
        .iter()
        .any(|module| places.modules.join(module).is_dir());
    let kernel = std::fs::read_to_string(&places.kernel).ok()?;
    let mut numbers = kernel.split(|c: char| !c.is_ascii_digit());
    let kernel: (u32, u32) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    if !loaded || kernel < facts.kvm_since_linux {
        return None;
    }
    let enabled = enabled_at_load(&places.modules)?;
    let rule = facts.kvm.iter().find(|rule| {
        rule.enabled_at_load == enabled
            && rule.from.is_none_or(|from| version >= from)
            && rule.below.is_none_or(|below| version < below)
    });
    rule.map(|rule| rule.message.as_str())
}

fn enabled_at_load(modules: &Path) -> Option<bool> {
    let file = modules
        .join("kvm")
        .join("parameters")
        .join("enable_virt_at_load");
    match std::fs::read_to_string(file).ok()?.trim() {
        "Y" | "1" => Some(true),
        "N" | "0" => Some(false),
        _ => None,
    }
}

/// The failure of a host without VirtualBox.
#[must_use]
pub fn not_installed() -> Box<Failure> {
    Box::new(
        Failure::new(Kind::Host, "VirtualBox is not installed")
            .because("there is no `VBoxManage` on your `PATH`, nor where VirtualBox is usually put")
            .advise(
                "install it from https://www.virtualbox.org/wiki/Downloads or your distribution",
            )
            .advise("or choose another `provider` in `variables.yml`")
            .permanent(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_facts_can_be_read() {
        assert!(serde_json::from_str::<Facts>(include_str!("../virtualbox.json")).is_ok());
    }

    fn warned(version: Version, kernel: &str, modules: &[&str], enabled: &str) -> bool {
        let dir = tempfile::tempdir().unwrap();
        for module in modules {
            std::fs::create_dir_all(dir.path().join(module)).unwrap();
        }
        let parameters = dir.path().join("kvm/parameters");
        std::fs::create_dir_all(&parameters).unwrap();
        std::fs::write(parameters.join("enable_virt_at_load"), enabled).unwrap();
        std::fs::write(dir.path().join("osrelease"), kernel).unwrap();
        let places = Places {
            manage: None,
            etc_vbox: dir.path().to_owned(),
            modules: dir.path().to_owned(),
            kernel: dir.path().join("osrelease"),
            watch: Watch::Told(false),
        };
        kvm(&places, version).is_some()
    }

    #[test]
    fn what_virtualbox_wants_of_kvm_depends_on_both_versions() {
        let loaded = ["kvm_amd"];
        assert!(warned((7, 1, 4), "6.14.0-24-generic\n", &loaded, "Y\n"));
        assert!(!warned((7, 1, 4), "6.14.0-24-generic\n", &loaded, "N\n"));
        assert!(warned((7, 2, 10), "7.1.0\n", &loaded, "N\n"));
        assert!(!warned((7, 2, 10), "7.1.0\n", &loaded, "Y\n"));
        // Before 6.12 KVM let go of it; where it is not loaded it holds nothing.
        assert!(!warned((7, 1, 4), "6.8.0\n", &loaded, "Y\n"));
        assert!(!warned((7, 2, 10), "7.1.0\n", &[], "N\n"));
    }
}
