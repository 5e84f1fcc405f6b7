//! One Vagrant process per machine.
//!
//! Even `vagrant status` can kill a running `vagrant up` of the same machine, so every call takes a
//! lock: a mutex among the tasks of this wdev, and a locked file among processes. On Unix the file
//! becomes Vagrant's standard input and so stays locked for as long as Vagrant runs, even when wdev is
//! killed; on Windows Vagrant dies with wdev.

use std::fs::{File, TryLockError};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::channel::Io;
use crate::clock::Clock;
use crate::error::{Failure, Kind, Result, io_failure};
use crate::home::open_lock;
use crate::stop::Level;

/// How often a lock that another process holds is tried.
const PAUSE: Duration = Duration::from_millis(200);

/// The lock of one machine.
#[derive(Debug, Clone)]
pub struct MachineLock {
    subject: Subject,
    tasks: Arc<Mutex<()>>,
    path: PathBuf,
    clock: Clock,
}

/// What a lock keeps apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    /// Vagrants of one machine.
    Machine,
    /// The making of machines on this host.
    Making,
}

impl Subject {
    /// Who has it, in words.
    const fn other(self) -> &'static str {
        match self {
            Self::Machine => "another Vagrant is at work on this machine",
            Self::Making => "another machine is being made on this host",
        }
    }
}

/// The lock, held. Dropping it lets go, unless a Vagrant that was given the file still runs.
#[derive(Debug)]
pub struct Held {
    file: File,
    _tasks: OwnedMutexGuard<()>,
}

impl Held {
    /// The locked file, empty, for the standard input of a child that keeps the lock. None on Windows,
    /// where a lock belongs to a process and would only keep the child from reading.
    #[must_use]
    pub fn for_child(&self) -> Option<File> {
        if cfg!(windows) {
            return None;
        }
        self.file.try_clone().ok()
    }
}

impl MachineLock {
    /// The lock of a machine, whose file is `path`.
    #[must_use]
    pub fn new(path: PathBuf, clock: Clock) -> Self {
        Self::of(Subject::Machine, path, clock)
    }

    /// The lock under which machines are made one after the other; its file is `path`.
    #[must_use]
    pub fn for_making(path: PathBuf, clock: Clock) -> Self {
        Self::of(Subject::Making, path, clock)
    }

    fn of(subject: Subject, path: PathBuf, clock: Clock) -> Self {
        Self {
            subject,
            tasks: Arc::default(),
            path,
            clock,
        }
    }

    /// Takes the lock, waiting for others for at most `patience`.
    ///
    /// # Errors
    /// `Busy` when another process held it all the time; `Interrupted` when `io.stop` asked for it.
    pub async fn take(&self, patience: Duration, io: &Io) -> Result<Held> {
        tokio::select! {
            biased;
            () = io.stop.reached(Level::Interrupt) => Err(Box::new(
                Failure::new(Kind::Interrupted, format!("interrupted while waiting: {}", self.subject.other())).permanent(),
            )),
            taken = self.clock.timeout(patience, self.wait(io)) => {
                taken.unwrap_or_else(|| Err(self.busy(patience)))
            }
        }
    }

    async fn wait(&self, io: &Io) -> Result<Held> {
        let tasks = Arc::clone(&self.tasks).lock_owned().await;
        let file = open_lock(&self.path)?;
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => {
                    return Ok(Held {
                        file,
                        _tasks: tasks,
                    });
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => {
                    return Err(io_failure("lock", &self.path, &error));
                }
            }
            if !told {
                told = true;
                io.note(format!("waiting: {}{}", self.subject.other(), self.who()));
            }
            self.clock.sleep(PAUSE).await;
        }
    }

    /// Remembers what is run under the lock, to be named to whoever waits.
    pub fn note_holder(&self, what: &str) {
        let text = format!("{}\n{what}\n", std::process::id());
        // Only a help: without it the messages are less exact.
        let _ = std::fs::write(self.holder(), text);
    }

    /// The process id of the wdev that last ran something under the lock.
    #[must_use]
    pub fn starter(&self) -> Option<u32> {
        let text = std::fs::read_to_string(self.holder()).ok()?;
        text.lines().next()?.trim().parse().ok()
    }

    fn holder(&self) -> PathBuf {
        self.path.with_extension("holder")
    }

    fn who(&self) -> String {
        let text = std::fs::read_to_string(self.holder()).unwrap_or_default();
        match (text.lines().nth(1), self.starter()) {
            (Some(what), Some(starter)) => format!(": {what}, started by wdev (process {starter})"),
            _ => String::new(),
        }
    }

    fn busy(&self, patience: Duration) -> Box<Failure> {
        Box::new(
            Failure::new(
                Kind::Busy,
                format!("{}{}", self.subject.other(), self.who()),
            )
            .because(format!("waited {} s for it", patience.as_secs()))
            .advise("wait until it ends, or end it, then run the same again"),
        )
    }
}
