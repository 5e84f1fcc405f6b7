//! What is known of URLs from earlier runs, so that the same need not be asked again.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::config::redact_url;
use crate::error::{Failure, Kind, Result, io_failure};
use crate::home::write_whole;

/// Notes in the cache's folder.
#[derive(Debug)]
pub struct Memory {
    folder: PathBuf,
}

/// What a URL gave.
#[derive(Debug, Serialize, Deserialize)]
struct File {
    url: String,
    sha256: String,
}

/// What a checksum or marker file said.
#[derive(Debug, Serialize, Deserialize)]
struct Text {
    url: String,
    text: String,
}

impl Memory {
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// The hash of the file that a URL once gave.
    pub fn hash(&self, url: &str) -> Option<String> {
        read::<File>(&self.path("urls", url)).map(|file| file.sha256)
    }

    /// The hash and the URL of every file that once came, without passwords.
    pub fn files(&self) -> impl Iterator<Item = (String, String)> {
        let entries = std::fs::read_dir(self.folder.join("urls"));
        let entries = entries.into_iter().flatten().flatten();
        entries
            .filter_map(|entry| read::<File>(&entry.path()))
            .map(|file| (file.sha256, file.url))
    }

    pub fn keep_hash(&self, url: &str, sha256: &str) -> Result<()> {
        let file = File {
            url: redact_url(url).into_owned(),
            sha256: sha256.to_owned(),
        };
        write(&self.path("urls", url), &file)
    }

    /// What the text at a URL once was.
    pub fn text(&self, url: &str) -> Option<String> {
        read::<Text>(&self.path("texts", url)).map(|text| text.text)
    }

    pub fn keep_text(&self, url: &str, text: &str) -> Result<()> {
        let kept = Text {
            url: redact_url(url).into_owned(),
            text: text.to_owned(),
        };
        write(&self.path("texts", url), &kept)
    }

    fn path(&self, kind: &str, url: &str) -> PathBuf {
        self.folder.join(kind).join(format!("{}.json", key(url)))
    }
}

/// A name for a URL that is safe as a file's, and tells nothing of a password in it.
pub fn key(url: &str) -> String {
    blake3::hash(url.as_bytes()).to_hex().to_string()
}

/// What cannot be read is not known: it is only a memory.
pub fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let bytes = std::fs::read(path).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Writes what was learnt in one move.
///
/// # Errors
/// `Host` when it cannot be written.
pub fn write<T: Serialize>(path: &Path, what: &T) -> Result<()> {
    let text = serde_json::to_vec_pretty(what)
        .map_err(|error| Failure::new(Kind::Bug, "cannot write what was learnt").because(error))?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| io_failure("create the folder", folder, &error))?;
    }
    write_whole(path, &text)
}
