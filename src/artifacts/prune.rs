//! Removes from the cache what nobody needs.
//!
//! A file that is being fetched is held by its lock and stays. Every other wdev that uses the cache holds
//! the cache's own lock, shared: then only what was not used for long goes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::DirEntry;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::memory::Memory;
use super::part::Part;
use super::{checksum, lock, own};
use crate::error::{Result, io_failure};
use crate::home::remove_file;

/// What is not used for so long goes.
pub const UNUSED: Duration = Duration::from_hours(30 * 24);

/// What is to go.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Everything, not only what nobody needs.
    pub all: bool,
    /// Only tell.
    pub dry_run: bool,
    /// Hashes of the files that sandboxes need.
    pub needed: BTreeSet<String>,
    /// From when on something counts as used.
    pub since: SystemTime,
}

impl Rule {
    /// What was not used for [`UNUSED`] and no sandbox needs; with `all` everything.
    #[must_use]
    pub fn new(needed: BTreeSet<String>, all: bool, dry_run: bool) -> Self {
        let now = SystemTime::now();
        Self {
            all,
            dry_run,
            needed,
            since: now.checked_sub(UNUSED).unwrap_or(SystemTime::UNIX_EPOCH),
        }
    }
}

/// A file that went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Where it came from, without a password; its hash where nobody knows.
    pub what: String,
    /// Its length.
    pub bytes: u64,
}

/// What was removed, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The files, in the order of their names.
    pub files: Vec<Removed>,
    /// Whether another wdev uses the cache, so that `all` did not count.
    pub busy: bool,
}

/// Removes from the cache in `folder` what the rule says.
///
/// # Errors
/// `Host` when something cannot be looked at or removed.
pub fn prune(folder: &Path, rule: &Rule) -> Result<Pruned> {
    if !folder.is_dir() {
        return Ok(Pruned::default());
    }
    // Let go at the end: whoever comes meanwhile waits.
    let alone = lock::alone(&folder.join("lock"))?;
    let rule = Rule {
        all: rule.all && alone.is_some(),
        ..rule.clone()
    };
    let mut files = whole(folder, &rule)?;
    files.append(&mut unfinished(
        &folder.join("partial"),
        &rule,
        alone.is_some(),
    )?);
    if rule.all && !rule.dry_run {
        for memories in ["urls", "texts"] {
            for entry in entries(&folder.join(memories))? {
                remove_file(&entry.path())?;
            }
        }
    }
    files.sort_by(|a, b| a.what.cmp(&b.what));
    Ok(Pruned {
        files,
        busy: alone.is_none(),
    })
}

/// Files that are whole.
fn whole(folder: &Path, rule: &Rule) -> Result<Vec<Removed>> {
    let origins: BTreeMap<String, String> = Memory::new(folder).files().collect();
    let mut removed = Vec::new();
    for entry in entries(&folder.join("sha256"))? {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some((bytes, used)) = facts(&entry) else {
            continue;
        };
        let keeps = rule.needed.contains(&name) || used >= rule.since;
        if checksum::normal(&name).is_none() || (keeps && !rule.all) {
            continue;
        }
        if !rule.dry_run {
            remove_file(&entry.path())?;
        }
        removed.push(Removed {
            what: origins.get(&name).cloned().unwrap_or(name),
            bytes,
        });
    }
    Ok(removed)
}

/// Downloads that were cut, and what belongs to them. Copies of the user's files have no lock of their
/// own: they go only when no other wdev is there.
fn unfinished(folder: &Path, rule: &Rule, alone: bool) -> Result<Vec<Removed>> {
    let mut removed = Vec::new();
    let mut keys = BTreeSet::new();
    for entry in entries(folder)? {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(own::TEMPORARY) {
            if alone && let Some((bytes, _)) = facts(&entry) {
                removed.push(go(&path, "a copy that was not finished", bytes, rule)?);
            }
        } else if let Some(key) = path.file_stem().and_then(|stem| stem.to_str()) {
            keys.insert(key.to_owned());
        }
    }
    for key in keys {
        let part = Part::new(folder, key);
        let was_locked_once = part.lock().exists();
        let Some(held) = lock::try_take(&part.lock())? else {
            continue;
        };
        let used = std::fs::metadata(part.path()).and_then(|metadata| metadata.modified());
        let goes = rule.all || used.map_or(true, |used| used < rule.since);
        if goes {
            let bytes = part.length();
            if bytes > 0 {
                let path = part.path();
                removed.push(go(&path, "a download that was not finished", bytes, rule)?);
            }
            if !rule.dry_run {
                part.remove()?;
            }
        }
        if (goes && !rule.dry_run) || !was_locked_once {
            held.remove();
        }
    }
    Ok(removed)
}

fn go(path: &Path, what: &str, bytes: u64, rule: &Rule) -> Result<Removed> {
    if !rule.dry_run {
        remove_file(path)?;
    }
    Ok(Removed {
        what: what.to_owned(),
        bytes,
    })
}

fn facts(entry: &DirEntry) -> Option<(u64, SystemTime)> {
    // It may have gone this moment.
    let metadata = entry.metadata().ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}

/// What is in a folder, which need not exist.
fn entries(folder: &Path) -> Result<Vec<DirEntry>> {
    let failed = |error: &std::io::Error| io_failure("read the folder", folder, error);
    match std::fs::read_dir(folder) {
        Ok(all) => all
            .map(|entry| entry.map_err(|error| failed(&error)))
            .collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(failed(&error)),
    }
}
