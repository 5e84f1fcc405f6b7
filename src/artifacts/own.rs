//! Files of the user's own: copied into the cache, so that a later build of theirs changes nothing.

use std::fs::File;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::fault;
use super::part::{self, Hashed, Hasher};
use crate::error::{Failure, Kind, Result, io_failure};
use crate::home::sync_folder;
use crate::replace::{folder_of, replace};

/// What temporary files in the cache begin with.
pub const TEMPORARY: &str = "own-";

/// The path that `url` is, where it is no URL.
pub fn path(url: &str) -> Option<PathBuf> {
    (!url.contains("://")).then(|| PathBuf::from(url))
}

/// Copies the file at `from` into the cache, unless it is there. `place` tells where a file with a hash
/// belongs; `temporary` is a folder of the same file system. Returns also whether it was there. Blocks.
///
/// # Errors
/// `Host` when it cannot be read or written, changes meanwhile, or is not the file with the hash `wanted`.
pub fn keep(
    name: &str,
    from: &Path,
    wanted: Option<&str>,
    temporary: &Path,
    place: impl Fn(&str) -> PathBuf,
) -> Result<(Hashed, bool)> {
    let hashed = part::hash(from).map_err(|failure| {
        Box::new(failure.advise(format!("this is the file that was named for {name}")))
    })?;
    let shown = from.display();
    if let Some(wanted) = wanted
        && wanted != hashed.sha256
    {
        return Err(Box::new(
            Failure::new(
                Kind::Host,
                format!("`{shown}` is not the {name} that is wanted"),
            )
            .because(format!(
                "its SHA-256 is `{}`, not `{wanted}`",
                hashed.sha256
            ))
            .advise("if you have built it anew, run `wdev lock --update`")
            .permanent(),
        ));
    }
    let place = place(&hashed.sha256);
    if place.is_file() {
        return Ok((hashed, true));
    }
    let unwritable = |error: &std::io::Error| fault::unwritable(&place, error, Some(hashed.bytes));
    let mut copy = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempfile_in(temporary)
        .map_err(|error| unwritable(&error))?;
    let copied = copy_into(from, &mut copy)?.map_err(|error| unwritable(&error))?;
    if copied.sha256 != hashed.sha256 {
        return Err(Box::new(
            Failure::new(Kind::Host, format!("`{shown}` changes while it is read"))
                .advise("wait until whatever writes it has ended, then run the same again"),
        ));
    }
    copy.as_file()
        .sync_all()
        .map_err(|error| unwritable(&error))?;
    replace(copy, &place).map_err(|error| unwritable(&error))?;
    sync_folder(&folder_of(&place));
    Ok((hashed, false))
}

fn copy_into(from: &Path, to: &mut NamedTempFile) -> Result<std::io::Result<Hashed>> {
    let mut file = File::open(from).map_err(|error| io_failure("read", from, &error))?;
    let mut hasher = Hasher::default();
    Ok(hasher
        .copy(&mut file, to.as_file_mut())
        .map(|()| hasher.finish()))
}
