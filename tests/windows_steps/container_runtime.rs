//! containerd on a Windows node.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use wdev::channel::Mode;
use wdev::render::windows;

use crate::common;
use crate::node::Node;
use crate::ways::{Scene, every_way};

const CONFIGURATION: &str = "version = 3\n# it's \u{e9} % \"quoted\" $env:PATH\n";
const CRICTL: &str = "runtime-endpoint: \"npipe:////./pipe/containerd-containerd\"\n";
const LOG: &str = r"C:\var\log\containerd\containerd.log";
const PROGRAMS: &str = "c/Program Files/containerd";

fn body() -> String {
    windows::container_runtime(CONFIGURATION, CRICTL).unwrap()
}

/// Packs files (path, text) as an archive at `to`.
fn pack(to: &Path, files: &[(&str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let file = folder.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    let mut tar = Command::new("tar");
    tar.arg("--create").arg("--gzip").arg("--file").arg(to);
    tar.arg("--directory").arg(folder.path()).arg(".");
    common::run(&mut tar, b"");
}

/// The hashes of what lies in the cache.
fn hashes(node: &Node) -> [(&'static str, String); 2] {
    ["containerd", "crictl"].map(|name| {
        let file = node.path("c/ProgramData/wdev/cache").join(name);
        let hash = common::sha256(&std::fs::read(file).unwrap());
        let secret = if name == "crictl" {
            "sha256_crictl"
        } else {
            "sha256_containerd"
        };
        (secret, hash)
    })
}

fn bring(node: &Node, version: &str) {
    let cache = node.path("c/ProgramData/wdev/cache");
    let (containerd, ctr) = (format!("{version}\n"), format!("ctr {version}\n"));
    pack(
        &cache.join("containerd"),
        &[("bin/containerd.exe", &containerd), ("bin/ctr.exe", &ctr)],
    );
    pack(&cache.join("crictl"), &[("crictl.exe", "crictl 1.36\n")]);
}

fn ready(world: &Value) -> Option<Node> {
    let mut all = json!({"features": {"Containers": "Installed"}});
    for (key, value) in world.as_object().unwrap() {
        all[key] = value.clone();
    }
    let node = Node::new(&all)?;
    bring(&node, "v2.2.7");
    Some(node)
}

fn run(node: &Node) -> crate::node::Ended {
    let hashes = hashes(node);
    let secrets = [
        (hashes[0].0, hashes[0].1.as_str()),
        (hashes[1].0, hashes[1].1.as_str()),
    ];
    node.call_with(&body(), Mode::Run, &secrets, None)
}

fn probe(node: &Node) -> Option<String> {
    let hashes = hashes(node);
    let secrets = [
        (hashes[0].0, hashes[0].1.as_str()),
        (hashes[1].0, hashes[1].1.as_str()),
    ];
    node.call_with(&body(), Mode::Probe, &secrets, None)
        .done()
        .why
}

fn state(node: &Node) -> Value {
    let world = node.world();
    let read = |name: &str| std::fs::read_to_string(node.path(name)).unwrap_or_default();
    let names = |folder: &str| -> Vec<String> {
        let entries = std::fs::read_dir(node.path(folder)).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    json!({
        "services": world["services"],
        "defender": world["defender"],
        "tasks": world["tasks"],
        "programs": names(PROGRAMS),
        "k": names("c/k"),
        "nets": names("c/etc/cni/net.d"),
        "containerd": read("c/Program Files/containerd/containerd.exe"),
        "ctr": read("c/Program Files/containerd/ctr.exe"),
        "configuration": read("c/Program Files/containerd/config.toml"),
        "crictl": [read("c/Users/vagrant/.crictl/crictl.yaml"), read("c/ProgramData/wdev/crictl.yaml")],
        "unpacked": node.path("c/ProgramData/wdev/cache/containerd.unpacked").exists(),
    })
}

fn all_ways(name: &str, node: &dyn Fn() -> Option<Node>) {
    let Some(first) = node() else { return };
    let hashes = hashes(&first);
    let secrets = [
        (hashes[0].0, hashes[0].1.as_str()),
        (hashes[1].0, hashes[1].1.as_str()),
    ];
    // gzip writes the time of day: the archives are the first node's.
    let cache = "c/ProgramData/wdev/cache";
    every_way(&Scene {
        name,
        body: &body(),
        secrets: &secrets,
        node: &|| {
            let made = node()?;
            for archive in ["containerd", "crictl"] {
                let from = first.path(cache).join(archive);
                std::fs::copy(from, made.path(cache).join(archive)).unwrap();
            }
            Some(made)
        },
        boot: &|_| panic!("this step wants no reboot"),
        state: &state,
    });
}

#[test]
fn containerd_comes_whole_however_often_it_is_interrupted() {
    all_ways("container-runtime: a new node", &|| {
        let node = ready(&json!({}))?;
        let nets = node.path("c/etc/cni/net.d");
        std::fs::create_dir_all(&nets).unwrap();
        std::fs::write(nets.join("0-containerd-nat.conf"), "{}").unwrap();
        std::fs::write(nets.join("10-mine.conf"), "{}").unwrap();
        Some(node)
    });
}

#[test]
fn another_containerd_takes_its_place_however_often_it_is_interrupted() {
    let Some(old) = ready(&json!({})) else { return };
    bring(&old, "v1.7.30");
    run(&old).done();
    let joined = |world: &mut Value| {
        let kubelet = json!({
            "Name": "kubelet", "Status": "Running", "StartType": "Automatic", "PathName": r"C:\k\kubelet.exe",
            "DependsOn": ["containerd"], "DisplayName": "kubelet",
        });
        world["services"]["kubelet"] = kubelet;
        // A container that runs holds its program.
        world["held"] = json!([r"C:\Program Files\containerd\ctr.exe"]);
    };
    all_ways(
        "container-runtime: another version on a node of a cluster",
        &|| {
            let node = ready(&json!({}))?;
            let mut copy = Command::new("cp");
            copy.arg("-a").arg(old.path("c")).arg(node.path(""));
            common::run(&mut copy, b"");
            bring(&node, "v2.2.7");
            std::fs::create_dir_all(node.path("c/etc/kubernetes")).unwrap();
            std::fs::write(node.path("c/etc/kubernetes/kubelet.conf"), "").unwrap();
            let mut world = old.world();
            world["log"] = json!([]);
            joined(&mut world);
            node.set_world(&world);
            Some(node)
        },
    );
}

#[test]
fn what_is_there_in_the_end_is_what_was_asked_for() {
    let Some(node) = ready(&json!({})) else {
        return;
    };
    assert!(
        probe(&node)
            .unwrap()
            .contains("containerd is not installed")
    );
    let report = run(&node).done();
    assert!(report.in_place);
    assert_eq!(report.facts["containerd"], "v2.2.7");
    assert_eq!(
        node.read("c/Program Files/containerd/config.toml"),
        CONFIGURATION
    );
    for file in [
        "c/Users/vagrant/.crictl/crictl.yaml",
        "c/ProgramData/wdev/crictl.yaml",
    ] {
        assert_eq!(node.read(file), CRICTL);
    }
    let service = &node.world()["services"]["containerd"];
    let line =
        format!(r#""C:\Program Files\containerd\containerd.exe" --run-service --log-file {LOG}"#);
    assert_eq!(service["PathName"], line);
    assert_eq!(service["StartType"], "Automatic");
    assert_eq!(service["Failure"]["flag"], 1);
    assert_eq!(
        service["Runs"][r"C:\Program Files\containerd\config.toml"],
        CONFIGURATION
    );
    assert_eq!(
        node.world()["defender"]["ExclusionPath"],
        json!([r"C:\ProgramData\containerd"])
    );

    // What somebody has changed since is found and mended.
    std::fs::write(node.path(PROGRAMS).join("config.toml"), "version = 2\n").unwrap();
    assert!(probe(&node).unwrap().contains("configuration"));
    run(&node).done();
    std::fs::write(node.path(PROGRAMS).join("ctr.exe"), "mine").unwrap();
    assert!(
        probe(&node)
            .unwrap()
            .contains("containerd is not installed as")
    );
    run(&node).done();
    std::fs::write(node.path("c/etc/cni/net.d/0-containerd-nat.conf"), "{}").unwrap();
    assert!(probe(&node).unwrap().contains("0-containerd-nat.conf"));
    run(&node).done();
    for (key, value) in [("StartType", "Manual"), ("PathName", "other.exe")] {
        node.change(|world| world["services"]["containerd"][key] = json!(value));
        assert!(probe(&node).unwrap().contains("service containerd"));
        run(&node).done();
        assert_eq!(probe(&node), None, "{key}");
        assert_eq!(node.world()["services"]["containerd"]["PathName"], line);
    }
}

#[test]
fn a_node_without_defender_is_no_failure_and_one_that_refuses_neither() {
    let Some(node) = ready(&json!({"defender": false})) else {
        return;
    };
    assert!(run(&node).done().in_place);
    let refuses = json!({"fail": {"Add-MpPreference": "Operation failed with the following error: 0x800106ba"}});
    let Some(node) = ready(&refuses) else { return };
    let ended = run(&node);
    assert!(
        ended.1.contains("Defender does not take the exclusions"),
        "{}",
        ended.1
    );
    assert!(ended.done().in_place);
}

#[test]
fn each_failure_says_what_was_seen_and_the_next_run_goes_on() {
    // Without the feature.
    for (state, says) in [
        ("Available", "Available"),
        ("InstallPending", "InstallPending"),
    ] {
        let Some(node) = ready(&json!({"features": {"Containers": state}})) else {
            return;
        };
        let why = run(&node).why();
        assert!(why.contains("Containers") && why.contains(says), "{why}");
        assert_eq!(node.log(), [] as [String; 0]);
    }

    // A service that stops at once.
    let stops =
        json!({"containerd_stops": {"log": LOG, "says": "level=fatal msg=\"bad config\"\n"}});
    let Some(node) = ready(&stops) else { return };
    std::fs::create_dir_all(node.path("c/var/log/containerd")).unwrap();
    let why = run(&node).why();
    assert!(
        why.contains("is stopped again") && why.contains("bad config"),
        "{why}"
    );
    node.change(|world| {
        world["services"]["containerd"]
            .as_object_mut()
            .unwrap()
            .remove("Stops");
    });
    assert!(run(&node).done().in_place);

    // A service that does not start.
    let refused =
        json!({"fail": {"Start-Service containerd": "Service 'containerd' cannot be started"}});
    let Some(node) = ready(&refused) else { return };
    let why = run(&node).why();
    assert!(
        why.contains("cannot be started") && why.contains("there is no C:\\var\\log"),
        "{why}"
    );
    node.change(|world| world["fail"] = json!({}));
    assert!(run(&node).done().in_place);

    // An archive with a wrong hash, none at all, one of something else, and what is no archive.
    let hash = "0".repeat(64);
    let why = node
        .call_with(
            &body(),
            Mode::Run,
            &[("sha256_containerd", &hash), ("sha256_crictl", &hash)],
            None,
        )
        .why();
    assert!(
        why.contains("is not the containerd that is wanted") && why.contains(&hash),
        "{why}"
    );
    assert_eq!(node.world()["services"]["containerd"]["Status"], "Running");
    let Some(node) = ready(&json!({})) else {
        return;
    };
    let archive = node.path("c/ProgramData/wdev/cache/containerd");
    pack(&archive, &[("containerd.exe", "flat")]);
    let why = run(&node).why();
    assert!(why.contains(r"holds no bin\containerd.exe"), "{why}");
    std::fs::write(&archive, "<html>").unwrap();
    let why = run(&node).why();
    assert!(why.contains("cannot be unpacked"), "{why}");
    let given = hashes(&node);
    std::fs::remove_file(&archive).unwrap();
    let secrets = [
        ("sha256_containerd", given[0].1.as_str()),
        ("sha256_crictl", given[1].1.as_str()),
    ];
    let why = node.call_with(&body(), Mode::Run, &secrets, None).why();
    assert!(
        why.contains("there is no C:\\ProgramData\\wdev\\cache\\containerd"),
        "{why}"
    );
    bring(&node, "v2.2.7");
    assert!(run(&node).done().in_place);
}

#[test]
fn windows_on_another_drive_is_told_before_anything_is_done() {
    let Some(node) = ready(&json!({})) else {
        return;
    };
    let elsewhere = body().replacen("$WdevData =", "$env:SystemDrive = 'D:'\n$WdevData =", 1);
    let hashes = hashes(&node);
    let secrets = [
        (hashes[0].0, hashes[0].1.as_str()),
        (hashes[1].0, hashes[1].1.as_str()),
    ];
    let why = node.call_with(&elsewhere, Mode::Run, &secrets, None).why();
    assert!(why.contains("drive D:"), "{why}");
    assert_eq!(node.log(), [] as [String; 0]);
}

#[test]
fn files_are_fetched_by_the_node_and_checked() {
    let Some(node) = Node::new(&json!({})) else {
        return;
    };
    let body = windows::fetch(&["kubelet", "kube-proxy"]).unwrap();
    let hash = |text: &str| common::sha256(text.as_bytes());
    let (kubelet, proxy) = (hash("kubelet"), hash("proxy"));
    // An address with what a text of curl must hide.
    let address = "https://user:p\"a\\ss@example.test/kubelet";
    for (name, text) in [("a", "kubelet"), ("b", "proxy"), ("page", "<html>")] {
        std::fs::write(node.path(name), text).unwrap();
    }
    let urls = json!({address: node.path("a"), "https://example.test/proxy": node.path("page")});
    node.change(|world| world["urls"] = urls);
    let secrets = [
        ("sha256_kubelet", kubelet.as_str()),
        ("sha256_kube_proxy", &proxy),
        ("url_kubelet", address),
        ("url_kube_proxy", "https://example.test/proxy"),
    ];
    // The probe is asked without addresses.
    let asked = node
        .call_with(&body, Mode::Probe, &secrets[..2], None)
        .done();
    assert_eq!((asked.in_place, asked.facts["there"].as_str()), (false, ""));
    let why = node.call_with(&body, Mode::Run, &secrets, None).why();
    assert!(
        why.contains("what was fetched as kube-proxy is something else"),
        "{why}"
    );
    let asked = node
        .call_with(&body, Mode::Probe, &secrets[..2], None)
        .done();
    assert_eq!(asked.facts["there"], "kubelet");

    node.change(|world| world["urls"] = json!({}));
    let why = node.call_with(&body, Mode::Run, &secrets, None).why();
    assert!(
        why.contains("kube-proxy cannot be fetched") && why.contains("404"),
        "{why}"
    );
    assert!(!why.contains("p\"a"), "{why}");
    let urls = json!({"https://example.test/proxy": node.path("b")});
    node.change(|world| world["urls"] = urls);
    let report = node.call_with(&body, Mode::Run, &secrets, None).done();
    assert!(report.in_place);
    let files = std::fs::read_dir(node.path("c/ProgramData/wdev/run")).unwrap();
    let left: Vec<_> = files.map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        left.iter()
            .all(|name| !name.to_str().unwrap().contains(".curl")),
        "{left:?}"
    );
}

#[test]
fn logs_do_not_grow_for_ever() {
    let Some(node) = ready(&json!({})) else {
        return;
    };
    run(&node).done();
    let task = &node.world()["tasks"]["wdev-trim-logs"];
    assert_eq!(
        (&task["user"], &task["every"]),
        (&json!("SYSTEM"), &json!("01:00:00"))
    );
    let action = task["action"].as_str().unwrap();
    assert!(
        action.ends_with("-File \"C:\\ProgramData\\wdev\\trim-logs.ps1\""),
        "{action}"
    );
    let log = node.path("c/var/log/containerd/containerd.log");
    let trim = || {
        let command = format!(
            "[void](New-PSDrive -Name C -PSProvider FileSystem -Root '{}'); & 'C:\\ProgramData\\wdev\\trim-logs.ps1'",
            node.path("c").display()
        );
        let mut pwsh = Command::new(&node.pwsh);
        pwsh.args(["-NoProfile", "-NonInteractive", "-Command", &command]);
        common::run(pwsh.env("WDEV_LARGEST_LOG", "4"), b"");
    };
    // Who writes it has it open, and appends.
    let mut writer = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(&log)
        .unwrap();
    writer.write_all(b"1234").unwrap();
    trim();
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "1234");
    writer.write_all(b"56").unwrap();
    trim();
    writer.write_all(b"7").unwrap();
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "7");
    assert_eq!(node.read("c/var/log/containerd/containerd.log.1"), "3456");
}
