//! The typed configuration: what every other part of wdev reads. No value here is unvalidated.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::Ipv4Net;
use serde::{Deserialize, Serialize, Serializer};

use super::secret::redact_url;

/// Gives an enumeration the words that stand for it in `variables.yml`.
macro_rules! words {
    ($type:ident { $($variant:ident => $word:literal),+ $(,)? }) => {
        impl $type {
            /// Every word, in order.
            pub const NAMES: &'static [&'static str] = &[$($word),+];

            /// The word in `variables.yml`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }

            /// What a word stands for.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

mod kubernetes;

pub use kubernetes::{Audit, Builder, COMPONENTS_WITH_LOGS, Component, Kubernetes};

words!(ProviderName {
    Auto => "auto",
    Virtualbox => "virtualbox",
    Hyperv => "hyperv",
    VmwareDesktop => "vmware_desktop",
    Libvirt => "libvirt",
    Docker => "docker",
    Sim => "sim",
});

words!(CniName {
    Calico => "calico",
    Antrea => "antrea",
    Flannel => "flannel",
    None => "none",
});

words!(KubeProxy {
    Service => "service",
    Hostprocess => "hostprocess",
    None => "none",
});

words!(Communicator {
    Auto => "auto",
    Winrm => "winrm",
    Ssh => "ssh",
});

words!(LibvirtDriver {
    Auto => "auto",
    Kvm => "kvm",
    Qemu => "qemu",
});

/// A whole sandbox, as asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Config {
    /// The sandbox's name.
    pub sandbox: String,
    /// What makes the machines.
    pub provider: ProviderName,
    /// Versions and builds.
    pub kubernetes: Kubernetes,
    /// The network plugin.
    pub cni: Cni,
    /// How kube-proxy runs on Windows.
    pub kube_proxy: KubeProxy,
    /// The container runtime.
    pub container_runtime: ContainerRuntime,
    /// Address ranges and the way out.
    pub network: Network,
    /// The one Linux control plane.
    pub control_plane: ControlPlane,
    /// The Windows workers, in order.
    pub workers: Vec<Worker>,
    /// Where downloads come from.
    pub artifacts: Artifacts,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// The user's own step scripts.
    pub hooks: Vec<Hook>,
    /// Text for the Vagrantfile.
    pub vagrant: VagrantSettings,
}

/// What makes the machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderName {
    /// The first usable one.
    Auto,
    /// Oracle VirtualBox through Vagrant.
    Virtualbox,
    /// Microsoft Hyper-V through Vagrant.
    Hyperv,
    /// VMware Workstation or Fusion through Vagrant.
    VmwareDesktop,
    /// libvirt through Vagrant.
    Libvirt,
    /// Docker through Vagrant: Linux machines, for tests and demos.
    Docker,
    /// The built-in simulator: no machines at all.
    Sim,
}

/// A network plugin and its version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cni {
    /// Which.
    pub name: CniName,
    /// Its version; empty for [`CniName::None`].
    pub version: String,
}

/// The network plugins that wdev knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CniName {
    /// Calico
    Calico,
    /// Antrea
    Antrea,
    /// Flannel
    Flannel,
    /// None: the user brings one.
    None,
}

/// How kube-proxy runs on Windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KubeProxy {
    /// As a Windows service.
    Service,
    /// In a `HostProcess` container.
    Hostprocess,
    /// Not at all.
    None,
}

/// The container runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContainerRuntime {
    /// `containerd`
    pub name: String,
    /// Its version, or [`DISTRIBUTION`].
    pub version: String,
    /// An archive of containerd for Windows nodes, in the place of its project's.
    pub archive: Option<PathBuf>,
}

/// In the place of a version: the package of the Linux distribution.
pub const DISTRIBUTION: &str = "distribution";

/// Address ranges and the way out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Network {
    /// The subnet that the nodes' addresses lie in.
    pub nodes: Ipv4Net,
    /// The pod CIDR.
    pub pods: Ipv4Net,
    /// The service CIDR.
    pub services: Ipv4Net,
    /// DNS servers for the nodes; the provider's own when empty.
    pub dns: Vec<IpAddr>,
    /// The proxy for the nodes.
    pub proxy: Proxy,
}

/// A proxy, as URLs. They may hold a password, so they never show in debug output, and serialise
/// without it.
#[derive(Clone, Default, PartialEq, Eq, Serialize)]
pub struct Proxy {
    /// For http.
    #[serde(serialize_with = "redacted_option")]
    pub http: Option<String>,
    /// For https.
    #[serde(serialize_with = "redacted_option")]
    pub https: Option<String>,
    /// Hosts and ranges that are reached directly.
    pub no_proxy: Vec<String>,
}

/// The one Linux control plane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ControlPlane {
    /// The node's name.
    pub name: String,
    /// The machine.
    pub machine: MachineSpec,
    /// Its address in the node subnet.
    pub address: Ipv4Addr,
    /// Taints, as `key=value:Effect`; none to leave it to kubeadm, which keeps ordinary pods away.
    pub taints: Option<Vec<String>>,
}

