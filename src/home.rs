//! Where things are on disk, and the lock that lets one run at a time have a sandbox.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use etcetera::BaseStrategy;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::{Failure, Kind, Result, io_failure};
use crate::event::logs::step_log_name;
use crate::names::{LaneName, RunId, StepId};
use crate::replace::{folder_of, replace};

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

/// The folder in which wdev keeps what it must know of this host: the user's state folder, or one under
/// `WDEV_HOME`. It need not exist.
///
/// # Errors
/// `Host` when the user has no home folder.
pub fn state_folder() -> Result<PathBuf> {
    if let Some(home) = moved()? {
        return Ok(home.join("state"));
    }
    let strategy = strategy()?;
    let state = strategy.state_dir().unwrap_or_else(|| strategy.data_dir());
    Ok(state.join("wdev"))
}

/// The folder in which wdev keeps what it can fetch or make again: the user's cache folder, or one under
/// `WDEV_HOME`. It need not exist.
///
/// # Errors
/// `Host` when the user has no home folder.
pub fn cache_folder() -> Result<PathBuf> {
    match moved()? {
        Some(home) => Ok(home.join("cache")),
        None => Ok(strategy()?.cache_dir().join("wdev")),
    }
}

/// `WDEV_HOME`, when it is set.
fn moved() -> Result<Option<PathBuf>> {
    let home = std::env::var_os("WDEV_HOME").filter(|home| !home.is_empty());
    // Another folder to run in must not mean another index.
    home.map(|home| {
        std::path::absolute(&home).map_err(|error| io_failure("find", Path::new(&home), &error))
    })
    .transpose()
}

fn strategy() -> Result<impl BaseStrategy> {
    etcetera::choose_base_strategy().map_err(|error| {
        Box::new(
            Failure::new(Kind::Host, "cannot find your home folder")
                .because(error)
                .advise("set `WDEV_HOME` to a folder that wdev may use"),
        )
    })
}

/// Opens the file of a lock, and makes it and its folder where they are not there. What is in it stays.
///
/// # Errors
/// `Host` when it cannot be made or opened.
pub fn open_lock(path: &Path) -> Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| io_failure("create the folder", folder, &error))?;
    }
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(|error| io_failure("open the lock", path, &error))
}

/// Whether `path` still leads to the open file: a lock on a file that was removed protects nothing.
#[must_use]
pub fn leads_to(file: &File, path: &Path) -> bool {
    let open = file.try_clone().and_then(same_file::Handle::from_file);
    match (open, same_file::Handle::from_path(path)) {
        (Ok(open), Ok(named)) => open == named,
        _ => false,
    }
}

/// Writes a file in one move: whole, or not at all.
///
/// # Errors
/// `Host` when it cannot be written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |error: &std::io::Error| io_failure("write", path, error);
    let folder = folder_of(path);
    let mut file = tempfile::NamedTempFile::new_in(&folder).map_err(|error| failed(&error))?;
    file.write_all(bytes).map_err(|error| failed(&error))?;
    // Or a power cut could leave the new name with none of the bytes.
    file.as_file().sync_all().map_err(|error| failed(&error))?;
    replace(file, path).map_err(|error| failed(&error))?;
    sync_folder(&folder);
    Ok(())
}

/// Removes a file; one that is gone already is fine.
///
/// # Errors
/// `Host` when it cannot be removed.
pub fn remove_file(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(io_failure("remove", path, &error))
        }
        _ => Ok(()),
    }
}

/// Makes the names in a folder safe on disk, where the system and the file system know how to.
pub fn sync_folder(folder: &Path) {
    // Windows cannot open a folder as a file; its file systems journal names.
    if cfg!(unix) {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
}
