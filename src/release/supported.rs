//! Which minors of Kubernetes wdev supports, and the newest releases that it knows.

use std::sync::LazyLock;

use serde::Deserialize;

use super::Version;

/// How well wdev knows a minor of Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// It is supported.
    Full,
    /// It is newer than all that wdev knows.
    Newer,
    /// It is not supported.
    None,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    newest: u32,
    oldest: u32,
    also: Vec<u32>,
    patches: Vec<Patch>,
    #[expect(dead_code, reason = "for readers of the data")]
    source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Patch {
    version: Version,
    #[expect(dead_code, reason = "for readers of the data")]
    source: String,
}

static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_json::from_str(include_str!("data/supported.json")).unwrap_or_default());

/// How well wdev knows the minor.
#[must_use]
pub fn support(minor: u32) -> Support {
    if minor > TABLE.newest {
        Support::Newer
    } else if minor >= TABLE.oldest || TABLE.also.contains(&minor) {
        Support::Full
    } else {
        Support::None
    }
}

/// The newest minor that wdev knows.
#[must_use]
pub fn newest_minor() -> u32 {
    TABLE.newest
}

/// Every supported minor, the newest first.
#[must_use]
pub fn minors() -> Vec<u32> {
    let recent = (TABLE.oldest..=TABLE.newest).rev();
    recent.chain(TABLE.also.iter().copied()).collect()
}

/// The supported minors in words.
#[must_use]
pub fn in_words() -> String {
    let also: Vec<String> = TABLE
        .also
        .iter()
        .map(|minor| format!(", 1.{minor}"))
        .collect();
    format!("1.{} to 1.{}{}", TABLE.oldest, TABLE.newest, also.concat())
}

/// The newest release of the minor that wdev knows.
#[must_use]
pub fn newest_patch(minor: u32) -> Option<Version> {
    let of_minor = TABLE.patches.iter().map(|patch| &patch.version);
    of_minor
        .filter(|version| version.minor() == minor)
        .max()
        .cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_and_the_seven_before_it_are_supported() {
        assert_eq!(TABLE.newest - TABLE.oldest, 7);
        let newest = newest_minor();
        assert_eq!(support(newest + 1), Support::Newer);
        assert_eq!(support(newest - 7), Support::Full);
        assert_eq!(support(newest - 8), Support::None);
        assert_eq!(support(20), Support::Full);
        assert_eq!(support(19), Support::None);
        for minor in minors() {
            assert!(
                newest_patch(minor).is_some(),
                "no release of 1.{minor} is known"
            );
        }
    }
}
