//! A world in a folder: the same for the next process, and refused when it is damaged.

use std::fs;

use wdev::channel::Effect;
use wdev::error::Kind;
use wdev::provider::Provider;
use wdev::provider::sim::{Sim, Store};

use super::{Lab, SECOND, file, settings, token_of};

fn lab(folder: &std::path::Path) -> Lab {
    Lab::open(settings(Store::Folder(folder.join("sim"))))
}

#[tokio::test(start_paused = true)]
async fn the_next_process_sees_the_same_world() {
    let folder = tempfile::tempdir().unwrap();
    let work = [file("/a"), Effect::Takes(60_000), file("/b")];
    let first = lab(folder.path());
    assert!(
        !folder.path().join("sim").exists(),
        "looking writes nothing"
    );
    let machine = first.up("cp").await;
    first.up("winw1").await;
    first.does("winw1", "s", &[file("C:/a")]).await.unwrap();
    let boot = first.channel("cp").boot_identity(SECOND, &first.io).await;
    let _ = first
        .clock
        .timeout(SECOND * 10, first.does("cp", "s", &work))
        .await;
    let essence = first.sim.essence();
    drop(first);

    let second = lab(folder.path());
    assert_eq!(second.sim.essence(), essence);
    assert_eq!(second.up("cp").await, machine);
    let same = second.channel("cp").boot_identity(SECOND, &second.io).await;
    assert_eq!(same.unwrap(), boot.unwrap());
    second.does("cp", "s", &work).await.unwrap();
    assert!(second.heard("waiting for `s`"));
    assert_eq!(second.completed("cp", "s"), 1);

    second.sim.destroy(&"cp".into(), &second.io).await.unwrap();
    let third = lab(folder.path());
    assert_ne!(third.up("cp").await.id, machine.id);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_is_kept_and_its_tokens_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let first = lab(folder.path());
    first.up("cp").await;
    let effects = [
        super::service("kubelet", &[]),
        Effect::ControlPlane {
            version: "1.36.1".to_owned(),
            address: "192.168.56.10".to_owned(),
        },
        Effect::JoinToken,
        Effect::Manifest("cni-flannel".to_owned()),
    ];
    let report = first.does("cp", "init", &effects).await.unwrap();
    let token = token_of(&report);
    let second = lab(folder.path());
    assert_eq!(second.sim.essence(), first.sim.essence());
    assert!(second.sim.essence().contains("cni-flannel"));
    let secret = token.split('.').next_back().unwrap();
    for path in ["sim/cluster.json", "sim/nodes/cp.json"] {
        let text = fs::read_to_string(folder.path().join(path)).unwrap();
        assert!(!text.contains(secret), "{path} holds a join token");
    }
}

#[tokio::test(start_paused = true)]
async fn a_damaged_or_newer_world_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let first = lab(folder.path());
    first.up("cp").await;
    let path = folder.path().join("sim/nodes/cp.json");
    let whole = fs::read_to_string(&path).unwrap();
    let newer = whole.replacen("\"version\":1", "\"version\":99", 1);
    let half = whole.get(..whole.len() / 2).unwrap();
    for (text, words) in [
        ("", "cannot understand"),
        ("null", "cannot understand"),
        (half, "cannot understand"),
        (newer.as_str(), "newer wdev"),
    ] {
        fs::write(&path, text).unwrap();
        let opened = Sim::open(settings(Store::Folder(folder.path().join("sim"))));
        let failure = opened.err().unwrap();
        assert_eq!(failure.kind, Kind::Provider);
        let message = failure.to_string();
        assert!(
            message.contains(words) && message.contains("cp.json"),
            "{message}"
        );
        assert!(!failure.advice.is_empty());
    }
    fs::write(&path, whole).unwrap();
    fs::write(path.with_extension("new"), "torn").unwrap();
    assert_eq!(lab(folder.path()).sim.essence(), first.sim.essence());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_be_written_is_a_failure_of_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let first = lab(folder.path());
    fs::write(folder.path().join("sim"), "in the way").unwrap();
    let failure = first.sim.up(&"cp".into(), &first.io).await.unwrap_err();
    assert_eq!(failure.kind, Kind::Host);
}
