//! `kubeadm init`: what is there is told apart, and only what was never proven is reset.

use std::os::unix::fs::PermissionsExt as _;

use crate::control_plane;
use crate::world::{TOKEN, World};

struct Made {
    world: World,
    body: String,
}

impl Made {
    fn new() -> Option<Self> {
        let body = control_plane(&[], &[], None);
        World::new().map(|world| Self { world, body })
    }

    /// A control plane that a run of the script has made and proven.
    fn proven() -> Option<Self> {
        let made = Self::new()?;
        made.run();
        made.world.asked();
        Some(made)
    }

    fn run(&self) -> String {
        self.call("wdev_run").ok()
    }

    fn probe(&self) -> String {
        self.call("wdev_probe").ok()
    }

    fn call(&self, call: &str) -> crate::common::scripted::Ran {
        self.world.call(&self.body, "control-plane", call)
    }
}

#[test]
fn an_untouched_node_is_initialised_once_and_no_token_is_seen_or_left() {
    let Some(made) = Made::new() else { return };
    let world = &made.world;
    let before = made.probe();
    assert!(
        before.contains("fact state=untouched") || before.contains("there is no control plane"),
        "{before}"
    );
    let said = made.run();
    let asked = world.asked();
    assert!(asked.contains("kubeadm init --config kept/kubeadm.yaml --skip-token-print --skip-certificate-key-print"), "{asked}");
    assert!(!asked.contains("kubeadm reset"), "{asked}");
    for text in [&said, &asked] {
        assert!(!text.contains(TOKEN), "{text}");
    }
    assert!(
        said.contains("--token (hidden)") && said.contains("--certificate-key (hidden)"),
        "{said}"
    );
    assert_eq!(
        world.node.read("used-config"),
        "kind: InitConfiguration\nname: 'it''s $x'\n"
    );
    for file in ["kept/kubeadm.yaml", "kept/control-plane"] {
        let rights = std::fs::metadata(world.node.path(file))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(rights & 0o777, 0o600, "{file}");
    }
    let tokens = world.node.read("api/tokens");
    assert!(
        tokens.starts_with("bootstrap-token-users "),
        "only init's own go: {tokens}"
    );

    assert!(!made.probe().contains("not in place"), "{}", made.probe());
    made.run();
    assert!(!world.called_kubeadm(), "a second run changes nothing");
}

#[test]
fn what_is_half_made_is_reset_and_made_anew_and_others_files_stay() {
    for half in [
        // Killed in the middle of init, before and after there was much.
        "mkdir -p etc/pki; echo x >etc/pki/ca.crt; touch kept/begun",
        "make-control-plane; touch kept/begun; rm etc/manifests/etcd.yaml",
        // By hand, from outside.
        "make-control-plane; rm etc/manifests/etcd.yaml",
        "mkdir -p etcd/member; touch etcd/member/old",
        "mkdir -p etc; touch etc/kubelet.conf",
        // All is there, but the cluster was never finished, or never answers.
        "make-control-plane; rm api/objects/cluster-info",
        "make-control-plane; rm api/up",
    ] {
        let Some(made) = Made::new() else { return };
        let world = &made.world;
        world.by_hand("mkdir -p net.d; touch net.d/10-mine.conflist; echo pod1 >pods");
        world.by_hand(half);
        assert!(made.probe().contains("not in place"), "{half}");
        made.run();
        let asked = world.asked();
        let reset =
            asked.find("kubeadm reset --force --cri-socket unix:///run/containerd/containerd.sock");
        let init = asked.find("kubeadm init --config");
        assert!(reset.is_some() && reset < init, "{half}: {asked}");
        assert!(
            asked.contains("stopp pod1") && asked.contains("rmp pod1"),
            "{asked}"
        );
        assert!(!world.has("etcd/member/old"), "{half}");
        assert!(world.has("net.d/10-mine.conflist"));
        assert!(!made.probe().contains("not in place"), "{half}");
    }
}

