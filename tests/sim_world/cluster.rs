//! The cluster: init, join, readiness, and what kubeadm says when something is missing.

use wdev::channel::Effect;
use wdev::error::Kind;
use wdev::provider::Provider;

use super::{Lab, SECOND, running, script, service, token_of, with_token};

fn kubelet() -> Vec<Effect> {
    vec![
        service("containerd", &[]),
        running("containerd"),
        service("kubelet", &["containerd"]),
    ]
}

fn init(version: &str) -> Vec<Effect> {
    vec![Effect::ControlPlane {
        version: version.to_owned(),
        address: "192.168.56.10".to_owned(),
    }]
}

fn join() -> Vec<Effect> {
    vec![Effect::Join {
        address: "192.168.56.11".to_owned(),
    }]
}

fn cni() -> Effect {
    Effect::Manifest("cni-calico".to_owned())
}

async fn control_plane(lab: &Lab) {
    lab.up("cp").await;
    lab.does("cp", "prepare", &kubelet()).await.unwrap();
    lab.does("cp", "init", &init("1.36.1")).await.unwrap();
}

async fn worker(lab: &Lab) {
    lab.up("winw1").await;
    lab.does("winw1", "prepare", &kubelet()).await.unwrap();
}

async fn token(lab: &Lab) -> String {
    let report = lab.does("cp", "token", &[Effect::JoinToken]).await.unwrap();
    token_of(&report)
}

async fn join_fails(lab: &Lab, token: Option<&str>, words: &str) {
    let mut join = script("winw1", "join", &join());
    if let Some(token) = token {
        join = with_token(join, token);
    }
    let failure = lab.run("winw1", &join).await.unwrap_err();
    assert_eq!(failure.kind, Kind::Step);
    assert!(failure.to_string().contains(words), "{failure}");
}

async fn joins(lab: &Lab) {
    let token = token(lab).await;
    let join = with_token(script("winw1", "join", &join()), &token);
    lab.run("winw1", &join).await.unwrap();
    assert!(!lab.heard(&token), "a join token was shown");
}

