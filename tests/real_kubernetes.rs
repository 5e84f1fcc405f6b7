//! A real Kubernetes 1.20.2 in machines of Vagrant's docker provider: kubeadm, kubelet, containerd and etcd
//! as they are, downloads from a server that plays the download sites, images from files.
//!
//! Run by `make test-real`. What containers lack is made up for in `tests/real/cluster.rs` and its hook.
#![cfg(unix)]

mod common;
#[path = "real_kubernetes/emulated.rs"]
mod emulated;
mod real;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use real::cluster::{Cluster, Images, Material, VERSION};
use real::run::{Events, Run};
use real::sandbox::{Hook, RECORDS, Sandbox};
use real::secrets::{ProcessWatch, Secrets};
use real::{wait_for, wanted};

/// How long the cluster may take for what it does after `up` has ended.
const SETTLING: Duration = Duration::from_mins(2);
/// The certificate of the cluster's authority, on the control plane.
const CA: &str = "/etc/kubernetes/pki/ca.crt";
const PROXY_PASSWORD: &str = "pass-word-of-the-proxy";

/// A release, killed in the middle of `kubeadm init`; then everything that a user does with a cluster.
#[test]
fn a_release_survives_a_kill_serves_the_host_and_stays_as_it_is() {
    let Some(material) = wanted().then(Material::find).flatten() else {
        return;
    };
    let sites = material.sites();
    let watch = ProcessWatch::start();
    let version = (VERSION, Images::Release);
    let mut sandbox = material.sandbox(("release", 0), version, &sites, Vec::new());
    set_proxy(&sandbox);
    let users = sandbox.folder().join("kube config");
    sandbox
        .env
        .push(("KUBECONFIG", users.display().to_string()));
    let cluster = Cluster(&sandbox);

    let killed = kill_in_init(&sandbox);
    let mut up = sandbox.start_up();
    let mut secrets = Secrets::default();
    secrets.add("the proxy's password", PROXY_PASSWORD);
    secrets.add("the join token", &join_token(&mut up, &cluster));
    let events = up.end().with_code(0).events();
    assert_not_repeated(&sandbox, &events, &killed);

    assert_is_up(&cluster);
    let images = cluster.of_system("pods", ".spec.containers[*].image");
    let of_ours = |name: &str| format!("k8s.gcr.io/{name}:{VERSION}");
    for name in [
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kube-proxy",
    ] {
        assert!(images.contains(&of_ours(name)), "no {name}: {images:?}");
    }

    let asked = sites.asked();
    assert_second_up_changes_nothing(&sandbox);
    assert_eq!(
        sites.asked(),
        asked,
        "an `up` with nothing to do asked for something"
    );

    for (what, value) in keys(&sandbox) {
        secrets.add(what, &value);
    }
    let mut ours = sandbox.machines();
    ours.push(sandbox.folder().display().to_string());
    secrets.assert_not_in_arguments(&watch.seen(), &ours);
    drop(watch);
    assert_no_secret_in_files(&sandbox, &secrets);
    assert_the_host_has_access(&sandbox, &users);
    sandbox.assert_gone();
}

/// The proxy for the nodes, with a password, in the file that is not shared. Nothing is there to answer it.
fn set_proxy(sandbox: &Sandbox) {
    let url = format!("http://wdev:{PROXY_PASSWORD}@192.0.2.1:3128");
    let file = sandbox.folder().join("variables.local.yml");
    let address = sandbox.address("cp");
    let (subnet, _) = address.rsplit_once('.').expect("an address");
    let text = format!(
        "network:\n  proxy:\n    http: \"{url}\"\n    https: \"{url}\"\n    \
         no_proxy: [{subnet}.0/24, 10.244.0.0/16, 10.96.0.0/12, .svc]\n"
    );
    fs::write(file, text).expect("variables.local.yml");
}

/// Kills wdev and all below it while kubeadm is at work on the node; what it had finished.
fn kill_in_init(sandbox: &Sandbox) -> Events {
    let mut up = sandbox.start_up();
    wait_for_init(&mut up, sandbox);
    let events = up.events();
    assert!(!events.finished("cp").contains(&"control-plane"));
    up.kill_tree();
    events
}

