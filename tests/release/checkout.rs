//! The version of a checkout, by real git.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use tempfile::TempDir;
use wdev::clock::Clock;
use wdev::error::{Failure, Kind, Result};
use wdev::release::{Origin, Version, resolve};
use wdev::stop::Stop;

use crate::common;
use crate::common::kubernetes_tree::{git, tree};
use crate::site::Recorded;

/// A small tree with what tells a Kubernetes checkout, in a folder of its own.
struct Checkout {
    _keep: TempDir,
    path: PathBuf,
}

impl Checkout {
    fn new() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let path = keep.path().join("my kubernetes");
        std::fs::create_dir(&path).unwrap();
        tree(&path);
        let checkout = Self { _keep: keep, path };
        checkout.git(&["init", "-q"]);
        checkout.commit();
        checkout
    }

    fn tagged(tag: &str) -> Self {
        let checkout = Self::new();
        checkout.git(&["tag", "-a", "-m", tag, tag]);
        checkout
    }

    fn git(&self, arguments: &[&str]) -> String {
        git(&self.path, arguments)
    }

    fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "a change"]);
    }

    fn hash(&self) -> String {
        self.git(&["rev-parse", "--short=14", "HEAD"])
    }

    fn version(&self) -> Result<Version> {
        version(&self.path)
    }
}

/// As a run of wdev asks: through the one entry.
fn version(path: &Path) -> Result<Version> {
    let site = Recorded::default();
    let resolved = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(resolve(
            "source",
            Some(path),
            &site,
            Clock::new(),
            &Stop::never(),
        ))?;
    assert_eq!(resolved.exact.origin, Origin::Source);
    assert_eq!(
        site.asked(),
        Vec::<String>::new(),
        "a checkout needs no network"
    );
    Ok(resolved.exact.version)
}

fn told(failure: &Failure) -> String {
    format!("{failure}\n{}", failure.advice.join("\n"))
}

#[test]
fn the_rules_of_upstreams_version_script_hold() {
    if common::need("git").is_none() {
        return;
    }
    let checkout = Checkout::tagged("v1.38.0-alpha.1");
    assert_eq!(checkout.version().unwrap().to_string(), "v1.38.0-alpha.1");
    // A tag that is no version, and one that is nearer but not Kubernetes' own.
    checkout.commit();
    checkout.git(&["tag", "kubernetes-1.99.0"]);
    checkout.commit();
    let after = format!("v1.38.0-alpha.1.2+{}", checkout.hash());
    assert_eq!(checkout.version().unwrap().to_string(), after);
    // Dirty: a file that git does not know counts, as it may be compiled.
    std::fs::write(checkout.path.join("cmd/kubelet/new.go"), "").unwrap();
    let dirty = checkout.version().unwrap();
    assert_eq!(dirty.to_string(), format!("{after}-dirty"));
    assert_eq!(
        dirty.image_tag(),
        format!("{after}-dirty").replace('+', "_")
    );
    std::fs::remove_file(checkout.path.join("cmd/kubelet/new.go")).unwrap();
    // A commit after a release.
    checkout.git(&["tag", "v1.38.0"]);
    checkout.commit();
    let after = format!("v1.38.0-1+{}", checkout.hash());
    assert_eq!(checkout.version().unwrap().to_string(), after);
    // Somewhere else than on a branch.
    checkout.git(&["checkout", "-q", "--detach", "HEAD~1"]);
    assert_eq!(checkout.version().unwrap().to_string(), "v1.38.0");
    // In a worktree.
    let worktree = checkout.path.with_file_name("worktree");
    checkout.git(&[
        "worktree",
        "add",
        "-q",
        worktree.to_str().unwrap(),
        "master",
    ]);
    assert_eq!(version(&worktree).unwrap().to_string(), after);
}

