//! The steps that install the container runtime and Kubernetes on Linux nodes, run by real bash in a folder
//! of the test's own: with services that really run, under the stand-in for systemctl.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../common/mod.rs"]
mod common;
mod container_runtime;
mod kubernetes;
mod machine;

use std::process::Command;

use common::need;
use machine::Artifacts;
use wdev::render::linux::{self, Origin, Programs};

#[test]
fn shellcheck_finds_nothing_in_any_form() {
    let Some(shellcheck) = need("shellcheck") else {
        return;
    };
    let artifacts = Artifacts::new("1.7.2");
    let program_names: [&[&str]; 2] = [&["kubelet", "kubeadm"], &["kubelet", "kubeadm", "kubectl"]];
    let mut bodies = vec![
        artifacts.plain(Origin::Upstream),
        artifacts.plain(Origin::Distribution),
        linux::fetch(&["containerd", "cni-plugins"]).unwrap(),
        linux::dns(&[]).unwrap(),
        linux::dns(&["10.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap()]).unwrap(),
    ];
    for names in program_names {
        for minor in [20, 36] {
            let programs = Programs {
                version: "v1.36.3",
                minor,
                names,
                unit: "[Unit]\n",
                drop_in: "",
            };
            bodies.push(linux::kubernetes(&programs).unwrap());
        }
    }
    for (http, https) in [(false, false), (true, false), (false, true), (true, true)] {
        bodies.push(proxy(
            http.then_some("http://a:b@c"),
            https.then_some("http://c"),
        ));
    }
    for body in bodies {
        common::run(
            Command::new(&shellcheck).args(["--shell=bash", "-"]),
            body.as_bytes(),
        );
    }
}

/// The proxy's script with its URLs given.
fn proxy(http: Option<&str>, https: Option<&str>) -> String {
    let wanted = wdev::config::model::Proxy {
        http: http.map(str::to_owned),
        https: https.map(str::to_owned),
        no_proxy: vec![],
    };
    linux::proxy(&wanted, &["10.0.0.0/8".to_owned(), ".svc".to_owned()]).unwrap()
}
