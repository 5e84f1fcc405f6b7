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

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    gone: Vec<Gone>,
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
