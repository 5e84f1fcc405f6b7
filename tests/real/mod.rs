//! What the tests with real machines share: a sandbox on disk, runs of the built `wdev`, and a view
//! of the machines by docker itself.

#![allow(
    dead_code,
    reason = "each test file is a crate of its own that uses a part of this"
)]

pub mod cluster;
pub mod emulated;
pub mod run;
pub mod sandbox;
pub mod secrets;
pub mod sites;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common;

/// Whether the tests with real machines are to run; says why when they are not.
pub fn wanted() -> bool {
    let wanted = is_set("WDEV_TEST_REAL");
    if !wanted {
        common::skip("real machines; run `make test-real`");
    }
    wanted
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| value == "1")
}

/// Lines of `variables.yml` for tests of machines alone: nothing is downloaded, and `up` ends where it needs
/// the first file. See [`at_the_downloads`].
pub const MACHINES_ONLY: &str = "kubernetes: {version: v1.36.3}\nartifacts: {offline: true}\n";

/// The `up` came as far as it can without downloads; gives its events.
///
/// # Panics
/// When it ended in another way.
pub fn at_the_downloads(ended: &run::Ended) -> run::Events {
    let events = ended.events();
    let failure = events.failure().expect("the last event names the failure");
    assert!(
        failure.message.contains("not everything is in the cache"),
        "{failure:?}"
    );
    events
}

/// Asks again until `check` gives something.
///
/// # Panics
/// After `limit`, with `what` was waited for.
pub fn wait_for<T>(what: &str, limit: Duration, mut check: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = check() {
            return found;
        }
        assert!(started.elapsed() < limit, "waited {limit:?} for {what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// A temporary folder, removed by hand, so that a failed test leaves its logs to look at.
pub fn kept_folder(prefix: &str) -> PathBuf {
    tempfile::Builder::new()
        .prefix(prefix)
        .tempdir()
        .expect("temporary folder")
        .keep()
}

/// Runs docker and returns its standard output, or its standard error when it fails.
pub fn docker(args: &[&str]) -> Result<String, String> {
    said_by(Command::new("docker").args(args))
}

/// Runs a program that `make test-real` has installed; its standard output, or its standard error when it
/// fails.
pub fn said_by(command: &mut Command) -> Result<String, String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{command:?} cannot be run: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(text(&output.stderr))
    }
}
