//! Which files a sandbox is made of, and where each comes from. The facts are in `data/artifacts.json`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;

use super::{Artifact, Origin, Proof, Version};
use crate::config::model::{Component, DISTRIBUTION};

/// Whom the artifacts are for, and what decides about them.
#[derive(Debug, Clone)]
pub struct Needs<'a> {
    /// The exact version of Kubernetes.
    pub kubernetes: &'a Version,
    /// Where it comes from.
    pub origin: Origin,
    /// The checkout, for the user's own build.
    pub source: Option<&'a Path>,
    /// The components of Windows nodes that are built from source.
    pub built: &'a [Component],
    /// containerd's version, or [`DISTRIBUTION`].
    pub containerd: &'a str,
    /// The user's own archive of containerd for Windows nodes.
    pub own_containerd: Option<&'a Path>,
    /// Whether there are Linux workers.
    pub linux_workers: bool,
    /// Whether there are Windows workers.
    pub windows_workers: bool,
}

/// The nodes' platform: every node is a 64-bit PC.
pub const LINUX: &str = "linux/amd64";
/// Windows nodes have no other platform upstream: `hack/lib/golang.sh` of Kubernetes.
pub const WINDOWS: &str = "windows/amd64";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    kubernetes: Site,
    binaries: Vec<Binary>,
    archives: Vec<Archive>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Site {
    release: String,
    ci: String,
    checksum: String,
    #[expect(dead_code, reason = "for people")]
    source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Binary {
    name: String,
    on: Vec<Place>,
    /// The first minor that has it.
    #[serde(default)]
    from_minor: u32,
    /// What its own `make` calls it, where that is not `cmd/NAME`.
    #[serde(default)]
    make: Option<String>,
    #[serde(default)]
    #[expect(dead_code, reason = "for people")]
    source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Archive {
    name: String,
    on: Vec<Place>,
    version: String,
    by_minor: BTreeMap<String, String>,
    url: String,
    checksum: String,
    #[expect(dead_code, reason = "for people")]
    source: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Place {
    ControlPlane,
    LinuxWorker,
    WindowsWorker,
    Host,
}

static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_json::from_str(include_str!("data/artifacts.json")).unwrap_or_default());

/// Every artifact, in the order of names and platforms, without hashes.
#[must_use]
pub fn artifacts(needs: &Needs) -> Vec<Artifact> {
    let mut all = Vec::new();
    let minor = needs.kubernetes.minor();
    let binaries = TABLE.binaries.iter();
    for Binary { name, on, .. } in binaries.filter(|row| row.from_minor <= minor) {
        for platform in platforms(needs, on, name) {
            all.push(binary(needs, name, platform));
        }
    }
    for archive in &TABLE.archives {
        for platform in platforms(needs, &archive.on, &archive.name) {
            if let Some(version) = version_of(needs, archive, platform) {
                let own = needs.own_containerd.filter(|_| archive.version.is_empty());
                all.push(match own {
                    Some(path) if platform == WINDOWS => own_archive(archive, &version, path),
                    _ => from_archive(archive, &version, platform),
                });
            }
        }
    }
    all.sort_by(|a, b| (&a.name, &a.platform).cmp(&(&b.name, &b.platform)));
    all
}

/// Where the checksum file of an artifact lies; none for one that has none, such as the user's own file.
#[must_use]
pub fn checksum_url(artifact: &Artifact) -> Option<String> {
    if !artifact.url.starts_with("https://") {
        return None;
    }
    if is_of_kubernetes(artifact) {
        return Some(format!("{}{}", artifact.url, TABLE.kubernetes.checksum));
    }
    let row = TABLE
        .archives
        .iter()
        .find(|row| row.name == artifact.name)?;
    // A file of its own for each artifact, or one beside all of them.
    Some(if row.checksum.starts_with('/') {
        let folder = artifact.url.rsplit_once('/')?.0;
        format!("{folder}{}", row.checksum)
    } else {
        format!("{}{}", artifact.url, row.checksum)
    })
}

/// Whether it is one of Kubernetes' own binaries, which every version has.
#[must_use]
pub fn is_of_kubernetes(artifact: &Artifact) -> bool {
    TABLE.binaries.iter().any(|row| row.name == artifact.name)
}

/// Whether this minor of Kubernetes has the binary `name`.
#[must_use]
pub fn has_binary(name: &str, minor: u32) -> bool {
    let mut rows = TABLE.binaries.iter();
    rows.any(|row| row.name == name && row.from_minor <= minor)
}

/// What one of Kubernetes' own binaries is called in `make WHAT=...`.
#[must_use]
pub fn make_target(name: &str) -> String {
    let row = TABLE.binaries.iter().find(|row| row.name == name);
    row.and_then(|row| row.make.clone())
        .unwrap_or_else(|| format!("cmd/{name}"))
}

/// The platform of the machine that wdev runs on, as downloads name it.
#[must_use]
pub fn host_platform() -> String {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        os => os,
    };
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        arch => arch,
    };
    format!("{os}/{arch}")
}

