//! What of a sandbox stands in which kubeconfigs of its user. Written before it is put there, and
//! forgotten after it was taken out, so that `destroy` finds it whenever wdev was killed.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Failure, Kind, Result, io_failure};
use crate::home::{remove_file, write_whole};

/// The version of the format.
const VERSION: u32 = 1;

/// What of a sandbox stands in the kubeconfigs of its user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Merged {
    version: u32,
    /// The kubeconfigs that have entries of ours, or are about to.
    pub files: Vec<InFile>,
}

/// What stands in one kubeconfig.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InFile {
    /// The kubeconfig, by the name that the user has for it.
    pub file: PathBuf,
    /// The name of our cluster, context and user in it; empty until one is chosen.
    pub name: String,
    /// Whether the file was made for them.
    #[serde(default)]
    pub created: bool,
    /// The context that was the current one before ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_before: Option<String>,
    /// The hashes of the authorities that make a cluster of this name ours.
    pub authorities: Vec<String>,
    /// The hashes of the certificates that make a user of this name ours.
    pub certificates: Vec<String>,
}

impl InFile {
    /// Nothing yet.
    #[must_use]
    pub fn nothing(file: &Path) -> Self {
        Self {
            file: file.to_owned(),
            name: String::new(),
            created: false,
            context_before: None,
            authorities: Vec::new(),
            certificates: Vec::new(),
        }
    }
}

impl Merged {
    /// What the file says; nothing stands anywhere where there is none.
    ///
    /// # Errors
    /// `Host` when it cannot be read, or is not what wdev wrote.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = match std::fs::read(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self {
                    version: VERSION,
                    files: Vec::new(),
                });
            }
            read => read.map_err(|error| io_failure("read", path, &error))?,
        };
        let damaged = |why: String| {
            Box::new(
                Failure::new(Kind::Host, format!("`{}` is damaged", path.display()))
                    .because(why)
                    .advise(
                        "remove it; what was merged into a kubeconfig before then stays there, by \
                         names that begin with `wdev-`",
                    ),
            )
        };
        let merged: Self =
            serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if merged.version == VERSION {
            Ok(merged)
        } else {
            Err(damaged("another version of wdev wrote it".to_owned()))
        }
    }

    /// Writes it in one move; nothing is no file.
    ///
    /// # Errors
    /// `Host` when it cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        if self.files.is_empty() {
            return remove_file(path);
        }
        let mut text = serde_json::to_vec_pretty(self).map_err(|error| {
            Failure::new(Kind::Bug, "cannot write what was merged").because(error)
        })?;
        text.push(b'\n');
        write_whole(path, &text)
    }

    /// What stands in this file.
    #[must_use]
    pub fn of(&self, file: &Path) -> Option<&InFile> {
        self.files.iter().find(|known| known.file == file)
    }

    /// Puts it in the place of what was known of the same file.
    pub fn put(&mut self, new: InFile) {
        match self.files.iter_mut().find(|known| known.file == new.file) {
            Some(known) => *known = new,
            None => self.files.push(new),
        }
    }
}