/// A Windows worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Worker {
    /// The node's name, at most 15 characters.
    pub name: String,
    /// The Windows Server version: `2019`, `2022` or `2025`.
    pub windows: String,
    /// The machine.
    pub machine: MachineSpec,
    /// Its address in the node subnet.
    pub address: Ipv4Addr,
    /// Windows features that it shall have beside those that it needs.
    pub features: Vec<String>,
    /// Labels that it registers with.
    pub labels: BTreeMap<String, String>,
    /// Taints that it registers with, as `key=value:Effect`.
    pub taints: Vec<String>,
}

/// What a machine is made of.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineSpec {
    /// The box; empty for the default of the provider. For `docker` an image.
    pub r#box: String,
    /// The version of the box; empty for the newest that is there.
    pub box_version: String,
    /// Where the box comes from, a URL or an absolute path; empty for the registry.
    #[serde(serialize_with = "redacted")]
    pub box_url: String,
    /// `sha256:…` of the box file; empty for none.
    pub box_checksum: String,
    /// Virtual processors.
    pub cpus: u32,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// How Vagrant reaches it first.
    #[serde(default)]
    pub communicator: Communicator,
    /// Whether it can run virtual machines itself.
    #[serde(default)]
    pub nested_virtualization: bool,
}

/// How Vagrant reaches a machine before wdev's own key is on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Communicator {
    /// As the box needs it.
    #[default]
    Auto,
    /// Windows Remote Management.
    Winrm,
    /// SSH.
    Ssh,
}

/// Where downloads come from.
#[derive(Clone, Default, PartialEq, Eq, Serialize)]
pub struct Artifacts {
    /// A prefix that stands for every download site; empty for none.
    #[serde(serialize_with = "redacted")]
    pub mirror: String,
    /// Use the cache and nothing else.
    pub offline: bool,
    /// Let nodes download by themselves.
    pub guest_download: bool,
}

/// How long to wait for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Timeouts {
    /// From the start of a machine until it answers.
    pub boot: Duration,
    /// From a reboot until it is proven.
    pub reboot: Duration,
    /// One step.
    pub step: Duration,
    /// Until a node or the cluster is Ready.
    pub ready: Duration,
}

fn redacted<S: Serializer>(url: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&redact_url(url))
}

#[expect(clippy::ref_option, reason = "serde hands the field over by reference")]
fn redacted_option<S: Serializer>(url: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    url.as_deref().map(redact_url).serialize(serializer)
}

impl std::fmt::Debug for Artifacts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Artifacts")
            .field("mirror", &redact_url(&self.mirror))
            .field("offline", &self.offline)
            .field("guest_download", &self.guest_download)
            .finish()
    }
}

impl std::fmt::Debug for MachineSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MachineSpec")
            .field("box", &self.r#box)
            .field("box_version", &self.box_version)
            .field("box_url", &redact_url(&self.box_url))
            .field("box_checksum", &self.box_checksum)
            .field("cpus", &self.cpus)
            .field("memory_mib", &self.memory_mib)
            .field("communicator", &self.communicator)
            .field("nested_virtualization", &self.nested_virtualization)
            .finish()
    }
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Proxy(…)")
    }
}

/// One of the user's own step scripts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hook {
    /// A node's name, `control-plane`, `workers` or `all`.
    pub node: String,
    /// The phase at whose end it runs; see [`PHASES`].
    pub phase: String,
    /// The script's file, absolute: bash for Linux nodes, PowerShell for Windows nodes.
    pub script: PathBuf,
}

/// The phases of a node's lane, in order. A hook runs at the end of one.
pub const PHASES: [&str; 7] = [
    "machine",
    "prepare",
    "runtime",
    "kubernetes",
    "cluster",
    "network",
    "verify",
];

/// What concerns Vagrant and its providers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct VagrantSettings {
    /// The Hyper-V switch of every machine's first adapter, where Vagrant reaches it; empty for the
    /// `Default Switch`. It must hand out addresses.
    pub hyperv_switch: String,
    /// What runs libvirt's machines.
    pub libvirt_driver: LibvirtDriver,
    /// The processor that libvirt's machines see; empty for the host's own, or a plain one under
    /// emulation.
    pub libvirt_cpu_model: String,
    /// Text that is inserted into the Vagrantfile as it is: Ruby, written by the user. By provider
    /// (inside its provider block, with the variable `p`) or by node's name (inside its machine block,
    /// with the variable `node`).
    pub extra: BTreeMap<String, String>,
}

/// What runs libvirt's machines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LibvirtDriver {
    /// KVM where the host's works, else emulation.
    #[default]
    Auto,
    /// Hardware virtualisation.
    Kvm,
    /// Emulation: slow, for Linux machines and tests.
    Qemu,
}