#[test]
fn a_control_plane_that_another_run_has_finished_is_kept() {
    let Some(made) = Made::new() else { return };
    made.world.by_hand("make-control-plane");
    assert!(made.probe().contains("never proven"));
    made.run();
    assert!(!made.world.called_kubeadm());
    assert!(!made.probe().contains("not in place"));
}

#[test]
fn a_working_control_plane_of_somebody_else_is_refused_and_not_touched() {
    for (change, words) in [
        (
            "echo v1.19.0 >api/version",
            "it is Kubernetes v1.19.0, not v1.20.2",
        ),
        (
            "echo https://10.0.2.15:6443 >api/server",
            "it is reached at https://10.0.2.15:6443",
        ),
    ] {
        let Some(made) = Made::new() else { return };
        made.world.by_hand(&format!("make-control-plane; {change}"));
        let said = made.call("wdev_run").failed();
        assert!(said.contains(words), "{said}");
        assert!(!made.world.called_kubeadm());
    }
}

#[test]
fn what_worked_once_is_waited_for_and_helped_up_and_never_reset() {
    let Some(made) = Made::proven() else { return };
    let world = &made.world;
    world.by_hand("rm api/up kubelet-runs; touch comes-back");
    assert!(
        made.probe()
            .contains("the API server at https://192.168.56.10:6443 does not answer")
    );
    world.asked();
    made.call("wdev_patience=5; wdev_run").ok();
    let asked = world.asked();
    assert!(
        asked.contains("systemctl start kubelet") && !asked.contains("\nkubeadm "),
        "{asked}"
    );

    world.by_hand("rm kubelet-runs");
    assert!(made.probe().contains("the kubelet does not run"));
    made.run();
    assert!(!made.probe().contains("not in place"));

    // It does not come back: what there is to see is told, and nothing is taken away.
    world.by_hand(
        "rm api/up comes-back; mkdir -p logs/kube-system_kube-apiserver-cp_1/kube-apiserver",
    );
    world.by_hand("echo '2026-01-01T00:00:00Z stderr F bind: address already in use' >logs/kube-system_kube-apiserver-cp_1/kube-apiserver/0.log");
    let ran = made.call("wdev_run");
    assert_eq!(ran.code, Some(1));
    for words in [
        "0123 Exited kube-apiserver",
        "\nbind: address already in use",
        "the kubelet says (hidden)",
    ] {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
    assert!(
        ran.err
            .contains("does not answer, though its files and its data are there"),
        "{}",
        ran.err
    );
    assert!(!world.called_kubeadm());
    assert!(world.has("etc/pki/ca.crt") && world.has("etcd/member"));
}

#[test]
fn one_whose_data_or_authority_is_gone_is_no_more_what_worked_once() {
    for gone in [
        "rm -r etcd/member",
        "echo other >etc/pki/ca.crt; rm etc/admin.conf",
    ] {
        let Some(made) = Made::proven() else { return };
        made.world.by_hand(gone);
        made.run();
        let asked = made.world.asked();
        assert!(
            asked.contains("kubeadm reset") && asked.contains("kubeadm init --config"),
            "{gone}: {asked}"
        );
    }
}

#[test]
fn changed_settings_and_lost_files_are_written_again_without_a_reset() {
    let Some(mut made) = Made::proven() else {
        return;
    };
    made.world.by_hand("rm etc/manifests/kube-scheduler.yaml");
    assert!(
        made.probe()
            .contains("etc/manifests/kube-scheduler.yaml is missing")
    );
    made.run();
    let asked = made.world.asked();
    assert!(
        asked.contains("kubeadm init phase control-plane all --config kept/kubeadm.yaml"),
        "{asked}"
    );
    assert!(
        !asked.contains("reset") && !asked.contains("kubeadm init --config"),
        "{asked}"
    );

    let policy = [wdev::render::linux_cluster::NodeFile {
        path: "etc/audit/policy.yaml".to_owned(),
        text: "kind: Policy\n".to_owned(),
    }];
    made.body = control_plane(&policy, &["addon/kube-proxy".to_owned()], None);
    assert!(made.probe().contains("its settings have changed"));
    made.run();
    assert_eq!(
        made.world.node.read("etc/audit/policy.yaml"),
        "kind: Policy\n"
    );
    let asked = made.world.asked();
    assert!(!asked.contains("addon kube-proxy"), "{asked}");
    assert!(!made.probe().contains("not in place"));
}

#[test]
fn another_address_of_the_node_or_a_component_that_does_not_run_is_no_success() {
    for (change, words) in [
        (
            "echo '10.0.2.15 192.168.56.10' >api/address",
            "known under the address 10.0.2.15, not 192.168.56.10",
        ),
        ("rm api/address", "the cluster has no node cp"),
        (
            "rm api/started",
            "etcd does not run: CrashLoopBackOff back-off",
        ),
    ] {
        let Some(made) = Made::proven() else { return };
        made.world.by_hand(change);
        assert!(made.probe().contains(words), "{}", made.probe());
        let said = made.call("wdev_run").failed();
        assert!(said.contains(words), "{said}");
        assert!(!made.world.called_kubeadm());
    }
}

#[test]
fn a_failed_init_tells_what_kubeadm_said_and_is_done_again_by_the_next_run() {
    let Some(made) = Made::new() else { return };
    made.world.by_hand("touch init-fails");
    let ran = made.call("wdev_run");
    assert_eq!(ran.code, Some(1));
    let end = ran.out.split("--- what kubeadm said").nth(1).unwrap();
    assert!(
        end.contains("kubelet isn't running or healthy. ((hidden))"),
        "{end}"
    );
    assert!(!ran.out.contains(TOKEN) && !ran.err.contains(TOKEN));
    made.world.by_hand("rm init-fails");
    made.run();
    assert!(made.world.asked().contains("kubeadm reset"));
    assert!(!made.probe().contains("not in place"));
}

#[test]
fn a_failed_reset_tells_what_kubeadm_said() {
    let Some(made) = Made::new() else { return };
    made.world.by_hand("touch kept/begun reset-fails");
    let ran = made.call("wdev_run");
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("no reset with (hidden)"), "{}", ran.out);
    assert!(!made.world.asked().contains("kubeadm init"));
}

