//! Names that are unique on the host, so that sandboxes never collide.

use super::Target;
use crate::engine::step::short_hash;
use crate::names::LaneName;

/// The name of a node's machine on this host: `wdev-SANDBOX-HASH-NODE`, where the hash tells sandboxes
/// of the same name in different folders apart.
#[must_use]
pub fn unique_name(target: &Target, node: &LaneName) -> String {
    format!("{}-{node}", unique_prefix(target))
}

/// What the names of all that a sandbox has on this host begin with, `wdev-SANDBOX-HASH`; also the name
/// of its network.
#[must_use]
pub fn unique_prefix(target: &Target) -> String {
    let hash = short_hash(&target.folder.to_string_lossy());
    format!("wdev-{}-{}", target.config.sandbox, &hash[..6])
}
