//! Sandboxes and releases to render for.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde_json::Value;
use wdev::config::model::Config;
use wdev::config::{Request, load};
use wdev::os::Os;
use wdev::release::{Origin, Release, Version, supported};
use wdev::render::kubernetes::{Cluster, Member};

/// The minors that wdev supports, and the first that is newer than it knows.
pub(crate) fn minors() -> Vec<u32> {
    let mut minors = supported::minors();
    assert!(minors.len() > 8, "{minors:?}");
    minors.push(supported::newest_minor() + 1);
    minors
}

/// The sandbox of these lines of `variables.yml`.
pub(crate) fn config(text: &str) -> Config {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("variables.yml"), text).unwrap();
    let request = Request {
        start: dir.path().to_path_buf(),
        ..Request::default()
    };
    load(&request)
        .unwrap_or_else(|problems| panic!("{problems}"))
        .config
}

/// A release of this exact version.
pub(crate) fn release(version: &str, origin: Origin) -> Release {
    Release {
        asked: version.to_owned(),
        kubernetes: Version::parse(version).unwrap(),
        origin,
        answers: BTreeMap::new(),
        artifacts: vec![],
    }
}

/// Nothing but the version.
pub(crate) const PLAIN: &str = r#"
kubernetes: {version: "1.36"}
"#;

/// Everything that these configurations take.
pub(crate) const EVERYTHING: &str = r#"
kubernetes:
  version: "1.36"
  feature_gates: {GracefulNodeShutdown: true, SizeMemoryBackedVolumes: false}
  extra_args:
    api_server: {profiling: "false", feature-gates: "APIListChunking=true"}
    controller_manager: {node-monitor-period: 2s}
    scheduler: {profiling: "false"}
    kubelet: {max-pods: "50", enforce-node-allocatable: ""}
    kube_proxy: {proxy-mode: ipvs, conntrack-max-per-core: "0", ipvs-strict-arp: "true", nodeport-addresses: "10.0.0.0/8, 127.0.0.0/8", feature-gates: "ServiceTopology=false"}
  audit: request_response
  log_levels: {api_server: 4, controller_manager: 3, scheduler: 2, kubelet: 5}
  ignore_preflight_errors: [NumCPU, Mem]
  cert_names: [api.example, 10.9.9.9, localhost]
network: {nodes: 192.168.56.0/24, pods: 10.200.0.0/16, services: 10.100.0.0/16}
control_plane:
  name: cp
  address: 192.168.56.10
  taints: ["node-role.kubernetes.io/control-plane:NoSchedule", "os=linux:PreferNoSchedule"]
timeouts: {ready: 8m}
"#;

/// A version of each minor for each origin, with its name in a message.
pub(crate) fn releases(minor: u32) -> Vec<Release> {
    vec![
        release(&format!("v1.{minor}.2"), Origin::Release),
        release(
            &format!("v1.{minor}.0-alpha.1.12+0123456789abcd"),
            Origin::Ci,
        ),
        release(
            &format!("v1.{minor}.0-beta.0.7+0123456789abcd-dirty"),
            Origin::Source,
        ),
    ]
}

/// The worker of the tests.
pub(crate) fn joining(cluster: &Cluster<'_>) -> String {
    joining_on(cluster, Os::Linux)
}

/// The worker of the tests, with this system.
pub(crate) fn joining_on(cluster: &Cluster<'_>, os: Os) -> String {
    let labels = BTreeMap::from([("disk".to_owned(), "fast".to_owned())]);
    let taints = ["os=linux:NoSchedule".to_owned()];
    let worker = Member {
        name: "w1",
        address: Ipv4Addr::new(192, 168, 56, 11),
        os,
        labels: &labels,
        taints: &taints,
    };
    cluster.join(&worker).unwrap()
}

/// The documents of a YAML text.
pub(crate) fn documents(text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The document of this kind.
#[track_caller]
pub(crate) fn document(text: &str, kind: &str) -> Value {
    let found = documents(text).into_iter().find(|doc| doc["kind"] == kind);
    found.unwrap_or_else(|| panic!("no {kind} in\n{text}"))
}

/// Arguments in either form, as a map.
#[track_caller]
pub(crate) fn arguments(value: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    match value {
        Value::Null => BTreeMap::new(),
        Value::Object(map) => map.iter().map(|(k, v)| (k.clone(), text(v))).collect(),
        Value::Array(list) => list
            .iter()
            .map(|argument| (text(&argument["name"]), text(&argument["value"])))
            .collect(),
        other => panic!("no arguments: {other}"),
    }
}