#[test]
fn taints_are_given_and_only_known_ones_are_taken_away() {
    let Some(mut made) = Made::proven() else {
        return;
    };
    let taints = |made: &mut Made, taints: &[&str]| {
        let taints: Vec<_> = taints.iter().map(|taint| (*taint).to_owned()).collect();
        made.body = control_plane(&[], &[], Some(&taints));
        made.run();
        let asked = made.world.asked();
        let taints = asked
            .lines()
            .filter(|line| line.contains(" taint nodes cp "));
        taints
            .map(|line| line.split(" taint nodes cp ").nth(1).unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    made.world.by_hand(
        "printf '%s\\n' node-role.kubernetes.io/master=:NoSchedule users=own:NoExecute >api/taints",
    );
    assert_eq!(
        taints(&mut made, &["a=b:NoSchedule"]),
        [
            "node-role.kubernetes.io/master:NoSchedule-",
            "--overwrite a=b:NoSchedule"
        ]
    );
    made.world
        .by_hand("printf '%s\\n' a=b:NoSchedule users=own:NoExecute >api/taints");
    assert!(!made.probe().contains("not in place"));
    assert_eq!(taints(&mut made, &[]), ["a:NoSchedule-"]);
    made.body = control_plane(&[], &[], Some(&["c:NoExecute".to_owned()]));
    assert!(
        made.probe().contains("the node has no taint c:NoExecute"),
        "{}",
        made.probe()
    );
}
