//! Downloads, and the cache of them that all sandboxes of a user share.
//!
//! A file is known by its SHA-256 and lies in the cache under that name, whole or not at all:
//!
//! | in the cache | what it is |
//! | --- | --- |
//! | `sha256/HASH` | a file, checked |
//! | `partial/KEY.part`, `.json`, `.lock` | a download that goes on or was cut, what its server said of it, and who has it |
//! | `urls/KEY.json` | the hash of what a URL once gave |
//! | `texts/KEY.json` | what a checksum or marker file said |
//! | `lock` | held, shared, by every wdev that uses the cache |
//!
//! `docs/artifacts.md` tells users of it.

pub mod checksum;
mod fault;
mod lock;
mod memory;
mod own;
mod part;
mod progress;
pub mod prune;
mod site;
mod store;
mod transfer;
mod web;

use std::path::PathBuf;
use std::time::Duration;

pub use self::site::HttpSite;
pub use self::store::{Settings, Store, folder_of_user};

/// A file that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// What it is called in messages, such as `kubelet linux/amd64`.
    pub name: String,
    /// Where it comes from: a URL, whose file never changes, or the path of the user's own file.
    pub url: String,
    /// Its SHA-256 in hexadecimal digits; none while nobody knows it.
    pub sha256: Option<String>,
}

/// A file in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Where it lies. It is not to be changed.
    pub path: PathBuf,
    /// Its SHA-256 in lower-case hexadecimal digits.
    pub sha256: String,
    /// Its length.
    pub bytes: u64,
    /// Whether it was there already.
    pub from_cache: bool,
}

/// How long downloads wait, and how often they try. All times are in the store's own clock.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Downloads at the same time.
    pub parallel: usize,
    /// Attempts in a row that bring nothing new.
    pub attempts: u32,
    /// The pause before the second attempt; it doubles with each further one.
    pub pause: Duration,
    /// For how long nothing may come, from the connection to the last byte.
    pub stall: Duration,
    /// The longest that a server may tell us to wait.
    pub patience: Duration,
    /// For one file, with all attempts and pauses, and for another run that fetches it.
    pub whole: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            parallel: 4,
            attempts: 5,
            pause: Duration::from_secs(1),
            stall: Duration::from_mins(1),
            patience: Duration::from_mins(10),
            whole: Duration::from_hours(2),
        }
    }
}
