//! The journal: the append-only record of what happened, and the only truth about progress.
//!
//! One event is one line of JSON whose last member is a checksum of the line before it and of the line
//! itself, so that a changed, lost or moved line is noticed. A record is written with one call and
//! synced before anything that it announces is done. A torn last line, the mark of a crash in the
//! middle of a write, is ignored and overwritten; damage anywhere else stops wdev, and the file is kept.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::{Failure, Kind, Result, io_failure};
use crate::event::{EVENT_VERSION, Event};
use crate::home::sync_folder;

/// Where records go.
pub trait Store: Send {
    /// Appends bytes; returns once they are safe.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Cuts back to `length` bytes, after a record that could not be written whole.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

/// A journal on disk.
struct FileStore {
    file: File,
}

impl Store for FileStore {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.file.sync_data()
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)?;
        self.file.seek(SeekFrom::Start(length)).map(|_| ())
    }
}

/// A journal that is open for writing.
pub struct Journal {
    store: Box<dyn Store>,
    path: PathBuf,
    length: u64,
    sum: String,
    may_fail: bool,
}

/// What was read from a journal.
#[derive(Debug, Default)]
pub struct Recorded {
    /// The whole records, in order.
    pub events: Vec<Event>,
    /// Whether a torn last line was left out.
    pub torn: bool,
    length: u64,
    sum: String,
}

impl Journal {
    /// Opens the journal for writing, creating it where there is none, and reads what it holds.
    ///
    /// # Errors
    /// `Host` when the file cannot be opened, read or written, when it is damaged before its last
    /// line, or when a newer wdev wrote it.
    pub fn open(path: &Path) -> Result<(Self, Recorded)> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|error| io_failure("open the journal", path, &error))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)
            .map_err(|error| io_failure("read the journal", path, &error))?;
        if let (true, Some(folder)) = (bytes.is_empty(), path.parent()) {
            // A record is safe only if the file's name is.
            sync_folder(folder);
        }
        Self::open_in(Box::new(FileStore { file }), &bytes, path)
    }

    /// Opens a journal in any store that holds `bytes`; `path` is for messages.
    ///
    /// # Errors
    /// As for [`Journal::open`].
    pub fn open_in(
        mut store: Box<dyn Store>,
        bytes: &[u8],
        path: &Path,
    ) -> Result<(Self, Recorded)> {
        let recorded = parse(bytes, path)?;
        store
            .cut(recorded.length)
            .map_err(|error| io_failure("write to the journal", path, &error))?;
        let (length, sum) = (recorded.length, recorded.sum.clone());
        Ok((
            Self {
                store,
                path: path.to_owned(),
                length,
                sum,
                may_fail: false,
            },
            recorded,
        ))
    }

    /// From here on, records that cannot be written are lost without a failure: for what removes things,
    /// and must be able to when a full disk lets nothing be written.
    pub fn may_fail(&mut self) {
        self.may_fail = true;
    }

    /// Appends one event; returns once it is safe on disk.
    ///
    /// # Errors
    /// `Host` when it could not be written. The journal then holds what it held before.
    pub fn append(&mut self, event: &Event) -> Result<()> {
        let (line, sum) = encode(event, &self.sum)?;
        if let Err(error) = self.store.append(line.as_bytes()) {
            // What was written of the line would be a torn line to the next reader anyway.
            let _ = self.store.cut(self.length);
            if self.may_fail {
                return Ok(());
            }
            return Err(io_failure("write to the journal", &self.path, &error));
        }
        self.length += line.len() as u64;
        self.sum = sum;
        Ok(())
    }
}

/// Reads a journal without opening it for writing; a journal that is not there is empty.
///
/// # Errors
/// As for [`Journal::open`].
pub fn read(path: &Path) -> Result<Recorded> {
    match std::fs::read(path) {
        Ok(bytes) => parse(&bytes, path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Recorded::default()),
        Err(error) => Err(io_failure("read the journal", path, &error)),
    }
}

