//! The bodies of the steps that make nodes a cluster, run by real bash in a folder that stands for a node, with
//! doubles of kubeadm, kubectl, crictl, ctr and systemctl.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../common/mod.rs"]
mod common;
mod control_plane;
mod images;
mod joining;
mod leaving;
mod world;

use std::process::Command;

use common::need;
use wdev::render::linux_cluster::{self, ControlPlane, Join, NodeFile};

fn control_plane(files: &[NodeFile], skipped: &[String], taints: Option<&[String]>) -> String {
    linux_cluster::control_plane(&ControlPlane {
        node: "cp",
        address: [192, 168, 56, 10].into(),
        version: "v1.20.2",
        exact: true,
        socket: "unix:///run/containerd/containerd.sock",
        config: "kind: InitConfiguration\nname: 'it''s $x'\n",
        files,
        skipped_phases: skipped,
        taints,
    })
    .unwrap()
}

fn join(also: &str) -> String {
    linux_cluster::join(&Join {
        node: "w1",
        address: [192, 168, 56, 11].into(),
        control_plane: [192, 168, 56, 10].into(),
        socket: "unix:///run/containerd/containerd.sock",
        config: "kind: JoinConfiguration\n",
        also,
    })
    .unwrap()
}

#[test]
fn shellcheck_finds_nothing_in_any_rendering() {
    let Some(shellcheck) = need("shellcheck") else {
        return;
    };
    let file = NodeFile {
        path: "/etc/kubernetes/audit.yaml".to_owned(),
        text: "kind: Policy\n# $x `y`\n".to_owned(),
    };
    let skipped = ["addon/kube-proxy".to_owned(), "addon/coredns".to_owned()];
    let taints = ["a=b:NoSchedule".to_owned(), "c:NoExecute".to_owned()];
    let image = ("/var/cache/wdev/x.tar".to_owned(), "0123".to_owned());
    let node = ("w1".to_owned(), [192, 168, 56, 11].into());
    for body in [
        control_plane(&[], &[], None),
        control_plane(&[file], &skipped, Some(&taints)),
        control_plane(&[], &[], Some(&[])),
        linux_cluster::images(&[image.clone(), image], "kind: X $x\n").unwrap(),
        linux_cluster::images(&[], "").unwrap(),
        linux_cluster::join_token("w1").unwrap(),
        linux_cluster::join_end("w1").unwrap(),
        linux_cluster::leave("w1", 600, false).unwrap(),
        join(""),
        join("{\"v\":\"$x\"}"),
        linux_cluster::nodes_ready("/etc/kubernetes/admin.conf", &[node.clone(), node], 600)
            .unwrap(),
    ] {
        common::run(
            Command::new(&shellcheck).args(["--shell=bash", "-"]),
            body.as_bytes(),
        );
    }
}
