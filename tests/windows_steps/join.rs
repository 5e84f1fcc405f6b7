//! A Windows worker joins the cluster.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wdev::channel::Mode;
use wdev::os::Os;
use wdev::render::kubernetes::{Argument, KubeletService, Member};
use wdev::render::windows::{self, Patience};

use crate::cluster::{CA, LOG, TOKEN, change, files_with, given, node, run, world};
use crate::node::Node;
use crate::ways::{Scene, every_way};

const ADDRESS: [u8; 4] = [192, 168, 56, 11];

fn kubelet() -> KubeletService {
    let argument = |name: &str, value: &str| Argument {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    KubeletService {
        before: vec![
            r"C:\k\kube-log-runner.exe".to_owned(),
            r"C:\k\kubelet.exe".to_owned(),
        ],
        arguments: vec![
            argument("hostname-override", "winw1"),
            argument("node-ip", "192.168.56.11"),
            argument("node-labels", "it's=a \"label\""),
        ],
        after: vec!["--windows-service".to_owned()],
    }
}

fn joining(config: &str) -> String {
    windows::join(&windows::Join {
        node: "winw1",
        address: ADDRESS.into(),
        control_plane: [192, 168, 56, 10].into(),
        config,
        also: "{}",
        kubelet: &kubelet(),
        links_pki: false,
        patience: Patience { glance: 0, run: 0 },
    })
    .unwrap()
}

/// What `Cluster::join` writes, of which the doubled kubeadm reads a little.
const CONFIG: &str = "apiVersion: \"kubeadm.k8s.io/v1beta4\"\nkind: JoinConfiguration\n\
    caCertPath: \"C:/etc/kubernetes/pki/ca.crt\"\ndiscovery:\n  file:\n    \
    kubeConfigPath: \"/ProgramData/wdev/cluster/discovery.conf\"\nnodeRegistration:\n  name: \"winw1\"\n";

fn body() -> String {
    joining(CONFIG)
}

fn state(node: &Node, body: &str) -> (Option<String>, String) {
    let report = node.call(body, Mode::Probe).done();
    (
        report.facts.get("state").cloned(),
        report.why.unwrap_or_default(),
    )
}

fn in_the_end(node: &Node) -> Value {
    let world = node.world();
    let read = |name: &str| std::fs::read_to_string(node.path(name)).unwrap_or_default();
    let mut kubelet = world["services"]["kubelet"].clone();
    // Which programs ran when it was started is told by other tests.
    kubelet.as_object_mut().unwrap().remove("Runs");
    json!({
        "kubelet": kubelet,
        "cluster": world["cluster"],
        "credentials": read("c/etc/kubernetes/kubelet.conf"),
        "bootstrap": node.path("c/etc/kubernetes/bootstrap-kubelet.conf").exists(),
        "ca": read("c/etc/kubernetes/pki/ca.crt"),
        "begun": node.path("c/ProgramData/wdev/cluster/begun").exists(),
        "joined": read("c/ProgramData/wdev/cluster/joined"),
        "token": files_with(node, TOKEN),
        "cni": read("c/etc/cni/net.d/own.conf"),
    })
}

/// Runs the join in every way on nodes that `maker` makes, and holds that they are good ones in the end. Returns
/// one of them.
fn joins_in_every_way(name: &str, maker: &dyn Fn() -> Option<Node>) -> Option<Node> {
    let (body, ca) = (body(), given(CA));
    every_way(&Scene {
        name,
        body: &body,
        secrets: &[("join_token", TOKEN), ("cluster_ca", ca.as_str())],
        node: maker,
        boot: &|_| {},
        state: &in_the_end,
    });
    let node = maker()?;
    let _ = run(&node, &body).done();
    let end = in_the_end(&node);
    assert_eq!(
        end["kubelet"]["PathName"],
        "C:\\k\\kube-log-runner.exe C:\\k\\kubelet.exe --hostname-override=winw1 --node-ip=192.168.56.11 \
         \"--node-labels=it's=a \\\"label\\\"\" --pod-infra-container-image=k8s/pause:3.9 --v=2 --windows-service"
    );
    assert_eq!(end["kubelet"]["Status"], "Running");
    assert_eq!(end["credentials"], "id: one");
    assert_eq!(end["ca"], CA);
    assert_eq!(
        (&end["bootstrap"], &end["begun"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(end["token"], json!([]));
    assert_eq!(end["cluster"]["nodes"]["winw1"]["address"], "192.168.56.11");
    Some(node)
}

/// What kubeadm writes for the kubelet: what its service has already, and more.
fn flags(world: &mut Value) {
    let flags = "--node-ip=192.168.56.11 --pod-infra-container-image=k8s/pause:3.9 --v=2";
    world["cluster"]["flags"] = json!(flags);
}

#[test]
fn an_untouched_node_joins_whatever_ends_the_step() {
    let _ = joins_in_every_way("join, untouched", &|| node(&world(flags)));
}

#[test]
fn a_node_of_another_cluster_is_reset_and_joins_whatever_ends_the_step() {
    let joined = joins_in_every_way("join, half", &|| {
        let node = node(&world(|world| {
            flags(world);
            world["services"]["kubelet"]["Status"] = json!("Running");
            world["cluster"]["sandboxes"] = json!(["0123456789abcdef0"]);
        }))?;
        for (file, text) in [
            ("c/etc/kubernetes/pki/ca.crt", "of another cluster"),
            ("c/etc/kubernetes/kubelet.conf", "id: another"),
            (
                "c/var/lib/kubelet/config.yaml",
                "kind: KubeletConfiguration",
            ),
            ("c/var/lib/kubelet/pki/kubelet.key", "of another cluster"),
            ("c/etc/cni/net.d/own.conf", "a plugin's"),
        ] {
            let path = node.path(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Some(node)
    });
    let Some(node) = joined else { return };
    assert_eq!(node.read("c/etc/cni/net.d/own.conf"), "a plugin's");
    assert!(!node.path("c/var/lib/kubelet/pki/kubelet.key").exists());
    assert_eq!(node.world()["cluster"]["sandboxes"], json!([]));
}

#[test]
fn a_joined_node_gets_what_it_lacks_whatever_ends_the_step() {
    let joined = joins_in_every_way("join, joined", &|| {
        let node = node(&world(flags))?;
        let _ = run(&node, &body()).done();
        change(&node, |world| {
            world["log"] = json!([]);
            world["services"]["kubelet"]["PathName"] =
                json!(r"C:\k\kubelet.exe --hostname-override=winw1");
        });
        Some(node)
    });
    let Some(node) = joined else { return };
    let log = node.log();
    assert!(
        !log.iter().any(|said| said.starts_with("kubeadm.exe")),
        "{log:?}"
    );
}

#[test]
fn nothing_written_for_the_kubelet_is_right() {
    let body = body();
    let Some(node) = node(&world(|_| {})) else {
        return;
    };
    assert_eq!(
        state(&node, &body),
        (
            Some("untouched".to_owned()),
            "this node has not joined".to_owned()
        )
    );
    let ended = run(&node, &body);
    assert!(
        !ended.1.contains(TOKEN) && ended.1.contains("using the token (hidden)"),
        "{}",
        ended.1
    );
    let _ = ended.done();
    assert_eq!(
        node.read("c/var/lib/kubelet/kubeadm-flags.env"),
        "KUBELET_KUBEADM_ARGS=\"\"\n"
    );
    let line = node.world()["services"]["kubelet"]["PathName"].clone();
    assert!(
        line.as_str()
            .unwrap()
            .ends_with("\\\"label\\\"\" --windows-service"),
        "{line}"
    );
    assert_eq!(
        state(&node, &body),
        (Some("joined".to_owned()), String::new())
    );
    // What protects the file that the token was in.
    let asked = node.read("bin/icacls.exe.asked");
    assert!(
        asked.contains("ProgramData/wdev/cluster /inheritance:r"),
        "{asked}"
    );
}

#[test]
fn each_state_is_told_and_only_what_is_half_joins_anew() {
    let body = body();
    let joined = || {
        let node = node(&world(|_| {}))?;
        let _ = run(&node, &body).done();
        Some(node)
    };
    let Some(node) = joined() else { return };
    // The node object was deleted: a kubelet that starts registers it.
    change(&node, |world| world["cluster"]["nodes"] = json!({}));
    assert_eq!(state(&node, &body).0.as_deref(), Some("unknown"));
    let before = node.read("c/etc/kubernetes/kubelet.conf");
    let _ = run(&node, &body).done();
    assert_eq!(node.read("c/etc/kubernetes/kubelet.conf"), before);
    assert!(
        !node.log().iter().any(|said| said.contains("clears")),
        "{:?}",
        node.log()
    );

    // Nothing is touched while the API server cannot be asked.
    change(&node, |world| {
        world["cluster"]["answers"] = json!(false);
        world["log"] = json!([]);
    });
    let (told, why) = state(&node, &body);
    assert_eq!(told.as_deref(), Some("unclear"));
    assert!(why.contains("actively refused"), "{why}");
    let why = run(&node, &body).why();
    assert!(why.starts_with("the API server cannot be asked"), "{why}");
    assert_eq!(node.log(), [""; 0]);

    // Neither while a clock is wrong, which makes good certificates bad.
    change(&node, |world| {
        world["cluster"]["answers"] = json!(true);
        world["fail"]["kubectl"] = json!(
            "Unable to connect to the server: x509: certificate has expired or is not yet valid: current time 2020-01-01T00:00:00Z is before 2026-01-01T00:00:00Z"
        );
    });
    let (told, why) = state(&node, &body);
    assert_eq!(told.as_deref(), Some("unclear"));
    assert!(why.contains("the clock of this computer"), "{why}");
    change(&node, |world| world["fail"] = json!({}));
    assert_eq!(state(&node, &body).0.as_deref(), Some("joined"));

    // Other settings, another address, and a cluster that does not accept it, are half.
    let other = joining(&format!("{CONFIG}# changed\n"));
    assert_eq!(
        state(&node, &other),
        (
            Some("half".to_owned()),
            "the settings that it joined with have changed".to_owned()
        )
    );
    change(&node, |world| {
        world["cluster"]["nodes"]["winw1"]["address"] = json!("10.0.2.15");
    });
    let (told, why) = state(&node, &body);
    assert_eq!(told.as_deref(), Some("half"));
    assert!(why.contains("10.0.2.15, not 192.168.56.11"), "{why}");
    change(&node, |world| world["cluster"]["id"] = json!("two"));
    assert_eq!(
        state(&node, &body),
        (
            Some("half".to_owned()),
            "the cluster does not accept this node".to_owned()
        )
    );
    // A service that does not run, or not by itself, is not in place.
    change(&node, |world| {
        world["cluster"]["id"] = json!("one");
        world["cluster"]["nodes"]["winw1"]["address"] = json!("192.168.56.11");
        world["services"]["kubelet"]["StartType"] = json!("Manual");
    });
    assert_eq!(
        state(&node, &body).1,
        "the kubelet does not start by itself"
    );
    change(&node, |world| {
        world["services"]["kubelet"]["Status"] = json!("Stopped");
    });
    assert_eq!(state(&node, &body).1, "the kubelet does not run");
    let _ = run(&node, &body).done();
    assert_eq!(
        state(&node, &body),
        (Some("joined".to_owned()), String::new())
    );
}

#[test]
fn what_a_node_has_joined_with_is_known_as_soon_as_it_has() {
    let Some(node) = node(&world(flags)) else {
        return;
    };
    // The cluster does not tell of it in time: the step ends without having seen it.
    change(&node, |world| {
        world["fail"]["kubectl"] = json!("Error from server (NotFound): nodes \"winw1\" not found");
    });
    assert!(!run(&node, &body()).why().is_empty());
    change(&node, |world| world["fail"] = json!({}));
    assert_eq!(state(&node, &body()).0.as_deref(), Some("joined"));
    let other = joining(&format!("{CONFIG}# changed\n"));
    assert_eq!(
        state(&node, &other).1,
        "the settings that it joined with have changed"
    );
}

#[test]
fn a_token_that_has_expired_leaves_the_node_as_it_was_and_a_new_one_joins_it() {
    let body = body();
    let Some(node) = node(&world(|world| {
        world["cluster"]["tokens"][TOKEN] = json!("expired");
    })) else {
        return;
    };
    let ended = run(&node, &body);
    assert!(!ended.1.contains(TOKEN), "{}", ended.1);
    let why = ended.why();
    assert!(
        why.starts_with("the cluster does not accept the join token any more"),
        "{why}"
    );
    assert!(
        !why.contains(TOKEN) && why.contains("Unauthorized"),
        "{why}"
    );
    assert_eq!(files_with(&node, TOKEN), [""; 0]);
    assert_eq!(state(&node, &body).0.as_deref(), Some("untouched"));
    change(&node, |world| {
        world["cluster"]["tokens"][TOKEN] = json!("valid");
    });
    let _ = run(&node, &body).done();
}

#[test]
fn what_is_in_the_way_of_a_join_is_named() {
    let body = body();
    let fails = |change: &dyn Fn(&mut Value), words: &[&str]| {
        let Some(node) = node(&world(|world| change(world))) else {
            return;
        };
        let why = run(&node, &body).why();
        for word in words {
            assert!(why.contains(word), "{word}: {why}");
        }
        assert_eq!(files_with(&node, TOKEN), [""; 0], "{why}");
        assert_eq!(state(&node, &body).0.as_deref(), Some("half"));
    };
    fails(
        &|world| {
            world["cluster"]["nodes"]["winw1"] = json!({"address": "192.168.56.99", "kubelet": "v1.36.2", "runtime": "containerd://2.3.4", "other": true});
        },
        &["another node of the cluster is called winw1, with the address 192.168.56.99"],
    );
    fails(
        &|world| world["services"]["containerd"]["Status"] = json!("Stopped"),
        &[
            "kubeadm join failed",
            "[ERROR CRI]",
            "the service containerd is stopped, with exit code 0",
        ],
    );
    fails(
        &|world| world["cluster"]["answers"] = json!(false),
        &["kubeadm join failed", "192.168.56.10:6443"],
    );
    fails(
        &|world| world["cluster"]["ca"] = json!("another"),
        &["x509: certificate signed by unknown authority"],
    );
    fails(
        &|world| {
            world["services"]["kubelet"]["ExitCode"] = json!(1066);
            world["services"]["kubelet"]["SpecificExitCode"] = json!(1);
            world["services"]["kubelet"]["Stops"] = json!({"log": LOG,
                "says": "I0301 1 flags.go:64] FLAG: --v=2\ngoroutine 1 [running]:\nError: unknown flag: --no-such-flag\n"});
        },
        &[
            "kubeadm join failed",
            "the service kubelet is stopped, with exit code 1\n",
            "unknown flag: --no-such-flag",
        ],
    );
    let wrong_clock = "[preflight] Running pre-flight checks\nerror: x509: certificate has expired or is not yet valid";
    fails(
        &|world| world["fail"] = json!({"kubeadm join": wrong_clock}),
        &["the clock of this computer is wrong: it says 20"],
    );
}

#[test]
fn a_clock_before_the_cluster_was_made_is_noticed_before_anything_is_done() {
    let body = body();
    let Some(node) = node(&world(|_| {})) else {
        return;
    };
    let ca = given(include_str!("../fixtures/cluster/ca-of-2090.crt"));
    let secrets = [("join_token", TOKEN), ("cluster_ca", ca.as_str())];
    let why = node.call_with(&body, Mode::Run, &secrets, None).why();
    assert!(
        why.contains("the clock of this computer is wrong") && why.contains("2090-03-01 08:00:00"),
        "{why}"
    );
    assert_eq!(state(&node, &body).0.as_deref(), Some("untouched"));
    assert_eq!(node.log(), [""; 0]);
}

#[test]
fn kubeadm_reads_what_was_rendered_for_it() {
    let labels = BTreeMap::from([("a.b/c".to_owned(), "x".to_owned())]);
    let variables = "kubernetes:\n  version: \"1.36\"\n  ignore_preflight_errors: [\"it's $(Get-Date) `x` \\\"q\\\"\"]\n\
        \x20 extra_args: {kubelet: {own-argument: \"$env:PATH \u{e9} 'a' \\\"b\\\" C:\\\\x\\\\ ; throw 1 #\"}}\n";
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("variables.yml"), variables).unwrap();
    let loaded = wdev::config::load(&wdev::config::Request {
        start: dir.path().to_owned(),
        ..wdev::config::Request::default()
    });
    let config = loaded
        .unwrap_or_else(|problems| panic!("{problems}"))
        .config;
    let exact = wdev::release::assumed("1.36");
    let release = wdev::release::Release::new(&config, Os::Windows, exact);
    let cluster = wdev::render::kubernetes::Cluster::new(&config, &release).unwrap();
    let text = cluster
        .join(&Member {
            name: "winw1",
            address: ADDRESS.into(),
            os: Os::Windows,
            labels: &labels,
            taints: &["os=Win1809:NoSchedule".to_owned()],
        })
        .unwrap();
    let Some(node) = node(&world(|_| {})) else {
        return;
    };
    let _ = run(&node, &joining(&text)).done();
    assert_eq!(node.world()["cluster"]["told"], json!(text));
}
