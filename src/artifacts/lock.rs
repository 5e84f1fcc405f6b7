//! One download of a file at a time, among tasks and among processes.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::channel::Io;
use crate::clock::Clock;
use crate::error::{Failure, Kind, Result, io_failure};
use crate::home::{leads_to, open_lock};

/// How often a lock that another one holds is tried.
const PAUSE: Duration = Duration::from_millis(100);
/// How often and after what pause the cache is tried while something is removed from it: that takes
/// moments.
const LOOKS: u32 = 250;
const LOOK: Duration = Duration::from_millis(20);

/// A lock on a file's name; let go when dropped, and when the process ends.
#[derive(Debug)]
pub struct Held {
    _file: File,
    path: PathBuf,
}

impl Held {
    /// Removes the lock's file while the lock is held: nobody needs the name any more.
    pub fn remove(&self) {
        // Whoever has it open finds out: see `try_take`.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Takes the lock if nobody has it.
///
/// # Errors
/// `Host` when its file cannot be made or locked.
pub fn try_take(path: &Path) -> Result<Option<Held>> {
    loop {
        let file = open_lock(path)?;
        match file.try_lock() {
            // Removed by the one before between the two calls: the next file is nobody's yet.
            Ok(()) if !leads_to(&file, path) => {}
            Ok(()) => {
                return Ok(Some(Held {
                    _file: file,
                    path: path.to_owned(),
                }));
            }
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(io_failure("lock", path, &error)),
        }
    }
}

/// Takes the lock, waiting for others for at most `patience`, and says so.
///
/// # Errors
/// `Busy` when another one held it all the time; `Host` when it cannot be locked.
pub async fn take(
    path: &Path,
    name: &str,
    patience: Duration,
    clock: Clock,
    io: &Io,
) -> Result<Held> {
    let waiting = async {
        let mut told = false;
        loop {
            if let Some(held) = try_take(path)? {
                return Ok(held);
            }
            if !told {
                told = true;
                io.note(format!(
                    "waiting for another run of wdev that fetches {name}"
                ));
            }
            clock.sleep(PAUSE).await;
        }
    };
    clock.timeout(patience, waiting).await.unwrap_or_else(|| {
        let shown = path.display();
        Err(Box::new(
            Failure::new(Kind::Busy, format!("another run of wdev fetches {name}"))
                .because(format!("waited {} s for `{shown}`", patience.as_secs()))
                .advise("wait until it ends, or end it, then run the same again"),
        ))
    })
}

/// Notes that this process uses the cache, for as long as the file is kept.
///
/// # Errors
/// `Busy` when something is removed from the cache and that takes too long; `Host` when it cannot be
/// locked.
pub fn share(path: &Path) -> Result<File> {
    let file = open_lock(path)?;
    for _ in 0..LOOKS {
        match file.try_lock_shared() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK),
            Err(TryLockError::Error(error)) => return Err(io_failure("lock", path, &error)),
        }
    }
    Err(Box::new(
        Failure::new(Kind::Busy, "`wdev cache prune` is at work")
            .because(format!("it holds `{}`", path.display()))
            .advise("wait until it ends, then run the same again"),
    ))
}

/// Takes the whole cache, if no process uses it.
///
/// # Errors
/// `Host` when it cannot be locked.
pub fn alone(path: &Path) -> Result<Option<File>> {
    let file = open_lock(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(io_failure("lock", path, &error)),
    }
}
