//! The boxes that machines are made of where nobody names one, and what is known of them.
//!
//! Everything is in `boxes.json`, each with its source. A box that does not exist for a provider or for
//! the host's architecture is an error here, before anything is downloaded.

mod arch;
mod local;
mod resolve;

use std::sync::LazyLock;

use serde::Deserialize;

use crate::config::model::{Communicator, ProviderName};
use crate::error::{Failure, Kind, Result};
use crate::os::Os;

pub use arch::Arch;
pub use resolve::resolve;

/// What shall run on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guest<'a> {
    /// The Ubuntu that the table has as its default.
    Linux,
    /// A version of Windows Server, such as `2022`.
    Windows(&'a str),
}

impl Guest<'_> {
    fn os(self) -> Os {
        match self {
            Self::Linux => Os::Linux,
            Self::Windows(_) => Os::Windows,
        }
    }

    fn release(&self) -> &str {
        match self {
            Self::Linux => &TABLE.default_linux,
            Self::Windows(release) => release,
        }
    }

    fn title(&self) -> String {
        match self {
            Self::Linux => format!("Ubuntu {}", self.release()),
            Self::Windows(release) => format!("Windows Server {release}"),
        }
    }
}

/// A box, in all its forms.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// Its operating system.
    pub guest: Os,
    /// The version of it: `2022`, `24.04`.
    pub release: String,
    /// In words.
    pub title: String,
    /// Its name in the registry.
    pub name: String,
    /// How Vagrant reaches it first.
    pub communicator: Communicator,
    /// The user that Vagrant logs in as.
    pub user: String,
    /// That user's password, which is public.
    pub password: String,
    /// Whether that user accepts Vagrant's public key.
    pub insecure_key: bool,
    /// Whether an SSH server runs in it.
    pub openssh: bool,
    /// Whether it sets itself up, and reboots, on its first boot.
    pub sysprepped: bool,
    /// The size of its disk, in GiB.
    pub disk_gib: u32,
    /// What its licence says; empty where that is of no concern.
    pub licence: String,
    /// Its forms.
    pub artifacts: Vec<Artifact>,
    /// Where all this is known from.
    pub source: Vec<String>,
}

/// A box in the form for one provider and architecture.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// The provider.
    pub provider: ProviderName,
    /// The architecture.
    pub arch: Arch,
    /// The version that is used.
    pub version: String,
    /// The bus that its disk has the drivers for; empty where nobody knows.
    pub disk_bus: String,
    /// The network adapter that it has the drivers for; empty where nobody knows.
    pub nic: String,
    /// `efi` or `bios`.
    pub firmware: String,
    /// Hyper-V's generation.
    #[serde(default)]
    pub generation: Option<u8>,
}

/// A box in one form.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// The box.
    pub family: &'static Family,
    /// The form.
    pub artifact: &'static Artifact,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    registry: Registry,
    default_linux: String,
    boxes: Vec<Family>,
    own_box: Vec<OwnBox>,
    kubernetes: Vec<Support>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Registry {
    closes: String,
    #[expect(dead_code, reason = "for readers of the data")]
    source: String,
}

/// A system that there is no box of to rely on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnBox {
    guest: Os,
    release: String,
    title: String,
    why: String,
    #[expect(dead_code, reason = "for readers of the data")]
    source: String,
}

/// How long Kubernetes supports a version of Windows Server.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Support {
    windows: String,
    last_minor: u32,
    source: String,
}

static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_json::from_str(include_str!("boxes.json")).unwrap_or_default());

/// The day on which the public registry closes, as announced: `2026-12-31`.
#[must_use]
pub fn registry_closes() -> &'static str {
    &TABLE.registry.closes
}

/// The box of `guest` that is used where nobody names one.
///
/// # Errors
/// `Configuration` where there is none for the provider (it names those that have one) or none at all;
/// `Host` where there is none for the architecture.
pub fn default_for(guest: Guest<'_>, provider: ProviderName, arch: Arch) -> Result<Known> {
    let title = guest.title();
    let family = TABLE
        .boxes
        .iter()
        .find(|family| family.guest == guest.os() && family.release == guest.release());
    let Some(family) = family else {
        let known = TABLE
            .own_box
            .iter()
            .find(|known| known.guest == guest.os() && known.release == guest.release());
        let title = known.map_or(title, |known| known.title.clone());
        let mut failure = Failure::new(
            Kind::Configuration,
            format!("there is no default box of {title}"),
        );
        if let Some(known) = known {
            failure = failure.because(&known.why);
        }
        let failure = failure
            .advise("name a box of your own: `box`, or `box_url` with a URL, a file or a folder")
            .advise("or use another version: `windows: \"2022\"`");
        return Err(Box::new(failure.permanent()));
    };
    form(family, &title, provider, arch)
}

