//! The bodies of the steps that install the container runtime and Kubernetes on Windows nodes.
//!
//! They find the file of each artifact in [`CACHE`] under the artifact's name, and are given its SHA-256 as
//! the secret `sha256_NAME`, with underscores for hyphens: it is not always known when they are rendered.

use serde::Serialize;

use super::{FIREWALL, PROGRAM, body};
use crate::error::Result;
use crate::render::kubernetes::KubeletService;

/// Where the files of artifacts lie on a Windows node, each under its name.
pub const CACHE: &str = r"C:\ProgramData\wdev\cache";

/// What several scripts know of files and programs.
pub(super) const PROGRAMS: &str = include_str!("../../../powershell/parts/programs.ps1");

pub(super) const LOGS: &str = include_str!("../../../powershell/parts/logs.ps1");
pub(super) const SERVICES: &str = include_str!("../../../powershell/parts/services.ps1");
pub(super) const KUBELET: &str = include_str!("../../../powershell/parts/kubelet.ps1");

/// Installs containerd and crictl from the artifacts of these names, and starts containerd.
/// Fact: `containerd`, the version that runs.
///
/// # Errors
/// `Configuration` when a text holds a NUL character; `Bug` when the data has no JSON form.
pub fn container_runtime(configuration: &str, crictl: &str) -> Result<String> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Data<'a> {
        cache: &'static str,
        configuration: &'a str,
        crictl: &'a str,
        trim_logs: &'static str,
    }
    let script = include_str!("../../../powershell/container-runtime.ps1");
    let data = Data {
        cache: CACHE,
        configuration,
        crictl,
        trim_logs: include_str!("../../../powershell/trim-logs.ps1"),
    };
    body(script, &[PROGRAMS, SERVICES, LOGS], &data)
}

/// The programs of Kubernetes on a Windows node.
#[derive(Debug, Clone)]
pub struct Programs<'a> {
    /// The exact version, such as `v1.36.2`.
    pub version: &'a str,
    /// The programs, by the names of their artifacts.
    pub names: &'a [&'a str],
    /// Whether kubeadm looks for certificates below the kubelet's folder.
    pub links_pki: bool,
    /// The kubelet's service.
    pub kubelet: &'a KubeletService,
}

/// Installs the programs of Kubernetes and makes the kubelet a service.
/// Fact: `kubelet`, its version.
///
/// # Errors
/// `Configuration` when a text holds a NUL character; `Bug` when the data has no JSON form.
pub fn kubernetes(programs: &Programs<'_>) -> Result<String> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Data<'a> {
        cache: &'static str,
        version: &'a str,
        names: &'a [&'a str],
        links_pki: bool,
        kubelet: &'a KubeletService,
    }
    let data = Data {
        cache: CACHE,
        version: programs.version,
        names: programs.names,
        links_pki: programs.links_pki,
        kubelet: programs.kubelet,
    };
    let script = include_str!("../../../powershell/kubernetes.ps1");
    body(
        script,
        &[PROGRAM, PROGRAMS, SERVICES, FIREWALL, KUBELET],
        &data,
    )
}

/// Fetches the artifacts of these names on the node. The address of each is given to the script as the
/// secret `url_NAME`, with underscores for hyphens. Its probe needs no addresses, and tells which of them
/// are there as the fact `there`: their names, with spaces between them.
///
/// # Errors
/// `Bug` when the data has no JSON form.
pub fn fetch(names: &[&str]) -> Result<String> {
    #[derive(Serialize)]
    struct Data<'a> {
        cache: &'static str,
        names: &'a [&'a str],
    }
    let script = include_str!("../../../powershell/fetch.ps1");
    body(
        script,
        &[PROGRAMS],
        &Data {
            cache: CACHE,
            names,
        },
    )
}
