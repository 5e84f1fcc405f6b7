//! Any text that a user can write comes back from a parser as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;

use proptest::prelude::*;
use serde_json::{Value, json};
use wdev::config::model::Config;
use wdev::os::Os;
use wdev::release::{Origin, Release};
use wdev::render::kubernetes::{Cluster, Member};

use crate::common::{allowed_skip, hostile_texts, nasty_texts, run};
use crate::scene::{PLAIN, arguments, config, documents, release};

/// A configuration with these texts wherever there is room for a text. The loader would refuse most of
/// them; what is rendered must not depend on it.
pub(crate) fn hostile(texts: &[String]) -> Config {
    let mut config = config(PLAIN);
    let all: BTreeSet<String> = texts.iter().cloned().collect();
    let next = all.iter().skip(1).chain(all.iter().take(1)).cloned();
    let map: BTreeMap<String, String> = all.iter().cloned().zip(next).collect();
    let kubernetes = &mut config.kubernetes;
    kubernetes.feature_gates = all.iter().map(|text| (text.clone(), true)).collect();
    for component in ["api_server", "controller_manager", "scheduler"] {
        kubernetes
            .extra_args
            .insert(component.to_owned(), map.clone());
    }
    let address = [("bind-address".to_owned(), texts[0].clone())];
    kubernetes
        .extra_args
        .insert("kube_proxy".to_owned(), address.into());
    kubernetes.ignore_preflight_errors = texts.to_vec();
    kubernetes.cert_names = all.iter().cloned().collect();
    config.control_plane.name.clone_from(&texts[0]);
    config.control_plane.taints = Some(
        texts
            .iter()
            .map(|text| format!("k={text}:NoSchedule"))
            .collect(),
    );
    config
}

/// The two forms of arguments.
fn both() -> [Release; 2] {
    ["v1.20.2", "v1.36.3"].map(|version| release(version, Origin::Release))
}

/// Both texts that are rendered for these texts.
fn rendered(release: &Release, texts: &[String]) -> [String; 2] {
    let mut config = hostile(texts);
    let init = Cluster::new(&config, release).unwrap().init().unwrap();
    // A Linux node's kubelet cannot be given all of them; kubeadm's file can hold them.
    let map = config.kubernetes.extra_args["scheduler"].clone();
    config
        .kubernetes
        .extra_args
        .insert("kubelet".to_owned(), map);
    let member = Member {
        name: &texts[0],
        address: Ipv4Addr::new(10, 0, 0, 9),
        os: Os::Windows,
        labels: &texts
            .iter()
            .map(|text| (text.clone(), text.clone()))
            .collect(),
        taints: config.control_plane.taints.as_deref().unwrap(),
    };
    let join = Cluster::new(&config, release).unwrap().join(&member);
    [init, join.unwrap()]
}

fn check(texts: &[String], docs: &[Value]) {
    let config = hostile(texts);
    let [init, cluster, kubelet, proxy, join] = docs else {
        panic!("{docs:?}")
    };
    let map = &config.kubernetes.extra_args["scheduler"];
    let gates: Vec<String> = map.keys().map(|name| format!("{name}=true")).collect();
    let expected = |own: &[(&str, String)]| -> BTreeMap<String, String> {
        let own = own.iter().map(|(k, v)| ((*k).to_owned(), v.clone()));
        own.chain(map.clone()).collect()
    };
    for component in ["apiServer", "controllerManager", "scheduler"] {
        let wanted = expected(&[("feature-gates", gates.join(","))]);
        assert_eq!(arguments(&cluster[component]["extraArgs"]), wanted);
    }
    let names = cluster["apiServer"]["certSANs"].as_array().unwrap();
    for text in texts {
        assert!(names.contains(&Value::from(text.as_str())), "{text:?}");
    }
    let taints: Vec<Value> = texts
        .iter()
        .map(|text| json!({"key": "k", "value": text, "effect": "NoSchedule"}))
        .collect();
    for doc in [init, join] {
        let node = &doc["nodeRegistration"];
        assert_eq!(node["name"], texts[0]);
        assert_eq!(node["taints"], Value::from(taints.clone()));
        assert_eq!(node["ignorePreflightErrors"], json!(texts));
    }
    let labels: BTreeMap<&String, &String> = texts.iter().map(|text| (text, text)).collect();
    let labels: Vec<String> = labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
    let wanted = expected(&[
        ("node-ip", "10.0.0.9".to_owned()),
        ("node-labels", labels.join(",")),
    ]);
    assert_eq!(
        arguments(&join["nodeRegistration"]["kubeletExtraArgs"]),
        wanted
    );
    for doc in [kubelet, proxy] {
        let gates: BTreeMap<&String, bool> = map.keys().map(|name| (name, true)).collect();
        assert_eq!(doc["featureGates"], json!(gates));
    }
    assert_eq!(proxy["bindAddress"], texts[0]);
}

fn for_hostile_texts(check: impl Fn(&[String])) {
    check(&nasty_texts());
    let config = ProptestConfig {
        cases: 4,
        failure_persistence: None,
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    };
    proptest!(config, |(texts in hostile_texts(40))| check(&texts));
}

#[test]
fn our_parser_gives_everything_back() {
    for_hostile_texts(|texts| {
        for release in both() {
            let docs: Vec<Value> = rendered(&release, texts)
                .iter()
                .flat_map(|text| documents(text))
                .collect();
            check(texts, &docs);
        }
    });
}

#[test]
fn a_parser_of_yaml_1_1_gives_everything_back() {
    let has_yaml = |python: &PathBuf| {
        let import = Command::new(python).args(["-c", "import yaml"]).output();
        import.is_ok_and(|output| output.status.success())
    };
    let Some(python) = which::which("python3").ok().filter(has_yaml) else {
        return allowed_skip("the program `python3` with its module `yaml`");
    };
    for_hostile_texts(|texts| {
        for release in both() {
            let script = "import json, sys, yaml\n\
                          text = sys.stdin.buffer.read().decode()\n\
                          json.dump(list(yaml.load_all(text, getattr(yaml, 'CSafeLoader', yaml.SafeLoader))), sys.stdout)";
            let input = rendered(&release, texts).join("---\n");
            let printed = run(Command::new(&python).args(["-c", script]), input.as_bytes());
            let docs: Vec<Value> = serde_json::from_slice(&printed).unwrap();
            check(texts, &docs);
        }
    });
}
