//! What this host is and has, looked at without starting anything.

mod choose;
mod remarks;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

pub use self::choose::{choose, choose_from};
pub use self::remarks::{check, memory};
use crate::boxes::Arch;
use crate::config::model::ProviderName;
use crate::error::{Failure, Kind, Result};
use crate::provider::vagrant::hypervisor::vagrant_home::VagrantHome;

/// The data that the checks go by.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    #[serde(rename = "source")]
    _source: String,
    order: BTreeMap<System, Vec<ProviderName>>,
    hypervisors: BTreeMap<String, Hypervisor>,
    bad_plugins: BTreeMap<String, String>,
    lite: Lite,
    least_for_host_mib: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hypervisor {
    /// Programs on `PATH` that show that it is installed.
    programs: Vec<String>,
    /// Where they are when they are not on `PATH`; `${NAME}` stands for a variable.
    #[serde(default)]
    paths: Vec<String>,
    /// The plugin that Vagrant needs for it.
    plugin: Option<String>,
    install: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lite {
    control_plane: String,
    worker: String,
    #[serde(rename = "source")]
    _source: String,
}

impl Data {
    fn read() -> Result<Self> {
        serde_json::from_str(include_str!("host.json")).map_err(|error| {
            Box::new(Failure::new(Kind::Bug, "the data for checks of the host").because(error))
        })
    }

    fn hypervisor(&self, provider: ProviderName) -> Option<&Hypervisor> {
        self.hypervisors.get(provider.as_str())
    }
}

/// The kind of operating system of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum System {
    /// Linux, also inside WSL.
    Linux,
    /// Windows itself.
    Windows,
    /// macOS.
    Macos,
}

/// The facts about a host. Tests make them up.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent fact about the host"
)]
pub struct Host {
    /// Its operating system.
    pub system: System,
    /// Whether its processor is an x86-64.
    pub x86: bool,
    /// Whether there is a Vagrant.
    pub vagrant: bool,
    /// The program that shows that a hypervisor is installed, by the hypervisor's name.
    pub programs: BTreeMap<&'static str, PathBuf>,
    /// The plugins of this user's Vagrant, and those that came with a package of it.
    pub plugins: Vec<String>,
    /// Whether there is `/dev/kvm`.
    pub kvm: bool,
    /// Whether the processor says that it has virtualisation (`vmx` or `svm`).
    pub virtualization: bool,
    /// Whether the driver of VirtualBox is loaded.
    pub vbox_driver: bool,
    /// Whether PowerShell's module for Hyper-V is installed.
    pub hyperv_module: bool,
    /// The distribution, inside the Windows Subsystem for Linux.
    pub wsl: Option<String>,
    /// The project's folder.
    pub project: PathBuf,
    /// The kind of file system that it is on, where that can be told.
    pub project_filesystem: Option<String>,
    /// Vagrant's own folder.
    pub vagrant_home: Option<PathBuf>,
    /// Whether wdev runs as the superuser.
    pub root: bool,
    /// Who called `sudo`.
    pub sudo: Option<String>,
    /// The memory in MiB, where that can be told.
    pub memory_mib: Option<u64>,
}

impl Host {
    /// Looks at this host, for a project in the folder `project`.
    #[must_use]
    pub fn read(project: &Path) -> Self {
        let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let system = if cfg!(windows) {
            System::Windows
        } else if cfg!(target_os = "macos") {
            System::Macos
        } else {
            System::Linux
        };
        let vagrant_home = VagrantHome::of_user();
        let module = variable("SystemRoot").map(|root| {
            PathBuf::from(root).join(r"System32\WindowsPowerShell\v1.0\Modules\Hyper-V")
        });
        Self {
            system,
            x86: Arch::host() == Arch::Amd64,
            vagrant: super::vagrant::find_program().is_ok(),
            programs: programs(),
            plugins: plugins(vagrant_home.as_ref()),
            kvm: Path::new("/dev/kvm").exists(),
            virtualization: has_virtualization(&text("/proc/cpuinfo")),
            vbox_driver: Path::new("/dev/vboxdrv").exists(),
            hyperv_module: module.is_some_and(|module| module.is_dir()),
            wsl: wsl(
                variable("WSL_DISTRO_NAME").map(|name| name.to_string_lossy().into_owned()),
                &text("/proc/version"),
            ),
            project_filesystem: filesystem(project, &text("/proc/self/mounts")),
            project: project.to_owned(),
            vagrant_home: vagrant_home.map(|home| home.path().to_owned()),
            root: crate::process::is_root(),
            sudo: variable("SUDO_USER").map(|user| user.to_string_lossy().into_owned()),
            memory_mib: crate::config::host_memory_mib(),
        }
    }
}

fn programs() -> BTreeMap<&'static str, PathBuf> {
    let Ok(data) = Data::read() else {
        return BTreeMap::new();
    };
    ProviderName::NAMES
        .iter()
        .filter_map(|name| {
            let hypervisor = data.hypervisors.get(*name)?;
            let on_path = hypervisor
                .programs
                .iter()
                .filter_map(|it| which::which(it).ok());
            let elsewhere = hypervisor.paths.iter().filter_map(|path| {
                expand(path, |name| std::env::var(name).ok()).filter(|path| path.is_file())
            });
            let program = on_path.chain(elsewhere).next()?;
            Some((*name, program))
        })
        .collect()
}

/// A path whose `${NAME}` at the beginning stands for a variable; none where that is not set.
fn expand(path: &str, variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let Some((name, rest)) = path.strip_prefix("${").and_then(|it| it.split_once('}')) else {
        return Some(PathBuf::from(path));
    };
    let value = variable(name).filter(|value| !value.is_empty())?;
    Some(PathBuf::from(format!(
        "{}{rest}",
        value.trim_end_matches('\\')
    )))
}

