//! What exactly a sandbox consists of: every version resolved once, and every artifact with its hash.

pub mod arguments;
pub mod artifacts;
pub mod broken;
pub mod check;
pub mod containerd;
pub mod finding;
pub mod gates;
pub mod images;
pub mod kubeadm;
pub mod kubelet;
pub mod kubelet_windows;
pub mod lock;
pub mod markers;
pub mod node_labels;
pub mod proxy;
pub mod resolve;
pub mod site;
pub mod skew;
pub mod source;
pub mod supported;
pub mod version;
pub mod windows;
pub mod windows_node;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::artifacts::Needs;
use crate::config::Config;
use crate::os::Os;

pub use check::{Subject, check, check_located};
pub use finding::Finding;
pub use resolve::{Resolved, assumed, names_minor, resolve};
pub use site::Site;
pub use version::Version;

/// Everything that `variables.yml` leaves open, settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// `kubernetes.version` as the user wrote it.
    pub asked: String,
    /// What that stands for.
    pub kubernetes: Version,
    /// Where it comes from.
    pub origin: Origin,
    /// What each marker file answered, by its URL.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, String>,
    /// Every file that the sandbox is made of, in the order of their names and platforms.
    pub artifacts: Vec<Artifact>,
}

/// What a version that a user wrote stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exact {
    /// The exact version.
    pub version: Version,
    /// Where it comes from.
    pub origin: Origin,
    /// What each marker file that was asked answered, by its URL.
    pub answers: BTreeMap<String, String>,
}

/// Where a version of Kubernetes comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A release or pre-release.
    Release,
    /// A build of upstream's CI.
    Ci,
    /// The user's own build.
    Source,
}

/// One file that is fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// What it is: `kubelet`, `containerd`, `crictl`.
    pub name: String,
    /// `linux/amd64`, or empty where it is the same everywhere.
    pub platform: String,
    /// Its version, as its own project writes it.
    pub version: String,
    /// Where it comes from: an `https` URL, or for the user's own build a path.
    pub url: String,
    /// Its SHA-256 in lower-case hexadecimal digits; empty while nobody knows it.
    pub sha256: String,
    /// How the hash is known.
    pub proof: Proof,
}

/// How the hash of an artifact is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// From the project's own checksum file.
    Upstream,
    /// From wdev's own data.
    Data,
    /// From the first download, for want of anything better.
    FirstDownload,
    /// It is the user's own file.
    Own,
}

impl Release {
    /// The release of a configuration, once its version is exact. Hashes are not known yet.
    #[must_use]
    pub fn new(config: &Config, workers: Os, exact: Exact) -> Self {
        let kubernetes = &config.kubernetes;
        let there_are = |os: Os| workers == os && !config.workers.is_empty();
        let artifacts = artifacts::artifacts(&Needs {
            kubernetes: &exact.version,
            origin: exact.origin,
            source: kubernetes.source.as_deref(),
            built: &kubernetes.build,
            containerd: &config.container_runtime.version,
            own_containerd: config.container_runtime.archive.as_deref(),
            linux_workers: there_are(Os::Linux),
            windows_workers: there_are(Os::Windows),
        });
        Self {
            asked: kubernetes.version.clone(),
            kubernetes: exact.version,
            origin: exact.origin,
            answers: exact.answers,
            artifacts,
        }
    }

    /// The artifact of this name for this platform.
    #[must_use]
    pub fn artifact(&self, name: &str, platform: &str) -> Option<&Artifact> {
        self.artifacts
            .iter()
            .find(|artifact| artifact.name == name && artifact.platform == platform)
    }
}

/// The last entry of a table, ordered by minor, that is for `minor`.
fn by_minor<T>(table: &[T], minor: u32, from: impl Fn(&T) -> u32) -> Option<&T> {
    table.iter().rfind(|entry| from(entry) <= minor)
}
