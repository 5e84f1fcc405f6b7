//! The configuration of kubeadm.

use std::collections::BTreeMap;

use serde::Serialize;

use super::kube_proxy::Section;
use super::{Argument, Cluster, Member, socket};
use crate::config::model::Audit;
use crate::error::Result;
use crate::os::Os;
use crate::release::Origin;
use crate::release::kubeadm::Arguments;
use crate::render::render;

/// The port of kube-apiserver.
pub const PORT: u16 = 6443;

/// Where the policy of the audit log lies on the control plane.
pub const AUDIT_POLICY: &str = "/etc/wdev/audit-policy.yaml";

/// The folder of the audit log on the control plane.
pub const AUDIT_FOLDER: &str = "/var/log/kubernetes/audit";

/// The file from which `kubeadm join` knows the cluster and its token: a kubeconfig with the address of
/// kube-apiserver, the certificate authority (as `certificate-authority-data`) and the token as the
/// user's. The script of the join writes it, readable for root only, from what it is given beside the
/// script, and removes it afterwards; so the rendered configuration holds no secret and no place for
/// one. Upstream: cmd/kubeadm/app/discovery/file/file.go.
pub const DISCOVERY_FILE: &str = "/run/wdev/discovery.conf";

/// The same on a Windows node, readable for administrators only. It is named from the root of the drive that
/// kubeadm is run from: with a drive letter kubeadm takes it for a URL, whose scheme is not `https`. Upstream:
/// `ValidateDiscoveryKubeConfigPath` in cmd/kubeadm/app/apis/kubeadm/validation/validation.go.
pub const DISCOVERY_FILE_ON_WINDOWS: &str = "/ProgramData/wdev/cluster/discovery.conf";

/// Where kubeadm writes the cluster's certificate on a Windows node; there it must have a drive letter.
/// Upstream: `ValidateJoinConfiguration` in the same file, and
/// `cmd/kubeadm/app/apis/kubeadm/v1beta3/defaults_windows.go`.
const CA_ON_WINDOWS: &str = "C:/etc/kubernetes/pki/ca.crt";

/// The discovery file of a node with this system, as kubeadm is told of it.
#[must_use]
pub const fn discovery_file(os: Os) -> &'static str {
    match os {
        Os::Linux => DISCOVERY_FILE,
        Os::Windows => DISCOVERY_FILE_ON_WINDOWS,
    }
}

#[derive(Serialize)]
struct Taint {
    key: String,
    value: String,
    effect: String,
}

#[derive(Serialize)]
struct Node {
    name: String,
    socket: &'static str,
    sets_taints: bool,
    taints: Vec<Taint>,
    ignored_preflight_errors: Vec<String>,
    kubelet: Vec<Argument>,
}

#[derive(Serialize)]
struct AuditView {
    policy: &'static str,
    folder: &'static str,
}

#[derive(Serialize)]
struct Gate {
    name: String,
    value: bool,
}

#[derive(Serialize)]
struct Init {
    api_version: String,
    arguments_are_a_list: bool,
    timeouts_in_api: bool,
    pull_policy_in_api: bool,
    wait: String,
    node: Node,
    advertise_address: String,
    port: u16,
    kubernetes_version: String,
    pods: String,
    services: String,
    cert_names: Vec<String>,
    audit: Option<AuditView>,
    api_server: Vec<Argument>,
    controller_manager: Vec<Argument>,
    scheduler: Vec<Argument>,
    cgroup_driver: &'static str,
    dns_address: Option<String>,
    feature_gates: Vec<Gate>,
    kube_proxy: Vec<Section>,
    kube_proxy_gates: Vec<Gate>,
}

#[derive(Serialize)]
struct Join {
    api_version: String,
    arguments_are_a_list: bool,
    timeouts_in_api: bool,
    pull_policy_in_api: bool,
    wait: String,
    node: Node,
    discovery_file: &'static str,
    ca_path: Option<&'static str>,
}

