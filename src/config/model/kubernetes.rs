//! What a user says of Kubernetes itself.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

words!(Component {
    Kubelet => "kubelet",
    KubeProxy => "kube-proxy",
    Kubeadm => "kubeadm",
    Kubectl => "kubectl",
});

words!(Builder {
    Auto => "auto",
    Go => "go",
    Docker => "docker",
});

words!(Audit {
    None => "none",
    Metadata => "metadata",
    Request => "request",
    RequestResponse => "request_response",
});

/// The components whose log level can be set.
pub const COMPONENTS_WITH_LOGS: [&str; 5] = [
    "api_server",
    "controller_manager",
    "scheduler",
    "kubelet",
    "kube_proxy",
];

/// Versions and builds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kubernetes {
    /// As the user wrote it, such as `1.36` or `ci/latest-1.37`.
    pub version: String,
    /// A Kubernetes checkout, absolute. Only ever read.
    pub source: Option<PathBuf>,
    /// The components to build from it.
    pub build: Vec<Component>,
    /// What builds them.
    pub builder: Builder,
    /// Tar files of control-plane images, absolute.
    pub images: Vec<PathBuf>,
    /// Feature gates for every component.
    pub feature_gates: BTreeMap<String, bool>,
    /// Extra arguments by component: `api_server`, `controller_manager`, `scheduler`, `kubelet`,
    /// `kube_proxy`; then by flag without dashes.
    pub extra_args: BTreeMap<String, BTreeMap<String, String>>,
    /// How much kube-apiserver writes into its audit log.
    pub audit: Audit,
    /// How much a component logs, from 0 to 10, by its name in [`COMPONENTS_WITH_LOGS`].
    pub log_levels: BTreeMap<String, u64>,
    /// Checks of kubeadm that only warn.
    pub ignore_preflight_errors: Vec<String>,
    /// Further names and addresses in the certificate of kube-apiserver.
    pub cert_names: Vec<String>,
}

/// A Kubernetes binary that can be rebuilt and swapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Component {
    /// `kubelet`
    Kubelet,
    /// `kube-proxy`
    KubeProxy,
    /// `kubeadm`
    Kubeadm,
    /// `kubectl`
    Kubectl,
}

/// What builds components.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Builder {
    /// Go where it is installed, else Docker.
    Auto,
    /// The host's Go.
    Go,
    /// A container.
    Docker,
}

/// How much kube-apiserver writes into its audit log.
/// <https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/>
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Audit {
    /// Nothing.
    #[default]
    None,
    /// Who asked for what.
    Metadata,
    /// And what was sent.
    Request,
    /// And what was answered.
    RequestResponse,
}
