//! Windows features, their reboots, and what a reboot leaves behind.

use serde_json::{Value, json};
use wdev::channel::Mode;
use wdev::release::windows_node;
use wdev::render::windows::prepare;

use crate::node::Node;
use crate::ways::{Scene, every_way};

const REBOOT_PENDING: &str =
    r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending";
const UPDATE_PENDING: &str =
    r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\WindowsUpdate\Auto Update\RebootRequired";

fn body(plugin: &str, asked: &[&str], hypervisor: bool) -> String {
    let asked: Vec<String> = asked.iter().map(|&name| name.to_owned()).collect();
    let wanted = windows_node::features(plugin, &asked, hypervisor).unwrap();
    prepare::features(&wanted).unwrap()
}

fn plain() -> String {
    body("none", &[], false)
}

/// A node whose features are active.
fn ready(body: &str) -> Option<Node> {
    let node = Node::new(&json!({}))?;
    assert!(node.call(body, Mode::Run).done().reboot_wanted);
    node.boot();
    assert!(node.call(body, Mode::Run).done().in_place);
    Some(node)
}

fn state(node: &Node) -> Value {
    let world = node.world();
    json!([
        world["features"],
        world["components"],
        world["services"],
        world["registry"],
        world["hns"]
    ])
}

#[test]
fn containers_alone_are_installed_however_often_it_is_interrupted() {
    every_way(&Scene {
        name: "features: Containers",
        body: &plain(),
        secrets: &[],
        node: &|| Node::new(&json!({})),
        boot: &Node::boot,
        state: &state,
    });
}

#[test]
fn hyper_v_comes_without_its_hypervisor_however_often_it_is_interrupted() {
    let body = body("antrea", &[], false);
    every_way(&Scene {
        name: "features: Hyper-V without a hypervisor",
        body: &body,
        secrets: &[],
        node: &|| Node::new(&json!({})),
        boot: &Node::boot,
        state: &state,
    });
    let Some(node) = ready(&body) else { return };
    let world = node.world();
    assert_eq!(world["components"]["Microsoft-Hyper-V"], "Enabled");
    assert_eq!(world["components"]["Microsoft-Hyper-V-Online"], "Disabled");
    assert_eq!(world["features"]["Hyper-V-PowerShell"], "Installed");
}

#[test]
fn a_reboot_is_wanted_by_the_state_of_a_feature_and_it_is_active_only_then() {
    let Some(node) = Node::new(&json!({})) else {
        return;
    };
    let body = plain();
    assert_eq!(
        node.probe(&body).unwrap(),
        "the feature Containers is not installed"
    );
    let report = node.call(&body, Mode::Run).done();
    assert!(report.reboot_wanted && !report.in_place);
    assert_eq!(node.log(), ["Install-WindowsFeature Containers"]);
    let probed = node.call(&body, Mode::Probe).done();
    assert!(probed.reboot_wanted);
    assert!(probed.why.unwrap().contains("active only after a reboot"));
    // Without a reboot nothing is done twice, and it still asks.
    assert!(node.call(&body, Mode::Run).done().reboot_wanted);
    assert_eq!(node.log().len(), 1);

    node.boot();
    assert_eq!(node.probe(&body), None);
    assert_eq!(node.log().len(), 1);

    // What came with it does not start by itself at first.
    let hns = prepare::hns().unwrap();
    assert_eq!(
        node.probe(&hns).unwrap(),
        "the service hns does not start by itself"
    );
    assert!(node.call(&hns, Mode::Run).done().in_place);
    assert_eq!(
        node.log()[1..],
        ["Set-Service hns Automatic", "Start-Service hns"]
    );
    node.boot();
    assert_eq!(node.probe(&hns), None);
}

#[test]
fn with_nested_virtualisation_hyper_v_is_the_role() {
    let body = body("none", &["Hyper-V"], true);
    let Some(node) = Node::new(&json!({"virtualization": true})) else {
        return;
    };
    assert!(node.call(&body, Mode::Run).done().reboot_wanted);
    node.boot();
    assert!(node.call(&body, Mode::Run).done().in_place);
    assert_eq!(node.world()["features"]["Hyper-V"], "Installed");

    // A machine that does not offer it, whatever the configuration says.
    let Some(node) = Node::new(&json!({})) else {
        return;
    };
    let why = node.call(&body, Mode::Run).why();
    assert!(
        why.contains("the Windows feature Hyper-V cannot be installed"),
        "{why}"
    );
    assert!(
        why.contains("required virtualization capabilities"),
        "{why}"
    );
}

