//! Downloads and their cache, against a server that plays every fault.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code, reason = "a part of it is used here")]
#[path = "../cli/env.rs"]
mod env;
mod faults;
mod locked;
mod own;
mod own_build;
#[cfg(unix)]
mod processes;
mod prune;
mod server;
mod site;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use wdev::artifacts::{Limits, Settings, Store, Stored, Wanted};
use wdev::channel::{Io, Line};
use wdev::clock::Clock;
use wdev::error::{Failure, Result};
use wdev::stop::Stop;

/// Bytes that are no text, the same in every run.
fn body(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

fn wanted(url: &str, sha256: Option<String>) -> Wanted {
    Wanted {
        name: "tool".to_owned(),
        url: url.to_owned(),
        sha256,
    }
}

/// A cache whose pauses pass at once, and which never takes a slow machine for a stalled server.
fn settings() -> Settings {
    Settings {
        mirror: String::new(),
        offline: false,
        limits: Limits {
            stall: Duration::from_hours(10_000),
            whole: Duration::from_hours(100_000),
            ..Limits::default()
        },
        clock: Clock::with_speed(100_000.0),
    }
}

fn store(folder: &Path, settings: Settings) -> Store {
    Store::open(folder.join("cache"), settings).unwrap()
}

/// An `Io` and what it is told.
fn listening(stop: Stop) -> (Io, Arc<Mutex<Vec<String>>>) {
    let said: Arc<Mutex<Vec<String>>> = Arc::default();
    let lines = Arc::clone(&said);
    let io = Io {
        output: Arc::new(move |line: Line| lines.lock().unwrap().push(line.text)),
        stop,
    };
    (io, said)
}

/// Brings one file into a fresh cache and returns what became of it; what is in the cache afterwards is
/// whole, and there is nothing at all after a failure.
async fn bring(url: &str, sha256: Option<String>) -> Result<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), settings());
    let done = store.ensure(&wanted(url, sha256), &Io::silent()).await;
    let kept = names(&folder.path().join("cache/sha256"));
    match done {
        Ok(Stored { path, sha256, .. }) => {
            assert_eq!(kept, [sha256]);
            Ok(std::fs::read(path).unwrap())
        }
        Err(failure) => {
            assert_eq!(kept, [] as [String; 0], "half-written: {failure}");
            Err(failure)
        }
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Everything that a user is shown of a failure.
fn text(failure: &Failure) -> String {
    format!("{failure}\n{}", failure.advice.join("\n"))
}