/// The names in Vagrant's list of plugins, and in the lists that packages of distributions bring.
fn plugins(vagrant_home: Option<&VagrantHome>) -> Vec<String> {
    let own = vagrant_home.map(VagrantHome::plugins).unwrap_or_default();
    // Debian; Fedora.
    let folders = [
        "/usr/share/vagrant-plugins/plugins.d",
        "/usr/share/vagrant/plugins.d",
    ];
    let packaged = folders
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
        .flatten()
        .filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_owned()));
    own.into_iter().chain(packaged).collect()
}

/// Whether `/proc/cpuinfo` has `vmx` or `svm` among its flags.
fn has_virtualization(cpuinfo: &str) -> bool {
    cpuinfo
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(key, _)| key.trim() == "flags")
        .any(|(_, flags)| {
            flags
                .split_whitespace()
                .any(|flag| flag == "vmx" || flag == "svm")
        })
}

/// The distribution when this is WSL: its variable, or Microsoft's kernel where the variable was lost
/// (as under `sudo`).
fn wsl(distribution: Option<String>, version: &str) -> Option<String> {
    let kernel = version.to_ascii_lowercase().contains("microsoft");
    distribution.or_else(|| kernel.then(|| "Linux".to_owned()))
}

/// The kind of file system that `folder` is on, by the longest mount point above it.
fn filesystem(folder: &Path, mounts: &str) -> Option<String> {
    mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ');
            let at = fields.nth(1)?.replace("\\040", " ");
            let kind = fields.next()?;
            folder.starts_with(&at).then(|| (at.len(), kind.to_owned()))
        })
        .max_by_key(|(length, _)| *length)
        .map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Linux host with Vagrant, its plugins, and nothing else.
    pub(super) fn bare() -> Host {
        Host {
            system: System::Linux,
            x86: true,
            vagrant: true,
            programs: BTreeMap::new(),
            plugins: vec!["vagrant-libvirt".into(), "vagrant-vmware-desktop".into()],
            kvm: false,
            virtualization: false,
            vbox_driver: false,
            hyperv_module: false,
            wsl: None,
            project: "/home/dev/k8s".into(),
            project_filesystem: Some("ext4".into()),
            vagrant_home: Some("/home/dev/.vagrant.d".into()),
            root: false,
            sudo: None,
            memory_mib: Some(16_384),
        }
    }

    #[test]
    fn the_data_can_be_read_and_names_every_hypervisor() {
        let data = Data::read().unwrap();
        for provider in data.order.values().flatten() {
            let hypervisor = data.hypervisor(*provider).unwrap();
            assert!(!hypervisor.programs.is_empty() && !hypervisor.install.is_empty());
        }
    }

    #[test]
    fn virtualisation_is_a_flag_of_the_processor() {
        assert!(has_virtualization(
            "model name\t: svm\nflags\t\t: fpu vmx sse2\n"
        ));
        assert!(has_virtualization("flags\t\t: fpu svm\n"));
        assert!(!has_virtualization(
            "model name\t: svm vmx\nflags\t\t: fpu svm_lock\n"
        ));
        assert!(!has_virtualization("vmx flags\t: vnmi\n"));
    }

    #[test]
    fn wsl_is_known_by_its_variable_or_its_kernel() {
        let microsoft = "Linux version 5.15.167.4-microsoft-standard-WSL2 (root@x) (gcc) #1 SMP";
        assert_eq!(wsl(Some("Ubuntu".into()), ""), Some("Ubuntu".into()));
        assert_eq!(wsl(None, microsoft), Some("Linux".into()));
        assert_eq!(wsl(None, "Linux version 6.1.0-27-amd64 (debian)"), None);
    }

    #[test]
    fn the_file_system_of_a_folder_is_that_of_the_nearest_mount() {
        let mounts = "rootfs / ext4 rw 0 0\nC:\\134 /mnt/c 9p rw 0 0\n/dev/sdb /mnt/my\\040disk xfs rw 0 0\n";
        let kind = |path: &str| filesystem(Path::new(path), mounts);
        assert_eq!(kind("/mnt/c/Users/dev/k8s").as_deref(), Some("9p"));
        assert_eq!(kind("/mnt/corner").as_deref(), Some("ext4"));
        assert_eq!(kind("/mnt/my disk/k8s").as_deref(), Some("xfs"));
        assert_eq!(filesystem(Path::new("/x"), ""), None);
    }

    #[test]
    fn a_variable_at_the_beginning_of_a_path_is_replaced() {
        let set = |name: &str| (name == "VBOX").then(|| r"C:\VBox\".to_owned());
        let path = |text| expand(text, set).map(|path| path.to_string_lossy().into_owned());
        assert_eq!(path(r"${VBOX}\V.exe").as_deref(), Some(r"C:\VBox\V.exe"));
        assert_eq!(path(r"${OTHER}\V.exe"), None);
        assert_eq!(path("/opt/V").as_deref(), Some("/opt/V"));
    }

    #[test]
    fn plugins_are_read_from_vagrants_own_list() {
        let home = tempfile::tempdir().unwrap();
        let list = r#"{"version":"1","installed":{"vagrant-vbguest":{"gem_version":""}}}"#;
        std::fs::write(home.path().join("plugins.json"), list).unwrap();
        let of_user = VagrantHome::at(home.path().to_owned());
        assert!(plugins(Some(&of_user)).contains(&"vagrant-vbguest".to_owned()));
        std::fs::write(home.path().join("plugins.json"), "{").unwrap();
        assert!(!plugins(Some(&of_user)).contains(&"vagrant-vbguest".to_owned()));
    }
}
