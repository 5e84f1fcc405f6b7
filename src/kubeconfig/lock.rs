//! The lock of a user's kubeconfig, as kubectl takes it: a file `NAME.lock` beside it that only one
//! program can make.
//!
//! Source: `lockFile` in staging/src/k8s.io/client-go/tools/clientcmd/loader.go. kubectl does not wait:
//! it fails while the file is there, whoever made it. So the file is held for as short as possible, and
//! one that a killed wdev has left is removed by the next: all runs of a user keep each other away by a
//! lock of the system first, which dies with its process.

use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::NamedTempFile;

use super::file::target;
use crate::clock::Clock;
use crate::error::{Failure, Kind, Result, io_failure};
use crate::home::{open_lock, state_folder};
use crate::replace::folder_of;

/// How long others may hold the lock; what is done under it takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);

/// The lock; released when dropped.
#[derive(Debug)]
pub struct Held {
    made: Vec<PathBuf>,
    _own: File,
}

impl Drop for Held {
    fn drop(&mut self) {
        for path in &self.made {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Locks the kubeconfig `path` and the file that it leads to, waiting for others. Whoever drops the
/// returned future while it waits holds nothing.
///
/// # Errors
/// `Busy` when another program holds it too long; `Host` when it cannot be locked.
pub async fn lock(path: &Path, clock: Clock) -> Result<Held> {
    let state = state_folder()?;
    let mut held = Held {
        made: Vec::new(),
        _own: own(&state, clock).await?,
    };
    let mut locks = vec![lock_of(path), lock_of(&target(path)?)];
    locks.sort();
    locks.dedup();
    // What a lock of ours says: only a run with this state folder may call it left over.
    let mark = format!("wdev {}\n", state.display());
    for lock in locks {
        let made = clock.timeout(PATIENCE, make(&lock, &mark, clock)).await;
        made.unwrap_or_else(|| Err(busy(path, &lock)))?;
        held.made.push(lock);
    }
    Ok(held)
}

fn lock_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

/// Keeps the user's other runs away.
async fn own(state: &Path, clock: Clock) -> Result<File> {
    let path = state.join("kubeconfig.lock");
    let file = open_lock(&path)?;
    let waiting = async {
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) => clock.sleep(PAUSE).await,
                Err(TryLockError::Error(error)) => return Err(io_failure("lock", &path, &error)),
            }
        }
    };
    let locked = clock.timeout(PATIENCE * 6, waiting).await;
    locked.unwrap_or_else(|| {
        Err(Box::new(
            Failure::new(Kind::Busy, "another wdev is changing a kubeconfig")
                .because(format!("it has held `{}` too long", path.display()))
                .advise("wait until it ends, then run the same again"),
        ))
    })?;
    Ok(file)
}

async fn make(lock: &Path, mark: &str, clock: Clock) -> Result<()> {
    let folder = folder_of(lock);
    if !folder.is_dir() {
        // kubectl makes it too; see `file::write` for why it is the owner's alone.
        super::file::make_folder(&folder)
            .map_err(|error| io_failure("make the folder", &folder, &error))?;
    }
    loop {
        // With its text from the first moment on: an empty one would be nobody's.
        let mut new = NamedTempFile::new_in(&folder)
            .map_err(|error| io_failure("write in", &folder, &error))?;
        new.write_all(mark.as_bytes())
            .map_err(|error| io_failure("write", new.path(), &error))?;
        match new.persist_noclobber(lock) {
            Ok(_) => return Ok(()),
            Err(kept) if kept.error.kind() == ErrorKind::AlreadyExists => {}
            Err(kept) => return Err(io_failure("make", lock, &kept.error)),
        }
        if std::fs::read(lock).is_ok_and(|text| text == mark.as_bytes()) {
            let _ = std::fs::remove_file(lock);
        } else {
            clock.sleep(PAUSE).await;
        }
    }
}

fn busy(path: &Path, lock: &Path) -> Box<Failure> {
    Box::new(
        Failure::new(
            Kind::Busy,
            format!("another program is changing `{}`", path.display()),
        )
        .because(format!("its lock `{}` is there", lock.display()))
        .advise(format!(
            "run the same again; when no kubectl is at work, one has died: remove `{}`",
            lock.display()
        )),
    )
}
