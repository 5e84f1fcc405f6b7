//! The programs of Kubernetes and what they call.

use wdev::render::linux::{self, Programs};

use crate::machine::{Machine, bash, given, killed_and_resumed};
/// The programs of Kubernetes as scripts that say which version they are.
fn programs(version: &str) -> Vec<(&'static str, Vec<u8>)> {
    let script = |says: &str| {
        format!("#!/bin/bash\n[[ $# -gt 0 ]] || exec sleep 1000\n{says}\n").into_bytes()
    };
    vec![
        ("kubelet", script(&format!("echo Kubernetes {version}"))),
        ("kubeadm", script(&format!("echo {version}"))),
        (
            "kubectl",
            script(&format!(
                "printf '{{\\n  \"clientVersion\": {{\\n    \"gitVersion\": \"{version}\",\\n'"
            )),
        ),
    ]
}

/// A kubelet whose unit is that of nodes, with its own way to the program.
fn kubernetes(version: &str, minor: u32, files: &[(&'static str, Vec<u8>)]) -> String {
    let body = linux::kubernetes(&Programs {
        version,
        minor,
        names: &["kubelet", "kubeadm", "kubectl"],
        unit: "[Service]\nExecStart=/usr/local/bin/kubelet\n[Install]\nWantedBy=multi-user.target\n",
        drop_in: "[Service]\nEnvironment=A=1\n",
    })
    .unwrap();
    // Whatever the machine of the test has or lacks, the node has all of them.
    let has = "wdev_has() { [[ ! -e lacks/$1 ]]; }";
    given(&format!("{body}\n{has}"), files)
}

#[test]
fn the_programs_of_kubernetes_are_installed_in_their_exact_version() {
    let Some(bash) = bash() else { return };
    let machine = Machine::new(&bash, &["kubelet"]);
    let version = "v1.38.0-alpha.1.12+0123456789abcd";
    let files = programs(version);
    let body = kubernetes(version, 38, &files);
    let bring = |files: &[(&str, Vec<u8>)]| {
        for (name, bytes) in files {
            machine.bring(name, bytes);
        }
    };
    bring(&files);
    assert!(
        machine
            .probe(&body)
            .contains("not in place: kubelet is not")
    );
    machine.call(&body, "wdev_run").ok();
    assert_eq!(machine.probe(&body), "");
    let state = machine.call(
        "",
        "systemctl is-active kubelet || true; systemctl is-enabled kubelet",
    );
    assert_eq!(
        state.ok(),
        "inactive\nenabled\n",
        "without a configuration it is not started"
    );
    let before = machine.files();
    bring(&files);
    machine.call(&body, "wdev_run").ok();
    assert_eq!(machine.files(), before);

    for (damage, words) in [
        ("echo >>usr/local/bin/kubeadm", "kubeadm is not"),
        ("chmod 644 usr/local/bin/kubelet", "kubelet is not"),
        (
            "rm etc/systemd/system/kubelet.service",
            "kubelet.service differs",
        ),
        (
            "echo '# mine' >>etc/systemd/system/kubelet.service.d/10-kubeadm.conf",
            "10-kubeadm.conf differs",
        ),
        ("systemctl disable kubelet", "not started at boot"),
        ("rm state/services/kubelet", "was not started since"),
    ] {
        machine.call("", damage).ok();
        let said = machine.probe(&body);
        assert!(said.contains(words), "{damage}: {said}");
        bring(&files);
        machine.call(&body, "wdev_run").ok();
        assert_eq!(machine.probe(&body), "", "{damage}");
    }

    // A node that kubeadm has set up: the kubelet is started again with what is new, and only then.
    machine.write("var/lib/kubelet/config.yaml", "");
    machine
        .call(&body, "wdev_run; systemctl start kubelet")
        .ok();
    let start = machine.start("kubelet");
    machine.call(&body, "wdev_run").ok();
    assert_eq!(machine.start("kubelet"), start);
    let newer = programs("v1.38.0");
    bring(&newer);
    machine
        .call(&kubernetes("v1.38.0", 38, &newer), "wdev_run")
        .ok();
    assert_ne!(machine.start("kubelet"), start);
}

#[test]
fn a_program_of_another_version_is_told() {
    let Some(bash) = bash() else { return };
    let machine = Machine::new(&bash, &["kubelet"]);
    let files = programs("v1.36.3");
    for (name, bytes) in &files {
        machine.bring(name, bytes);
    }
    let said = machine
        .call(&kubernetes("v1.36.4", 36, &files), "wdev_run")
        .failed();
    assert!(
        said.contains("kubelet should be v1.36.4, but says: v1.36.3"),
        "{said}"
    );
}

#[test]
fn programs_that_kubernetes_calls_are_installed_or_named() {
    let Some(bash) = bash() else { return };
    let machine = Machine::new(&bash, &["kubelet"]);
    let files = programs("v1.20.2");
    let body = kubernetes("v1.20.2", 20, &files);
    let bring = || {
        for (name, bytes) in &files {
            machine.bring(name, bytes);
        }
    };
    bring();
    machine.write("lacks/conntrack", "");
    machine.write("lacks/ip", "");
    machine.write("lacks/socat", "");
    assert!(
        machine
            .probe(&body)
            .contains("Kubernetes needs conntrack ip")
    );
    let said = machine.call(&body, "wdev_run").failed();
    assert!(said.contains("not on this node: conntrack ip\n"), "{said}");
    assert!(
        said.contains("'apt-get install conntrack iproute2'"),
        "{said}"
    );
    let asked = machine.node.read("apt");
    assert!(
        asked.contains("install --no-install-recommends conntrack iproute2 socat"),
        "{asked}"
    );
    assert!(
        asked.lines().any(|line| line.ends_with(" update")),
        "{asked}"
    );
    machine
        .node
        .program("apt-get", "rm lacks/ip lacks/conntrack; exit 1");
    let told = machine.call(&body, "wdev_run").ok();
    assert!(
        told.contains("will warn of missing programs: socat"),
        "{told}"
    );
    assert_eq!(machine.probe(&body), "");
    // From 1.32 on kube-proxy needs no conntrack.
    machine.write("lacks/conntrack", "");
    let newer = kubernetes("v1.36.3", 36, &programs("v1.36.3"));
    assert!(!machine.probe(&newer).contains("conntrack"));
}

#[test]
fn kubernetes_killed_half_way_is_installed_by_the_next_run() {
    let Some(bash) = bash() else { return };
    let files = programs("v1.36.3");
    killed_and_resumed(
        &kubernetes("v1.36.3", 36, &files),
        17,
        || Machine::new(&bash, &["kubelet"]),
        |machine| {
            for (name, bytes) in &files {
                machine.bring(name, bytes);
            }
        },
    );
}
