//! Every supported minor with every kind of configuration.

use serde_json::{Value, json};
use wdev::error::Kind;
use wdev::os::Os;
use wdev::release::Origin;
use wdev::release::kubelet::removed_in;
use wdev::render::kubernetes::{AUDIT_FOLDER, AUDIT_POLICY, Cluster, DISCOVERY_FILE};

use crate::scene::{
    EVERYTHING, PLAIN, arguments, config, document, documents, joining, joining_on, minors,
    release, releases,
};
use crate::strict::faults;

/// Calls `check` with every combination.
fn for_all(check: impl Fn(u32, &Cluster<'_>)) {
    for minor in minors() {
        for text in [PLAIN, EVERYTHING] {
            let config = config(text);
            for release in releases(minor) {
                check(minor, &Cluster::new(&config, &release).unwrap());
            }
        }
    }
}

#[test]
fn every_document_has_the_api_and_the_fields_of_its_version() {
    for_all(|minor, cluster| {
        let kubeadm = match minor {
            ..22 => "kubeadm.k8s.io/v1beta2",
            22..31 => "kubeadm.k8s.io/v1beta3",
            31.. => "kubeadm.k8s.io/v1beta4",
        };
        let (init, join) = (cluster.init().unwrap(), joining(cluster));
        let windows = documents(&joining_on(cluster, Os::Windows));
        let docs = [documents(&init), documents(&join), windows].concat();
        let kinds: Vec<Value> = docs
            .iter()
            .map(|doc| json!([doc["apiVersion"], doc["kind"]]))
            .collect();
        assert_eq!(
            kinds,
            [
                json!([kubeadm, "InitConfiguration"]),
                json!([kubeadm, "ClusterConfiguration"]),
                json!(["kubelet.config.k8s.io/v1beta1", "KubeletConfiguration"]),
                json!(["kubeproxy.config.k8s.io/v1alpha1", "KubeProxyConfiguration"]),
                json!([kubeadm, "JoinConfiguration"]),
                json!([kubeadm, "JoinConfiguration"]),
            ]
        );
        for doc in &docs {
            assert_eq!(faults(doc, minor), Vec::<String>::new(), "1.{minor}: {doc}");
        }
    });
}

#[test]
fn the_kubelet_is_given_no_argument_that_is_gone_and_never_lacks_its_address() {
    for_all(|minor, cluster| {
        for (text, kind, address) in [
            (
                cluster.init().unwrap(),
                "InitConfiguration",
                "192.168.56.10",
            ),
            (joining(cluster), "JoinConfiguration", "192.168.56.11"),
        ] {
            let given = arguments(&document(&text, kind)["nodeRegistration"]["kubeletExtraArgs"]);
            assert_eq!(given["node-ip"], address);
            for name in given.keys() {
                assert!(
                    removed_in(name).is_none_or(|gone| minor < gone),
                    "1.{minor}: --{name}"
                );
            }
        }
    });
}

#[test]
fn a_version_says_where_its_images_come_from() {
    for_all(|minor, cluster| {
        let version =
            document(&cluster.init().unwrap(), "ClusterConfiguration")["kubernetesVersion"].clone();
        let version = version.as_str().unwrap();
        // Exact: kubeadm would ask the internet about anything else.
        let exact = version.strip_prefix("ci/").unwrap_or(version);
        assert!(exact.starts_with(&format!("v1.{minor}.")), "{version}");
        let tag = exact.replace('+', "_");
        for image in cluster.images().kubernetes() {
            assert!(image.ends_with(&format!(":{tag}")), "{image}");
            assert_eq!(
                version.starts_with("ci/"),
                image.starts_with("gcr.io/"),
                "{image}"
            );
        }
    });
}

#[test]
fn what_the_user_sets_arrives() {
    for minor in minors() {
        let config = config(EVERYTHING);
        let release = release(&format!("v1.{minor}.2"), Origin::Release);
        let cluster = Cluster::new(&config, &release).unwrap();
        let text = cluster.init().unwrap();
        let cluster_doc = document(&text, "ClusterConfiguration");
        let api_server = &cluster_doc["apiServer"];
        let given = arguments(&api_server["extraArgs"]);
        let expected = [
            ("audit-log-maxbackup", "5"),
            ("audit-log-maxsize", "100"),
            ("audit-log-path", "/var/log/kubernetes/audit/audit.log"),
            ("audit-policy-file", AUDIT_POLICY),
            (
                "feature-gates",
                "GracefulNodeShutdown=true,SizeMemoryBackedVolumes=false,APIListChunking=true",
            ),
            ("profiling", "false"),
            ("v", "4"),
        ];
        assert_eq!(
            given,
            expected.map(|(k, v)| (k.to_owned(), v.to_owned())).into()
        );
        let mounted: Vec<_> = api_server["extraVolumes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|volume| (volume["hostPath"].clone(), volume["mountPath"].clone()))
            .collect();
        let same = |path: &str| (Value::from(path), Value::from(path));
        assert_eq!(mounted, [same(AUDIT_POLICY), same(AUDIT_FOLDER)]);
        assert_eq!(
            api_server["certSANs"],
            json!([
                "192.168.56.10",
                "cp",
                "localhost",
                "127.0.0.1",
                "api.example",
                "10.9.9.9"
            ])
        );
        assert_eq!(arguments(&cluster_doc["scheduler"]["extraArgs"])["v"], "2");
        let manager = arguments(&cluster_doc["controllerManager"]["extraArgs"]);
        assert_eq!(
            (
                manager["v"].as_str(),
                manager["node-monitor-period"].as_str()
            ),
            ("3", "2s")
        );
        assert_eq!(
            cluster_doc["networking"],
            json!({"podSubnet": "10.200.0.0/16", "serviceSubnet": "10.100.0.0/16"})
        );
        let node = &document(&text, "InitConfiguration")["nodeRegistration"];
        assert_eq!(node["ignorePreflightErrors"], json!(["NumCPU", "Mem"]));
        assert_eq!(
            node["taints"],
            json!([
                {"key": "node-role.kubernetes.io/control-plane", "value": "", "effect": "NoSchedule"},
                {"key": "os", "value": "linux", "effect": "PreferNoSchedule"},
            ])
        );
        let kubelet = document(&text, "KubeletConfiguration");
        assert_eq!(kubelet["clusterDNS"], json!(["10.100.0.10"]));
        assert_eq!(
            kubelet["featureGates"],
            json!({"GracefulNodeShutdown": true, "SizeMemoryBackedVolumes": false})
        );
        let mut proxy = document(&text, "KubeProxyConfiguration");
        let proxy = proxy.as_object_mut().unwrap();
        proxy.remove("apiVersion");
        proxy.remove("kind");
        assert_eq!(
            Value::from(proxy.clone()),
            json!({
                "clusterCIDR": "10.200.0.0/16",
                "mode": "ipvs",
                "nodePortAddresses": ["10.0.0.0/8", "127.0.0.0/8"],
                "conntrack": {"maxPerCore": 0},
                "ipvs": {"strictARP": true},
                "featureGates": {"GracefulNodeShutdown": true, "SizeMemoryBackedVolumes": false, "ServiceTopology": false},
            })
        );
    }
}

#[test]
fn kubeadm_gives_up_before_the_step_does() {
    let config = config(EVERYTHING);
    let waits = |version: &str| {
        let release = release(version, Origin::Release);
        let cluster = Cluster::new(&config, &release).unwrap();
        let (init, join) = (cluster.init().unwrap(), joining(&cluster));
        (
            document(&init, "ClusterConfiguration")["apiServer"]["timeoutForControlPlane"].clone(),
            document(&init, "InitConfiguration")["timeouts"].clone(),
            document(&join, "JoinConfiguration")["discovery"]["timeout"].clone(),
            document(&join, "JoinConfiguration")["timeouts"].clone(),
        )
    };
    let (all, none) = (json!("360s"), Value::Null);
    for version in ["v1.20.2", "v1.30.2"] {
        assert_eq!(
            waits(version),
            (all.clone(), none.clone(), all.clone(), none.clone())
        );
    }
    let init = json!({"controlPlaneComponentHealthCheck": "360s", "kubeletHealthCheck": "360s"});
    let join = json!({"discovery": "360s", "kubeletHealthCheck": "360s", "tlsBootstrap": "360s"});
    assert_eq!(waits("v1.31.2"), (none.clone(), init, none, join));
}

#[test]
fn taints_are_left_to_kubeadm_unless_they_are_set() {
    let taints = |lines: &str| {
        let config = config(&format!("{PLAIN}control_plane: {{{lines}}}\n"));
        let release = release("v1.36.2", Origin::Release);
        let text = Cluster::new(&config, &release).unwrap().init().unwrap();
        document(&text, "InitConfiguration")["nodeRegistration"]
            .get("taints")
            .cloned()
    };
    assert_eq!(taints(""), None);
    assert_eq!(taints("taints: []"), Some(json!([])));
    assert_eq!(
        taints("taints: [\"a.b/c:NoExecute\"]"),
        Some(json!([{"key": "a.b/c", "value": "", "effect": "NoExecute"}]))
    );
}

#[test]
fn an_audit_log_is_written_only_when_it_is_asked_for() {
    for (level, policy) in [
        ("none", None),
        ("metadata", Some("Metadata")),
        ("request", Some("Request")),
        ("request_response", Some("RequestResponse")),
    ] {
        let config = config(&format!(
            "kubernetes: {{version: \"1.36\", audit: {level}}}\n"
        ));
        let release = release("v1.36.2", Origin::Release);
        let cluster = Cluster::new(&config, &release).unwrap();
        let written = cluster.audit_policy().unwrap().map(|text| documents(&text));
        let expected = policy.map(|level| {
            vec![json!({
                "apiVersion": "audit.k8s.io/v1", "kind": "Policy",
                "omitStages": ["RequestReceived"], "rules": [{"level": level}],
            })]
        });
        assert_eq!(written, expected);
        let api_server =
            document(&cluster.init().unwrap(), "ClusterConfiguration")["apiServer"].clone();
        assert_eq!(api_server.get("extraVolumes").is_some(), policy.is_some());
        assert_eq!(api_server.get("extraArgs").is_some(), policy.is_some());
    }
}

#[test]
fn a_join_holds_no_secret_and_no_place_for_one() {
    for_all(|_, cluster| {
        let join = document(&joining(cluster), "JoinConfiguration");
        assert_eq!(
            join["discovery"]["file"],
            json!({"kubeConfigPath": DISCOVERY_FILE})
        );
        assert_eq!(join.get("caCertPath"), None);
        // kubeadm takes a drive letter for the scheme of a URL here, and wants one there.
        let windows = document(&joining_on(cluster, Os::Windows), "JoinConfiguration");
        assert_eq!(
            windows["discovery"]["file"],
            json!({"kubeConfigPath": "/ProgramData/wdev/cluster/discovery.conf"})
        );
        assert_eq!(windows["caCertPath"], "C:/etc/kubernetes/pki/ca.crt");
        let registration = &windows["nodeRegistration"];
        assert_eq!(
            registration["criSocket"],
            "npipe:////./pipe/containerd-containerd"
        );
        assert_eq!(
            arguments(&registration["kubeletExtraArgs"])["node-ip"],
            "192.168.56.11"
        );
        for join in [&join, &windows] {
            assert_eq!(join["discovery"].get("bootstrapToken"), None);
            assert_eq!(join["discovery"].get("tlsBootstrapToken"), None);
        }
        let init = document(&cluster.init().unwrap(), "InitConfiguration");
        assert_eq!(init["bootstrapTokens"][0].get("token"), None);
        assert_eq!(init["bootstrapTokens"][0]["ttl"], "1m0s");
    });
}

#[test]
fn docker_machines_have_no_systemd_to_make_cgroups() {
    for (provider, driver) in [("docker", "cgroupfs"), ("libvirt", "systemd")] {
        let config = config(&format!("provider: {provider}\n{PLAIN}"));
        let release = release("v1.36.2", Origin::Release);
        let text = Cluster::new(&config, &release).unwrap().init().unwrap();
        assert_eq!(
            document(&text, "KubeletConfiguration")["cgroupDriver"],
            driver
        );
    }
}

#[test]
fn what_a_version_cannot_be_told_is_refused() {
    let refusal = |version: &str, kubernetes: &str| {
        let config = config(&format!(
            "kubernetes: {{version: \"1.36\", {kubernetes}}}\n"
        ));
        let release = release(version, Origin::Release);
        let failure = match Cluster::new(&config, &release) {
            Ok(cluster) => cluster.init().unwrap_err(),
            Err(failure) => failure,
        };
        assert_eq!(failure.kind, Kind::Configuration);
        failure.to_string()
    };
    for (version, kubernetes, wanted) in [
        (
            "v1.35.0",
            "extra_args: {kubelet: {pod-infra-container-image: x}}",
            "the kubelet of v1.35.0 has no `--pod-infra-container-image`",
        ),
        (
            "v1.36.0",
            "extra_args: {kubelet: {node-labels: \"a=b c\"}}",
            "`kubernetes.extra_args.kubelet` cannot hand on `node-labels`",
        ),
        (
            "v1.20.2",
            "log_levels: {kube_proxy: 4}",
            "kube-proxy cannot be given `v`",
        ),
        (
            "v1.36.0",
            "extra_args: {kube_proxy: {hostname-override: x}}",
            "kube-proxy cannot be given `hostname-override`",
        ),
        (
            "v1.36.0",
            "extra_args: {kube_proxy: {conntrack-min: many}}",
            "`many` is no value for `conntrack-min` of kube-proxy",
        ),
        (
            "v1.36.0",
            "extra_args: {kube_proxy: {feature-gates: \"A=maybe\"}}",
            "`A=maybe` is no value for `feature-gates` of kube-proxy",
        ),
        (
            "v1.14.0",
            "",
            "wdev writes no kubeadm configuration for Kubernetes v1.14.0",
        ),
    ] {
        let said = refusal(version, kubernetes);
        assert!(said.contains(wanted), "{said}");
    }
    // And what it can be told is not.
    let config = config("kubernetes: {version: \"1.36\", log_levels: {kube_proxy: 4}}\n");
    let release = release("v1.30.2", Origin::Release);
    let cluster = Cluster::new(&config, &release).unwrap();
    let proxy = document(&cluster.init().unwrap(), "KubeProxyConfiguration");
    assert_eq!(proxy["logging"], json!({"verbosity": 4}));
    assert_eq!(faults(&proxy, 30), Vec::<String>::new());
}
