//! `variables.yml` as its users write it, right and wrong.

#![allow(
    clippy::unwrap_used,
    clippy::format_collect,
    clippy::format_push_string,
    reason = "a test that cannot go on has failed, and its speed is no matter"
)]

mod documents;
mod layers;
mod memory;
mod migrate;
mod mistakes;
mod network;
mod robust;
mod schema;
mod secrets;
mod show;
mod workers;

use wdev::config::{Diagnostic, Loaded, Problems, Request, load};

/// A folder with files.
pub(crate) fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

/// A request that sees only `dir`.
pub(crate) fn request(dir: &tempfile::TempDir) -> Request {
    Request {
        start: dir.path().to_path_buf(),
        ..Request::default()
    }
}

/// Loads `text` as `variables.yml`.
pub(crate) fn read(text: &str) -> Result<Loaded, Problems> {
    load(&request(&folder(&[("variables.yml", text)])))
}

/// The mistakes of `text`; panics where there is none.
#[track_caller]
pub(crate) fn mistakes(text: &str) -> Vec<Diagnostic> {
    match read(text) {
        Ok(_) => panic!("accepted: {text:?}"),
        Err(problems) => problems.0,
    }
}

/// The only mistake of `text`.
#[track_caller]
pub(crate) fn mistake(text: &str) -> Diagnostic {
    let mut all = mistakes(text);
    assert_eq!(all.len(), 1, "{all:#?}");
    all.remove(0)
}

pub(crate) fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
    pairs.map(|(a, b)| (a.to_owned(), b.to_owned())).to_vec()
}

pub(crate) fn flags<const N: usize>(
    flags: [(&str, &str, &str); N],
) -> Vec<(String, String, String)> {
    flags
        .map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()))
        .to_vec()
}
