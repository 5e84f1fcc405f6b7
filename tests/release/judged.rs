//! What a version says about the configuration that asks for it, at the user's own line.

use wdev::config::{Diagnostic, Loaded, Request, Severity, load};
use wdev::release::{Origin, Subject, Version, check_located};

fn read(text: &str) -> Loaded {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("variables.yml"), text).unwrap();
    let request = Request {
        start: dir.path().to_path_buf(),
        ..Request::default()
    };
    load(&request).unwrap()
}

/// Flags of a kubelet that are gone, and since when.
fn removed(flag: &str) -> Option<u32> {
    [("network-plugin", 24), ("pod-infra-container-image", 35)]
        .into_iter()
        .find(|(name, _)| *name == flag)
        .map(|(_, minor)| minor)
}

fn judged_as(text: &str, version: &str, built: Option<&str>) -> Vec<Diagnostic> {
    let loaded = read(text);
    let parse = |text: &str| Version::parse(text).unwrap();
    let (version, built) = (parse(version), built.map(parse));
    let subject = Subject {
        config: &loaded.config,
        version: &version,
        origin: Origin::Release,
        built: built.as_ref(),
        removed,
    };
    check_located(&subject, &loaded)
}

fn judged(text: &str, version: &str) -> Vec<Diagnostic> {
    judged_as(text, version, None)
}

fn whole(diagnostic: &Diagnostic) -> String {
    format!(
        "{} {diagnostic}: {} {} {}",
        diagnostic.severity,
        diagnostic.allowed.clone().unwrap_or_default(),
        diagnostic.suggestion.clone().unwrap_or_default(),
        diagnostic.note.clone().unwrap_or_default()
    )
}

/// The only finding, with its words in order.
fn only(found: &[Diagnostic], severity: Severity, words: &[&str]) {
    let [finding] = found else {
        panic!("{found:?}");
    };
    assert_eq!(finding.severity, severity, "{}", whole(finding));
    for word in words {
        assert!(
            whole(finding).contains(word),
            "no `{word}`: {}",
            whole(finding)
        );
    }
}

const OLD_CONTAINERD: &str = "container_runtime: {name: containerd, version: 1.7.28}\n";

#[test]
fn an_empty_configuration_has_nothing_to_say_for_any_supported_minor() {
    for minor in wdev::release::supported::minors() {
        // The one old minor speaks an interface that the default containerd no longer has.
        let text = if minor == 20 { OLD_CONTAINERD } else { "" };
        let found = judged(text, &format!("v1.{minor}.2"));
        assert_eq!(found, [], "1.{minor}");
    }
}

#[test]
fn a_minor_is_supported_new_or_refused() {
    let text = "kubernetes:\n  version: ci/latest\n";
    only(
        &judged(text, "v1.38.0-alpha.1.12+0123456789abcd"),
        Severity::Warning,
        &[
            "variables.yml:2:12",
            "Kubernetes 1.38 is newer than wdev knows, which is 1.37",
        ],
    );
    for version in ["v1.29.15", "v1.21.0", "v1.19.0"] {
        only(
            &judged(text, version),
            Severity::Error,
            &[
                "variables.yml:2:12",
                "does not support",
                "1.30 to 1.37, 1.20",
            ],
        );
    }
}

#[test]
fn a_kubelet_newer_than_its_control_plane_is_refused() {
    let source = tempfile::tempdir().unwrap();
    let text = format!(
        "kubernetes:\n  version: '1.36'\n  source: {}\n  build: [kubelet, kubectl]\n",
        source.path().display()
    );
    let newer = Some("v1.37.0-beta.0.3+0123456789abcd");
    only(
        &judged_as(&text, "v1.36.3", newer),
        Severity::Error,
        &[
            "variables.yml:4:10",
            "the kubelet would be v1.37.0-beta.0.3",
            "version: source",
        ],
    );
    assert_eq!(
        judged_as(&text, "v1.36.3", Some("v1.36.4-3+0123456789abcd")),
        []
    );
}

#[test]
fn a_broken_release_is_refused_where_it_hurts() {
    let text = "kubernetes: {version: v1.31.0}\n";
    only(
        &judged(text, "v1.31.0"),
        Severity::Error,
        &["kubelet.exe 1.31.0", "v1.31.1", "pull/126976"],
    );
    assert_eq!(judged(text, "v1.31.1"), []);
    assert_eq!(judged("provider: docker\n", "v1.31.0"), []);
}

#[test]
fn a_version_of_windows_is_judged_by_what_the_marker_stood_for() {
    let text =
        "provider: sim\nworkers:\n  - {name: a, windows: '2022'}\n  - {name: b, windows: '2019'}\n";
    only(
        &judged(text, "v1.36.3"),
        Severity::Error,
        &[
            "variables.yml:4:24",
            "1.36 does not support Windows Server 2019",
        ],
    );
    assert_eq!(judged(text, "v1.34.2"), []);
}

