//! Join tokens, `kubeadm join`, and the wait until nodes are Ready.

use wdev::render::linux_cluster;

use crate::common::scripted::Ran;
use crate::join;
use crate::world::{TOKEN, World};

struct Worker {
    world: World,
    body: String,
}

impl Worker {
    /// A node with a token and the certificate of the cluster.
    fn new() -> Option<Self> {
        let world = World::new()?;
        world.by_hand(&format!(
            "mkdir -p given api; printf {TOKEN} >given/join_token; echo ca >ca; base64 -w0 ca >given/cluster_ca
             echo 192.168.56.11 >own-address; : >api/up"
        ));
        Some(Self {
            world,
            body: join("{}"),
        })
    }

    fn joined() -> Option<Self> {
        let worker = Self::new()?;
        worker.run();
        worker.world.asked();
        Some(worker)
    }

    fn call(&self, call: &str) -> Ran {
        self.world.call(&self.body, "joined", call)
    }

    fn run(&self) -> String {
        self.call("wdev_run").ok()
    }

    fn probe(&self) -> String {
        self.call("wdev_probe").ok()
    }
}

#[test]
fn a_token_goes_through_a_pipe_lives_half_an_hour_and_replaces_what_was_left() {
    let Some(world) = World::new() else { return };
    world.by_hand("make-control-plane; mkdir given; rm -f kept/.keep");
    let body = linux_cluster::join_token("w1").unwrap();
    let said = world.call(&body, "none", "wdev_run").ok();
    let asked = world.asked();
    for text in [&said, &asked] {
        assert!(
            !text.contains(TOKEN) && !text.contains("0123456789abcdef"),
            "{text}"
        );
    }
    let removed = asked.find("delete secrets --selector wdev/join-of=w1");
    assert!(
        removed.is_some() && removed < asked.find("create --filename -"),
        "{asked}"
    );
    assert!(!asked.contains("delete node"), "{asked}");
    let secret = world.node.read("created");
    for line in [
        "  name: bootstrap-token-abcdef",
        "  token-id: \"abcdef\"",
        "  token-secret: \"0123456789abcdef\"",
        "  description: \"wdev: the join of w1\"",
    ] {
        assert!(
            secret.lines().any(|found| found == line),
            "{line}: {secret}"
        );
    }
    let expires = secret
        .split("expiration: \"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let left = expires
        .parse::<jiff::Timestamp>()
        .unwrap()
        .duration_since(jiff::Timestamp::now());
    assert!((25..=30).contains(&left.as_mins()), "{left:?}");
    assert_eq!(world.node.read("told/join_token"), TOKEN);
    assert!(!world.node.read("told/cluster_ca").is_empty());

    world.by_hand("printf yes >given/forget_node");
    world.call(&body, "none", "wdev_run").ok();
    assert!(world.asked().contains("delete node w1 --ignore-not-found"));

    let end = linux_cluster::join_end("w1").unwrap();
    world.call(&end, "none", "wdev_run").ok();
    assert!(
        world
            .asked()
            .contains("delete secrets --selector wdev/join-of=w1")
    );
}

#[test]
fn a_node_joins_once_and_its_token_is_nowhere_afterwards() {
    let Some(worker) = Worker::new() else { return };
    let world = &worker.world;
    assert!(worker.probe().contains("this node has not joined"));
    let said = worker.run();
    let asked = world.asked();
    assert!(
        asked.contains("kubeadm join --config kept/kubeadm.yaml"),
        "{asked}"
    );
    for text in [&said, &asked] {
        assert!(!text.contains(TOKEN), "{text}");
    }
    assert_eq!(world.node.read("used-mode"), "600\n");
    let discovery = world.node.read("used-discovery");
    assert!(
        discovery.contains(TOKEN) && discovery.contains("https://192.168.56.10:6443"),
        "{discovery}"
    );
    assert!(!world.node.read("used-config").contains(TOKEN));
    world.by_hand(&format!(
        "rm -r used-discovery given; ! grep -r {TOKEN} --exclude-dir=bin ."
    ));
    assert!(
        !worker.probe().contains("not in place"),
        "{}",
        worker.probe()
    );

    world.by_hand(&format!(
        "mkdir given; printf {TOKEN} >given/join_token; base64 -w0 ca >given/cluster_ca"
    ));
    worker.run();
    assert!(!world.called_kubeadm(), "a second run changes nothing");
}

#[test]
fn a_failed_join_leaves_no_token_and_is_done_again() {
    let Some(worker) = Worker::new() else { return };
    let world = &worker.world;
    world.by_hand("touch join-fails");
    let ran = worker.call("wdev_run");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("kubeadm join failed"), "{}", ran.err);
    assert!(!ran.out.contains(TOKEN) && !world.has("run/discovery.conf"));
    world.by_hand("rm join-fails");
    assert!(worker.probe().contains("never finished"));
    worker.run();
    assert!(world.asked().contains("kubeadm reset"));
    assert!(!worker.probe().contains("not in place"));
}

