//! A Windows worker is Ready, or says what keeps it.

use serde_json::{Value, json};
use wdev::channel::Mode;
use wdev::render::windows::{Ready, node_ready};

use crate::cluster::{LOG, change, node, world};
use crate::node::{Ended, Node};

fn body(patience: u64) -> String {
    node_ready(&Ready {
        node: "winw1",
        address: [192, 168, 56, 11].into(),
        kubelet: Some("v1.36.2"),
        runtime: "containerd://2.3.4",
        patience,
    })
    .unwrap()
}

/// A node that has joined, with something that is not as it is to be.
fn joined(change: impl FnOnce(&mut Value)) -> Option<Node> {
    let node = node(&world(|world| {
        world["services"]["kubelet"]["Status"] = json!("Running");
        world["cluster"]["nodes"]["winw1"] = json!({"address": "192.168.56.11", "kubelet": "v1.36.2", "runtime": "containerd://2.3.4"});
        change(world);
    }))?;
    std::fs::write(node.path("c/etc/kubernetes/kubelet.conf"), "id: one").unwrap();
    Some(node)
}

fn write_log(node: &Node, text: &str) {
    let path = LOG.replace('\\', "/").replace("C:", "c");
    std::fs::write(node.path(&path), text).unwrap();
}

fn run(node: &Node, patience: u64) -> Ended {
    node.call(&body(patience), Mode::Run)
}

#[test]
fn a_node_that_is_ready_is_left_alone() {
    let Some(node) = joined(|_| {}) else { return };
    assert!(run(&node, 0).done().in_place);
    assert_eq!(node.probe(&body(0)), None);
    assert_eq!(node.log(), [""; 0]);
}

#[test]
fn what_is_in_the_way_is_told_once_with_what_is_pulled() {
    let Some(node) = joined(|world| {
        world["cluster"]["network"] = json!(false);
        world["cluster"]["pods"] = json!([
            "wdev|calico-system/calico-node-windows-x|calico/cni-windows:v3|ContainerCreating|calico/node-windows:v3|",
            "wdev|default/done|own:1|"
        ]);
    }) else {
        return;
    };
    let ended = run(&node, 5);
    let told = ended.1.matches("waiting: Ready is False").count();
    assert_eq!(told, 1, "{}", ended.1);
    let pulling = "waiting: calico-system/calico-node-windows-x waits for calico/cni-windows:v3 (ContainerCreating)";
    assert_eq!(ended.1.matches(pulling).count(), 1, "{}", ended.1);
    assert!(!ended.1.contains("own:1"), "{}", ended.1);
    let why = ended.why();
    for word in [
        "cni plugin not initialized",
        "waits for calico/cni-windows:v3",
    ] {
        assert!(why.contains(word), "{word}: {why}");
    }
    assert!(node.probe(&body(0)).unwrap().contains("KubeletNotReady"));
}

#[test]
fn each_failing_state_is_known_by_what_the_node_says() {
    type Change = fn(&mut Value);
    let cases: [(&str, Change, &str, &str); 11] = [
        (
            "address",
            |it| it["cluster"]["nodes"]["winw1"]["address"] = json!("10.0.2.15"),
            "10.0.2.15, not 192.168.56.11",
            "",
        ),
        (
            "version",
            |it| it["cluster"]["nodes"]["winw1"]["kubelet"] = json!("v1.35.0"),
            "version v1.35.0, not v1.36.2",
            "",
        ),
        (
            "runtime",
            |it| it["cluster"]["nodes"]["winw1"]["runtime"] = json!("docker://20"),
            "docker://20, not containerd://2.3.4",
            "",
        ),
        (
            "unknown",
            |it| it["cluster"]["nodes"] = json!({}),
            "NotFound",
            "",
        ),
        (
            "silent",
            |it| it["cluster"]["answers"] = json!(false),
            "cannot be asked",
            "",
        ),
        (
            "stopped",
            |it| {
                it["services"]["kubelet"]["Status"] = json!("Stopped");
                it["services"]["kubelet"]["ExitCode"] = json!(1067);
            },
            "the service kubelet is stopped, with exit code 1067",
            "kubelet-dead",
        ),
        (
            "paused",
            |it| it["services"]["kubelet"]["Status"] = json!("Paused"),
            "the service kubelet is paused",
            "kubelet-dead",
        ),
        (
            "gone",
            |it| {
                it["services"].as_object_mut().unwrap().remove("kubelet");
            },
            "there is no service kubelet",
            "kubelet-dead",
        ),
        (
            "no runtime",
            |it| it["services"]["containerd"]["Status"] = json!("Stopped"),
            "the service containerd is stopped",
            "kubelet-runtime",
        ),
        (
            "no network",
            |it| it["cluster"]["network"] = json!(false),
            "cni plugin not initialized",
            "kubelet-no-network",
        ),
        (
            "disk",
            |it| {
                it["cluster"]["conditions"] = json!([
                    "wdev|DiskPressure|True|KubeletHasDiskPressure|kubelet has disk pressure"
                ])
            },
            "DiskPressure is True: KubeletHasDiskPressure",
            "kubelet-disk-pressure",
        ),
    ];
    for (name, change, word, id) in cases {
        let Some(node) = joined(change) else { return };
        let why = run(&node, 0).why();
        assert!(
            why.starts_with("winw1 is not Ready: ") && why.contains(word),
            "{name}: {why}"
        );
        if !id.is_empty() {
            assert_eq!(known(&why), Some(id), "{name}: {why}");
        }
        assert!(node.probe(&body(0)).is_some(), "{name}");
    }
}

fn known(why: &str) -> Option<&'static str> {
    let said = wdev::diagnose::Said {
        class: "Kubelet".to_owned(),
        text: why.to_owned(),
    };
    wdev::diagnose::classify(&said).map(|known| known.id.as_str())
}

#[test]
fn the_kubelets_last_words_are_passed_on_without_what_is_secret() {
    let Some(node) = joined(|world| world["services"]["kubelet"]["Status"] = json!("Stopped"))
    else {
        return;
    };
    write_log(
        &node,
        "I0301 flags.go:64] FLAG: --v=2\nAuthorization: Bearer abc.def\ntoken abcdef.0123456789abcdef\n\
         Error: unknown flag: --no-such-flag\n\ngoroutine 1 [running]:\nmain.main()\n\t/go/x.go:1 +0x1\n",
    );
    let why = run(&node, 0).why();
    assert!(
        why.contains(r"the end of C:\var\log\kubelet\kubelet.log:"),
        "{why}"
    );
    assert!(!why.contains("goroutine") && !why.contains("x.go"), "{why}");
    assert!(
        !why.contains("abc.def") && !why.contains("0123456789abcdef"),
        "{why}"
    );
    assert_eq!(known(&why), Some("kubelet-unknown-flag"), "{why}");
    // The newest log counts, and an empty one says nothing.
    std::fs::write(node.path("c/var/log/kubelet/other.log"), "").unwrap();
    change(&node, |world| {
        world["services"]["kubelet"]["Status"] = json!("Running")
    });
    assert!(run(&node, 0).done().in_place);
}
