//! What wdev makes on this host for several sandboxes together, such as a switch or a master image.
//!
//! An entry is written before the thing is made and names every sandbox that uses it; the last one to
//! let go of it removes the thing and then the entry. All of it happens under one lock of the host's
//! user, so that two runs never make or remove the same thing at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::error::{Failure, Kind, Result, io_failure};
use crate::home::{open_lock, write_whole};

/// How often a lock that another process holds is tried.
const PAUSE: Duration = Duration::from_millis(100);
/// How long others may hold the lock: longer than making or removing one thing takes, which has its own
/// limits.
const PATIENCE: Duration = Duration::from_mins(30);

/// The ledger of one user on one host.
#[derive(Debug, Clone)]
pub struct Ledger {
    folder: PathBuf,
}

/// A thing that several sandboxes share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// What it is, such as `hyperv-switch`.
    pub kind: String,
    /// Its name on this host.
    pub name: String,
    /// What must be known to remove it, and it alone.
    #[serde(default)]
    pub facts: BTreeMap<String, String>,
    /// The folders of the sandboxes that use it.
    pub users: BTreeSet<PathBuf>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Book {
    entries: Vec<Entry>,
}

/// The ledger, open and locked.
#[derive(Debug)]
pub struct Open {
    _lock: File,
    path: PathBuf,
    book: Book,
}

impl Ledger {
    /// The ledger in `folder`, which need not exist.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// A file for another lock of this host's user, such as the one for making machines.
    #[must_use]
    pub fn lock_file(&self, what: &str) -> PathBuf {
        self.folder.join(format!("{what}.lock"))
    }

    /// Opens and locks it, waiting for others.
    ///
    /// # Errors
    /// `Busy` when another run holds it too long; `Host` when it cannot be read or made.
    pub async fn open(&self, clock: Clock) -> Result<Open> {
        let lock_path = self.lock_file("ledger");
        let lock = open_lock(&lock_path)?;
        let waiting = async {
            loop {
                match lock.try_lock() {
                    Ok(()) => return Ok(()),
                    Err(TryLockError::WouldBlock) => clock.sleep(PAUSE).await,
                    Err(TryLockError::Error(error)) => {
                        return Err(io_failure("lock", &lock_path, &error));
                    }
                }
            }
        };
        clock.timeout(PATIENCE, waiting).await.unwrap_or_else(|| {
            Err(Box::new(
                Failure::new(
                    Kind::Busy,
                    "another wdev is making or removing shared parts of the host",
                )
                .because(format!(
                    "it has held `{}` for {} s",
                    lock_path.display(),
                    PATIENCE.as_secs()
                ))
                .advise("wait until it ends, then run the same again"),
            ))
        })?;
        let path = self.folder.join("ledger.json");
        Ok(Open {
            book: read(&path)?,
            path,
            _lock: lock,
        })
    }
}

impl Open {
    /// The entry of a thing, when wdev has made it or was about to.
    #[must_use]
    pub fn find(&self, kind: &str, name: &str) -> Option<&Entry> {
        self.book
            .entries
            .iter()
            .find(|entry| entry.kind == kind && entry.name == name)
    }

    /// All entries of a kind.
    pub fn all<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.book
            .entries
            .iter()
            .filter(move |entry| entry.kind == kind)
    }

    /// Notes that `user` uses the thing, and that wdev makes it where it was not known before. The facts
    /// of a thing that is known already are kept, and new ones added. Call it before it is made.
    ///
    /// # Errors
    /// `Host` when it cannot be written.
    pub fn claim(
        &mut self,
        kind: &str,
        name: &str,
        user: &Path,
        facts: BTreeMap<String, String>,
    ) -> Result<()> {
        let known = |entry: &Entry| entry.kind == kind && entry.name == name;
        let position = self.book.entries.iter().position(known);
        match position.and_then(|at| self.book.entries.get_mut(at)) {
            Some(entry) => {
                entry.users.insert(user.to_owned());
                entry.facts.extend(facts);
            }
            None => self.book.entries.push(Entry {
                kind: kind.to_owned(),
                name: name.to_owned(),
                facts,
                users: BTreeSet::from([user.to_owned()]),
            }),
        }
        self.write()
    }

    /// Notes that `user` no longer uses the thing. Returns the entry when nobody else does, so that the
    /// caller removes the thing and then calls [`Open::forget`]; sandboxes whose folder is gone do not
    /// count as users.
    ///
    /// # Errors
    /// `Host` when it cannot be written.
    pub fn release(&mut self, kind: &str, name: &str, user: &Path) -> Result<Option<Entry>> {
        let Some(entry) = self
            .book
            .entries
            .iter_mut()
            .find(|entry| entry.kind == kind && entry.name == name)
        else {
            return Ok(None);
        };
        // The entry itself stays until the thing is gone: a run that dies in between is found.
        entry.users.retain(|other| other != user && other.exists());
        let last = entry.users.is_empty().then(|| entry.clone());
        self.write()?;
        Ok(last)
    }

    /// Forgets a thing that is gone.
    ///
    /// # Errors
    /// `Host` when it cannot be written.
    pub fn forget(&mut self, kind: &str, name: &str) -> Result<()> {
        self.book
            .entries
            .retain(|entry| entry.kind != kind || entry.name != name);
        self.write()
    }

    fn write(&self) -> Result<()> {
        let mut text = serde_json::to_vec_pretty(&self.book)
            .map_err(|error| Failure::new(Kind::Bug, "cannot write the ledger").because(error))?;
        text.push(b'\n');
        write_whole(&self.path, &text)
    }
}

fn read(path: &Path) -> Result<Book> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
            Box::new(
                Failure::new(Kind::Host, format!("`{}` is damaged", path.display()))
                    .because(error)
                    .advise("remove the file; parts that sandboxes shared may then be left on this host"),
            )
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Book::default()),
        Err(error) => Err(io_failure("read", path, &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn open(ledger: &Ledger) -> Open {
        ledger.open(Clock::new()).await.unwrap()
    }

    #[tokio::test]
    async fn the_last_user_is_told_and_the_entry_stays_until_the_thing_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b, gone) = (
            dir.path().join("a"),
            dir.path().join("b"),
            dir.path().join("c"),
        );
        for folder in [&a, &b] {
            std::fs::create_dir(folder).unwrap();
        }
        let ledger = Ledger::new(dir.path().join("state"));
        let facts = BTreeMap::from([("id".to_owned(), "7".to_owned())]);
        for user in [&a, &b, &gone] {
            let facts = facts.clone();
            open(&ledger)
                .await
                .claim("switch", "s", user, facts)
                .unwrap();
        }
        assert_eq!(
            open(&ledger).await.release("switch", "s", &a).unwrap(),
            None
        );
        let last = open(&ledger).await.release("switch", "s", &b).unwrap();
        assert_eq!(last.map(|entry| entry.facts), Some(facts));
        // Killed before the thing was removed: asked again, it is still the last.
        assert!(
            open(&ledger)
                .await
                .release("switch", "s", &b)
                .unwrap()
                .is_some()
        );
        open(&ledger).await.forget("switch", "s").unwrap();
        assert_eq!(open(&ledger).await.find("switch", "s"), None);
        assert_eq!(
            open(&ledger).await.release("switch", "s", &b).unwrap(),
            None
        );
    }
}