#[test]
fn what_a_node_has_joined_with_is_known_as_soon_as_it_has() {
    let Some(worker) = Worker::new() else { return };
    // The script is killed while it waits for the cluster to know the node.
    worker.call("wdev_join token ca").ok();
    worker
        .world
        .by_hand("grep -q '^settings ' kept/joined && [[ ! -e kept/begun ]]");
}

#[test]
fn what_is_half_or_elsewhere_or_otherwise_joined_is_reset_and_joins_anew() {
    for (change, words) in [
        ("rm etc/kubelet.conf", "never finished"),
        ("touch kept/begun", "never finished"),
        (
            "echo 10.0.2.15 >api/address",
            "under the address 10.0.2.15, not 192.168.56.11",
        ),
        (
            "echo 'Unauthorized' >api/refuses",
            "does not accept this node",
        ),
        ("echo 'settings 00' >kept/joined", "have changed"),
    ] {
        let Some(worker) = Worker::joined() else {
            return;
        };
        worker.world.by_hand(change);
        let found = worker.probe();
        assert!(
            found.contains("fact state=half") && found.contains(words),
            "{change}: {found}"
        );
        worker.world.asked();
        worker.call("wdev_run").ok();
        let asked = worker.world.asked();
        assert!(
            asked.contains("kubeadm reset") && asked.contains("kubeadm join"),
            "{change}: {asked}"
        );
        worker.world.by_hand(": >api/up");
        assert!(
            !worker.probe().contains("not in place"),
            "{change}: {}",
            worker.probe()
        );
    }
    // Only who joins knows the certificate of the cluster that it should be.
    let Some(worker) = Worker::joined() else {
        return;
    };
    worker
        .world
        .by_hand("echo other >ca; base64 -w0 ca >given/cluster_ca");
    worker.run();
    assert!(worker.world.asked().contains("kubeadm reset"));
}

#[test]
fn a_node_that_the_cluster_only_forgot_tells_it_again() {
    let Some(worker) = Worker::joined() else {
        return;
    };
    worker
        .world
        .by_hand("rm api/address; touch known-after-restart");
    assert!(worker.probe().contains("fact state=unknown"));
    worker.world.asked();
    worker.run();
    let asked = worker.world.asked();
    assert!(
        asked.contains("systemctl restart kubelet") && !asked.contains("\nkubeadm "),
        "{asked}"
    );
}

#[test]
fn a_node_that_cannot_ask_is_left_as_it_is() {
    let Some(worker) = Worker::joined() else {
        return;
    };
    worker.world.by_hand("rm api/up");
    assert!(worker.probe().contains("fact state=unclear"));
    worker.world.asked();
    let said = worker.call("wdev_run").failed();
    assert!(said.contains("the API server cannot be asked"), "{said}");
    assert!(!worker.world.called_kubeadm());
}

#[test]
fn a_wait_for_ready_nodes_tells_what_is_in_the_way_as_it_changes() {
    let Some(world) = World::new() else { return };
    let nodes = [("w1".to_owned(), [192, 168, 56, 11].into())];
    let body = linux_cluster::nodes_ready("etc/admin.conf", &nodes, 600).unwrap();
    let conditions = |lines: &[&str]| {
        let lines = lines.join("\n");
        world.by_hand(&format!("mkdir -p api; : >api/up; echo 192.168.56.11 >api/address; echo '{lines}' >api/conditions"));
    };
    let no_network = "False KubeletNotReady: network plugin is not ready";
    conditions(&[no_network]);
    let said = world.call(&body, "none", "wdev_run").failed();
    assert_eq!(
        said,
        "w1 is not Ready: KubeletNotReady: network plugin is not ready\n"
    );
    conditions(&[no_network]);
    assert!(
        world
            .call(&body, "none", "wdev_probe")
            .ok()
            .contains("network plugin is not ready")
    );
    conditions(&[
        "Unknown NodeStatusUnknown: no status",
        no_network,
        no_network,
        "True KubeletReady: ready",
    ]);
    let said = world.call(&body, "none", "wdev_patience=60; wdev_run").ok();
    assert_eq!(
        said,
        "log w1 is not Ready: NodeStatusUnknown: no status\n\
         log w1 is not Ready: KubeletNotReady: network plugin is not ready\nlog w1 is Ready\n"
    );
    conditions(&["True KubeletReady: ready"]);
    world.by_hand("echo 10.0.2.15 >api/address");
    let said = world.call(&body, "none", "wdev_run").failed();
    assert_eq!(
        said,
        "w1 is known under the address 10.0.2.15, not 192.168.56.11\n"
    );
}
