//! The images that kubeadm asks for, and where they come from.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{Origin, Release, by_minor};

/// The images that are built with Kubernetes itself and have its version, by the names of their
/// repositories, in kubeadm's order.
pub const KUBERNETES: [&str; 4] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-proxy",
];

/// What the images of one release are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Images {
    /// The registry of [`KUBERNETES`].
    pub registry: String,
    /// The registry of all others.
    pub others: String,
    /// The tag of [`KUBERNETES`].
    pub tag: String,
    /// The tag of etcd.
    pub etcd: String,
    /// `NAME:TAG` of `CoreDNS` below its registry.
    pub coredns: String,
    /// The tag of pause.
    pub pause: String,
    /// Whether the tags of etcd, `CoreDNS` and pause are known for this minor, and not taken from the
    /// nearest one that is.
    pub known: bool,
}

/// A name from a minor on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Since {
    from: u32,
    name: String,
    #[expect(dead_code, reason = "for who reads the file")]
    source: String,
}

/// The tags from a patch of a minor on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tags {
    minor: u32,
    #[serde(default)]
    patch: u32,
    etcd: String,
    coredns: String,
    pause: String,
    #[expect(dead_code, reason = "for who reads the file")]
    source: String,
}

/// The first sandbox image that has one for a version of Windows Server.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PauseOnWindows {
    windows: String,
    from: String,
    #[expect(dead_code, reason = "for who reads the file")]
    source: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    registries: Vec<Since>,
    ci_registries: Vec<Since>,
    coredns_names: Vec<Since>,
    pause_on_windows: Vec<PauseOnWindows>,
    tags: Vec<Tags>,
}

static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_json::from_str(include_str!("data/images.json")).unwrap_or_default());

impl Images {
    /// What kubeadm of this release asks for. For a build of the CI, the images of Kubernetes come from
    /// the CI's registry; etcd, `CoreDNS` and pause stay in that of releases. For the user's own build all
    /// have the names of a release.
    ///
    /// Later patches of a minor may ask for a newer etcd or `CoreDNS` than this: on a node,
    /// `kubeadm config images list --config FILE` is what holds.
    ///
    /// Upstream: cmd/kubeadm/app/images/images.go, `GetControlPlaneImages`.
    #[must_use]
    pub fn of(release: &Release) -> Self {
        let version = &release.kubernetes;
        let minor = version.minor();
        let registry = |table: &'static [Since]| {
            by_minor(table, minor, |entry| entry.from)
                .map(|entry| entry.name.clone())
                .unwrap_or_default()
        };
        let others = registry(&TABLE.registries);
        let tags = TABLE
            .tags
            .iter()
            .rfind(|tags| (tags.minor, tags.patch) <= (minor, version.patch()))
            .or(TABLE.tags.first());
        let tag = |of: fn(&Tags) -> &str| tags.map(|tags| of(tags).to_owned()).unwrap_or_default();
        let coredns = by_minor(&TABLE.coredns_names, minor, |entry| entry.from)
            .map_or("coredns", |entry| entry.name.as_str());
        Self {
            registry: match release.origin {
                Origin::Ci => registry(&TABLE.ci_registries),
                Origin::Release | Origin::Source => others.clone(),
            },
            others,
            tag: version.image_tag(),
            etcd: tag(|tags| &tags.etcd),
            coredns: format!("{coredns}:{}", tag(|tags| &tags.coredns)),
            pause: tag(|tags| &tags.pause),
            known: tags.is_some_and(|tags| tags.minor == minor),
        }
    }

    /// The sandbox image.
    #[must_use]
    pub fn pause(&self) -> String {
        format!("{}/pause:{}", self.others, self.pause)
    }

    /// The sandbox image for a node with this version of Windows Server, named as in `workers[].windows`: what
    /// kubeadm asks for, or the first one that runs there. The old registry of images has no newer ones.
    #[must_use]
    pub fn pause_on(&self, windows: &str) -> String {
        let mut rows = TABLE.pause_on_windows.iter();
        let first = rows.find(|row| row.windows == windows);
        let registry = TABLE.registries.last();
        match (first, registry) {
            (Some(first), Some(registry)) if numbers(&self.pause) < numbers(&first.from) => {
                format!("{}/pause:{}", registry.name, first.from)
            }
            _ => self.pause(),
        }
    }

    /// The images of Kubernetes itself.
    #[must_use]
    pub fn kubernetes(&self) -> Vec<String> {
        KUBERNETES
            .iter()
            .map(|name| format!("{}/{name}:{}", self.registry, self.tag))
            .collect()
    }

    /// All images, in kubeadm's order.
    #[must_use]
    pub fn all(&self) -> Vec<String> {
        let mut all = self.kubernetes();
        all.push(format!("{}/{}", self.others, self.coredns));
        all.push(self.pause());
        all.push(format!("{}/etcd:{}", self.others, self.etcd));
        all
    }

    /// What must be tagged anew when `imageRepository` is set to `repository` instead of being left at its
    /// default: every image, as it is called and as kubeadm then asks for it. `CoreDNS` loses its folder
    /// there. wdev itself never sets it: `ci/` before the version does what is needed.
    #[must_use]
    pub fn for_repository(&self, repository: &str) -> Vec<(String, String)> {
        self.all()
            .into_iter()
            .map(|image| {
                let last = image.rsplit('/').next().unwrap_or_default();
                let wanted = format!("{repository}/{last}");
                (image, wanted)
            })
            .filter(|(image, wanted)| image != wanted)
            .collect()
    }

    /// What an image of a build is to be called so that kubeadm finds it, for its name as it stands in the
    /// tar file: `registry.k8s.io/kube-apiserver-amd64:TAG` of any registry and tag becomes the name that
    /// kubeadm asks for. Nothing for an image that has no part in it, and for one that is called so already.
    ///
    /// Upstream: build/lib/release.sh, `kube::release::create_docker_images_for_server`.
    #[must_use]
    pub fn wanted_for(&self, image: &str, arch: &str) -> Option<String> {
        let last = image.rsplit('/').next()?;
        let name = last.split([':', '@']).next()?;
        let bare = name
            .strip_suffix(arch)
            .and_then(|name| name.strip_suffix('-'))
            .unwrap_or(name);
        let known = KUBERNETES.iter().find(|known| **known == bare)?;
        let wanted = format!("{}/{known}:{}", self.registry, self.tag);
        (wanted != image).then_some(wanted)
    }
}

/// `3.10.1` as numbers, so that it is newer than `3.9`.
fn numbers(tag: &str) -> Vec<u32> {
    tag.split('.').map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sandbox_image_runs_on_the_nodes_windows() {
        let images = |pause: &str| Images {
            registry: "k8s.gcr.io".to_owned(),
            others: "k8s.gcr.io".to_owned(),
            tag: String::new(),
            etcd: String::new(),
            coredns: String::new(),
            pause: pause.to_owned(),
            known: true,
        };
        for (pause, windows, wanted) in [
            ("3.2", "2019", "k8s.gcr.io/pause:3.2"),
            ("3.2", "2022", "registry.k8s.io/pause:3.6"),
            ("3.10", "2022", "k8s.gcr.io/pause:3.10"),
            ("3.10.1", "2025", "registry.k8s.io/pause:3.10.2"),
            ("3.10.2", "2025", "k8s.gcr.io/pause:3.10.2"),
        ] {
            assert_eq!(images(pause).pause_on(windows), wanted, "{pause} {windows}");
        }
    }
}
