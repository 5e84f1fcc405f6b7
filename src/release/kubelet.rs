//! What differs between the minors of the kubelet: its flags.

use std::sync::LazyLock;

use serde::Deserialize;

/// Flags that a minor removed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Gone {
    /// Without dashes.
    flags: Vec<String>,
    /// The first minor that does not know them.
    minor: u32,
    #[expect(dead_code, reason = "for who reads the file")]
    source: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    gone: Vec<Gone>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    serde_json::from_str(include_str!("data/kubelet-flags.json")).unwrap_or_default()
});

/// The minor that removed `flag`; nothing for one that is there, or that there never was.
#[must_use]
pub fn removed_in(flag: &str) -> Option<u32> {
    let by = |gone: &&Gone| gone.flags.iter().any(|name| name == flag);
    TABLE.gone.iter().find(by).map(|gone| gone.minor)
}