impl Cluster<'_> {
    /// The configuration of `kubeadm init`: the documents `InitConfiguration`,
    /// `ClusterConfiguration`, `KubeletConfiguration` and `KubeProxyConfiguration`. It is run with
    /// `--skip-token-print`: kubeadm makes a token for itself in any case.
    ///
    /// # Errors
    /// `Configuration` for what this version cannot be told.
    pub fn init(&self) -> Result<String> {
        let config = self.config;
        let control_plane = &config.control_plane;
        let member = Member {
            name: &control_plane.name,
            address: control_plane.address,
            os: Os::Linux,
            labels: &BTreeMap::new(),
            taints: &[],
        };
        let audit = config.kubernetes.audit != Audit::None;
        let view = Init {
            api_version: self.api_version(),
            arguments_are_a_list: self.arguments_are_a_list(),
            timeouts_in_api: self.api.timeouts,
            pull_policy_in_api: self.api.image_pull_policy,
            wait: self.wait(),
            node: self.node(&member, control_plane.taints.as_deref())?,
            advertise_address: control_plane.address.to_string(),
            port: PORT,
            kubernetes_version: self.kubernetes_version(),
            pods: config.network.pods.to_string(),
            services: config.network.services.to_string(),
            cert_names: self.cert_names(),
            audit: audit.then_some(AuditView {
                policy: AUDIT_POLICY,
                folder: AUDIT_FOLDER,
            }),
            api_server: self.arguments(
                "api_server",
                &if audit { audit_arguments() } else { vec![] },
            ),
            controller_manager: self.arguments("controller_manager", &[]),
            scheduler: self.arguments("scheduler", &[]),
            cgroup_driver: self.cgroup_driver().as_str(),
            dns_address: self.dns_address().map(|address| address.to_string()),
            feature_gates: gates(config.kubernetes.feature_gates.clone()),
            kube_proxy: self.kube_proxy()?,
            kube_proxy_gates: gates(self.kube_proxy_gates()?),
        };
        render("templates/kubernetes/kubeadm-init.yaml.tera", &view)
    }

    /// The configuration of `kubeadm join` for a worker, which finds the cluster and its token in the
    /// [`discovery_file`] of its system.
    ///
    /// # Errors
    /// `Configuration` for what this version cannot be told.
    pub fn join(&self, member: &Member<'_>) -> Result<String> {
        let view = Join {
            api_version: self.api_version(),
            arguments_are_a_list: self.arguments_are_a_list(),
            timeouts_in_api: self.api.timeouts,
            pull_policy_in_api: self.api.image_pull_policy,
            wait: self.wait(),
            node: self.node(member, Some(member.taints))?,
            discovery_file: discovery_file(member.os),
            ca_path: (member.os == Os::Windows).then_some(CA_ON_WINDOWS),
        };
        render("templates/kubernetes/kubeadm-join.yaml.tera", &view)
    }

    /// The text of [`AUDIT_POLICY`]; nothing when there is no audit log. It must be there before
    /// `kubeadm init` runs.
    pub fn audit_policy(&self) -> Result<Option<String>> {
        let level = match self.config.kubernetes.audit {
            Audit::None => return Ok(None),
            Audit::Metadata => "Metadata",
            Audit::Request => "Request",
            Audit::RequestResponse => "RequestResponse",
        };
        let view = BTreeMap::from([("level", level)]);
        render("templates/kubernetes/audit-policy.yaml.tera", &view).map(Some)
    }

    /// `kubernetesVersion`: a build of the CI keeps its `ci/`, by which kubeadm takes its images from the
    /// CI's registry. It is exact, so kubeadm asks no server what it means.
    #[must_use]
    pub fn kubernetes_version(&self) -> String {
        let version = &self.release.kubernetes;
        match self.release.origin {
            Origin::Ci => format!("ci/{version}"),
            Origin::Release | Origin::Source => version.to_string(),
        }
    }

    fn api_version(&self) -> String {
        format!("kubeadm.k8s.io/{}", self.api.version)
    }

    fn arguments_are_a_list(&self) -> bool {
        self.api.arguments == Arguments::List
    }

    /// The names in the certificate of kube-apiserver: all by which the host or a node reaches it, and the
    /// user's.
    fn cert_names(&self) -> Vec<String> {
        let control_plane = &self.config.control_plane;
        let mut names = vec![
            control_plane.address.to_string(),
            control_plane.name.clone(),
            "localhost".to_owned(),
            "127.0.0.1".to_owned(),
        ];
        for name in &self.config.kubernetes.cert_names {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    fn node(&self, member: &Member<'_>, taints: Option<&[String]>) -> Result<Node> {
        Ok(Node {
            name: member.name.to_owned(),
            socket: socket(member.os),
            sets_taints: taints.is_some(),
            taints: taints
                .unwrap_or_default()
                .iter()
                .map(|text| taint(text))
                .collect(),
            ignored_preflight_errors: self.config.kubernetes.ignore_preflight_errors.clone(),
            kubelet: self.kubelet_arguments(member)?,
        })
    }
}

/// The log is cut into files of 100 MB, of which the last five stay.
fn audit_arguments() -> Vec<(&'static str, String)> {
    vec![
        ("audit-policy-file", AUDIT_POLICY.to_owned()),
        ("audit-log-path", format!("{AUDIT_FOLDER}/audit.log")),
        ("audit-log-maxsize", "100".to_owned()),
        ("audit-log-maxbackup", "5".to_owned()),
    ]
}

fn gates(gates: BTreeMap<String, bool>) -> Vec<Gate> {
    let gates = gates.into_iter();
    gates.map(|(name, value)| Gate { name, value }).collect()
}

/// A taint from `key=value:Effect` or `key:Effect`.
fn taint(text: &str) -> Taint {
    let (head, effect) = text.rsplit_once(':').unwrap_or((text, ""));
    let (key, value) = head.split_once('=').unwrap_or((head, ""));
    Taint {
        key: key.to_owned(),
        value: value.to_owned(),
        effect: effect.to_owned(),
    }
}
