//! Names that are unique on the host, so that sandboxes never collide.

use std::path::Path;

use crate::engine::step::short_hash;

/// What the names of all that a sandbox has on this host begin with, `wdev-SANDBOX-HASH`; also the name
/// of its network. The hash tells sandboxes of the same name in different folders apart. A sandbox keeps
/// its prefix when its folder is moved: see `Record::network`.
#[must_use]
pub fn unique_prefix(sandbox: &str, folder: &Path) -> String {
    let hash = short_hash(&folder.to_string_lossy());
    format!("wdev-{sandbox}-{}", &hash[..6])
}
