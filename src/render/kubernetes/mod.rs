//! What a node is told of Kubernetes: the configurations of kubeadm, the kubelet, kube-proxy and the
//! container runtime, each in the form that its version reads. `docs/kubeadm.md` says what comes from
//! which key.

pub mod containerd;
mod kube_proxy;
mod kubeadm;
mod kubelet;
mod kubelet_windows;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use serde::Serialize;

use crate::config::model::{Config, ProviderName};
use crate::error::{Failure, Kind, Result};
use crate::os::Os;
use crate::release::Release;
use crate::release::images::Images;
use crate::release::kubeadm::Api;

pub use containerd::Variant;
pub use kubeadm::{
    AUDIT_FOLDER, AUDIT_POLICY, DISCOVERY_FILE, DISCOVERY_FILE_ON_WINDOWS, PORT, discovery_file,
};
pub use kubelet::{DROP_IN, UNIT};
pub use kubelet_windows::{BIN_FOLDER, KUBELET_LOG, KubeletService};

/// A cluster, as its configurations see it.
#[derive(Debug, Clone)]
pub struct Cluster<'a> {
    config: &'a Config,
    release: &'a Release,
    api: &'static Api,
    images: Images,
}

/// A node, as its configuration sees it.
#[derive(Debug, Clone)]
pub struct Member<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its address in the node subnet, never that of a NAT adapter.
    pub address: Ipv4Addr,
    /// What runs on it.
    pub os: Os,
    /// The labels that it registers with.
    pub labels: &'a BTreeMap<String, String>,
    /// The taints that it registers with, as `key=value:Effect` or `key:Effect`.
    pub taints: &'a [String],
}

/// An argument of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Argument {
    /// Without dashes.
    pub name: String,
    /// What it is set to.
    pub value: String,
}

/// What sets up the processes of a node in the kernel's control groups. The kubelet and the container
/// runtime must use the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CgroupDriver {
    /// systemd, where it runs.
    Systemd,
    /// The file system itself.
    Cgroupfs,
}

impl CgroupDriver {
    /// systemd's, except on docker machines: they have no systemd.
    #[must_use]
    pub fn of(provider: ProviderName) -> Self {
        match provider {
            ProviderName::Docker => Self::Cgroupfs,
            _ => Self::Systemd,
        }
    }

    /// As the kubelet writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Systemd => "systemd",
            Self::Cgroupfs => "cgroupfs",
        }
    }
}

impl<'a> Cluster<'a> {
    /// The cluster of this configuration and release.
    ///
    /// # Errors
    /// `Configuration` for a Kubernetes that is older than every API of kubeadm that wdev can write.
    pub fn new(config: &'a Config, release: &'a Release) -> Result<Self> {
        let version = &release.kubernetes;
        let api = Api::of(version.minor()).ok_or_else(|| {
            let message = format!("wdev writes no kubeadm configuration for Kubernetes {version}");
            Failure::new(Kind::Configuration, message)
                .advise("set `kubernetes.version` to a version that `wdev` supports")
                .permanent()
        })?;
        Ok(Self {
            config,
            release,
            api,
            images: Images::of(release),
        })
    }

    /// The images that kubeadm asks for.
    #[must_use]
    pub fn images(&self) -> &Images {
        &self.images
    }

    /// The control groups of the Linux nodes.
    #[must_use]
    pub fn cgroup_driver(&self) -> CgroupDriver {
        CgroupDriver::of(self.config.provider)
    }

    /// How long kubeadm waits for what it started: less than the step may take, so that its own message
    /// comes before the deadline.
    fn wait(&self) -> String {
        let three_quarters = self.config.timeouts.ready.mul_f32(0.75);
        format!("{}s", three_quarters.as_secs().max(1))
    }

    fn minor(&self) -> u32 {
        self.release.kubernetes.minor()
    }

    /// The arguments of a component: the user's feature gates and log level, `own`, and above all of them
    /// the user's extra arguments. Feature gates of both kinds are put together.
    fn arguments(&self, component: &str, own: &[(&str, String)]) -> Vec<Argument> {
        let kubernetes = &self.config.kubernetes;
        let mut all = BTreeMap::new();
        if !kubernetes.feature_gates.is_empty() {
            let gates: Vec<String> = kubernetes
                .feature_gates
                .iter()
                .map(|(name, on)| format!("{name}={on}"))
                .collect();
            all.insert("feature-gates".to_owned(), gates.join(","));
        }
        if let Some(level) = kubernetes.log_levels.get(component) {
            all.insert("v".to_owned(), level.to_string());
        }
        for (name, value) in own {
            all.insert((*name).to_owned(), value.clone());
        }
        for (name, value) in kubernetes.extra_args.get(component).into_iter().flatten() {
            match all.get_mut(name) {
                Some(gates) if name == "feature-gates" => {
                    gates.push(',');
                    gates.push_str(value);
                }
                _ => {
                    all.insert(name.clone(), value.clone());
                }
            }
        }
        all.into_iter()
            .map(|(name, value)| Argument { name, value })
            .collect()
    }

    /// The address of the cluster's DNS service, by kubeadm's rule: the tenth of the service range.
    /// Nothing when the range has none.
    #[must_use]
    pub fn dns_address(&self) -> Option<IpAddr> {
        let services = self.config.network.services;
        let tenth = u32::from(services.network()).checked_add(10)?;
        let address = Ipv4Addr::from(tenth);
        services.contains(&address).then_some(IpAddr::V4(address))
    }
}

/// The socket of containerd, as kubeadm, the kubelet and crictl take it.
#[must_use]
pub const fn socket(os: Os) -> &'static str {
    match os {
        Os::Linux => "unix:///run/containerd/containerd.sock",
        Os::Windows => "npipe:////./pipe/containerd-containerd",
    }
}

/// The text of `crictl.yaml`.
pub fn crictl(os: Os) -> Result<String> {
    super::render(
        "templates/kubernetes/crictl.yaml.tera",
        &BTreeMap::from([("socket", socket(os))]),
    )
}
