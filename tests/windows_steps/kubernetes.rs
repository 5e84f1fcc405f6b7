//! The programs of Kubernetes and the kubelet as a service.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wdev::channel::Mode;
use wdev::render::kubernetes::{Argument, KubeletService};
use wdev::render::windows::{self, Programs};

use crate::common;
use crate::node::{Ended, Node};
use crate::ways::{Scene, every_way};

const VERSION: &str = "v1.36.3";
const NAMES: [&str; 3] = ["kubelet", "kubeadm", "kube-log-runner"];
const ENVIRONMENT: &str = r"HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Environment";
const FLAGS: &str = "c/var/lib/kubelet/kubeadm-flags.env";

fn service(arguments: &[(&str, &str)]) -> KubeletService {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let argument = |(name, value): &(&str, &str)| Argument {
        name: (*name).to_owned(),
        value: (*value).to_owned(),
    };
    KubeletService {
        before: words(&[
            r"C:\k\kube-log-runner.exe",
            "-log-file=C:/var/log/kubelet/kubelet.log",
            r"C:\k\kubelet.exe",
        ]),
        arguments: arguments.iter().map(argument).collect(),
        after: words(&["--windows-service"]),
    }
}

fn body_of(kubelet: &KubeletService) -> String {
    windows::kubernetes(&Programs {
        version: VERSION,
        names: &NAMES,
        links_pki: true,
        kubelet,
    })
    .unwrap()
}

fn body() -> String {
    body_of(&service(&[
        ("enforce-node-allocatable", ""),
        ("node-ip", "192.168.56.21"),
    ]))
}

/// The text of a program is its version.
fn text(name: &str) -> String {
    if name == "kubelet" {
        format!("{VERSION}\n")
    } else {
        format!("{name} {VERSION}\n")
    }
}

/// Hashes by secret.
fn secrets() -> Vec<(String, String)> {
    let secret = |name: &&str| {
        let hash = common::sha256(text(name).as_bytes());
        (format!("sha256_{}", name.replace('-', "_")), hash)
    };
    NAMES.iter().map(secret).collect()
}

fn run_in(node: &Node, body: &str, mode: Mode) -> Ended {
    let secrets = secrets();
    let secrets: Vec<(&str, &str)> = secrets
        .iter()
        .map(|(name, hash)| (name.as_str(), hash.as_str()))
        .collect();
    node.call_with(body, mode, &secrets, None)
}

fn run(node: &Node) -> Ended {
    run_in(node, &body(), Mode::Run)
}

fn probe(node: &Node) -> Option<String> {
    run_in(node, &body(), Mode::Probe).done().why
}

fn ready(world: &Value) -> Option<Node> {
    let mut all = json!({
        "services": {"containerd": {
            "Name": "containerd", "DisplayName": "Containerd", "Status": "Running", "StartType": "Automatic",
            "DependsOn": [],
        }},
        "registry": {ENVIRONMENT: {"Path": r"%SystemRoot%\system32;C:\Tools"}},
    });
    for (key, value) in world.as_object().unwrap() {
        all[key] = value.clone();
    }
    let node = Node::new(&all)?;
    let cache = node.path("c/ProgramData/wdev/cache");
    std::fs::create_dir_all(&cache).unwrap();
    for name in NAMES {
        std::fs::write(cache.join(name), text(name)).unwrap();
    }
    Some(node)
}

/// What kubeadm leaves on a node that it has joined, with an older kubelet that runs.
fn joined() -> Option<Node> {
    let node = ready(&json!({}))?;
    for folder in [
        "c/etc/kubernetes",
        "c/var/lib/kubelet",
        "c/k",
        "c/var/log/kubelet",
    ] {
        std::fs::create_dir_all(node.path(folder)).unwrap();
    }
    std::fs::write(node.path("c/etc/kubernetes/kubelet.conf"), "").unwrap();
    let flags = "KUBELET_KUBEADM_ARGS=\"--node-ip=10.0.2.15 --pod-infra-container-image=registry/pause:3.9\"\n";
    std::fs::write(node.path(FLAGS), flags).unwrap();
    std::fs::write(node.path("c/k/kubelet.exe"), "v1.35.1\n").unwrap();
    node.change(|world| {
        world["services"]["kubelet"] = json!({
            "Name": "kubelet", "DisplayName": "kubelet", "Status": "Running", "StartType": "Automatic",
            "PathName": r"C:\k\kubelet.exe --v=2", "DependsOn": [],
        });
    });
    Some(node)
}

