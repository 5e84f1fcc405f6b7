//! The kubectl of a sandbox's own version, from the cache of artifacts, as a program that can be started.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::release::told;
use super::run::block_on;
use crate::artifacts::Store;
use crate::clock::Clock;
use crate::config::model::Artifacts;
use crate::error::{Result, io_failure};
use crate::home::SandboxFolder;
use crate::plan::fetch;
use crate::plan::record::Record;
use crate::release::artifacts::{host_kubectl, host_platform};
use crate::release::{Artifact, Release};
use crate::replace::{folder_of, replace};
use crate::ui::Ui;

/// The sandbox's kubectl, if it needs no download.
///
/// # Errors
/// `Host` when the cache or the sandbox's folder cannot be used.
pub(super) fn at_hand(
    folder: &SandboxFolder,
    record: &Record,
    artifacts: &Artifacts,
) -> Result<Option<PathBuf>> {
    let Some((release, artifact)) = wanted(record) else {
        return Ok(None);
    };
    let place = place(folder, release);
    if place.is_file() {
        return Ok(Some(place));
    }
    let store = Store::of_user(artifacts, Clock::new())?;
    let found = store
        .hash_of(&artifact.url)
        .and_then(|hash| store.find(&hash));
    match found {
        Some(file) => put(&file, place).map(Some),
        None => Ok(None),
    }
}

/// The sandbox's kubectl, downloaded if need be; none where its version has none for this host.
///
/// # Errors
/// Those of the download; `Host` when the sandbox's folder cannot be used.
pub(super) fn downloaded(
    folder: &SandboxFolder,
    record: &Record,
    artifacts: &Artifacts,
    ui: &Ui,
) -> Result<Option<PathBuf>> {
    let Some((release, artifact)) = wanted(record) else {
        return Ok(None);
    };
    let store = Store::of_user(artifacts, Clock::new())?;
    let io = told(ui);
    let files = block_on(false, fetch::files(&[artifact], &store, &io))?;
    match files.into_iter().next() {
        Some((_, stored)) => put(&stored.path, place(folder, release)).map(Some),
        None => Ok(None),
    }
}

fn wanted(record: &Record) -> Option<(&Release, Artifact)> {
    let release = record.release.as_ref()?;
    // The node's own serves a host of the same kind, and may be the user's own build.
    let of_node = release.artifact("kubectl", &host_platform()).cloned();
    let artifact = of_node.or_else(|| host_kubectl(&release.kubernetes, release.origin))?;
    Some((release, artifact))
}

fn place(folder: &SandboxFolder, release: &Release) -> PathBuf {
    let name = format!(
        "kubectl-{}{}",
        release.kubernetes,
        std::env::consts::EXE_SUFFIX
    );
    folder.path().join("bin").join(name)
}

/// Files of the cache are called by their hash and cannot be started.
fn put(file: &Path, place: PathBuf) -> Result<PathBuf> {
    let failed = |error: io::Error| io_failure("write", &place, &error);
    let folder = folder_of(&place);
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let mut new = tempfile::NamedTempFile::new_in(&folder).map_err(failed)?;
    let mut from = File::open(file).map_err(|error| io_failure("open", file, &error))?;
    io::copy(&mut from, new.as_file_mut()).map_err(failed)?;
    executable(new.as_file()).map_err(failed)?;
    replace(new, &place).map_err(failed)?;
    Ok(place)
}

#[cfg(unix)]
fn executable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
fn executable(_file: &File) -> io::Result<()> {
    Ok(())
}
