//! The folder of a sandbox, and the lock that lets one run at a time have it.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{leads_to, open_lock, sync_folder, write_whole};
use crate::error::{Failure, Kind, Result, io_failure};
use crate::event::logs::step_log_name;
use crate::names::{LaneName, RunId, StepId};

/// How often, and after what pause, a lock is tried again that may only be looked at.
const LOOKS: u32 = 5;
const LOOK: Duration = Duration::from_millis(20);

/// The folders of one sandbox: `.wdev/SANDBOX/` beside `variables.yml`.
#[derive(Debug, Clone)]
pub struct SandboxFolder {
    path: PathBuf,
}

impl SandboxFolder {
    /// The folder of sandbox `name` of the project in `project`.
    #[must_use]
    pub fn new(project: &Path, name: &str) -> Self {
        Self {
            path: project.join(".wdev").join(name),
        }
    }

    /// The folder of a sandbox whose path is known.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The journal.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.path.join("journal.jsonl")
    }

    /// What leads to the cluster, as its administrator: the owner's alone.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.path.join("kubeconfig")
    }

    /// What of the sandbox stands in which kubeconfigs of the user.
    #[must_use]
    pub fn merged(&self) -> PathBuf {
        self.path.join("merged.json")
    }

    /// Where a damaged journal is kept once `destroy` had to go on without it.
    #[must_use]
    pub fn damaged_journal(&self) -> PathBuf {
        self.journal().with_added_extension("damaged")
    }

    /// What the sandbox was last made of.
    #[must_use]
    pub fn record(&self) -> PathBuf {
        self.path.join("sandbox.json")
    }

    /// What was rendered: readable, and usable by hand.
    #[must_use]
    pub fn rendered(&self) -> PathBuf {
        self.path.join("rendered")
    }

    /// The simulated world.
    #[must_use]
    pub fn sim(&self) -> PathBuf {
        self.path.join("sim")
    }

    /// The logs of one run.
    #[must_use]
    pub fn logs(&self, run: &RunId) -> PathBuf {
        self.path.join("logs").join(run.as_str())
    }

    /// The log of one step of one run.
    #[must_use]
    pub fn step_log(&self, run: &RunId, lane: &LaneName, step: &StepId) -> PathBuf {
        self.logs(run).join(step_log_name(lane, step))
    }

    /// Whether anything of the sandbox is there.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.path.is_dir()
    }

    /// Makes the folder.
    ///
    /// # Errors
    /// `Host` when it cannot be made.
    pub fn create(&self) -> Result<()> {
        std::fs::create_dir_all(&self.path)
            .map_err(|error| io_failure("create the folder", &self.path, &error))?;
        // Its own name and that of `.wdev`: both may be new.
        self.path.ancestors().skip(1).take(2).for_each(sync_folder);
        Ok(())
    }

    /// Removes the folder, and `.wdev` when nothing else is in it. The lock must be held.
    ///
    /// # Errors
    /// `Host` when something cannot be removed.
    pub fn remove(&self, lock: Lock) -> Result<()> {
        let gone = |result: std::io::Result<()>, path: &Path| match result {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(io_failure("remove", path, &error))
            }
            _ => Ok(()),
        };
        let entries = std::fs::read_dir(&self.path)
            .map_err(|error| io_failure("read the folder", &self.path, &error))?;
        for entry in entries.flatten() {
            let path = entry.path();
            if path == lock.path {
                continue;
            }
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let removed = if is_dir {
                std::fs::remove_dir_all(&path)
            } else {
                std::fs::remove_file(&path)
            };
            gone(removed, &path)?;
        }
        // The lock goes last, and goes while it is held: see `leads_to`.
        gone(std::fs::remove_file(&lock.path), &lock.path)?;
        drop(lock.file);
        // A run that has begun since, or another sandbox, keeps its folder.
        let _ = std::fs::remove_dir(&self.path);
        if let Some(parent) = self.path.parent() {
            let _ = std::fs::remove_dir(parent);
        }
        Ok(())
    }

    /// Takes the sandbox for this run. The lock ends with the process, however that ends.
    ///
    /// # Errors
    /// `Busy` when another run has it; `Host` when the lock file cannot be made.
    pub fn lock(&self, command: &str) -> Result<Lock> {
        if self.path.to_str().is_none() {
            let shown = self.path.display();
            return Err(Box::new(
                Failure::new(Kind::Host, format!("`{shown}` is not UTF-8"))
                    .because("the folder's name goes into files that must be")
                    .advise("rename the folder, or use another"),
            ));
        }
        let path = self.path.join("lock");
        let mut tries = 0;
        let file = loop {
            self.create()?;
            let file = open_lock(&path)?;
            match file.try_lock() {
                Ok(()) if leads_to(&file, &path) => break file,
                // A `destroy` removed it between the two calls; the next file is nobody's yet.
                Ok(()) => {}
                // `holder` takes it for a moment; a run has it for longer.
                Err(TryLockError::WouldBlock) if tries < LOOKS => {
                    tries += 1;
                    std::thread::sleep(LOOK);
                }
                Err(TryLockError::WouldBlock) => return Err(self.busy()),
                Err(TryLockError::Error(error)) => return Err(io_failure("lock", &path, &error)),
            }
        };
        let holder = Holder {
            pid: std::process::id(),
            command: command.to_owned(),
            since: Timestamp::now(),
        };
        // Only told to people: the lock itself is the file's. A full disk must not keep `destroy` from
        // freeing it.
        if let Ok(text) = serde_json::to_vec(&holder) {
            let _ = write_whole(&self.path.join("holder.json"), &text);
        }
        Ok(Lock { file, path })
    }

    /// Who holds the lock now, if anyone does.
    #[must_use]
    pub fn holder(&self) -> Option<Holder> {
        let file = File::open(self.path.join("lock")).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(self.read_holder()),
            _ => None,
        }
    }

    fn read_holder(&self) -> Holder {
        std::fs::read(self.path.join("holder.json"))
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or(Holder {
                pid: 0,
                command: "unknown".to_owned(),
                since: Timestamp::now(),
            })
    }

    fn busy(&self) -> Box<Failure> {
        let Holder {
            pid,
            command,
            since,
        } = self.read_holder();
        let mut failure = Failure::new(
            Kind::Busy,
            format!("another run holds the sandbox in `{}`", self.path.display()),
        );
        // It may have begun this very moment.
        if pid != 0 {
            failure = failure.because(format!(
                "`wdev {command}` with process id {pid}, since {since:.0}"
            ));
        }
        Box::new(failure.advise("wait until it ends, or stop it with Ctrl-C where it runs"))
    }
}

/// The lock of a sandbox; released when dropped and when the process ends.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

/// Who holds a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// The command.
    pub command: String,
    /// Since when.
    pub since: Timestamp,
}
