//! Every mistake at once, each with its place, what is allowed and what was probably meant.

use wdev::config::load;
use wdev::error::Kind;

use crate::{folder, mistake, mistakes, read, request};

#[test]
fn many_mistakes_are_shown_at_once() {
    let text = "\
kubernetes_verison: 1.30
cni: cilium
provider: virtual-box
sandbox: My_Sandbox
kubernetes:
  version: 1.x
  build: [kubelet, kube_proxy]
  feature_gates: {A: yes}
  extra_args: {kubelet: {--v: 4}, kubelett: {}}
network:
  pods: 10.244.0.5/16
workers:
  - name: windows-worker-one
    windows: 2016
    memory: 6 bananas
    adress: 192.168.56.20
    taints: [\"os=windows:noschedule\"]
  - just text
timeouts: {boot: 15, step: soon}
hooks:
  - node: winw9
    phase: preparation
";
    let dir = folder(&[("variables.yml", text)]);
    let problems = load(&request(&dir)).unwrap_err();
    insta::assert_snapshot!(problems.render(false));
    let failure = problems.into_failure();
    assert_eq!(failure.kind, Kind::Configuration);
    assert!(failure.message.contains("mistakes"), "{failure}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn each_mistake_has_its_place_and_what_was_meant() {
    // The text, line and column, a part of the message, and the suggestion.
    for (text, line, col, message, suggestion) in [
        ("cni: Calico", 1, 6, "unknown CNI", Some("calico")),
        ("cni: {name: antra}", 1, 13, "unknown CNI", Some("antrea")),
        ("cni: cilium", 1, 6, "unknown CNI", None),
        (
            "workers: [{taints: [\"a:NoSchedule\", \"a=b:NoSchedule\"]}]",
            1,
            37,
            "two taints have the key `a` and the effect `NoSchedule`",
            None,
        ),
        (
            "control_plane: {taints: [\"a:NoSchedule\", \"a:NoSchedule\"]}",
            1,
            42,
            "two taints have the key",
            None,
        ),
        (
            "workers: [{features: [Hyper-V, \"a b\"]}]",
            1,
            32,
            "`a b` is no name of a Windows feature",
            None,
        ),
        (
            "workers: [{features: [\"\"]}]",
            1,
            23,
            "is no name of a Windows feature",
            None,
        ),
        (
            "podcidr: 10.0.0.0/16",
            1,
            1,
            "unknown key",
            Some("network.pods"),
        ),
        (
            "kubernetes_verison: 1",
            1,
            1,
            "unknown key",
            Some("kubernetes.version"),
        ),
        (
            "network:\n  pod: 1",
            2,
            3,
            "unknown key `pod` in `network`",
            Some("pods"),
        ),
        ("memory: 1", 1, 1, "unknown key", None),
        ("provider: vmware", 1, 11, "unknown provider", None),
        ("version: 2", 1, 10, "too large", None),
        (
            "workers:\n- windows: 2023",
            2,
            12,
            "unknown Windows Server version",
            Some("2022"),
        ),
        ("control_plane: {cpus: 1}", 1, 23, "too small", None),
        (
            "control_plane: {cpus: 2.5}",
            1,
            23,
            "not a whole number",
            None,
        ),
        (
            "control_plane: {cpus: -2}",
            1,
            23,
            "not a whole number",
            None,
        ),
        (
            "artifacts: {offline: yes}",
            1,
            22,
            "neither true nor false",
            Some("true"),
        ),
        (
            "control_plane: {address: 10.0.0.300}",
            1,
            26,
            "not an IPv4 address",
            None,
        ),
        (
            "control_plane: {name: host}",
            1,
            23,
            "no node can be named",
            None,
        ),
        (
            "workers: [{name: winw1}, {name: winw1}]",
            1,
            33,
            "two nodes have the name",
            None,
        ),
        (
            "workers: [{name: cp}]",
            1,
            18,
            "two nodes have the name",
            None,
        ),
        (
            "kubernetes: {ignore_preflight_errors: [Swap, all]}",
            1,
            46,
            "does not take `all`",
            None,
        ),
        (
            "kubernetes: {cert_names: [api.example, API_1]}",
            1,
            40,
            "no name for a certificate",
            None,
        ),
        (
            "kubernetes: {log_levels: {kubelet: 11}}",
            1,
            36,
            "too large",
            None,
        ),
        ("workers: []", 1, 10, "there is no worker", None),
        ("workers: 2", 1, 10, "is a single value", None),
        ("network: [a]", 1, 10, "is a list", None),
        ("sandbox: {a: b}", 1, 10, "is a map", None),
        ("network: {dns: [~]}", 1, 17, "is nothing", None),
        (
            "kubernetes: {build: all}",
            1,
            21,
            "needs `kubernetes.source`",
            None,
        ),
        (
            "kubernetes: {version: source}",
            1,
            23,
            "needs `kubernetes.source`",
            None,
        ),
        ("kubernetes: {version: ''}", 1, 23, "is empty", None),
        (
            "kubernetes: {source: nowhere}",
            1,
            22,
            "does not exist",
            None,
        ),
        (
            "kubernetes: {source: variables.yml}",
            1,
            22,
            "is not a folder",
            None,
        ),
        (
            "cni: {version: latest}",
            1,
            16,
            "not an exact version",
            None,
        ),
        (
            "cni: {name: none, version: 1.0.0}",
            1,
            28,
            "has no version",
            None,
        ),
        (
            "vagrant: {extra: {winw2: x}}",
            1,
            19,
            "neither a node nor a provider",
            Some("winw1"),
        ),
        (
            "workers: [{labels: {'a b': c}}]",
            1,
            21,
            "not a label's key",
            None,
        ),
        (
            "kubernetes: {extra_args: {kubelet: {--v=4: ''}}}",
            1,
            37,
            "not a flag's name",
            Some("v"),
        ),
        (
            "workers: [{box_checksum: abc}]",
            1,
            26,
            "not a checksum",
            None,
        ),
        ("cni: calico\ncni: antrea", 2, 1, "there twice", None),
        (
            "network: {pods: 10.0.0.0/16, pods: 10.0.0.0/16}",
            1,
            30,
            "there twice",
            None,
        ),
        ("a: 1\n---\nb: 1", 2, 1, "a second document", None),
        ("cni: !ruby/object calico", 1, 19, "the tag", None),
        ("<<: {}", 1, 1, "merge keys", None),
        ("? [a]\n: b", 1, 3, "a key must be plain text", None),
        ("cni: *x", 1, 6, "no anchor", None),
        ("kubernetes:\n\tversion: 1.30", 2, 1, "a tab", None),
        (
            "kubernetes:\n  version: 1.30\n\tbuilder: go",
            3,
            1,
            "a tab",
            None,
        ),
        ("cni: [calico", 1, 6, "not valid YAML", None),
        ("cni: 'calico", 1, 6, "not valid YAML", None),
        ("- a", 1, 1, "the top level is a list", None),
        ("hello", 1, 1, "the top level is a single value", None),
        ("control_plane: {box: \"a\\0b\"}", 1, 22, "NUL", None),
    ] {
        let all = mistakes(text);
        let at = (all[0].line, all[0].col);
        let problem = &all[0];
        assert!(problem.message.contains(message), "{text:?}: {all:#?}");
        assert_eq!(all.len(), 1, "{text:?}: {all:#?}");
        assert_eq!(at, (Some(line), Some(col)), "{text:?}: {problem:#?}");
        {
            assert_eq!(
                problem.suggestion.as_deref(),
                suggestion,
                "{text:?}: {problem:#?}"
            );
        }
    }
}

#[test]
fn columns_are_counted_in_characters() {
    let problem = mistake("vagrant: {extra: {cp: \"日本語 é\"}, extr: 1}\r\n");
    assert_eq!((problem.line, problem.col), (Some(1), Some(33)));
    assert_eq!(
        problem.source_line.as_deref(),
        Some("vagrant: {extra: {cp: \"日本語 é\"}, extr: 1}")
    );
    let shown = wdev::config::Problems(vec![problem]).render(false);
    let lines: Vec<&str> = shown.lines().collect();
    // Three wide characters take three columns more.
    assert_eq!(
        lines[4].find('^').unwrap(),
        "  | ".len() + 32 + 3,
        "{shown}"
    );
    let problem = mistake("\u{feff}cni: x");
    assert_eq!((problem.line, problem.col), (Some(1), Some(6)));
}

#[test]
fn colour_only_adds_escapes() {
    let problems = read("cni: x").unwrap_err();
    let plain = problems.render(false);
    assert!(!plain.contains('\u{1b}'));
    let colored = problems.render(true);
    assert!(colored.contains('\u{1b}'));
    assert_eq!(anstream::adapter::strip_str(&colored).to_string(), plain);
}

#[test]
fn the_json_form_has_everything() {
    let json = serde_json::to_value(read("cni: Calico").unwrap_err()).unwrap();
    assert_eq!(
        json,
        serde_json::json!([{
            "severity": "error",
            "message": "`cni.name`: unknown CNI `Calico`",
            "file": "variables.yml",
            "line": 1,
            "col": 6,
            "source_line": "cni: Calico",
            "caret": [6, 6],
            "allowed": "calico, antrea, flannel, none",
            "suggestion": "calico",
        }])
    );
}

#[test]
fn a_value_that_is_wrong_starts_no_follow_up() {
    // A wrong range or name must not be reported again as an overlap or a missing node.
    let problem = mistake("network: {nodes: 10.0.0.1/24}\ncontrol_plane: {address: 10.0.0.10}\n");
    assert!(problem.message.contains("host bits"), "{problem}");
}

#[test]
fn a_box_from_a_server_without_a_checksum_is_warned_of() {
    let warnings = |machine: &str| -> Vec<_> {
        let text = format!("control_plane: {{{machine}}}\n");
        let found = crate::read(&text).unwrap().warnings.into_iter();
        found
            .filter(|warning| warning.message.contains("box_url"))
            .collect()
    };
    let found = warnings("box_url: 'HTTP://mirror.example/a.box?x=1'");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].line, Some(1));
    assert!(found[0].note.as_ref().unwrap().contains("box_checksum"));
    let sum = "0".repeat(64);
    for safe in [
        format!("box_url: 'https://mirror.example/a.box', box_checksum: 'sha256:{sum}'"),
        "box: a/b, box_url: 'https://mirror.example/a.json'".to_owned(),
        "box_url: ./a.box".to_owned(),
        "box: a/b".to_owned(),
    ] {
        assert_eq!(warnings(&safe), [], "{safe}");
    }
}