fn wait_for_init(up: &mut Run, sandbox: &Sandbox) {
    up.wait_for("kubeadm at work", |_| {
        // It has begun to write; what it was to clear away first is gone.
        let line = format!(
            "pgrep -f '^[^ ]*kubeadm init' && test -e {CA} && ! cmp -s {CA} {RECORDS}/half-made"
        );
        sandbox.on_node("cp", &line)
    });
}

/// The token that the worker joins with, seen by asking the API server while the run goes on.
fn join_token(up: &mut Run, cluster: &Cluster) -> String {
    up.wait_for("a join token", |_| {
        let tokens = cluster.tokens();
        assert!(tokens.len() < 2, "{} tokens for one join", tokens.len());
        tokens.into_iter().next()
    })
}

/// Of what an earlier run had finished nothing was begun again.
fn assert_not_repeated(sandbox: &Sandbox, events: &Events, earlier: &Events) {
    for node in sandbox.nodes() {
        let finished = earlier.finished(node);
        let mut again = events.started(node);
        again.retain(|step| finished.contains(step));
        assert_eq!(again, [""; 0], "{node} repeated finished steps");
    }
}

/// Both nodes are Ready under their own addresses, the system's pods run, and no token is left.
fn assert_is_up(cluster: &Cluster) {
    let nodes = cluster.0.nodes().iter();
    let expected: Vec<_> = nodes
        .map(|node| {
            [
                (*node).to_owned(),
                "True".to_owned(),
                cluster.0.address(node),
            ]
        })
        .collect();
    wait_for(
        "nodes that are Ready under their own addresses",
        SETTLING,
        || (cluster.nodes() == expected).then_some(()),
    );
    wait_for("kube-proxy on both nodes", SETTLING, || {
        let of_proxies = ["--selector=k8s-app=kube-proxy", "--output=name"];
        let args = [
            "--namespace=kube-system",
            "wait",
            "pods",
            "--for=condition=Ready",
        ];
        let ready = cluster.kubectl(&[&args[..], &of_proxies, &["--timeout=5s"]].concat())?;
        (ready.lines().count() == cluster.0.nodes().len()).then_some(())
    });
    assert_eq!(cluster.tokens(), [""; 0], "bootstrap tokens are left");
}

/// An `up` with nothing to do begins no step, by its events and by the journal.
fn assert_second_up_changes_nothing(sandbox: &Sandbox) {
    let journal = sandbox.state().join("journal.jsonl");
    let before = fs::read_to_string(&journal).expect("the journal");
    let ended = sandbox.start_up().end().with_code(0);
    let events = ended.events();
    for lane in ["host"].iter().chain(sandbox.nodes()) {
        assert_eq!(events.started(lane), [""; 0], "{lane} did something again");
    }
    let after = fs::read_to_string(&journal).expect("the journal");
    let new = after
        .strip_prefix(&before)
        .expect("a journal is appended to");
    assert!(!new.contains("step_started"), "{new}");
}

