//! Which sandboxes this user has on this host.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{open_lock, remove_file, state_folder, write_whole};
use crate::error::{Failure, Kind, Result, io_failure};

/// A sandbox as the host's index knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Indexed {
    /// The sandbox's name.
    pub sandbox: String,
    /// Its folder.
    pub folder: PathBuf,
}

/// The index of all sandboxes of this user on this host.
#[derive(Debug, Clone)]
pub struct Index {
    path: PathBuf,
}

impl Index {
    /// The index under the user's state folder, or under `WDEV_HOME`.
    ///
    /// # Errors
    /// `Host` when the user has no home folder.
    pub fn of_user() -> Result<Self> {
        Ok(Self {
            path: state_folder()?.join("sandboxes"),
        })
    }

    /// Notes a sandbox, before anything of it is made.
    ///
    /// # Errors
    /// `Host` when the index cannot be written.
    pub fn add(&self, entry: &Indexed) -> Result<()> {
        let text = serde_json::to_vec(entry)
            .map_err(|error| Failure::new(Kind::Bug, "cannot write the index").because(error))?;
        std::fs::create_dir_all(&self.path)
            .map_err(|error| io_failure("create the folder", &self.path, &error))
            .and_then(|()| write_whole(&self.file_of(&entry.folder), &text))
            .map_err(|failure| {
                Box::new(failure.advise("or set `WDEV_HOME` to a folder that wdev may use"))
            })
    }

    /// Waits until no other run of this host looks at the sandboxes to decide what it may have. The file that is
    /// returned is the lock, and ends it.
    ///
    /// # Errors
    /// `Host` when the lock's file cannot be made.
    pub fn lock(&self) -> Result<File> {
        let path = self.path.with_added_extension("lock");
        let file = open_lock(&path)?;
        file.lock()
            .map_err(|error| io_failure("lock", &path, &error))?;
        Ok(file)
    }

    /// Forgets a sandbox. Unknown is fine.
    ///
    /// # Errors
    /// `Host` when the index cannot be written.
    pub fn remove(&self, folder: &Path) -> Result<()> {
        remove_file(&self.file_of(folder))
    }

    /// All sandboxes, sorted by name and folder. What cannot be read is left out.
    #[must_use]
    pub fn all(&self) -> Vec<Indexed> {
        let mut all: Vec<Indexed> = std::fs::read_dir(&self.path)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| std::fs::read(entry.path()).ok())
            .filter_map(|bytes| serde_json::from_slice(&bytes).ok())
            .collect();
        all.sort_by(|a, b| (&a.sandbox, &a.folder).cmp(&(&b.sandbox, &b.folder)));
        all
    }

    fn file_of(&self, folder: &Path) -> PathBuf {
        let hash = blake3::hash(folder.as_os_str().as_encoded_bytes()).to_hex();
        self.path.join(format!("{}.json", &hash[..16]))
    }
}
