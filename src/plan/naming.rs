//! Names that are unique on the host, so that sandboxes never collide.

use super::Target;
use crate::engine::step::short_hash;
use crate::names::LaneName;

/// The name of a node's machine on this host: `wdev-SANDBOX-HASH-NODE`, where the hash tells sandboxes
/// of the same name in different folders apart.
#[must_use]
pub fn unique_name(target: &Target, node: &LaneName) -> String {
    let hash = short_hash(&target.folder.to_string_lossy());
    format!("wdev-{}-{}-{node}", target.config.sandbox, &hash[..6])
}
