//! Sandboxes with a real Kubernetes 1.20.2: docker machines that can hold one, a server that plays the
//! download sites, images as tar files. What containers lack is made up for here, and nowhere in wdev.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;

use super::emulated::Emulated;
use super::said_by;
use super::sandbox::{Hook, Sandbox, Shape};
use super::sites::Sites;
use crate::common;

/// The version of Kubernetes that there is.
pub const VERSION: &str = "v1.20.2";
/// The version of containerd under which there is an archive.
const CONTAINERD: &str = "1.6.20";

/// What the kubelet and kube-proxy need in a container: no cgroups of their own, a score of the
/// out-of-memory killer that is not lowered, the host's limits for connections. And the disk is the host's:
/// how full it is says nothing about the machine.
const EXTRA_ARGS: &str = include_str!("machine/settings.yml");
/// See [`super::sandbox`] for those of every machine. The runtime's folder is a volume: no overlay can be
/// mounted on the overlay that a container lives on.
const CREATE_ARGS: [&str; 4] = [
    "--device=/dev/kmsg",
    "--cap-add=SYSLOG",
    "--volume=/sys/fs/cgroup:/sys/fs/cgroup:rw",
    "--volume=/var/lib/containerd",
];

/// Under which names a version's images are known.
#[derive(Clone, Copy)]
pub enum Images {
    /// `k8s.gcr.io/…`
    Release,
    /// `gcr.io/kubernetes-ci-images/…`, where they are Kubernetes' own.
    Ci,
}

/// What `tests/real/prepare` has made for a real Kubernetes.
pub struct Material {
    folder: PathBuf,
    image: String,
}

/// The doubled Windows workers of [`Material::with_windows`], and the version of Windows of each.
pub const WINDOWS: [(&str, &str); 2] = [("winw1", "2022"), ("winw2", "2025")];

impl Material {
    /// Nothing, with the reason on stderr, where there is none.
    pub fn find() -> Option<Self> {
        let image = std::env::var("WDEV_TEST_KUBERNETES_IMAGE").ok();
        let folder = std::env::var_os("WDEV_TEST_KUBERNETES");
        let (Some(image), Some(folder)) = (image, folder) else {
            common::skip_without_material("a real Kubernetes; `tests/real/prepare` says why");
            return None;
        };
        Some(Self {
            folder: folder.into(),
            image,
        })
    }

    /// A running server with all downloads.
    pub fn sites(&self) -> Sites {
        Sites::serve(&self.folder.join("sites"))
    }

    /// What `variables.yml` says of a version of Kubernetes beside what the machines need for it. `more` is
    /// said of Kubernetes, too.
    fn settings(&self, version: &str, images: Images, sites: &Sites, more: &str) -> String {
        let images = self.folder.join(match images {
            Images::Release => "images/release.tar",
            Images::Ci => "images/ci.tar",
        });
        format!(
            "kubernetes:\n  version: {version}\n  images: [\"{}\"]\n{more}\
             container_runtime: {{name: containerd, version: {CONTAINERD}}}\ncni: none\n\
             artifacts: {{mirror: \"{}\"}}\n",
            images.display(),
            sites.prefix()
        )
    }

    /// A control plane `cp` and a worker `w1` of this version, as `variables.yml` asks for it.
    pub fn sandbox(
        &self,
        (name, number): (&str, u32),
        (version, images): (&str, Images),
        sites: &Sites,
        hooks: Vec<Hook>,
    ) -> Sandbox {
        let shape = self.shape(self.settings(version, images, sites, EXTRA_ARGS));
        let concessions = include_str!("machine/concessions");
        let mut all = vec![
            Hook::of("all", "prepare", "concessions", concessions),
            pod_network(),
        ];
        all.extend(hooks);
        Sandbox::shaped(name, number, &["w1"], &all, &shape)
    }

    /// Machines that can hold a real Kubernetes.
    fn shape(&self, settings: String) -> Shape {
        Shape {
            image: self.image.clone(),
            create_args: CREATE_ARGS.map(str::to_owned).to_vec(),
            boxes: BTreeMap::new(),
            settings,
        }
    }