#[test]
fn feature_gates_are_held_against_the_version() {
    let text = "kubernetes:\n  feature_gates:\n    winDSR: true\n";
    only(
        &judged(text, "v1.36.3"),
        Severity::Warning,
        &["variables.yml:3:5", "`winDSR`", " WinDSR "],
    );
    let text = "kubernetes:\n  feature_gates: {SidecarContainers: true}\n";
    only(
        &judged(&format!("{text}{OLD_CONTAINERD}"), "v1.20.15"),
        Severity::Warning,
        &["it came with 1.28"],
    );
    assert_eq!(judged(text, "v1.36.3"), []);
    only(
        &judged(text, "v1.37.1"),
        Severity::Warning,
        &["1.36 was the last with it"],
    );
    // One component's own.
    let text = "kubernetes:\n  extra_args:\n    kubelet: {feature-gates: 'WinDSR=true,WinOverlays=true'}\n";
    only(
        &judged(text, "v1.36.3"),
        Severity::Warning,
        &["`WinOverlays`", "WinOverlay "],
    );
}

#[test]
fn arguments_that_are_set_already_are_refused_with_what_to_write() {
    for (component, flag, instead) in [
        ("api_server", "advertise-address", "`control_plane.address`"),
        (
            "api_server",
            "service-cluster-ip-range",
            "`network.services`",
        ),
        ("api_server", "tls-cert-file", "`kubernetes.cert_names`"),
        ("controller_manager", "cluster-cidr", "`network.pods`"),
        ("scheduler", "kubeconfig", "kubeadm writes it"),
        ("kubelet", "node-ip", "`address`"),
        (
            "kubelet",
            "container-runtime-endpoint",
            "`container_runtime`",
        ),
        ("kubelet", "register-with-taints", "`taints`"),
        ("kube_proxy", "cluster-cidr", "`network.pods`"),
    ] {
        let text = format!("kubernetes:\n  extra_args:\n    {component}:\n      {flag}: x\n");
        only(
            &judged(&text, "v1.36.3"),
            Severity::Error,
            &["variables.yml:4:7", &format!("`{flag}` is set by"), instead],
        );
    }
    // What a user may set in the place of kubeadm.
    let text = "kubernetes:\n  extra_args:\n    api_server: {authorization-mode: Node, enable-admission-plugins: A, bind-address: 0.0.0.0, v: '4', audit-log-path: '-', feature-gates: WinDSR=true}\n    controller_manager: {bind-address: 0.0.0.0, node-cidr-mask-size: '26', cluster-name: a}\n    kubelet: {max-pods: '20', cgroups-per-qos: 'false', v: '4'}\n";
    assert_eq!(judged(text, "v1.36.3"), []);
}

#[test]
fn what_another_key_sets_is_not_set_twice() {
    for (key, flag) in [
        ("log_levels: {api_server: 4}", "v: '6'"),
        ("audit: metadata", "audit-log-path: /x"),
        (
            "feature_gates: {WinDSR: true}",
            "feature-gates: WinDSR=false",
        ),
    ] {
        let text = format!("kubernetes:\n  {key}\n  extra_args: {{api_server: {{{flag}}}}}\n");
        only(
            &judged(&text, "v1.36.3"),
            Severity::Error,
            &["is set by wdev"],
        );
    }
}

#[test]
fn a_flag_that_the_kubelet_has_lost_is_refused_from_then_on() {
    let text = "kubernetes:\n  extra_args:\n    kubelet: {pod-infra-container-image: x}\n";
    assert_eq!(judged(text, "v1.34.10"), []);
    only(
        &judged(text, "v1.35.0"),
        Severity::Error,
        &[
            "variables.yml:3:15",
            "1.35 has no flag `pod-infra-container-image`",
        ],
    );
    // Another component's flag of that name is its own.
    let text = "kubernetes:\n  extra_args:\n    kube_proxy: {network-plugin: x}\n";
    assert_eq!(judged(text, "v1.36.3"), []);
}

#[test]
fn a_proxy_is_not_for_the_clusters_own_addresses() {
    let proxy = |no_proxy: &str| {
        format!(
            "network:\n  proxy:\n    https: http://proxy.example.org:3128\n    no_proxy: [{no_proxy}]\n"
        )
    };
    only(
        &judged(&proxy("intranet.example.org"), "v1.36.3"),
        Severity::Warning,
        &[
            "variables.yml:4:15",
            "reads this list, add: 192.168.56.0/24, 10.244.0.0/16, 10.96.0.0/12, .svc",
        ],
    );
    // A larger range covers, and the rest is named exactly.
    let found = judged(&proxy("10.0.0.0/8, svc"), "v1.36.3");
    let note = found[0].note.as_deref();
    assert!(note.is_some_and(|note| note.ends_with("add: 192.168.56.0/24")));
    assert_eq!(
        judged(&proxy("10.0.0.0/8, 192.168.56.0/24, .svc"), "v1.36.3"),
        []
    );
    assert_eq!(judged(&proxy("'*'"), "v1.36.3"), []);
    assert_eq!(judged("network: {proxy: {no_proxy: [a]}}\n", "v1.36.3"), []);
    // Nobody wrote the list: the remark stands at the proxy.
    let text = "network:\n  proxy:\n    http: http://proxy.example.org:3128\n";
    only(
        &judged(text, "v1.36.3"),
        Severity::Warning,
        &["variables.yml:3:5", "10.96.0.0/12"],
    );
}

#[test]
fn mistakes_come_before_remarks() {
    let text = "kubernetes:\n  feature_gates: {NoSuchGate: true}\n  extra_args: {kubelet: {node-ip: 10.0.0.1}}\n";
    let found = judged(text, "v1.36.3");
    let severities: Vec<Severity> = found.iter().map(|finding| finding.severity).collect();
    assert_eq!(severities, [Severity::Error, Severity::Warning]);
}