#[tokio::test(start_paused = true)]
async fn a_join_needs_a_token_of_this_cluster_that_has_not_expired() {
    let lab = Lab::new();
    control_plane(&lab).await;
    worker(&lab).await;
    join_fails(&lab, None, "bootstrapToken or file must be set").await;
    join_fails(&lab, Some("abcdef.0123456789abcdef"), "token ID \"abcdef\"").await;
    let old = token(&lab).await;
    lab.clock.sleep(SECOND * 1800).await;
    join_fails(&lab, Some(&old), "could not find a JWS signature").await;
    joins(&lab).await;
    assert_eq!(lab.missing("winw1", &join()).await, None);
    lab.does("winw1", "rejoin", &join()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn without_an_api_server_nothing_joins_and_nothing_is_applied() {
    let lab = Lab::new();
    worker(&lab).await;
    join_fails(&lab, Some("abcdef.0123456789abcdef"), "connection refused").await;
    control_plane(&lab).await;
    let token = token(&lab).await;
    lab.sim.halt(&"cp".into(), &lab.io).await.unwrap();
    join_fails(&lab, Some(&token), "connection refused").await;
    let failure = lab.does("winw1", "apply", &[cni()]).await.unwrap_err();
    assert!(failure.to_string().contains("was refused"), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn tokens_are_made_on_the_control_plane_only() {
    let lab = Lab::new();
    control_plane(&lab).await;
    worker(&lab).await;
    let failure = lab.does("winw1", "token", &[Effect::JoinToken]).await;
    assert_eq!(failure.unwrap_err().kind, Kind::Step);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_nobody_heard_of_is_reported_by_the_next_run() {
    let lab = Lab::new();
    control_plane(&lab).await;
    let effects = [Effect::JoinToken, Effect::Takes(60_000)];
    let left = lab
        .clock
        .timeout(SECOND * 10, lab.does("cp", "token", &effects));
    assert!(left.await.is_none());
    let report = lab.does("cp", "token", &effects).await.unwrap();
    assert_eq!(lab.completed("cp", "token"), 1);
    let token = token_of(&report);
    worker(&lab).await;
    let join = with_token(script("winw1", "join", &join()), &token);
    lab.run("winw1", &join).await.unwrap();
    // What the first run made known may be used up or expired: each run makes its own.
    lab.does("cp", "token", &effects).await.unwrap();
    assert_eq!(lab.completed("cp", "token"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_join_to_a_cluster_that_is_gone_since_does_not_count() {
    let lab = Lab::new();
    control_plane(&lab).await;
    worker(&lab).await;
    let first = token(&lab).await;
    let join = script("winw1", "join", &join());
    let left = with_token(join.clone(), &first);
    let left = lab.clock.timeout(SECOND, lab.run("winw1", &left));
    assert!(left.await.is_none());
    lab.clock.sleep(SECOND * 60).await;
    assert_eq!(lab.completed("winw1", "join"), 1);
    lab.sim.destroy(&"cp".into(), &lab.io).await.unwrap();
    control_plane(&lab).await;
    let second = with_token(join.clone(), &token(&lab).await);
    lab.run("winw1", &second).await.unwrap();
    assert_eq!(lab.missing("winw1", &join.effects).await, None);
}

#[tokio::test(start_paused = true)]
async fn kubeadm_waits_for_a_kubelet_that_can_run() {
    let lab = Lab::new();
    lab.up("cp").await;
    let broken = [service("kubelet", &["containerd"])];
    lab.does("cp", "prepare", &broken).await.unwrap();
    let failure = lab.does("cp", "init", &init("1.36.1")).await.unwrap_err();
    assert!(failure.to_string().contains("[kubelet-check]"), "{failure}");
    assert!(lab.missing("cp", &init("1.36.1")).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_control_plane_is_not_initialised_as_another_one() {
    let lab = Lab::new();
    control_plane(&lab).await;
    lab.does("cp", "again", &init("1.36.1")).await.unwrap();
    let failure = lab.does("cp", "init", &init("1.37.0")).await.unwrap_err();
    assert!(
        failure.to_string().contains("already initialised"),
        "{failure}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_node_is_ready_when_its_network_plugin_runs_and_no_sooner() {
    let lab = Lab::new();
    control_plane(&lab).await;
    worker(&lab).await;
    joins(&lab).await;
    let ready = [Effect::NodeReady];
    assert!(lab.missing("winw1", &ready).await.is_some());
    let failure = lab.does("winw1", "ready", &ready).await.unwrap_err();
    assert!(
        failure.to_string().contains("timed out waiting"),
        "{failure}"
    );

    // The wait begins before the plugin is applied, and ends with it.
    let (waited, applied) = tokio::join!(lab.does("winw1", "ready", &ready), async {
        lab.clock.sleep(SECOND * 30).await;
        lab.does("cp", "cni", &[cni()]).await
    });
    waited.unwrap();
    applied.unwrap();
    assert_eq!(lab.missing("winw1", &ready).await, None);
    let pods = [Effect::PodsReady("cni-calico".to_owned())];
    lab.does("cp", "pods", &pods).await.unwrap();
    let unknown = [Effect::PodsReady("kube-proxy".to_owned())];
    let failure = lab.does("cp", "no-pods", &unknown).await.unwrap_err();
    assert!(failure.to_string().contains("NotFound"), "{failure}");

    let argv = ["kubectl", "get", "nodes"].map(str::to_owned);
    assert_eq!(lab.channel("cp").exec(&argv, &lab.io).await.unwrap(), 0);
    assert!(lab.heard("winw1            Ready"), "{:?}", lab.said);
}

#[tokio::test(start_paused = true)]
async fn a_new_machine_replaces_the_node_object_of_the_old_one() {
    let lab = Lab::new();
    control_plane(&lab).await;
    worker(&lab).await;
    joins(&lab).await;
    let before = lab.sim.essence();
    lab.sim.destroy(&"winw1".into(), &lab.io).await.unwrap();
    assert!(lab.sim.essence().contains("\"stale\": true"));
    worker(&lab).await;
    assert!(lab.missing("winw1", &join()).await.is_some());
    joins(&lab).await;
    assert_eq!(lab.sim.essence(), before);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_is_gone_with_its_control_plane() {
    let lab = Lab::new();
    control_plane(&lab).await;
    worker(&lab).await;
    joins(&lab).await;
    lab.sim.destroy(&"cp".into(), &lab.io).await.unwrap();
    control_plane(&lab).await;
    lab.does("cp", "cni", &[cni()]).await.unwrap();
    assert!(lab.missing("winw1", &join()).await.is_some());
    assert!(lab.missing("winw1", &[Effect::NodeReady]).await.is_some());
    joins(&lab).await;
    lab.does("winw1", "ready", &[Effect::NodeReady])
        .await
        .unwrap();
}