    /// A control plane `cp` of the release and the doubled workers [`WINDOWS`]; nothing without their
    /// images, which has been said then.
    pub fn with_windows(&self, (name, number): (&str, u32), sites: &Sites) -> Option<Sandbox> {
        let Ok(image) = std::env::var("WDEV_TEST_WORKER_IMAGE") else {
            common::skip_without_material("PowerShell; `tests/real/prepare` says why");
            return None;
        };
        let mut settings = self.settings(VERSION, Images::Release, sites, EXTRA_ARGS);
        settings.push_str("kube_proxy: none\n");
        let mut shape = self.shape(settings);
        shape.boxes = WINDOWS
            .iter()
            .map(|(worker, year)| {
                let spec =
                    format!("box: \"{image}-{year}\", communicator: ssh, windows: \"{year}\"");
                ((*worker).to_owned(), spec)
            })
            .collect();
        let hooks = [
            Hook::of(
                "cp",
                "prepare",
                "concessions",
                include_str!("machine/concessions"),
            ),
            Hook::of(
                "cp",
                "network",
                "pod-network",
                include_str!("machine/pod-network"),
            ),
            Hook::of(
                "workers",
                "network",
                "pod-network",
                include_str!("worker/pod-network.ps1"),
            ),
        ];
        let workers = WINDOWS.map(|(worker, _)| worker);
        let mut sandbox = Sandbox::shaped(name, number, &workers, &hooks, &shape);
        sandbox.env.push(("WDEV_TESTBED", "1".to_owned()));
        Some(sandbox)
    }

    /// A control plane `cp` alone, of the release, on an emulated machine: without any concession.
    pub fn emulated(&self, name: &str, number: u32, sites: &Sites) -> Option<Emulated> {
        let settings = self.settings(VERSION, Images::Release, sites, "");
        let hooks = vec![pod_network()];
        Emulated::shaped(name, number, &[], hooks, ("2GiB", settings))
    }
}

/// The hook that stands in for a network plugin.
fn pod_network() -> Hook {
    let script = include_str!("machine/pod-network");
    Hook::of("all", "prepare", "pod-network", script)
}

/// The cluster as its control plane sees it, past wdev.
pub struct Cluster<'a>(pub &'a Sandbox);

impl Cluster<'_> {
    /// What `kubectl` on the control plane prints; `None` when it fails.
    pub fn kubectl(&self, args: &[&str]) -> Option<String> {
        let machine = self.0.machine("cp")?;
        let mut docker = Command::new("docker");
        docker.args(["exec", &machine, "/usr/local/bin/kubectl"]);
        docker.arg("--kubeconfig=/etc/kubernetes/admin.conf");
        said_by(docker.args(args)).ok()
    }

    /// One field of every object of a kind in `kube-system`.
    pub fn of_system(&self, kind: &str, field: &str) -> Vec<String> {
        let output = format!("jsonpath={{range .items[*]}}{{{field}}}{{\"\\n\"}}{{end}}");
        let args = ["--namespace=kube-system", "get", kind, "--output", &output];
        let text = self.kubectl(&args).expect("the API server answers");
        text.lines().map(str::to_owned).collect()
    }

    /// The nodes: name, whether Ready, address.
    pub fn nodes(&self) -> Vec<[String; 3]> {
        let output = "jsonpath={range .items[*]}{.metadata.name} \
                      {.status.conditions[?(@.type==\"Ready\")].status} \
                      {.status.addresses[?(@.type==\"InternalIP\")].address}{\"\\n\"}{end}";
        let text = self.kubectl(&["get", "nodes", "--output", output]);
        let text = text.expect("the API server answers");
        let line = |line: &str| {
            let mut words = line.split(' ').map(str::to_owned);
            std::array::from_fn(|_| words.next().unwrap_or_default())
        };
        text.lines().map(line).collect()
    }

    /// The secrets of the kind that a join token is: whole tokens.
    pub fn tokens(&self) -> Vec<String> {
        let output = "jsonpath={range .items[?(@.type==\"bootstrap.kubernetes.io/token\")]}\
                      {.data.token-id}.{.data.token-secret}{\"\\n\"}{end}";
        let args = [
            "--namespace=kube-system",
            "get",
            "secrets",
            "--output",
            output,
        ];
        let text = self.kubectl(&args).unwrap_or_default();
        // Values of secrets are in base64.
        let decoded = |half: &str| {
            let bytes = BASE64.decode(half).expect("base64");
            String::from_utf8(bytes).expect("text")
        };
        let halves = text.lines().filter_map(|line| line.split_once('.'));
        halves
            .map(|(id, secret)| format!("{}.{}", decoded(id), decoded(secret)))
            .collect()
    }
}