fn line(node: &Node) -> String {
    let line = node.world()["services"]["kubelet"]["PathName"].clone();
    line.as_str().unwrap().to_owned()
}

fn state(node: &Node) -> Value {
    let world = node.world();
    let entries = std::fs::read_dir(node.path("c/k")).unwrap();
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        (name, std::fs::read_to_string(entry.path()).unwrap())
    };
    let programs: BTreeMap<String, String> = entries.map(read).collect();
    json!([
        world["services"],
        world["rules"],
        world["registry"],
        programs
    ])
}

fn all_ways(name: &str, node: &dyn Fn() -> Option<Node>) {
    let secrets = secrets();
    let secrets: Vec<(&str, &str)> = secrets
        .iter()
        .map(|(name, hash)| (name.as_str(), hash.as_str()))
        .collect();
    every_way(&Scene {
        name,
        body: &body(),
        secrets: &secrets,
        node,
        boot: &|_| panic!("this step wants no reboot"),
        state: &state,
    });
}

#[test]
fn kubernetes_comes_whole_however_often_it_is_interrupted() {
    all_ways("kubernetes: a new node", &|| ready(&json!({})));
}

#[test]
fn a_node_of_a_cluster_gets_other_programs_however_often_it_is_interrupted() {
    all_ways(
        "kubernetes: another version on a node of a cluster",
        &joined,
    );
}

/// A kubelet says that it has stopped before it has given its ports back.
#[test]
fn a_kubelet_that_is_stopped_is_waited_for_until_it_has_ended() {
    let Some(node) = joined() else { return };
    let mut shell = std::process::Command::new("sh");
    let shell = shell.args(["-c", "sleep 6 >/dev/null 2>&1 & echo $!"]);
    let id = String::from_utf8(common::run(shell, b"")).unwrap();
    let id: u32 = id.trim().parse().unwrap();
    node.change(|world| world["services"]["kubelet"]["ProcessId"] = json!(id));
    let _ = run(&node).done();
    assert!(!std::path::Path::new(&format!("/proc/{id}")).exists());
}

#[test]
fn a_new_node_has_a_kubelet_that_waits_for_kubeadm() {
    let Some(node) = ready(&json!({})) else {
        return;
    };
    assert!(
        probe(&node)
            .unwrap()
            .contains("kubelet, kubeadm, kube-log-runner")
    );
    let report = run(&node).done();
    assert!(report.in_place);
    assert_eq!(report.facts["kubelet"], VERSION);
    let world = node.world();
    let kubelet = &world["services"]["kubelet"];
    assert_eq!(
        (&kubelet["Status"], &kubelet["StartType"]),
        (&json!("Stopped"), &json!("Automatic"))
    );
    assert_eq!(kubelet["DependsOn"], json!(["containerd"]));
    assert_eq!(kubelet["Failure"]["flag"], 1);
    assert_eq!(
        line(&node),
        r"C:\k\kube-log-runner.exe -log-file=C:/var/log/kubelet/kubelet.log C:\k\kubelet.exe --enforce-node-allocatable= --node-ip=192.168.56.21 --windows-service"
    );
    assert_eq!(
        world["registry"][ENVIRONMENT]["Path"],
        r"%SystemRoot%\system32;C:\Tools;C:\k"
    );
    assert_eq!(world["rules"]["wdev-kubelet"]["Port"], "10250");
    for folder in [
        "var/lib/kubelet",
        "etc/kubernetes/manifests",
        "opt/cni/bin",
        "etc/cni/net.d",
        "tmp",
    ] {
        assert!(node.path("c").join(folder).is_dir(), "{folder}");
    }
    std::fs::write(node.path("c/etc/kubernetes/pki/ca.crt"), "ca").unwrap();
    assert_eq!(
        node.read("c/var/lib/kubelet/etc/kubernetes/pki/ca.crt"),
        "ca"
    );

    for (change, why) in [
        (
            json!(["rules", "wdev-kubelet", "Enabled", "False"]),
            "firewall",
        ),
        (
            json!(["registry", ENVIRONMENT, "Path", r"C:\kk"]),
            "no part of PATH",
        ),
        (
            json!(["services", "kubelet", "StartType", "Manual"]),
            "start by itself",
        ),
        (
            json!(["services", "kubelet", "PathName", r"C:\k\kubelet.exe"]),
            "another line",
        ),
    ] {
        let at = |index: usize| change[index].as_str().unwrap();
        node.change(|world| world[at(0)][at(1)][at(2)] = change[3].clone());
        assert!(probe(&node).unwrap().contains(why), "{why}");
        assert!(run(&node).done().in_place, "{why}");
    }
}