/// kubectl for the machine that wdev runs on.
#[must_use]
pub fn host_kubectl(kubernetes: &Version, origin: Origin) -> Option<Artifact> {
    (origin != Origin::Source).then(|| Artifact {
        url: kubernetes_url(kubernetes, origin, "kubectl", &host_platform()),
        name: "kubectl".to_owned(),
        platform: host_platform(),
        version: kubernetes.to_string(),
        sha256: String::new(),
        proof: Proof::Upstream,
    })
}

/// A checksum file that every version has upstream; none for the user's own build.
pub(super) fn proof_url(kubernetes: &Version, origin: Origin) -> Option<String> {
    let binary = kubernetes_url(kubernetes, origin, "kubeadm", LINUX);
    let url = format!("{binary}{}", TABLE.kubernetes.checksum);
    (origin != Origin::Source).then_some(url)
}

fn platforms(needs: &Needs, on: &[Place], name: &str) -> Vec<&'static str> {
    let linux = on.contains(&Place::ControlPlane)
        || (needs.linux_workers && on.contains(&Place::LinuxWorker));
    let built = needs
        .built
        .iter()
        .any(|component| component.as_str() == name);
    let windows = needs.windows_workers && on.contains(&Place::WindowsWorker) && !built;
    let mut platforms = Vec::new();
    if linux {
        platforms.push(LINUX);
    }
    if windows {
        platforms.push(WINDOWS);
    }
    platforms
}

fn binary(needs: &Needs, name: &str, platform: &str) -> Artifact {
    let (url, proof) = match (needs.origin, needs.source) {
        (Origin::Source, Some(source)) => (own_build(source, name, platform), Proof::Own),
        (origin, _) => (
            kubernetes_url(needs.kubernetes, origin, name, platform),
            Proof::Upstream,
        ),
    };
    Artifact {
        name: name.to_owned(),
        platform: platform.to_owned(),
        version: needs.kubernetes.to_string(),
        url,
        sha256: String::new(),
        proof,
    }
}

fn kubernetes_url(version: &Version, origin: Origin, name: &str, platform: &str) -> String {
    let site = &TABLE.kubernetes;
    let template = match origin {
        Origin::Ci => &site.ci,
        Origin::Release | Origin::Source => &site.release,
    };
    let ending = if platform.starts_with("windows/") {
        ".exe"
    } else {
        ""
    };
    template
        .replace("{version}", &version.to_string())
        .replace("{platform}", platform)
        .replace("{file}", &format!("{name}{ending}"))
}

/// Where Kubernetes' own `make` puts what it builds; see its `build/README.md`. The build in a container
/// counts where there is none beside it.
fn own_build(source: &Path, name: &str, platform: &str) -> String {
    let ending = if platform == WINDOWS { ".exe" } else { "" };
    let file = format!("{platform}/{name}{ending}");
    let place = |folder: &str| source.join("_output").join(folder).join("bin").join(&file);
    let (local, dockerized) = (place("local"), place("dockerized"));
    let found = if !local.exists() && dockerized.exists() {
        dockerized
    } else {
        local
    };
    found.to_string_lossy().into_owned()
}

fn version_of(needs: &Needs, archive: &Archive, platform: &str) -> Option<String> {
    if archive.version.is_empty() {
        return match (needs.containerd, platform) {
            // The package brings runc along.
            (DISTRIBUTION, LINUX) => None,
            (DISTRIBUTION, _) => crate::config::default_containerd(),
            (version, _) => Some(version.to_owned()),
        };
    }
    if archive.name == "runc" && needs.containerd == DISTRIBUTION {
        return None;
    }
    let by_minor = archive.by_minor.get(&needs.kubernetes.minor().to_string());
    Some(by_minor.unwrap_or(&archive.version).clone())
}

fn from_archive(archive: &Archive, version: &str, platform: &str) -> Artifact {
    let (os, arch) = platform.split_once('/').unwrap_or((platform, ""));
    Artifact {
        name: archive.name.clone(),
        platform: platform.to_owned(),
        version: version.to_owned(),
        url: archive
            .url
            .replace("{version}", version)
            .replace("{os}", os)
            .replace("{arch}", arch),
        sha256: String::new(),
        proof: Proof::Upstream,
    }
}

