//! The way from the host to the cluster: the sandbox's kubeconfig, and its entries in the user's.

mod merged;
mod side_by_side;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use wdev::channel::Secret;
use wdev::kubeconfig::Access;

use crate::env::{Env, Ran};

const KEY: &str = "VEhFIEtFWQ==";

/// Kubeconfigs as people, tools and accidents write them.
const STRANGE: &[&str] = &[
    "apiVersion: v1\nkind: Config\nclusters:\n- cluster: {server: x}\n  name: a # mine\n# here\ncontexts: []\nusers: null\ncurrent-context: a\npreferences: {}\n",
    "apiVersion: v1\r\nkind: Config\r\nclusters:\r\n- name: \"it's \\\"\\u00e9\"\r\n  cluster:\r\n    server: 'x'\r\nusers:\r\ncontexts:\r\n",
    "\u{feff}apiVersion: v1\nusers:\n  - user: {token: \"t\"}\n    name: 漢字 🦀\n",
    "{\"kind\": \"Config\", \"clusters\": [{\"name\": \"a\", \"cluster\": {}}], \"users\": [], \"contexts\": null}\n",
    "# only a remark",
    "---\nx-base: &base\n  server: https://y\nclusters:\n- name: a\n  cluster: *base\nextensions:\n- name: ext\n  extension: |+\n    text\n\n\n",
    "users:\n- name: long\n  user:\n    client-key-data: |-\n      AAAA\n      BBBB\n",
    "kind: Config # a\ttab\nclusters:\n- name: \"a\ttab\"\n  cluster: {}\n",
];

fn encoded(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

fn authority(cluster: &str) -> String {
    encoded(&format!("authority of {cluster}"))
}

/// What leads to the cluster of this name.
fn access(cluster: &str) -> Access {
    Access {
        server: "https://192.168.56.10:6443".to_owned(),
        authority: authority(cluster),
        certificate: encoded(&format!("certificate of {cluster}")),
        key: Some(Secret::new(KEY)),
    }
}

/// A host with sandboxes that have a cluster.
pub struct Host {
    pub env: Env,
    /// The user's kubeconfig.
    file: PathBuf,
}

impl Host {
    pub fn new() -> Self {
        let env = Env::new();
        let file = env.root().join(".kube/config");
        let host = Self { env, file };
        host.sandbox(&host.env.project, "default");
        host
    }

    /// A sandbox of a project, with a cluster.
    fn sandbox(&self, project: &Path, name: &str) {
        fs::create_dir_all(project).unwrap();
        self.run_in(
            project,
            &["up", "-q", "--provider", "sim", "--sandbox", name],
        )
        .exits(0);
        Self::cluster(project, name, name);
    }

    /// The sandbox's cluster is made, or made anew.
    fn cluster(project: &Path, name: &str, cluster: &str) {
        let text = access(cluster)
            .render(&format!("wdev-{name}"), "x")
            .unwrap();
        fs::write(project.join(".wdev").join(name).join("kubeconfig"), text).unwrap();
    }

    fn wdev(&self, args: &[&str]) -> Command {
        let mut command = self.env.wdev(args);
        command.env("USERPROFILE", self.env.root());
        command
    }

    fn run_in(&self, project: &Path, args: &[&str]) -> Ran {
        Ran::of(self.wdev(args).current_dir(project))
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.run_in(&self.env.project, args)
    }

    fn merge(&self) -> Ran {
        self.run(&["kubeconfig", "--merge"])
    }

    fn remove(&self) -> Ran {
        self.run(&["kubeconfig", "--remove"])
    }

    fn write(&self, text: &str) {
        fs::create_dir_all(self.file.parent().unwrap()).unwrap();
        fs::write(&self.file, text).unwrap();
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.file).unwrap()
    }

    /// Nothing but the kubeconfig is left beside it: no lock, no temporary file.
    #[track_caller]
    fn is_tidy(&self) {
        let entries = fs::read_dir(self.file.parent().unwrap()).unwrap();
        for entry in entries {
            let name = entry.unwrap().file_name();
            let ours = name == "config" || name == "other";
            assert!(ours, "{}", name.display());
        }
    }
}

/// The value of `yaml` as JSON.
fn value(yaml: &str) -> serde_json::Value {
    wdev_yaml(yaml).unwrap_or_else(|error| panic!("{error} in {yaml}"))
}

fn wdev_yaml(yaml: &str) -> Result<serde_json::Value, String> {
    serde_saphyr::from_str(yaml).map_err(|error| error.to_string())
}

fn names(yaml: &str, list: &str) -> Vec<String> {
    let value = value(yaml);
    let items = value[list].as_array().cloned().unwrap_or_default();
    items
        .iter()
        .map(|item| item["name"].as_str().unwrap().to_owned())
        .collect()
}
