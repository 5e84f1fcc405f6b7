//! Files that are written whole, removed twice, or locked.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use crate::error::{Result, io_failure};
use crate::replace::{folder_of, replace};

/// Opens the file of a lock, and makes it and its folder where they are not there. What is in it stays.
///
/// # Errors
/// `Host` when it cannot be made or opened.
pub fn open_lock(path: &Path) -> Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| io_failure("create the folder", folder, &error))?;
    }
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(|error| io_failure("open the lock", path, &error))
}

/// Whether `path` still leads to the open file: a lock on a file that was removed protects nothing.
#[must_use]
pub fn leads_to(file: &File, path: &Path) -> bool {
    let open = file.try_clone().and_then(same_file::Handle::from_file);
    match (open, same_file::Handle::from_path(path)) {
        (Ok(open), Ok(named)) => open == named,
        _ => false,
    }
}

/// Writes a file in one move: whole, or not at all.
///
/// # Errors
/// `Host` when it cannot be written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |error: &std::io::Error| io_failure("write", path, error);
    let folder = folder_of(path);
    let mut file = tempfile::NamedTempFile::new_in(&folder).map_err(|error| failed(&error))?;
    file.write_all(bytes).map_err(|error| failed(&error))?;
    // Or a power cut could leave the new name with none of the bytes.
    file.as_file().sync_all().map_err(|error| failed(&error))?;
    replace(file, path).map_err(|error| failed(&error))?;
    sync_folder(&folder);
    Ok(())
}

/// Removes a file; one that is gone already is fine.
///
/// # Errors
/// `Host` when it cannot be removed.
pub fn remove_file(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(io_failure("remove", path, &error))
        }
        _ => Ok(()),
    }
}

/// Makes the names in a folder safe on disk, where the system and the file system know how to.
pub fn sync_folder(folder: &Path) {
    // Windows cannot open a folder as a file; its file systems journal names.
    if cfg!(unix) {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
}