#[test]
fn a_node_of_a_cluster_keeps_what_kubeadm_has_told_its_kubelet() {
    let Some(node) = joined() else { return };
    assert!(run(&node).done().in_place);
    // Ours wins against kubeadm's, which adds what it alone knows.
    let end =
        "--node-ip=192.168.56.21 --pod-infra-container-image=registry/pause:3.9 --windows-service";
    assert!(line(&node).ends_with(end), "{}", line(&node));
    let kubelet = node.world()["services"]["kubelet"].clone();
    assert_eq!(kubelet["Status"], "Running");
    assert_eq!(kubelet["Runs"]["line"], line(&node));
    assert_eq!(kubelet["Runs"][r"C:\k\kubelet.exe"], format!("{VERSION}\n"));

    // An empty text is right.
    for empty in ["KUBELET_KUBEADM_ARGS=\"\"\n", "KUBELET_KUBEADM_ARGS=\n"] {
        std::fs::write(node.path(FLAGS), empty).unwrap();
        assert!(run(&node).done().in_place, "{empty}");
        assert!(line(&node).ends_with("--node-ip=192.168.56.21 --windows-service"));
    }
    // Go's way to quote, and a value with spaces.
    let quoted = r#"KUBELET_KUBEADM_ARGS="--a=\"x\\y\" z --b=\u00e9\t\x41 --c=\U0001f980""#;
    std::fs::write(node.path(FLAGS), quoted).unwrap();
    run(&node).done();
    let words = words(&line(&node));
    assert_eq!(
        words[5..words.len() - 1],
        ["--a=\"x\\y\" z", "--b=\u{e9}\tA", "--c=\u{1f980}"]
    );
    std::fs::write(node.path(FLAGS), "nonsense\n").unwrap();
    assert!(
        run(&node)
            .why()
            .contains("holds no KUBELET_KUBEADM_ARGS, but: nonsense")
    );
}

#[test]
fn strings_of_every_kind_reach_the_kubelet_as_they_are() {
    let hostile = [
        "",
        " ",
        "a b",
        "\"",
        "a\\",
        "a\\\"b",
        "\\\\share\\x\\",
        "it's",
        "$(throw 1)",
        "`n",
        "%PATH",
        "; calc.exe",
        "&|<>^!",
        "\u{e9}\u{1f980}",
        "--windows-service",
        "'@",
        "a\tb",
        "\u{2019}quoted\u{201d}",
        "C:\\my dir\\f.yaml",
    ];
    let names: Vec<String> = (0..hostile.len())
        .map(|index| format!("x{index}"))
        .collect();
    let arguments: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(hostile).collect();
    let service = service(&arguments);
    let body = body_of(&service);
    let Some(node) = ready(&json!({})) else {
        return;
    };
    assert!(run_in(&node, &body, Mode::Run).done().in_place);
    let given = words(&line(&node));
    let wanted: Vec<String> = arguments
        .iter()
        .map(|(name, value)| format!("--{name}={value}"))
        .collect();
    assert_eq!(given[..3], service.before);
    assert_eq!(given[3..given.len() - 1], wanted);
    assert_eq!(given.last().unwrap(), "--windows-service");
    assert_eq!(run_in(&node, &body, Mode::Probe).done().why, None);
}

