//! A doubled Windows node and its cluster.

use std::path::Path;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};
use wdev::channel::Mode;

use crate::node::{Ended, Node};

pub const TOKEN: &str = "abcdef.0123456789abcdef";
pub const CA: &str = include_str!("../fixtures/cluster/ca.crt");
/// What a kubelet that cannot start leaves in its log.
pub const LOG: &str = r"C:\var\log\kubelet\kubelet.log";

/// A certificate as a script is given it.
pub fn given(ca: &str) -> String {
    BASE64_STANDARD.encode(ca)
}

/// The world of a node that is ready to join; `change` may change it.
pub fn world(change: impl FnOnce(&mut Value)) -> Value {
    let service = |name: &str, status: &str| {
        json!({
            "Name": name, "Status": status, "StartType": "Automatic", "DependsOn": [], "PathName": r"C:\k\kubelet.exe --hostname-override=winw1 --node-ip=192.168.56.11",
        })
    };
    let mut world = json!({
        "services": {"containerd": service("containerd", "Running"), "kubelet": service("kubelet", "Stopped")},
        "cluster": {
            "answers": true, "id": "one", "ca": given(CA), "network": true, "conditions": [], "pods": [],
            "tokens": {TOKEN: "valid"}, "nodes": {}, "sandboxes": [], "told": "", "flags": "",
        },
    });
    change(&mut world);
    world
}

/// A node with this world, and with the folders that the step before has made.
pub fn node(world: &Value) -> Option<Node> {
    let node = Node::new(world)?;
    for folder in [
        "k",
        "var/log/kubelet",
        "var/lib/kubelet",
        "etc/kubernetes/pki",
    ] {
        std::fs::create_dir_all(node.path("c").join(folder)).unwrap();
    }
    Some(node)
}

pub fn change(node: &Node, change: impl FnOnce(&mut Value)) {
    let mut world = node.world();
    change(&mut world);
    node.set_world(&world);
}

/// Every file of the node that holds this text.
pub fn files_with(node: &Node, text: &str) -> Vec<String> {
    fn look(folder: &Path, text: &str, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                look(&path, text, found);
            } else if String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(text) {
                found.push(path.display().to_string());
            }
        }
    }
    let mut found = Vec::new();
    look(&node.path("c"), text, &mut found);
    found
}

pub fn run(node: &Node, body: &str) -> Ended {
    let ca = given(CA);
    node.call_with(
        body,
        Mode::Run,
        &[("join_token", TOKEN), ("cluster_ca", &ca)],
        None,
    )
}