/// It is said to be this version: its configuration has that version's form.
fn own_archive(archive: &Archive, version: &str, path: &Path) -> Artifact {
    Artifact {
        url: path.to_string_lossy().into_owned(),
        proof: Proof::Own,
        ..from_archive(archive, version, WINDOWS)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

    use super::*;

    fn needs(version: &Version) -> Needs<'_> {
        Needs {
            kubernetes: version,
            origin: Origin::Release,
            source: None,
            built: &[],
            containerd: "2.2.7",
            own_containerd: None,
            linux_workers: false,
            windows_workers: true,
        }
    }

    fn names(all: &[Artifact]) -> Vec<String> {
        let one = |artifact: &Artifact| format!("{} {}", artifact.name, artifact.platform);
        all.iter().map(one).collect()
    }

    #[test]
    fn each_node_gets_what_it_runs() {
        let version = Version::parse("v1.36.3").unwrap();
        let all = artifacts(&needs(&version));
        assert_eq!(
            names(&all),
            [
                "cni-plugins linux/amd64",
                "containerd linux/amd64",
                "containerd windows/amd64",
                "crictl linux/amd64",
                "crictl windows/amd64",
                "kube-log-runner windows/amd64",
                "kube-proxy windows/amd64",
                "kubeadm linux/amd64",
                "kubeadm windows/amd64",
                "kubectl linux/amd64",
                "kubectl windows/amd64",
                "kubelet linux/amd64",
                "kubelet windows/amd64",
                "runc linux/amd64",
            ]
        );
    }

    #[test]
    fn a_program_is_fetched_from_the_minor_on_that_has_it() {
        for (version, has) in [("v1.20.2", false), ("v1.22.17", false), ("v1.23.0", true)] {
            let version = Version::parse(version).unwrap();
            let names = names(&artifacts(&needs(&version)));
            let there = names.contains(&"kube-log-runner windows/amd64".to_owned());
            assert_eq!(there, has, "{version}");
        }
    }

    #[test]
    fn a_component_that_is_built_is_not_fetched() {
        let version = Version::parse("v1.36.3").unwrap();
        let built = [Component::Kubelet];
        let all = artifacts(&Needs {
            built: &built,
            ..needs(&version)
        });
        let kubelets: Vec<_> = all.iter().filter(|one| one.name == "kubelet").collect();
        assert_eq!(kubelets.len(), 1, "{kubelets:?}");
        assert_eq!(kubelets[0].platform, LINUX);
    }

    #[test]
    fn a_containerd_of_the_users_own_is_for_windows_nodes() {
        let version = Version::parse("v1.36.3").unwrap();
        let all = artifacts(&Needs {
            own_containerd: Some(Path::new("/mine/containerd.tar.gz")),
            ..needs(&version)
        });
        let of = |platform| {
            let mut all = all.iter().filter(|one| one.name == "containerd");
            all.find(|one| one.platform == platform).unwrap()
        };
        assert_eq!(of(WINDOWS).url, "/mine/containerd.tar.gz");
        assert_eq!(of(WINDOWS).proof, Proof::Own);
        assert_eq!(of(WINDOWS).version, "2.2.7");
        assert_eq!(checksum_url(of(WINDOWS)), None);
        assert_eq!(of(LINUX).proof, Proof::Upstream);
    }

    #[test]
    fn the_distribution_brings_its_own_runtime_to_linux_only() {
        let version = Version::parse("v1.36.3").unwrap();
        let all = artifacts(&Needs {
            containerd: DISTRIBUTION,
            ..needs(&version)
        });
        let names = names(&all);
        assert!(!names.contains(&"containerd linux/amd64".to_owned()));
        assert!(!names.contains(&"runc linux/amd64".to_owned()));
        assert!(names.contains(&"containerd windows/amd64".to_owned()));
    }

    #[test]
    fn urls_and_checksums_are_those_of_each_project() {
        let version = Version::parse("v1.38.0-alpha.1.12+0123456789abcd").unwrap();
        let all = artifacts(&Needs {
            origin: Origin::Ci,
            ..needs(&version)
        });
        let url = |name: &str| {
            let found = all.iter().find(|one| one.name == name).unwrap();
            (found.url.clone(), checksum_url(found).unwrap())
        };
        let kubelet =
            "https://dl.k8s.io/ci/v1.38.0-alpha.1.12+0123456789abcd/bin/linux/amd64/kubelet";
        assert_eq!(
            url("kubelet"),
            (kubelet.to_owned(), format!("{kubelet}.sha256"))
        );
        let runc = "https://github.com/opencontainers/runc/releases/download/v1.4.3/runc";
        assert_eq!(
            url("runc"),
            (format!("{runc}.amd64"), format!("{runc}.sha256sum"))
        );
    }
}
