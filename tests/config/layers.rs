//! Files, environment and flags over each other, and where each value came from.

use std::path::{Path, PathBuf};

use wdev::config::model::{CniName, Component, ProviderName};
use wdev::config::{Origin, Request, load};

use crate::{flags, folder, pairs, read, request};

#[test]
fn no_file_gives_every_default() {
    let dir = folder(&[]);
    let loaded = load(&request(&dir)).unwrap();
    assert_eq!(loaded.file, None);
    assert_eq!(loaded.dir, dir.path());
    let config = loaded.config;
    assert_eq!(config.sandbox, "default");
    assert_eq!(config.provider, ProviderName::Auto);
    assert_eq!(config.cni.name, CniName::Calico);
    assert_eq!(config.control_plane.name, "cp");
    assert_eq!(config.control_plane.machine.memory_mib, 4096);
    assert_eq!(config.control_plane.address.to_string(), "192.168.56.10");
    assert_eq!(config.workers.len(), 1);
    assert_eq!(config.workers[0].name, "winw1");
    assert_eq!(config.workers[0].windows, "2022");
    assert_eq!(config.workers[0].machine.memory_mib, 6144);
    assert_eq!(config.workers[0].address.to_string(), "192.168.56.11");
    assert_eq!(config.timeouts.boot.as_secs(), 900);
}

#[test]
fn an_empty_file_and_one_of_comments_are_like_none() {
    let none = load(&request(&folder(&[]))).unwrap().config;
    for text in [
        "",
        "\n",
        "# only this\n",
        "---\n",
        "\u{feff}",
        "{}",
        "~",
        "cni:\nworkers:\nnetwork:\n",
    ] {
        assert_eq!(read(text).unwrap().config, none, "{text:?}");
    }
}

#[test]
fn each_layer_lies_over_the_one_before_and_is_remembered() {
    let dir = folder(&[
        (
            "variables.yml",
            "sandbox: a\nprovider: virtualbox\nkubernetes:\n  version: 1.30\n  builder: go\ntimeouts: {boot: 1m}\n",
        ),
        (
            "variables.local.yaml",
            "provider: hyperv\nkubernetes: {builder: docker}\n",
        ),
    ]);
    let loaded = load(&Request {
        env: pairs([
            ("WDEV_KUBERNETES_BUILDER", "auto"),
            ("WDEV_SANDBOX", "b"),
            ("PATH", "/bin"),
        ]),
        flags: flags([("sandbox", "c", "--sandbox")]),
        ..request(&dir)
    })
    .unwrap();
    assert_eq!(loaded.config.sandbox, "c");
    assert_eq!(loaded.config.provider, ProviderName::Hyperv);
    assert_eq!(loaded.config.kubernetes.version, "1.30");
    assert_eq!(loaded.config.timeouts.boot.as_secs(), 60);
    let origin = |path: &str| loaded.origins[path].to_string();
    assert_eq!(origin("sandbox"), "flag --sandbox");
    assert_eq!(origin("provider"), "variables.local.yaml:1:11");
    assert_eq!(origin("kubernetes.version"), "variables.yml:4:12");
    assert_eq!(
        origin("kubernetes.builder"),
        "environment variable WDEV_KUBERNETES_BUILDER"
    );
    assert_eq!(origin("network.pods"), "default");
    assert!(matches!(
        loaded.origins["control_plane.address"],
        Origin::Derived { .. }
    ));
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
}

#[test]
fn maps_are_merged_and_lists_are_replaced() {
    let dir = folder(&[
        (
            "variables.yml",
            "workers:\n- name: a\n  labels: {x: '1'}\n- name: b\nkubernetes:\n  feature_gates: {A: true, B: true}\n",
        ),
        (
            "variables.local.yml",
            "workers:\n- name: c\nkubernetes:\n  feature_gates: {B: false}\n",
        ),
    ]);
    let config = load(&request(&dir)).unwrap().config;
    let names: Vec<&str> = config.workers.iter().map(|w| w.name.as_str()).collect();
    assert_eq!(names, ["c"]);
    let gates = &config.kubernetes.feature_gates;
    assert_eq!((gates["A"], gates["B"]), (true, false));
}

#[test]
fn a_version_belongs_to_its_cni() {
    let file = [("variables.yml", "cni: {name: calico, version: 3.30.1}\n")];
    let cni = |env: Vec<(String, String)>| {
        load(&Request {
            env,
            ..request(&folder(&file))
        })
        .unwrap()
        .config
        .cni
    };
    assert_eq!(cni(pairs([])).version, "3.30.1");
    assert_eq!(cni(pairs([("WDEV_CNI", "calico")])).version, "3.30.1");
    let antrea = cni(pairs([("WDEV_CNI", "antrea")]));
    assert_eq!(antrea.name, CniName::Antrea);
    assert_ne!(antrea.version, "3.30.1");
    assert_eq!(
        cni(pairs([
            ("WDEV_CNI_VERSION", "v2.4.5"),
            ("WDEV_CNI", "antrea")
        ]))
        .version,
        "2.4.5"
    );
    assert_eq!(cni(pairs([("WDEV_CNI", "none")])).version, "");
}

