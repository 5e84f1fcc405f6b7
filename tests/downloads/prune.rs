//! What `wdev cache prune` removes, and what it leaves.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, SystemTime};

use wdev::artifacts::prune::{Pruned, Rule, UNUSED, prune};
use wdev::artifacts::{Store, Stored};
use wdev::channel::Io;
use wdev::stop::{Level, StopSource};

use crate::common::sha256;
use crate::server::{Gate, Reply, Server};
use crate::{body, names, settings, store, wanted};

/// A cache with the files `old`, `needed` and `used-now`, of which two were last used long ago.
async fn filled(folder: &Path, server: &Server) -> Vec<Stored> {
    let store = store(folder, settings());
    let mut all = Vec::new();
    for name in ["old", "needed", "used-now"] {
        let wanted = wanted(&server.url(name), None);
        all.push(store.ensure(&wanted, &Io::silent()).await.unwrap());
    }
    for stored in &all[..2] {
        age(&stored.path);
    }
    all
}

fn age(path: &Path) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    let long_ago = SystemTime::now() - UNUSED - Duration::from_mins(1);
    file.set_modified(long_ago).unwrap();
}

fn site() -> Server {
    // A file of its own for each path.
    Server::new(|request| {
        let length = 1000 + request.path.len();
        Reply::file(request, &body(length), "\"one\"")
    })
}

fn pruned(folder: &Path, needed: &[&Stored], all: bool, dry_run: bool) -> Pruned {
    let needed: BTreeSet<String> = needed.iter().map(|one| one.sha256.clone()).collect();
    prune(&folder.join("cache"), &Rule::new(needed, all, dry_run)).unwrap()
}

fn what(pruned: &Pruned) -> Vec<&str> {
    pruned.files.iter().map(|file| file.what.as_str()).collect()
}

#[tokio::test]
async fn what_nobody_needs_or_has_used_for_long_goes() {
    let server = site();
    let folder = tempfile::tempdir().unwrap();
    let all = filled(folder.path(), &server).await;
    let [old, needed, new] = all.as_slice() else {
        panic!("three files");
    };
    let shown = pruned(folder.path(), &[needed], false, true);
    assert_eq!(what(&shown), [server.url("old")]);
    assert!(old.path.exists(), "only shown");
    let gone = pruned(folder.path(), &[needed], false, false);
    assert_eq!(gone, shown);
    assert_eq!(gone.files[0].bytes, old.bytes);
    assert!(!old.path.exists() && needed.path.exists() && new.path.exists());
    // What is asked for counts as used.
    let open = store(folder.path(), settings());
    assert!(open.find(&needed.sha256).is_some());
    drop(open);
    assert_eq!(what(&pruned(folder.path(), &[], false, false)), [""; 0]);
    let rest = pruned(folder.path(), &[needed], true, false);
    assert_eq!(rest.files.len(), 2);
    for part in ["sha256", "partial", "urls"] {
        let left = names(&folder.path().join("cache").join(part));
        assert_eq!(left, [] as [&str; 0], "{part}");
    }
}

#[tokio::test]
async fn everything_means_nothing_that_another_wdev_is_about_to_use() {
    let server = site();
    let folder = tempfile::tempdir().unwrap();
    let all = filled(folder.path(), &server).await;
    let user: Store = store(folder.path(), settings());
    let gone = pruned(folder.path(), &[], true, false);
    assert!(gone.busy);
    assert!(!all[0].path.exists(), "long unused");
    assert!(all[2].path.exists(), "used a moment ago");
    drop(user);
    assert!(!pruned(folder.path(), &[], true, false).busy);
    assert!(!all[2].path.exists());
}

#[tokio::test]
async fn a_download_that_goes_on_stays_and_one_that_was_given_up_goes() {
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::new(move |request| {
        Reply::file(request, &body(1000), "\"one\"").hold_after(600, &held)
    });
    let folder = tempfile::tempdir().unwrap();
    let hash = sha256(&body(1000));
    let part = folder.path().join(format!("cache/partial/{hash}.part"));
    let store = store(folder.path(), settings());
    let source = StopSource::new();
    let io = Io {
        stop: source.stop(),
        ..Io::silent()
    };
    let wanted = wanted(&server.url("tool"), Some(hash));
    let fetching = tokio::spawn(async move { store.ensure(&wanted, &io).await });
    while std::fs::metadata(&part).map_or(0, |part| part.len()) < 600 {
        assert!(!fetching.is_finished());
        tokio::task::yield_now().await;
    }
    age(&part);
    assert_eq!(what(&pruned(folder.path(), &[], true, false)), [""; 0]);
    assert!(part.exists());
    source.raise(Level::Interrupt);
    fetching.await.unwrap().unwrap_err();
    gate.open();
    let gone = pruned(folder.path(), &[], false, false);
    assert_eq!(what(&gone), ["a download that was not finished"]);
    assert_eq!(gone.files[0].bytes, 600);
    assert_eq!(names(part.parent().unwrap()), [] as [&str; 0]);
}
