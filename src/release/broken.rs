//! Releases that do not work.

use std::sync::LazyLock;

use serde::Deserialize;

use super::Version;

/// A release with a fault that keeps a sandbox from working.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Broken {
    /// The release.
    pub version: Version,
    /// What of it is broken: `kubelet`.
    pub component: String,
    /// Whether only its Windows programs are.
    pub windows_only: bool,
    /// What is wrong.
    pub what: String,
    /// The first release without the fault.
    pub instead: Version,
    /// Where that is known from.
    pub source: String,
}

static TABLE: LazyLock<Vec<Broken>> =
    LazyLock::new(|| serde_json::from_str(include_str!("data/broken.json")).unwrap_or_default());

/// What is known to be broken in a version.
pub fn broken(version: &Version) -> impl Iterator<Item = &'static Broken> {
    TABLE.iter().filter(move |row| row.version == *version)
}