/// Parts of the administrator's key and of the authority's, as their files have them, from behind what all
/// keys begin with.
fn keys(sandbox: &Sandbox) -> [(&'static str, String); 2] {
    let admin = "sed -n 's/^ *client-key-data: //p' /etc/kubernetes/admin.conf | cut -c 100-160";
    let authority = "sed -n 10p /etc/kubernetes/pki/ca.key";
    [
        ("the administrator's key", admin),
        ("the authority's key", authority),
    ]
    .map(|(what, line)| (what, sandbox.on_node("cp", line).expect("a key")))
}

/// Neither what wdev has written on this host nor what is on the nodes shows a secret to anybody but its
/// owner; logs, journal and events show none to anybody.
fn assert_no_secret_in_files(sandbox: &Sandbox, secrets: &Secrets) {
    let state = sandbox.state();
    let may_hold = |path: &Path| {
        let told = [state.join("logs"), state.join("journal.jsonl")];
        !told.iter().any(|told| path.starts_with(told))
    };
    secrets.assert_not_in_files(&state, may_hold);
    secrets.assert_not_in_files(&sandbox.folder().join("runs"), |_| false);
    secrets.assert_not_in_files(&sandbox.folder().join("tmp"), |_| true);
    // The patterns come by stdin: the search is a process, too.
    let line = "umask 077; cat >/root/patterns; \
                find /etc /run /tmp /opt /root /home /var -xdev -type f -perm /077 -size -2M -print0 | \
                xargs -0 -r grep -lF -f /root/patterns --; rm /root/patterns";
    for node in sandbox.nodes() {
        let machine = sandbox.machine(node).expect("a machine");
        let mut find = Command::new("docker");
        find.args(["exec", "--interactive", &machine, "sh", "-c", line]);
        let found = common::run(&mut find, secrets.lines().as_bytes());
        let found = String::from_utf8_lossy(&found);
        assert_eq!(
            found, "",
            "files on {node} that others can read hold secrets"
        );
    }
}

/// `wdev kubectl` and a merged kubeconfig work from this host; `destroy` takes the latter back.
fn assert_the_host_has_access(sandbox: &Sandbox, users: &Path) {
    let listed = sandbox.run(&["kubectl", "--", "get", "nodes", "--output", "name"]);
    let listed = listed.with_code(0).stdout;
    assert_eq!(listed.lines().collect::<Vec<_>>(), ["node/cp", "node/w1"]);

    let printed = sandbox.run(&["kubeconfig"]).with_code(0).stdout;
    let server = format!("https://{}:6443", sandbox.address("cp"));
    assert!(printed.contains(&server), "no {server}");

    let _ = sandbox
        .run(&["kubeconfig", "--merge", "--use"])
        .with_code(0);
    let merged = fs::read_to_string(users).expect("the user's kubeconfig");
    assert!(merged.contains(&server), "{server} was not merged");
    let _ = sandbox.run(&["destroy", "--yes"]).with_code(0);
    let left = fs::read_to_string(users).unwrap_or_default();
    assert!(!left.contains(&server), "{server} is still there:\n{left}");
}

/// A CI build; somebody has begun an init by hand, and then kubeadm is killed in the middle.
#[test]
fn a_ci_build_is_mended_where_others_left_half_of_it() {
    let Some(material) = wanted().then(Material::find).flatten() else {
        return;
    };
    let mut sites = material.sites();
    // An init for an address of nobody's, up to the static pods' manifests.
    let half = format!(
        "#!/usr/bin/env bash\nset -euo pipefail\n\
         kubeadm init phase certs all --apiserver-advertise-address 192.0.2.7\n\
         kubeadm init phase kubeconfig all --apiserver-advertise-address 192.0.2.7\n\
         kubeadm init phase control-plane all --apiserver-advertise-address 192.0.2.7\n\
         mkdir -p {RECORDS}\ncp /etc/kubernetes/pki/ca.crt {RECORDS}/half-made\n"
    );
    let hooks = vec![Hook::of("cp", "kubernetes", "half-made", half)];
    let version = (format!("ci/{VERSION}"), Images::Ci);
    let sandbox = material.sandbox(("ci", 1), (&version.0, version.1), &sites, hooks);
    let cluster = Cluster(&sandbox);

    // Everything is fetched before; from then on there is nobody to ask.
    let _ = sandbox.run(&["fetch"]).with_code(0);
    sites.stop();

    let mut up = sandbox.start_up();
    wait_for_init(&mut up, &sandbox);
    sandbox
        .on_node("cp", "pkill -KILL -f '^[^ ]*kubeadm init'")
        .expect("kubeadm is killed");
    let ended = up.end();
    if ended.code != Some(0) {
        // It may try again by itself, or leave that to the next run.
        let _ = sandbox.start_up().end().with_code(0);
    }

    assert_is_up(&cluster);
    let made_anew = sandbox.on_node("cp", &format!("! cmp {CA} {RECORDS}/half-made"));
    assert!(made_anew.is_some(), "kubeadm went on with what was there");
    let images = cluster.of_system("pods", ".spec.containers[*].image");
    for image in [
        "gcr.io/kubernetes-ci-images/kube-apiserver:v1.20.2",
        "gcr.io/kubernetes-ci-images/kube-controller-manager:v1.20.2",
        "gcr.io/kubernetes-ci-images/kube-scheduler:v1.20.2",
        "gcr.io/kubernetes-ci-images/kube-proxy:v1.20.2",
        "k8s.gcr.io/etcd:3.4.13-0",
        "k8s.gcr.io/coredns:1.7.0",
    ] {
        assert!(
            images.iter().any(|it| it == image),
            "no {image}: {images:?}"
        );
    }
    let _ = sandbox.run(&["destroy", "--yes"]).with_code(0);
    sandbox.assert_gone();
}
