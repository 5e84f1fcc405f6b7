//! The user's own kubeconfig: which file it is, and how it is read and replaced.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::error::{Failure, Kind, Result, io_failure};
use crate::home::sync_folder;
use crate::replace::{folder_of, replace};

/// How many links are followed.
const LINKS: usize = 40;

/// The files that kubectl reads, of which it writes the first: `KUBECONFIG`, or `.kube/config` in the
/// user's home folder.
/// Source: <https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/>
///
/// # Errors
/// `Host` when there is neither.
pub fn files(env: &impl Fn(&str) -> Option<OsString>) -> Result<Vec<PathBuf>> {
    let named = env("KUBECONFIG").unwrap_or_default();
    let mut files: Vec<PathBuf> = std::env::split_paths(&named)
        .filter(|path| !path.as_os_str().is_empty())
        .collect();
    if files.is_empty() {
        let homes = homes(env);
        let home = homes
            .iter()
            .find(|home| config_in(home).exists())
            .or_else(|| homes.first())
            .ok_or_else(|| {
                Failure::new(Kind::Host, "cannot find your home folder")
                    .advise("set `KUBECONFIG` to the file that kubectl is to use")
            })?;
        files.push(config_in(home));
    }
    files
        .iter()
        .map(|path| std::path::absolute(path).map_err(|error| io_failure("find", path, &error)))
        .collect()
}

fn config_in(home: &Path) -> PathBuf {
    home.join(".kube").join("config")
}

/// Where the home folder may be; a file that is made belongs into the first.
/// Source for Windows: `HomeDir` in staging/src/k8s.io/client-go/util/homedir/homedir.go.
fn homes(env: &impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let names: &[&str] = if cfg!(windows) {
        &["USERPROFILE", "HOME"]
    } else {
        &["HOME"]
    };
    let homes = names.iter().filter_map(|name| env(name));
    homes
        .filter(|home| !home.is_empty())
        .map(PathBuf::from)
        .collect()
}

/// The file that a path leads to, through links, also where it is not there yet.
///
/// # Errors
/// `Host` when the links lead nowhere.
pub fn target(path: &Path) -> Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = target.parent().unwrap_or(Path::new(".")).join(next),
            Err(_) => return Ok(target),
        }
    }
    Err(Box::new(Failure::new(
        Kind::Host,
        format!("`{}` is a link that leads to itself", path.display()),
    )))
}

/// The text of a kubeconfig; nothing where there is no file.
///
/// # Errors
/// `Host` when it cannot be read or is no text.
pub fn read(path: &Path) -> Result<Option<String>> {
    match fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Ok(about) if !about.is_file() => {
            return Err(Box::new(
                Failure::new(Kind::Host, format!("`{}` is no file", path.display()))
                    .advise("set `KUBECONFIG` to the file that kubectl is to use"),
            ));
        }
        _ => {}
    }
    let bytes = fs::read(path).map_err(|error| io_failure("read", path, &error))?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(Box::new(
            Failure::new(Kind::Host, format!("`{}` is not UTF-8", path.display()))
                .because("nothing in it was touched")
                .advise("save it as UTF-8; Windows PowerShell's `>` writes UTF-16"),
        )),
    }
}

/// Replaces the file in one move, with its owner and its permissions; a new one, with its folder, is the
/// owner's alone.
///
/// # Errors
/// `Host` when it cannot be written.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let failed = |error: &std::io::Error| io_failure("write", path, error);
    let folder = folder_of(path);
    if !folder.is_dir() {
        make_folder(&folder).map_err(|error| io_failure("make the folder", &folder, &error))?;
    }
    let mut new = tempfile::Builder::new()
        .prefix(".wdev-")
        .tempfile_in(&folder)
        .map_err(|error| failed(&error))?;
    new.write_all(text.as_bytes())
        .and_then(|()| keep_owner(new.as_file(), path))
        .and_then(|()| new.as_file().sync_all())
        .and_then(|()| replace(new, path))
        .map_err(|error| failed(&error))?;
    sync_folder(&folder);
    Ok(())
}

#[cfg(unix)]
pub(super) fn make_folder(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}

/// Windows: a folder is as private as the one that it is in.
#[cfg(not(unix))]
pub(super) fn make_folder(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(unix)]
fn keep_owner(new: &fs::File, old: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(was) = fs::metadata(old) else {
        return Ok(());
    };
    let now = new.metadata()?;
    if (was.uid(), was.gid()) != (now.uid(), now.gid()) {
        std::os::unix::fs::fchown(new, Some(was.uid()), Some(was.gid()))?;
    }
    new.set_permissions(was.permissions())
}

/// Windows: a file has the permissions of its folder.
#[cfg(not(unix))]
fn keep_owner(_: &fs::File, _: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Whether others than the owner may read the file.
#[cfg(unix)]
#[must_use]
pub fn is_open(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|about| about.permissions().mode() & 0o077 != 0)
}

/// Windows has no such modes: a file is as private as the folder that it is in.
#[cfg(not(unix))]
#[must_use]
pub fn is_open(_: &Path) -> bool {
    false
}
