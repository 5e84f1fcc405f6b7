//! `wdev config show`: what is printed is itself a configuration, the same one.

use proptest::prelude::*;
use wdev::config::{Loaded, Request, load, show_json, show_yaml};

use crate::{folder, read, request};

/// Everything set to something else than its default.
const FULL: &str = r#"
sandbox: team-a
provider: libvirt
kubernetes:
  version: 1.30
  source: k8s
  build: all
  builder: go
  images: [apiserver.tar]
  feature_gates: {A: true, B: false}
  extra_args: {kubelet: {v: 4, node-labels: "a=b,c=d"}, api_server: {audit-log-path: "-"}}
cni: {name: antrea, version: 2.4.5}
kube_proxy: none
container_runtime: {name: containerd, version: 2.3.4}
network:
  nodes: 172.20.0.0/16
  pods: 10.100.0.0/14
  services: 10.96.0.0/16
  dns: [1.1.1.1, "2606:4700::1111"]
  proxy: {http: "http://proxy:3128", https: "http://proxy:3128", no_proxy: [.example, 10.0.0.0/8]}
control_plane: {name: main, box: bento/ubuntu, box_version: 1.10, cpus: 4, memory: 5000, address: 172.20.3.4, taints: ["a=b:NoSchedule"]}
workers:
  - {name: a, windows: 2019, box: x, box_url: ./x.box, box_checksum: "sha256:0000000000000000000000000000000000000000000000000000000000000000", cpus: 1, memory: 8GB, address: 172.20.9.9, labels: {x: "true", y: ""}, taints: ["os=windows:NoExecute"]}
  - {windows: "2025"}
artifacts: {mirror: "https://mirror.example/k8s", offline: true, guest_download: true}
timeouts: {boot: 1h30m, reboot: 90s, step: 2d, ready: 61s}
hooks:
  - {node: a, phase: prepare, script: hook.ps1}
vagrant: {extra: {libvirt: "p.nested = true\n# \"x\" #{y}\n", a: ""}}
"#;

fn again(loaded: &Loaded) -> Loaded {
    let text = show_yaml(loaded);
    match read(&text) {
        Ok(again) => again,
        Err(problems) => panic!("{problems}\n{text}"),
    }
}

fn full() -> (tempfile::TempDir, Loaded) {
    let dir = folder(&[
        ("variables.yml", FULL),
        ("apiserver.tar", ""),
        ("hook.ps1", ""),
    ]);
    std::fs::create_dir(dir.path().join("k8s")).unwrap();
    let loaded = load(&request(&dir)).unwrap_or_else(|problems| panic!("{problems}"));
    (dir, loaded)
}

#[test]
fn what_is_shown_loads_to_the_same() {
    for text in ["", "cni: none", "workers: [{}, {}]"] {
        let loaded = read(text).unwrap();
        assert_eq!(again(&loaded).config, loaded.config, "{text}");
    }
    let (_dir, loaded) = full();
    assert_eq!(again(&loaded).config, loaded.config);
}

#[test]
fn every_line_says_where_it_is_from() {
    let loaded = load(&Request {
        env: crate::pairs([("WDEV_CNI", "flannel")]),
        flags: crate::flags([("provider", "sim", "--provider")]),
        ..request(&folder(&[(
            "variables.yml",
            "kubernetes:\n  version: 1.30\n",
        )]))
    })
    .unwrap();
    insta::assert_snapshot!(show_yaml(&loaded));
}

#[test]
fn json_has_the_shape_of_the_file_and_the_origins() {
    let (_dir, loaded) = full();
    let json = show_json(&loaded);
    assert_eq!(json["version"], 1);
    assert_eq!(json["values"]["kubernetes"]["version"], "1.30");
    assert_eq!(json["values"]["workers"][0]["cpus"], 1);
    assert_eq!(json["values"]["kubernetes"]["feature_gates"]["A"], true);
    assert_eq!(json["origins"]["workers[0].memory"]["kind"], "file");
    assert_eq!(json["origins"]["workers[1].address"]["kind"], "derived");
    // The values alone are a configuration as well: JSON is YAML.
    let again = read(&json["values"].to_string()).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(again.config, loaded.config);
}

/// `text` for YAML by a way of its own: every character as an escape.
fn escaped(text: &str) -> String {
    let inner: String = text
        .chars()
        .map(|c| format!("\\U{:08x}", u32::from(c)))
        .collect();
    format!("\"{inner}\"")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_text_survives(texts in prop::collection::vec(any::<String>().prop_map(|s| s.replace('\0', "")), 5)) {
        let e = |n: usize| escaped(&texts[n]);
        let file = format!(
            "control_plane: {{box: {}, box_version: {}}}\nworkers: [{{box: {}}}]\nkubernetes: {{extra_args: {{kubelet: {{x: {}}}}}}}\nvagrant: {{extra: {{cp: {}}}}}\n",
            e(0), e(1), e(2), e(3), e(4),
        );
        let loaded = read(&file).unwrap_or_else(|problems| panic!("{problems}"));
        let config = &loaded.config;
        prop_assert_eq!(&config.control_plane.machine.r#box, &texts[0]);
        prop_assert_eq!(&config.control_plane.machine.box_version, &texts[1]);
        prop_assert_eq!(&config.workers[0].machine.r#box, &texts[2]);
        prop_assert_eq!(&config.kubernetes.extra_args["kubelet"]["x"], &texts[3]);
        prop_assert_eq!(&config.vagrant.extra["cp"], &texts[4]);
        prop_assert_eq!(&again(&loaded).config, config);
    }
}
