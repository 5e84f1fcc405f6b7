//! What differs between the minors of the kubelet: its flags.

use std::sync::LazyLock;

use serde::Deserialize;

/// Flags that a minor removed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gone {
    /// Without dashes.
    pub flags: Vec<String>,
    /// The first minor that does not know them.
    pub minor: u32,
    /// Where this is known from.
    pub source: String,
}

/// A flag that is set by what a node runs the kubelet with.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Managed {
    /// Without dashes.
    pub flag: String,
    /// What sets it.
    pub by: String,
    /// Where this is known from.
    pub source: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    gone: Vec<Gone>,
    managed: Vec<Managed>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    serde_json::from_str(include_str!("data/kubelet-flags.json")).unwrap_or_default()
});

/// The entry that says that the kubelet of `minor` no longer has `flag`.
#[must_use]
pub fn gone(flag: &str, minor: u32) -> Option<&'static Gone> {
    TABLE
        .gone
        .iter()
        .find(|gone| gone.minor <= minor && gone.flags.iter().any(|name| name == flag))
}

/// What sets `flag`, when it is not for the user to set.
#[must_use]
pub fn managed(flag: &str) -> Option<&'static Managed> {
    TABLE.managed.iter().find(|managed| managed.flag == flag)
}