#[test]
fn a_feature_that_cannot_be_installed_says_why_and_goes_on_once_it_can() {
    let words = "The source files could not be found. Error: 0x800f081f";
    let Some(node) = Node::new(&json!({"fail": {"Install-WindowsFeature Containers": words}}))
    else {
        return;
    };
    let body = plain();
    let why = node.call(&body, Mode::Run).why();
    assert!(
        why.contains("Containers cannot be installed") && why.contains(words),
        "{why}"
    );
    node.change(|world| world["fail"] = json!({}));
    assert!(node.call(&body, Mode::Run).done().reboot_wanted);
}

#[test]
fn a_name_that_windows_does_not_know_is_refused() {
    let Some(node) = Node::new(&json!({})) else {
        return;
    };
    let hostile = "it's; $(Get-Date) `x` \u{e9}";
    let why = node.call(&body("none", &[hostile], false), Mode::Run).why();
    assert!(why.contains(&format!("no feature `{hostile}`")), "{why}");
}

#[test]
fn where_windows_refuses_because_it_waits_for_a_reboot_it_gets_one_first() {
    let body = plain();
    for world in [
        json!({"features": {"Containers": "UninstallPending"}}),
        json!({"features": {"Containers": "Available"}, "registry": {UPDATE_PENDING: {}},
            "fail": {"Install-WindowsFeature": "a restart is required"}}),
    ] {
        let Some(node) = Node::new(&world) else {
            return;
        };
        assert!(node.call(&body, Mode::Run).done().reboot_wanted);
        assert_eq!(node.log(), [] as [String; 0]);
        node.boot();
        node.change(|world| world["fail"] = json!({}));
        assert!(node.call(&body, Mode::Run).done().reboot_wanted);
        node.boot();
        assert!(node.call(&body, Mode::Run).done().in_place);
    }
}

#[test]
fn one_more_reboot_is_asked_for_while_windows_waits_for_one() {
    let body = plain();
    let Some(node) = ready(&body) else { return };
    for (change, what) in [
        (
            json!({"registry": {REBOOT_PENDING: {}}}),
            "the installation of a component",
        ),
        (json!({"registry": {UPDATE_PENDING: {}}}), "Windows Update"),
        (
            json!({"names": {"ActiveComputerName": "WIN-1", "ComputerName": "winw1"}}),
            "the new computer name",
        ),
    ] {
        node.change(|world| world["next_boots"] = json!([change]));
        node.boot();
        let probed = node.call(&body, Mode::Probe).done();
        assert!(probed.reboot_wanted && !probed.in_place);
        assert!(probed.why.unwrap().contains(what), "{what}");
        assert!(node.call(&body, Mode::Run).done().reboot_wanted);
        node.boot();
        assert_eq!(node.probe(&body), None, "{what}");
    }
    // Programs leave files to be renamed at any time: no reason.
    let manager = r"HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager";
    node.change(|world| {
        world["registry"] = json!({manager: {"PendingFileRenameOperations": [r"\??\C:\a", ""]}});
    });
    assert_eq!(node.probe(&body), None);
}

/// The step, which waits for no answer.
fn hns() -> String {
    let body = prepare::hns().unwrap();
    let hasty = body.replace("$WdevHnsPatience = 30", "$WdevHnsPatience = 0");
    assert_ne!(hasty, body);
    hasty
}

/// A node with the feature, and HNS as its step leaves it.
fn hns_ready(body: &str) -> Option<Node> {
    let node = ready(&plain())?;
    assert!(node.call(body, Mode::Run).done().in_place);
    Some(node)
}