/// The form of a box for the provider and architecture; `title` is what it is a box of.
fn form(family: &'static Family, title: &str, provider: ProviderName, arch: Arch) -> Result<Known> {
    let of_arch: Vec<&Artifact> = family
        .artifacts
        .iter()
        .filter(|form| form.arch == arch)
        .collect();
    if let Some(artifact) = of_arch.iter().find(|form| form.provider == provider) {
        return Ok(Known { family, artifact });
    }
    if of_arch.is_empty() {
        let other = match arch {
            Arch::Amd64 => Arch::Arm64,
            Arch::Arm64 => Arch::Amd64,
        };
        let (arch, other) = (arch.as_str(), other.as_str());
        let failure = Failure::new(
            Kind::Host,
            format!("this host is {arch}, and there is no {arch} box of {title}"),
        )
        .because(format!(
            "a hypervisor runs machines of its host's own architecture only, and the boxes of {title} \
             are {other}"
        ))
        .advise(format!("use a host that is {other}"))
        .advise("or try wdev without machines: `--provider sim`");
        return Err(Box::new(failure.permanent()));
    }
    let others: Vec<String> = of_arch
        .iter()
        .map(|form| format!("`{}`", form.provider))
        .collect();
    let failure = Failure::new(
        Kind::Configuration,
        format!("wdev knows no box of {title} for `{provider}`"),
    )
    .because(format!(
        "on {} it exists for {}",
        arch.as_str(),
        others.join(", ")
    ))
    .advise("use one of these providers")
    .advise("or name one of your own: `box`, or `box_url` with a URL, a file or a folder");
    Err(Box::new(failure.permanent()))
}

/// Checks a box that the user names: one of the table must exist for the provider and architecture, unless
/// it is wanted in a version that the table does not know.
///
/// # Errors
/// As [`default_for`].
fn check_named(name: &str, version: &str, provider: ProviderName, arch: Arch) -> Result<()> {
    let Some(family) = TABLE.boxes.iter().find(|family| family.name == name) else {
        return Ok(());
    };
    let mut forms = family.artifacts.iter();
    if version.is_empty() || forms.any(|form| form.version == version) {
        form(family, &family.title, provider, arch)?;
    }
    Ok(())
}

/// What is known of the box with this name; nothing of a box of the user's own.
#[must_use]
pub fn known(name: &str, provider: ProviderName, arch: Arch) -> Option<Known> {
    let family = TABLE.boxes.iter().find(|family| family.name == name)?;
    let artifact = family
        .artifacts
        .iter()
        .find(|form| form.provider == provider && form.arch == arch)?;
    Some(Known { family, artifact })
}

/// Whether a minor of Kubernetes supports a version of Windows Server.
///
/// # Errors
/// `Configuration` when it does not.
pub fn check_kubernetes(windows: &str, minor: u32) -> Result<()> {
    let Some(support) = TABLE.kubernetes.iter().find(|row| row.windows == windows) else {
        return Ok(());
    };
    if minor <= support.last_minor {
        return Ok(());
    }
    Err(Box::new(
        Failure::new(
            Kind::Configuration,
            format!("Kubernetes 1.{minor} does not support Windows Server {windows}"),
        )
        .because(format!(
            "the last version that did is 1.{}: {}",
            support.last_minor, support.source
        ))
        .advise("use Windows Server 2022 or 2025: `windows: \"2022\"`")
        .advise(format!(
            "or an older Kubernetes: `version: \"1.{}\"`",
            support.last_minor
        ))
        .permanent(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYPERVISORS: [ProviderName; 4] = [
        ProviderName::Virtualbox,
        ProviderName::Hyperv,
        ProviderName::VmwareDesktop,
        ProviderName::Libvirt,
    ];

    #[test]
    fn every_system_has_a_default_box_on_every_hypervisor() {
        for provider in HYPERVISORS {
            for (guest, release) in [
                (Guest::Linux, "24.04"),
                (Guest::Windows("2022"), "2022"),
                (Guest::Windows("2025"), "2025"),
            ] {
                let found = default_for(guest, provider, Arch::Amd64).unwrap();
                assert_eq!(found.family.release, release);
                assert!(!found.artifact.version.is_empty());
            }
        }
        assert!(TABLE.boxes.iter().any(|family| family.release == "22.04"));
        for family in &TABLE.boxes {
            assert!(
                family
                    .source
                    .iter()
                    .any(|source| source.contains("https://"))
            );
        }
    }

    #[test]
    fn an_arm_host_is_told_at_once_that_there_is_no_windows_for_it() {
        let failure = default_for(
            Guest::Windows("2022"),
            ProviderName::VmwareDesktop,
            Arch::Arm64,
        )
        .unwrap_err();
        assert_eq!(failure.kind, Kind::Host);
        assert!(
            failure
                .message
                .contains("no arm64 box of Windows Server 2022"),
            "{failure}"
        );
        assert!(default_for(Guest::Linux, ProviderName::VmwareDesktop, Arch::Arm64).is_ok());
    }

    #[test]
    fn a_provider_without_the_box_is_told_which_ones_have_it() {
        let failure = default_for(Guest::Linux, ProviderName::Libvirt, Arch::Arm64).unwrap_err();
        assert_eq!(failure.kind, Kind::Configuration);
        let cause = failure.causes.join(" ");
        assert!(cause.contains("`virtualbox`, `vmware_desktop`"), "{cause}");
        let failure =
            default_for(Guest::Windows("2019"), ProviderName::Hyperv, Arch::Amd64).unwrap_err();
        assert!(failure.message.contains("Windows Server 2019"), "{failure}");
        assert!(failure.advice[0].contains("`box_url`"), "{failure}");
    }

    #[test]
    fn kubernetes_says_which_windows_it_supports() {
        check_kubernetes("2019", 34).unwrap();
        for minor in [35, 36, 37] {
            let failure = check_kubernetes("2019", minor).unwrap_err();
            assert_eq!(failure.kind, Kind::Configuration, "{minor}");
            check_kubernetes("2022", minor).unwrap();
        }
    }
}