/// A line's words as `CommandLineToArgvW` reads them, behind the first one:
/// <https://learn.microsoft.com/windows/win32/api/shellapi/nf-shellapi-commandlinetoargvw>
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let (mut quoted, mut any, mut slashes) = (false, false, 0);
    for c in line.chars().chain([' ']) {
        if c == '\\' {
            slashes += 1;
            continue;
        }
        let before = std::mem::take(&mut slashes);
        any |= before > 0;
        if c == '"' {
            word.push_str(&"\\".repeat(before / 2));
            if before % 2 == 1 {
                word.push('"');
            } else {
                quoted = !quoted;
            }
            any = true;
            continue;
        }
        word.push_str(&"\\".repeat(before));
        if (c == ' ' || c == '\t') && !quoted {
            if any {
                words.push(std::mem::take(&mut word));
            }
            any = false;
        } else {
            word.push(c);
            any = true;
        }
    }
    words
}

#[test]
fn each_failure_says_what_was_seen_and_the_next_run_goes_on() {
    // Without a container runtime.
    let Some(node) = ready(&json!({"services": {}})) else {
        return;
    };
    assert!(run(&node).why().contains("there is no service containerd"));
    assert_eq!(node.log(), [] as [String; 0]);

    // A program with another hash, and one that is not there: nothing is stopped.
    let Some(node) = joined() else { return };
    let file = node.path("c/ProgramData/wdev/cache/kubeadm");
    std::fs::write(&file, "something else").unwrap();
    assert!(
        run(&node)
            .why()
            .contains("is not the kubeadm that is wanted")
    );
    std::fs::remove_file(&file).unwrap();
    assert!(
        run(&node)
            .why()
            .contains("there is no C:\\ProgramData\\wdev\\cache\\kubeadm")
    );
    let stopped = |said: &String| said.starts_with("Stop-Service");
    assert!(!node.log().iter().any(stopped), "{:?}", node.log());
    std::fs::write(&file, text("kubeadm")).unwrap();

    // A kubelet that ends at once.
    node.change(|world| {
        let stops = json!({"log": r"C:\var\log\kubelet\kubelet.log", "says": "E1130 unknown flag: --wrong\n"});
        world["services"]["kubelet"]["Stops"] = stops;
    });
    let why = run(&node).why();
    assert!(
        why.contains("is stopped again") && why.contains("unknown flag: --wrong"),
        "{why}"
    );
    node.change(|world| {
        world["services"]["kubelet"]
            .as_object_mut()
            .unwrap()
            .remove("Stops");
    });
    assert!(run(&node).done().in_place);

    // A service that somebody has removed while something still holds it.
    let Some(node) = ready(&json!({})) else {
        return;
    };
    assert!(run(&node).done().in_place);
    node.change(|world| {
        let deleted = json!({
            "Name": "kubelet", "Status": "Running", "StartType": "Automatic", "Deleted": true, "PathName": "x\\y.exe",
        });
        world["services"]["kubelet"] = deleted;
    });
    let why = run(&node).why();
    assert!(
        why.contains("does not change the service kubelet: error 16"),
        "{why}"
    );
}

#[test]
fn a_kubelet_of_another_version_is_refused() {
    let Some(node) = ready(&json!({})) else {
        return;
    };
    let body = body().replacen("'v1.36.3'", "'v1.36.2'", 1);
    let why = run_in(&node, &body, Mode::Run).why();
    assert!(
        why.contains("not the one of Kubernetes v1.36.2") && why.contains("Kubernetes v1.36.3"),
        "{why}"
    );
}
