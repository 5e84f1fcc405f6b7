//! The JSON Schema and the reader agree.

use wdev::config::{load, schema};

use crate::{folder, read, request};

fn validator() -> jsonschema::Validator {
    jsonschema::validator_for(&schema()).unwrap()
}

fn json(text: &str) -> serde_json::Value {
    serde_saphyr::from_str(text).unwrap()
}

#[test]
fn the_example_is_right() {
    let value = json(include_str!("../../variables.yml"));
    let errors: Vec<String> = validator()
        .iter_errors(&value)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert_eq!(errors, Vec::<String>::new());
}

/// Right for the reader and for the schema.
const GOOD: &[&str] = &[
    "{}",
    "version: 1",
    "kubernetes: {version: 1.30}",
    "kubernetes: {version: v1.36.0-alpha.1+0123456789abcd}",
    "kubernetes: {version: ci/latest-1.37}",
    "kubernetes: {version: stable}",
    "kubernetes: {build: none}",
    "kubernetes: {build: []}",
    "kubernetes: {feature_gates: {A: true}, extra_args: {kubelet: {v: 4, x-y: 'true'}}}",
    "cni: calico",
    "cni: {name: antrea, version: v2.4.5}",
    "cni: {version: 3.30.0}",
    "container_runtime: containerd",
    "network: {nodes: 10.1.0.0/24, dns: ['1.1.1.1', '::1'], proxy: {http: 'http://p:1', no_proxy: [a]}}",
    "control_plane: {cpus: '4', memory: 6048}",
    "control_plane: {memory: 6144M, address: ''}",
    "workers: [{windows: 2022}, {windows: '2019', memory: 6 GiB}]",
    "workers: [{labels: {a.b/c: d, e: 1}, taints: ['a=b:NoSchedule', 'c:NoExecute']}]",
    "workers:",
    "timeouts: {boot: 1h30m, reboot: 90s, step: 2d}",
    "artifacts: {offline: false, mirror: ''}",
    "vagrant: {extra: {virtualbox: 'p.gui = true'}}",
    "kubernetes_version: 1.30",
    "windows_ram: 6048\nlinux_cpus: 4\npod_cidr: 10.128.0.0/16\nbuild_from_source: 'false'",
];

/// Wrong for both.
const BAD: &[&str] = &[
    "version: 2",
    "kubernetes_verison: 1.30",
    "sandbox: My_Sandbox",
    "sandbox: abcdefghijklmnopqrstuvwxyzabcdefghi",
    "provider: vmware",
    "kubernetes: {version: 1}",
    "kubernetes: {version: 1.x}",
    "kubernetes: {version: ''}",
    "kubernetes: {version: 2.1}",
    "kubernetes: {build: everything}",
    "kubernetes: {build: [kube_proxy]}",
    "kubernetes: {feature_gates: {A: maybe}}",
    "kubernetes: {extra_args: {kubelet: {--v: 4}}}",
    "kubernetes: {extra_args: {kublet: {v: 4}}}",
    "cni: cilium",
    "cni: {name: cilium}",
    "cni: {version: latest}",
    "cni: {version: 3.30}",
    "cni: [calico]",
    "container_runtime: docker",
    "network: {pods: 10.0.0.0}",
    "network: {pods: 10.0.0.0/33}",
    "network: {pods: 300.0.0.0/8}",
    "network: {dns: [dns.example]}",
    "network: {proxy: {http: 'proxy:3128'}}",
    "network: {proxy: {no_proxy: ['a,b']}}",
    "control_plane: {cpus: 1}",
    "control_plane: {cpus: 2.5}",
    "control_plane: {memory: 0}",
    "control_plane: {memory: -1}",
    "control_plane: {memory: 4096.5}",
    "control_plane: {memory: 6 bananas}",
    "control_plane: {address: 1.2.3}",
    "control_plane: {name: host}",
    "workers: []",
    "workers: 2",
    "workers: [{name: Winw1}]",
    "workers: [{name: '12'}]",
    "workers: [{name: abcdefghijklmnop}]",
    "workers: [{windows: 2016}]",
    "workers: [{labels: {'a b': c}}]",
    "workers: [{labels: {a: 'b c'}}]",
    "workers: [{taints: [a]}]",
    "workers: [{box_checksum: abc}]",
    "timeouts: {boot: 15}",
    "timeouts: {boot: soon}",
    "artifacts: {offline: perhaps}",
    "artifacts: {mirror: mirror.example}",
    "hooks: [{}]",
    "hooks: [{phase: x, script: x}]",
    "build_from_source: perhaps",
    "windows_ram: lots",
];

#[test]
fn both_accept_what_is_right() {
    let validator = validator();
    for text in GOOD {
        let errors: Vec<String> = validator
            .iter_errors(&json(text))
            .map(|e| e.to_string())
            .collect();
        assert_eq!(errors, Vec::<String>::new(), "{text}");
        let dir = folder(&[("variables.yml", text)]);
        if let Err(problems) = load(&request(&dir)) {
            panic!("{text}\n{problems}");
        }
    }
}

#[test]
fn both_refuse_what_is_wrong() {
    let validator = validator();
    for text in BAD {
        assert!(
            !validator.is_valid(&json(text)),
            "the schema accepts {text}"
        );
        assert!(read(text).is_err(), "the reader accepts {text}");
    }
}
