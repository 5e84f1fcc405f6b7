//! A download that is not whole yet.
//!
//! What has come lies in `KEY.part`; beside it, written before the first byte, what its server said of
//! it, so that a later attempt can ask for the rest of the same file and of no other.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use reqwest::Response;
use reqwest::header::{self, HeaderMap, HeaderName};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tempfile::{NamedTempFile, TempPath};
use tokio::sync::mpsc;

use super::checksum::hex;
use super::{fault, memory};
use crate::error::{Result, io_failure};
use crate::home::{remove_file, sync_folder};
use crate::replace::{folder_of, replace};

/// How much is read at once when a file is hashed.
const BUFFER: usize = 1 << 20;

/// The place of an unfinished download.
#[derive(Debug, Clone)]
pub struct Part {
    folder: PathBuf,
    key: String,
}

/// What tells one state of a file on a server from another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    etag: Option<String>,
    last_modified: Option<String>,
    pub total: Option<u64>,
}

/// A file with its hash.
#[derive(Debug)]
pub struct Hashed {
    pub sha256: String,
    pub bytes: u64,
}

impl Part {
    pub fn new(folder: &Path, key: String) -> Self {
        Self {
            folder: folder.to_owned(),
            key,
        }
    }

    pub fn path(&self) -> PathBuf {
        self.with(".part")
    }

    pub fn lock(&self) -> PathBuf {
        self.with(".lock")
    }

    fn seen_path(&self) -> PathBuf {
        self.with(".json")
    }

    fn with(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}{ending}", self.key))
    }

    /// How much has come.
    pub fn length(&self) -> u64 {
        std::fs::metadata(self.path()).map_or(0, |metadata| metadata.len())
    }

    /// What the server said when it came.
    pub fn seen(&self) -> Option<Seen> {
        memory::read(&self.seen_path())
    }

    /// Begins anew with a file of which the server says `seen`.
    pub fn begin(&self, seen: &Seen) -> Result<()> {
        let path = self.path();
        // In this order: old bytes with a new description would be taken for the beginning of the new file.
        File::create(&path).map_err(|error| fault::unwritable(&path, &error, seen.total))?;
        memory::write(&self.seen_path(), seen)
    }

    /// Removes what has come.
    pub fn remove(&self) -> Result<()> {
        remove_file(&self.path())?;
        remove_file(&self.seen_path())
    }

    /// Moves the whole file to `place`, safe on disk before it has its name.
    pub fn settle(&self, place: &Path) -> Result<()> {
        let path = self.path();
        let failed = |error: &io::Error| fault::unwritable(place, error, None);
        let file = OpenOptions::new()
            .append(true)
            .open(&path)
            .map_err(|error| failed(&error))?;
        file.sync_all().map_err(|error| failed(&error))?;
        let whole = TempPath::try_from_path(&path).map_err(|error| failed(&error))?;
        replace(NamedTempFile::from_parts(file, whole), place).map_err(|error| failed(&error))?;
        sync_folder(&folder_of(place));
        remove_file(&self.seen_path())
    }
}

impl Seen {
    /// Of an answer of which nothing was read yet.
    pub fn of(response: &Response) -> Self {
        Self {
            // A weak one names files that only mean the same.
            etag: text(response.headers(), &header::ETAG).filter(|etag| !etag.starts_with("W/")),
            last_modified: text(response.headers(), &header::LAST_MODIFIED),
            // What is still to come of the body.
            total: response.content_length(),
        }
    }

    /// The same of a part, whose own length says nothing of the whole.
    pub fn with_total(self, total: Option<u64>) -> Self {
        Self { total, ..self }
    }

    /// What `If-Range` is to say.
    pub fn validator(&self) -> Option<&str> {
        self.etag.as_deref().or(self.last_modified.as_deref())
    }

    /// Whether an answer speaks of another state of the file. What one of the two does not say proves
    /// nothing.
    pub fn differs(&self, other: &Self) -> bool {
        fn differ<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
            matches!((one, other), (Some(one), Some(other)) if one != other)
        }
        differ(self.etag.as_ref(), other.etag.as_ref())
            || differ(self.last_modified.as_ref(), other.last_modified.as_ref())
            || differ(self.total.as_ref(), other.total.as_ref())
    }
}

/// Start and whole length of a partial answer; no start where there is only the length.
pub fn range(headers: &HeaderMap) -> Option<(Option<u64>, Option<u64>)> {
    let text = text(headers, &header::CONTENT_RANGE)?;
    let (range, total) = text.trim().strip_prefix("bytes")?.trim().split_once('/')?;
    let start = range
        .split_once('-')
        .and_then(|(start, _)| start.parse().ok());
    Some((start, total.parse().ok()))
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(ToOwned::to_owned)
}

/// Appends what comes to the file at `path`, and hashes it with what is there. Blocks; ends when nothing
/// more can come.
///
/// # Errors
/// When something cannot be read or written.
pub fn append<T: AsRef<[u8]>>(path: &Path, mut chunks: mpsc::Receiver<T>) -> io::Result<Hashed> {
    let mut hasher = Hasher::default();
    let mut file = OpenOptions::new().read(true).append(true).open(path)?;
    hasher.read(&mut file)?;
    while let Some(chunk) = chunks.blocking_recv() {
        file.write_all(chunk.as_ref())?;
        hasher.update(chunk.as_ref());
    }
    Ok(hasher.finish())
}

/// The hash of the file at `path`.
///
/// # Errors
/// `Host` when it cannot be read.
pub fn hash(path: &Path) -> Result<Hashed> {
    let hashed = File::open(path).and_then(|mut file| {
        let mut hasher = Hasher::default();
        hasher.read(&mut file)?;
        Ok(hasher.finish())
    });
    hashed.map_err(|error| io_failure("read", path, &error))
}

#[derive(Default)]
pub struct Hasher {
    state: Sha256,
    bytes: u64,
}

impl Hasher {
    pub fn update(&mut self, bytes: &[u8]) {
        self.state.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    /// Everything to the end of `from`.
    pub fn read(&mut self, from: &mut impl Read) -> io::Result<()> {
        self.copy(from, &mut io::sink())
    }

    /// The same, and writes it to `to`.
    pub fn copy(&mut self, from: &mut impl Read, to: &mut impl io::Write) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER];
        loop {
            let length = match from.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let bytes = buffer.get(..length).unwrap_or_default();
            to.write_all(bytes)?;
            self.update(bytes);
        }
    }

    pub fn finish(self) -> Hashed {
        Hashed {
            sha256: hex(&self.state.finalize()),
            bytes: self.bytes,
        }
    }
}