#[test]
fn the_checkout_is_only_read() {
    fn state(folder: &Path, all: &mut BTreeMap<PathBuf, (SystemTime, Vec<u8>)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let changed = path.metadata().unwrap().modified().unwrap();
            if path.is_dir() {
                all.insert(path.clone(), (changed, Vec::new()));
                state(&path, all);
            } else {
                all.insert(path.clone(), (changed, std::fs::read(&path).unwrap()));
            }
        }
    }
    if common::need("git").is_none() {
        return;
    }
    let checkout = Checkout::tagged("v1.38.0-alpha.1");
    let index = checkout.path.join(".git/index");
    // What makes git refresh its index: a file that is as it was, with another time.
    let touched = std::fs::File::options()
        .write(true)
        .open(checkout.path.join("cmd/kubelet/kubelet.go"))
        .unwrap();
    touched.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    let mut before = BTreeMap::new();
    state(&checkout.path, &mut before);
    checkout.version().unwrap();
    let mut after = BTreeMap::new();
    state(&checkout.path, &mut after);
    assert_eq!(
        before.keys().collect::<Vec<_>>(),
        after.keys().collect::<Vec<_>>()
    );
    assert_eq!(before, after);
    // And that a plain `git status` would have written is what makes this a test.
    checkout.git(&["status", "--porcelain"]);
    assert_ne!(before[&index].1, std::fs::read(&index).unwrap());
}

#[test]
fn a_clone_without_tags_is_told_how_to_get_them() {
    if common::need("git").is_none() {
        return;
    }
    let checkout = Checkout::new();
    let failure = checkout.version().unwrap_err();
    assert_eq!(failure.kind, Kind::Configuration);
    let text = told(&failure);
    assert!(text.contains("no tag such as `v1.36.3`"), "{text}");
    assert!(
        text.contains("fetch https://github.com/kubernetes/kubernetes"),
        "{text}"
    );

    let origin = Checkout::tagged("v1.38.0-alpha.1");
    origin.commit();
    let shallow = origin.path.with_file_name("shallow");
    let url = format!("file://{}", origin.path.display());
    origin.git(&["clone", "-q", "--depth=1", &url, shallow.to_str().unwrap()]);
    let text = told(&version(&shallow).unwrap_err());
    assert!(text.contains("a shallow clone"), "{text}");
    assert!(text.contains("fetch --unshallow --tags"), "{text}");
    // The advice helps.
    git(&shallow, &["fetch", "-q", "--unshallow", "--tags"]);
    let expected = format!("v1.38.0-alpha.1.1+{}", origin.hash());
    assert_eq!(version(&shallow).unwrap().to_string(), expected);
}

#[test]
fn what_is_no_checkout_of_kubernetes_is_refused() {
    if common::need("git").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let refused = |path: &Path, why: &str| {
        let failure = version(path).unwrap_err();
        assert_eq!(failure.kind, Kind::Configuration, "{failure}");
        let text = told(&failure);
        assert!(text.contains(why), "{text}");
        assert!(!failure.advice.is_empty(), "{failure}");
    };
    refused(&folder.path().join("nowhere"), "does not exist");
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    refused(&file, "is no folder");
    refused(folder.path(), "is no checkout of Kubernetes");
    // Sources from an archive, in no repository.
    let sources = folder.path().join("sources");
    std::fs::create_dir(&sources).unwrap();
    tree(&sources);
    refused(&sources, "is no git repository");
    // The same in somebody else's repository, whose tags say nothing of it.
    git(folder.path(), &["init", "-q"]);
    git(folder.path(), &["add", "-A"]);
    git(folder.path(), &["commit", "-q", "-m", "all"]);
    git(folder.path(), &["tag", "v1.2.3"]);
    refused(&sources, "another repository");
    // A repository without a commit.
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    tree(&empty);
    git(&empty, &["init", "-q"]);
    refused(&empty, "has no commit");
    // A nearer tag that is no version of Kubernetes.
    let checkout = Checkout::tagged("v1.38.0");
    checkout.commit();
    checkout.git(&["tag", "vendored"]);
    refused(&checkout.path, "`vendored`");
}

/// Another user's checkout, as on a shared machine or in a container.
#[cfg(unix)]
#[test]
fn a_checkout_that_git_does_not_trust_says_how_to_trust_it() {
    if common::need("git").is_none() {
        return;
    }
    if !wdev::process::is_root() {
        common::allowed_skip("root, to give a folder to another user");
        return;
    }
    let trusted = Command::new("git")
        .args(["config", "--get-all", "safe.directory"])
        .output()
        .unwrap();
    if String::from_utf8_lossy(&trusted.stdout).contains('*') {
        common::allowed_skip("a git that trusts no folder of another user");
        return;
    }
    let checkout = Checkout::tagged("v1.38.0");
    std::os::unix::fs::chown(&checkout.path, Some(12345), Some(12345)).unwrap();
    let failure = checkout.version().unwrap_err();
    assert_eq!(failure.kind, Kind::Host);
    let text = told(&failure);
    assert!(text.contains("safe.directory"), "{text}");
    assert!(text.contains("my kubernetes'"), "{text}");
}
