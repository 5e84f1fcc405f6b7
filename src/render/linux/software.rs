//! The bodies of the steps that install the container runtime and Kubernetes on Linux nodes.
//!
//! They find the file of each artifact in [`CACHE`] under the artifact's name, and are given its SHA-256 as
//! the secret `sha256_NAME`, with underscores for hyphens: it is not always known when they are rendered.

use serde::{Deserialize, Serialize};

use crate::error::{Failure, Kind, Result};
use crate::render::render;

/// Where the files of artifacts lie on a Linux node until they are installed, each under its name.
pub const CACHE: &str = "/var/cache/wdev";
/// The folder of the Kubernetes programs that wdev installs on Linux nodes.
pub const BIN_FOLDER: &str = "/usr/local/bin";

/// The text of the unit of a containerd from its project's archive.
/// Upstream: containerd/containerd, `containerd.service`; systemd.service(5).
const CONTAINERD_UNIT: &str = include_str!("../../../templates/linux/containerd.service");

/// Where containerd and runc come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The archives of their projects, brought by the host.
    Upstream,
    /// The packages of the node's distribution.
    Distribution,
}

/// What a node's container runtime is made of, beside the artifacts `crictl` and `cni-plugins`.
#[derive(Debug, Clone)]
pub struct ContainerRuntime<'a> {
    /// Where containerd and runc come from.
    pub origin: Origin,
    /// The configuration, with the first version of containerd that it is for (`1.6`), the oldest first.
    pub configurations: &'a [(String, String)],
    /// The text of `crictl.yaml`.
    pub crictl_configuration: &'a str,
}

/// The programs of Kubernetes on a node.
#[derive(Debug, Clone)]
pub struct Programs<'a> {
    /// The exact version, such as `v1.36.2`.
    pub version: &'a str,
    /// The number after `1.`.
    pub minor: u32,
    /// The programs, by the names of their artifacts.
    pub names: &'a [&'a str],
    /// The text of the kubelet's unit.
    pub unit: &'a str,
    /// The text of its drop-in `10-kubeadm.conf`.
    pub drop_in: &'a str,
}

/// Installs containerd with runc, crictl and the CNI plugins, and starts it when anything has changed.
/// Fact: `containerd`, the version that runs.
pub fn container_runtime(runtime: &ContainerRuntime<'_>) -> Result<String> {
    #[derive(Serialize)]
    struct View<'a> {
        source: Origin,
        cache: &'static str,
        config_from: Vec<&'a str>,
        config_texts: Vec<&'a str>,
        unit: &'static str,
        crictl_config: &'a str,
    }
    let configurations = runtime.configurations.iter();
    let (config_from, config_texts) = configurations
        .map(|(from, text)| (from.as_str(), text.trim_end()))
        .unzip();
    let view = View {
        source: runtime.origin,
        cache: CACHE,
        config_from,
        config_texts,
        unit: CONTAINERD_UNIT.trim_end(),
        crictl_config: runtime.crictl_configuration.trim_end(),
    };
    render("templates/linux/container-runtime.sh.tera", &view)
}

/// Installs the programs of Kubernetes, what they call of the distribution's, and the kubelet's service.
pub fn kubernetes(programs: &Programs<'_>) -> Result<String> {
    #[derive(Serialize)]
    struct View<'a> {
        cache: &'static str,
        bin: &'static str,
        version: &'a str,
        names: &'a [&'a str],
        unit: &'a str,
        drop_in: &'a str,
        needed: Vec<String>,
        needed_packages: Vec<String>,
        wanted: Vec<String>,
        wanted_packages: Vec<String>,
    }
    let (needed, wanted): (Vec<_>, Vec<_>) = Called::all()?
        .into_iter()
        .filter(|called| called.last_minor.is_none_or(|last| programs.minor <= last))
        .partition(|called| called.needed);
    let split = |called: Vec<Called>| {
        let pairs = called
            .into_iter()
            .map(|called| (called.name, called.package));
        pairs.unzip()
    };
    let (needed, needed_packages) = split(needed);
    let (wanted, wanted_packages) = split(wanted);
    let view = View {
        cache: CACHE,
        bin: BIN_FOLDER,
        version: programs.version,
        names: programs.names,
        unit: programs.unit.trim_end(),
        drop_in: programs.drop_in.trim_end(),
        needed,
        needed_packages,
        wanted,
        wanted_packages,
    };
    render("templates/linux/kubernetes.sh.tera", &view)
}

/// Fetches the artifacts of these names on the node. The address of each is given to the script as the
/// secret `url_NAME`, with underscores for hyphens.
pub fn fetch(names: &[&str]) -> Result<String> {
    #[derive(Serialize)]
    struct View<'a> {
        cache: &'static str,
        names: &'a [&'a str],
    }
    let view = View {
        cache: CACHE,
        names,
    };
    render("templates/linux/fetch.sh.tera", &view)
}

/// A program of the distribution that kubeadm or the kubelet calls.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Called {
    name: String,
    package: String,
    /// Whether kubeadm refuses to go on without it.
    needed: bool,
    /// The last minor of Kubernetes that asks for it.
    #[serde(default)]
    last_minor: Option<u32>,
}

impl Called {
    fn all() -> Result<Vec<Self>> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            #[expect(dead_code, reason = "for who reads the file")]
            source: String,
            programs: Vec<Called>,
        }
        let table: Table = serde_json::from_str(include_str!(
            "../../../templates/linux/programs.json"
        ))
        .map_err(|error| {
            let failure = Failure::new(Kind::Bug, "cannot read wdev's own `programs.json`");
            Box::new(failure.because(error).permanent())
        })?;
        Ok(table.programs)
    }
}