#[test]
fn variables_that_are_none_of_ours_or_misspelt() {
    let loaded = load(&Request {
        env: pairs([
            ("WDEV_VERSION", "0.1.0"),
            ("WDEV_HOME", "/x"),
            ("WDEV_TESTBED", "1"),
            ("WDEV_TEST_STRICT", "1"),
            ("WDEV_CONFIG", "x"),
            ("WDEV_VAGRANT", "/opt/vagrant"),
            ("WDEV_PROVIDER", ""),
            ("WDEV_KUBERNETES_VERISON", "1.30"),
        ]),
        ..request(&folder(&[]))
    })
    .unwrap();
    assert_eq!(loaded.config.provider, ProviderName::Auto);
    assert_eq!(loaded.warnings.len(), 1, "{:#?}", loaded.warnings);
    assert_eq!(
        loaded.warnings[0].suggestion.as_deref(),
        Some("WDEV_KUBERNETES_VERSION")
    );
}

#[test]
fn lists_and_maps_in_variables_and_flags() {
    let dir = folder(&[]);
    let source = dir.path().join("src dir");
    std::fs::create_dir(&source).unwrap();
    let config = load(&Request {
        env: pairs([
            ("WDEV_NETWORK_DNS", "1.1.1.1, 2606:4700::1111"),
            ("WDEV_WORKERS", "[{name: a}, {name: b, windows: 2025}]"),
            ("WDEV_KUBERNETES_BUILD", "kubelet,kube-proxy"),
        ]),
        flags: flags([
            ("kubernetes.source", "./src dir", "--kubernetes-src"),
            ("kubernetes.feature_gates", "{A: true}", "--gates"),
        ]),
        ..request(&dir)
    })
    .unwrap()
    .config;
    assert_eq!(config.network.dns.len(), 2);
    assert_eq!(config.workers[1].windows, "2025");
    assert_eq!(
        config.kubernetes.build,
        [Component::Kubelet, Component::KubeProxy]
    );
    assert_eq!(config.kubernetes.source.as_deref(), Some(source.as_path()));
    assert!(config.kubernetes.feature_gates["A"]);
}

#[test]
fn a_mistake_in_a_variable_or_a_flag_names_it() {
    let problems = load(&Request {
        env: pairs([("WDEV_CNI", "Calico"), ("WDEV_WORKERS", "[{name: a")]),
        flags: flags([
            ("control_plane.memory", "lots", "--memory"),
            ("kubernetes.verison", "1", "--set"),
        ]),
        ..request(&folder(&[]))
    })
    .unwrap_err();
    insta::assert_snapshot!(problems.render(false));
}

#[test]
fn both_names_are_one_too_many() {
    let dir = folder(&[("variables.yml", ""), ("variables.yaml", "")]);
    let text = load(&request(&dir)).unwrap_err().render(false);
    assert!(
        text.contains("`variables.yml` and `variables.yaml` are both there"),
        "{text}"
    );
    let dir = folder(&[("variables.local.yml", ""), ("variables.local.yaml", "")]);
    assert!(load(&request(&dir)).is_err());
    let dir = folder(&[("variables.yaml", "sandbox: x")]);
    assert_eq!(load(&request(&dir)).unwrap().config.sandbox, "x");
}

#[test]
fn a_local_file_counts_alone() {
    let dir = folder(&[("variables.local.yml", "sandbox: mine")]);
    let loaded = load(&request(&dir)).unwrap();
    assert_eq!(
        (loaded.config.sandbox.as_str(), loaded.file),
        ("mine", None)
    );
}

#[test]
fn a_named_file_has_its_own_folder_and_its_own_override() {
    let dir = folder(&[("variables.yml", "sandbox: no")]);
    let other = dir.path().join("other");
    std::fs::create_dir_all(other.join("src")).unwrap();
    std::fs::write(
        other.join("ci.yaml"),
        "sandbox: yes1\nkubernetes: {source: src}\n",
    )
    .unwrap();
    std::fs::write(other.join("ci.local.yml"), "cni: flannel\n").unwrap();
    let loaded = load(&Request {
        file: Some(PathBuf::from("other/ci.yaml")),
        ..request(&dir)
    })
    .unwrap();
    assert_eq!(loaded.config.sandbox, "yes1");
    assert_eq!(loaded.config.cni.name, CniName::Flannel);
    assert_eq!(loaded.dir, other);
    assert_eq!(
        loaded.file.as_deref(),
        Some(other.join("ci.yaml").as_path())
    );
    assert_eq!(
        loaded.config.kubernetes.source.as_deref(),
        Some(other.join("src").as_path())
    );
    assert_eq!(loaded.origins["sandbox"].to_string(), "other/ci.yaml:1:10");
}