#[test]
fn the_host_network_service_is_made_ready_however_often_it_is_interrupted() {
    every_way(&Scene {
        name: "hns",
        body: &hns(),
        secrets: &[],
        node: &|| {
            let node = ready(&plain())?;
            let nat = json!({"Name": "nat", "Type": "nat"});
            let says = "The object exporter specified was not found";
            node.change(|world| {
                world["hns"] = json!({"networks": [nat], "says": says, "heals": "restart"});
            });
            Some(node)
        },
        boot: &Node::boot,
        state: &state,
    });
}

#[test]
fn a_broken_host_network_service_is_repaired() {
    let body = hns();
    let data = "c/ProgramData/Microsoft/Windows/HNS/HNS.data";
    let says = "The object exporter specified was not found";
    for (heals, forgets) in [("restart", false), ("data", true)] {
        let Some(node) = hns_ready(&body) else { return };
        std::fs::create_dir_all(node.path(data).parent().unwrap()).unwrap();
        std::fs::write(node.path(data), "networks").unwrap();
        node.change(|world| {
            world["next_boots"] = json!([{"hns": {"networks": [], "says": says, "heals": heals}}]);
        });
        node.boot();
        let why = node.probe(&body).unwrap();
        assert!(
            why.contains("does not answer") && why.contains(says),
            "{why}"
        );
        assert!(node.call(&body, Mode::Run).done().in_place);
        assert_eq!(!node.path(data).exists(), forgets, "{heals}");
    }

    let Some(node) = hns_ready(&body) else { return };
    node.change(|world| world["hns"] = json!({"networks": [], "says": says}));
    let why = node.call(&body, Mode::Run).why();
    assert!(
        why.contains("also after a new start") && why.contains(says),
        "{why}"
    );
    node.change(|world| world["hns"] = json!({"networks": []}));
    node.change(|world| world["services"]["hns"]["StartType"] = json!("Disabled"));
    assert!(node.probe(&body).unwrap().contains("start by itself"));
    assert!(node.call(&body, Mode::Run).done().in_place);
}

#[test]
fn a_host_network_service_that_is_only_slow_is_left_alone() {
    let body = prepare::hns().unwrap();
    let Some(node) = hns_ready(&body) else { return };
    node.change(|world| {
        world["hns"] = json!({"networks": [], "says": "busy", "asks": 3});
        world["log"] = json!([]);
    });
    assert!(node.call(&body, Mode::Run).done().in_place);
    assert_eq!(node.log(), [] as [String; 0]);
}

#[test]
fn without_its_cmdlets_the_host_network_services_state_is_enough() {
    let body = hns();
    let Some(node) = hns_ready(&body) else { return };
    node.change(|world| world["hns_cmdlets"] = json!(false));
    assert_eq!(node.probe(&body), None);
    node.change(|world| world["services"]["hns"]["Status"] = json!("Stopped"));
    assert!(node.call(&body, Mode::Run).done().in_place);
}

#[test]
fn only_the_nat_network_that_nobody_uses_is_removed() {
    let body = hns();
    let Some(node) = hns_ready(&body) else { return };
    let of_plugin = json!({"Name": "Calico", "Type": "L2Bridge"});
    let nat = json!({"Name": "nat", "Type": "nat"});
    node.change(|world| world["hns"] = json!({"networks": [nat, of_plugin]}));
    assert!(node.probe(&body).unwrap().contains("network `nat`"));
    assert!(node.call(&body, Mode::Run).done().in_place);
    assert_eq!(node.world()["hns"]["networks"], json!([of_plugin]));

    node.change(|world| {
        world["hns"] = json!({"networks": [nat]});
        world["services"]["docker"] =
            json!({"Name": "docker", "Status": "Running", "StartType": "Automatic"});
    });
    assert_eq!(node.probe(&body), None);

    // Nor does a node of a cluster lose it: HNS may have made it anew at a boot.
    node.change(|world| {
        world["services"].as_object_mut().unwrap().remove("docker");
    });
    assert!(node.probe(&body).is_some());
    let conf = node.path("c/etc/kubernetes/kubelet.conf");
    std::fs::create_dir_all(conf.parent().unwrap()).unwrap();
    std::fs::write(conf, "joined").unwrap();
    assert_eq!(node.probe(&body), None);
}