/// Reads the bytes of a journal; `path` is for messages.
///
/// # Errors
/// As for [`Journal::open`].
pub fn parse(bytes: &[u8], path: &Path) -> Result<Recorded> {
    let mut recorded = Recorded::default();
    let mut rest = bytes;
    let mut number = 0;
    while !rest.is_empty() {
        number += 1;
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (line, after) = match end {
            Some(end) => (&rest[..end], &rest[end + 1..]),
            None => (rest, &rest[..0]),
        };
        match (end, decode(line, &recorded.sum)) {
            (Some(_), Ok((event, sum))) => {
                recorded.events.push(event);
                recorded.sum = sum;
                recorded.length += line.len() as u64 + 1;
            }
            (_, Err(Unreadable::Newer(version))) => return Err(newer(path, version)),
            // The last line, whole or not, can be torn by a crash: blocks reach a disk in any order.
            _ if after.is_empty() => {
                recorded.torn = true;
                break;
            }
            (_, Err(Unreadable::Damaged(why))) => return Err(damaged(path, number, why)),
            (None, Ok(_)) => return Err(damaged(path, number, "the line has no end")),
        }
        rest = after;
    }
    Ok(recorded)
}

enum Unreadable {
    Newer(u32),
    Damaged(&'static str),
}

const SUM: &str = ",\"sum\":\"";
const SUM_DIGITS: usize = 16;

fn encode(event: &Event, previous: &str) -> Result<(String, String)> {
    let json = serde_json::to_string(event).map_err(|error| {
        Box::new(Failure::new(Kind::Bug, "cannot write an event as JSON").because(error))
    })?;
    let body = json.strip_suffix('}').unwrap_or(&json);
    let sum = checksum(previous, body);
    Ok((format!("{body}{SUM}{sum}\"}}\n"), sum))
}

fn decode(line: &[u8], previous: &str) -> std::result::Result<(Event, String), Unreadable> {
    let text = std::str::from_utf8(line).map_err(|_| Unreadable::Damaged("it is not text"))?;
    let split = text
        .strip_suffix("\"}")
        .and_then(|text| text.rsplit_once(SUM))
        .filter(|(_, sum)| sum.len() == SUM_DIGITS);
    let Some((body, sum)) = split else {
        return Err(version_of(text).unwrap_or(Unreadable::Damaged("it has no checksum")));
    };
    if checksum(previous, body) != sum {
        return Err(version_of(text).unwrap_or(Unreadable::Damaged("its checksum is wrong")));
    }
    let event: Event = serde_json::from_str(text)
        .map_err(|_| version_of(text).unwrap_or(Unreadable::Damaged("it is not an event")))?;
    if event.v > EVENT_VERSION {
        return Err(Unreadable::Newer(event.v));
    }
    Ok((event, sum.to_owned()))
}

/// A newer wdev may sum and shape its records in another way, but it says so first.
fn version_of(text: &str) -> Option<Unreadable> {
    #[derive(Deserialize)]
    struct Version {
        v: u32,
    }
    let version: Version = serde_json::from_str(text).ok()?;
    (version.v > EVENT_VERSION).then_some(Unreadable::Newer(version.v))
}

fn checksum(previous: &str, body: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(previous.as_bytes());
    hasher.update(body.as_bytes());
    hasher.finalize().to_hex()[..SUM_DIGITS].to_owned()
}

fn newer(path: &Path, version: u32) -> Box<Failure> {
    Box::new(
        Failure::new(
            Kind::Host,
            format!(
                "the journal `{}` was written by a newer wdev",
                path.display()
            ),
        )
        .because(format!(
            "its format is version {version}, this wdev knows {EVENT_VERSION}"
        ))
        .advise("use the wdev that made this sandbox, or a newer one"),
    )
}

fn damaged(path: &Path, line: usize, why: &str) -> Box<Failure> {
    Box::new(
        Failure::new(
            Kind::Host,
            format!("the journal `{}` is damaged in line {line}", path.display()),
        )
        .because(why)
        .advise("the file is left as it is; restore it from a backup if you have one")
        .advise("or run `wdev destroy`, which needs no journal, and then `wdev up`"),
    )
}
