//! Where things are on disk.

mod files;
mod index;
mod sandbox;

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

pub use files::{leads_to, open_lock, remove_file, sync_folder, write_whole};
pub use index::{Index, Indexed};
pub use sandbox::{Holder, Lock, SandboxFolder};

use crate::error::{Failure, Kind, Result, io_failure};

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
