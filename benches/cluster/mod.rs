//! How long a real control plane and a worker take, from nothing to Ready, when nothing is to be downloaded.

#[path = "../../tests/real/sites.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod sites;

use std::path::Path;
use std::time::{Duration, Instant};

use self::sites::Sites;
use super::machines::{Sandbox, image};
use super::{Row, run};

const SANDBOX: &str = "bench-cluster";
/// What containers lack; see docs/testing.md.
const EXTRA: &str = "vagrant: {extra: {docker: \"p.create_args += %w[--device=/dev/kmsg \
    --cap-add=NET_ADMIN --cap-add=SYS_ADMIN --cap-add=SYSLOG --security-opt=seccomp=unconfined \
    --security-opt=apparmor=unconfined --security-opt=systempaths=unconfined \
    --volume=/sys/fs/cgroup:/sys/fs/cgroup:rw --volume=/var/lib/containerd]\"}}\n";
const HOOKS: [(&str, &str); 2] = [
    (
        "concessions.sh",
        include_str!("../../tests/real/machine/concessions"),
    ),
    (
        "pod-network.sh",
        include_str!("../../tests/real/machine/pod-network"),
    ),
];

/// `wdev up` with a full cache, until both nodes are Ready.
pub fn row() -> Row {
    let what = "control plane and worker: up to Ready, cached";
    let found = (
        std::env::var("WDEV_TEST_KUBERNETES_IMAGE"),
        std::env::var("WDEV_TEST_KUBERNETES"),
    );
    let (Ok(machine), Ok(material)) = found else {
        println!("skipped: cluster: needs WDEV_TEST_KUBERNETES, which `tests/real/prepare` prints");
        return Row::new(what, "skipped");
    };
    if image("cluster").is_none() {
        return Row::new(what, "skipped");
    }
    let material = Path::new(&material);
    let folder = tempfile::tempdir().expect("temporary folder");
    for (name, text) in HOOKS {
        std::fs::write(folder.path().join(name), text).expect("a hook");
    }
    let mut sites = Sites::serve(&material.join("sites"));
    let variables = variables(&machine, material, &sites.prefix());
    let sandbox = Sandbox::new(folder.path(), SANDBOX, &variables);
    run(&mut sandbox.wdev(&["fetch"]));
    sites.stop();
    let started = Instant::now();
    run(&mut sandbox.wdev(&["up"]));
    let ready = ["--all", "--for=condition=Ready", "--timeout=5m"];
    run(&mut sandbox.wdev(&[&["kubectl", "--", "wait", "nodes"][..], &ready].concat()));
    let took = started.elapsed();
    Row::new(what, format!("{:.1} s", took.as_secs_f64()))
        .against("under 90 s", took < Duration::from_secs(90))
}

fn variables(machine: &str, material: &Path, mirror: &str) -> String {
    let node = |name: &str| format!("{{name: {name}, box: \"{machine}\", memory: 2GiB}}");
    let hook =
        |(name, _): &(&str, &str)| format!("  - {{node: all, phase: prepare, script: {name}}}\n");
    format!(
        "version: 1\nsandbox: {SANDBOX}\nprovider: docker\nnetwork: {{nodes: 10.126.253.0/24}}\n\
         kubernetes:\n  version: v1.20.2\n  images: [\"{}\"]\n{}\
         container_runtime: {{name: containerd, version: 1.6.20}}\ncni: none\n\
         artifacts: {{mirror: \"{mirror}\"}}\ncontrol_plane: {}\nworkers:\n  - {}\n{EXTRA}hooks:\n{}",
        material.join("images/release.tar").display(),
        include_str!("../../tests/real/machine/settings.yml"),
        node("cp"),
        node("w1"),
        HOOKS.iter().map(hook).collect::<String>(),
    )
}