#[test]
fn only_the_given_folder_is_looked_in() {
    let dir = folder(&[("variables.yml", "sandbox: above")]);
    let below = dir.path().join("below");
    std::fs::create_dir(&below).unwrap();
    let loaded = load(&Request {
        start: below.clone(),
        ..Request::default()
    })
    .unwrap();
    assert_eq!(loaded.config.sandbox, "default");
    assert_eq!(loaded.dir, below);
}

#[test]
fn a_tilde_is_the_home_folder() {
    let home = folder(&[("tool.ps1", "")]);
    let dir = folder(&[(
        "variables.yml",
        "hooks: [{phase: prepare, script: ~/tool.ps1}]",
    )]);
    let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    let env = vec![(name.to_owned(), home.path().display().to_string())];
    let config = load(&Request {
        env,
        ..request(&dir)
    })
    .unwrap()
    .config;
    assert_eq!(config.hooks[0].script, home.path().join("tool.ps1"));
    assert_eq!(config.hooks[0].node, "all");
}

#[test]
fn an_anchor_and_its_alias() {
    let text = "workers:\n  - &w {name: a, memory: 8GiB, labels: {x: y}}\n  - {name: b, labels: {x: y}}\ncontrol_plane: {taints: &t [a:NoSchedule]}\nkubernetes: {feature_gates: {}}\n";
    assert!(read(text).is_ok());
    let config = read("workers:\n- {name: a, labels: &l {x: y}}\n- {name: b, labels: *l}\n")
        .unwrap()
        .config;
    assert_eq!(config.workers[1].labels["x"], "y");
}

#[test]
fn what_looks_like_a_number_stays_text() {
    let config = read("kubernetes: {version: 1.30}\nworkers: [{windows: 2019, labels: {zone: 1.10, on: true, hex: 0x1F}}]\n").unwrap().config;
    assert_eq!(config.kubernetes.version, "1.30");
    assert_eq!(config.workers[0].windows, "2019");
    let labels = &config.workers[0].labels;
    assert_eq!(
        (
            labels["zone"].as_str(),
            labels["on"].as_str(),
            labels["hex"].as_str()
        ),
        ("1.10", "true", "0x1F")
    );
}

#[test]
fn crlf_and_a_byte_order_mark_change_nothing() {
    let text = "# x\nsandbox: a\nkubernetes:\n  version: 1.30\nvagrant:\n  extra:\n    virtualbox: |\n      p.gui = true\n      # x\n";
    let plain = read(text).unwrap();
    let other = read(&format!("\u{feff}{}", text.replace('\n', "\r\n"))).unwrap();
    assert_eq!(other.config, plain.config);
    assert_eq!(other.origins, plain.origins);
}

#[test]
fn the_example_is_what_the_defaults_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let example = load(&Request {
        file: Some(root.join("variables.yml")),
        ..Request::default()
    })
    .unwrap();
    let none = load(&request(&folder(&[]))).unwrap();
    assert_eq!(example.config, none.config);
    assert!(example.warnings.is_empty() && example.notes.is_empty());
}

#[test]
fn every_commented_key_of_the_example_is_right() {
    let text = include_str!("../../variables.yml");
    // `# key: value` and deeper lines are examples; sentences are not.
    let uncommented: String = text
        .lines()
        .map(|line| {
            let bare = line.trim_start();
            let example = bare.strip_prefix("# ").filter(|rest| {
                let rest = rest.trim_start().trim_start_matches("- ");
                rest.starts_with("p.")
                    || rest.split(':').next().is_some_and(|key| {
                        rest.contains(':')
                            && !key.contains(' ')
                            && !key.contains("-server")
                            && key.starts_with(|c: char| c.is_ascii_lowercase() || c == 'W')
                    })
            });
            match example {
                Some(rest) => format!("{}{rest}\n", &line[..line.len() - bare.len()]),
                None => format!("{line}\n"),
            }
        })
        .collect();
    let dir = folder(&[(
        "variables.yml",
        &uncommented
            .replace("../kubernetes", "kubernetes")
            .replace("sha256:...", ""),
    )]);
    std::fs::create_dir_all(dir.path().join("kubernetes")).unwrap();
    std::fs::create_dir_all(dir.path().join("scripts")).unwrap();
    std::fs::write(dir.path().join("scripts/debug-tools.ps1"), "").unwrap();
    match load(&request(&dir)) {
        Ok(loaded) => {
            assert_eq!(loaded.config.hooks.len(), 1, "{uncommented}");
            assert_eq!(loaded.config.vagrant.extra["virtualbox"], "p.gui = true\n");
            let kubernetes = &loaded.config.kubernetes;
            assert_eq!(kubernetes.extra_args["kubelet"]["max-pods"], "40");
            assert_eq!(kubernetes.log_levels["kubelet"], 4);
            assert_eq!(loaded.config.control_plane.taints, Some(Vec::new()));
        }
        Err(problems) => panic!("{}\n{uncommented}", problems.render(false)),
    }
}
