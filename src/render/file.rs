//! Writing what was rendered: whole files or none, and only what changed.

use std::fs;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use crate::error::{Failure, Kind, Result, io_failure};
use crate::replace::{folder_of, replace};

/// The line ends of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eol {
    /// LF
    Lf,
    /// CR LF, for PowerShell
    CrLf,
}

/// A rendered file.
#[derive(Clone, PartialEq, Eq)]
pub struct RenderedFile {
    /// Where, below the folder that it is written into.
    pub path: PathBuf,
    /// The text, with LF line ends.
    pub text: String,
    /// The line ends that it is written with.
    pub eol: Eol,
    /// Whether it is a program.
    pub mode_executable: bool,
    /// Whether only the owner may read it, and its text must never be shown.
    pub secret: bool,
}

impl RenderedFile {
    /// A plain text file with LF line ends.
    pub fn text(path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
            eol: Eol::Lf,
            mode_executable: false,
            secret: false,
        }
    }

    /// Makes it a program.
    #[must_use]
    pub fn executable(mut self) -> Self {
        self.mode_executable = true;
        self
    }

    /// Gives it CR LF line ends.
    #[must_use]
    pub fn crlf(mut self) -> Self {
        self.eol = Eol::CrLf;
        self
    }

    /// Lets only the owner read it.
    #[must_use]
    pub fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// What is written to disk.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        match self.eol {
            Eol::Lf => self.text.clone().into_bytes(),
            Eol::CrLf => self
                .text
                .replace("\r\n", "\n")
                .replace('\n', "\r\n")
                .into_bytes(),
        }
    }

    #[cfg(unix)]
    fn mode(&self) -> u32 {
        match (self.mode_executable, self.secret) {
            (false, false) => 0o666,
            (true, false) => 0o777,
            (false, true) => 0o600,
            (true, true) => 0o700,
        }
    }
}

impl std::fmt::Debug for RenderedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = if self.secret {
            "…"
        } else {
            self.text.as_str()
        };
        f.debug_struct("RenderedFile")
            .field("path", &self.path)
            .field("text", &text)
            .finish_non_exhaustive()
    }
}

/// Writes the files below `dir`, which is made when missing, and returns those that changed.
///
/// A file is written beside its place and moved there in one step, so that at any moment it is either
/// the old one or the new one. Nothing else in `dir` is touched.
///
/// # Errors
/// `Host` when the disk is full or the folder cannot be written; `Bug` for a path that leaves `dir`
/// or lies in Vagrant's own `.vagrant`.
pub fn write_all(dir: &Path, files: &[RenderedFile]) -> Result<Vec<PathBuf>> {
    for file in files {
        check_path(&file.path)?;
    }
    let mut changed = Vec::new();
    for file in files {
        let path = dir.join(&file.path);
        let bytes = file.bytes();
        if !is_current(&path, file, &bytes) {
            write_one(&path, file, &bytes)?;
            changed.push(path);
        }
    }
    Ok(changed)
}

fn check_path(path: &Path) -> Result<()> {
    let inside = path.components().all(
        |part| matches!(part, Component::Normal(name) if !name.eq_ignore_ascii_case(".vagrant")),
    );
    if inside && path.file_name().is_some() {
        return Ok(());
    }
    let message = format!("a rendered file has the path `{}`", path.display());
    Err(Box::new(Failure::new(Kind::Bug, message).permanent()))
}

fn is_current(path: &Path, file: &RenderedFile, bytes: &[u8]) -> bool {
    let Ok(meta) = fs::symlink_metadata(path) else {
        return false;
    };
    meta.is_file() && mode_fits(&meta, file) && fs::read(path).is_ok_and(|there| there == bytes)
}

#[cfg(unix)]
fn mode_fits(meta: &fs::Metadata, file: &RenderedFile) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = meta.permissions().mode();
    let others = mode & 0o077;
    (mode & 0o100 != 0) == file.mode_executable && (!file.secret || others == 0)
}

/// Windows has no such modes: a file is as private as the folder that it is in.
#[cfg(not(unix))]
fn mode_fits(_: &fs::Metadata, _: &RenderedFile) -> bool {
    true
}

fn write_one(path: &Path, file: &RenderedFile, bytes: &[u8]) -> Result<()> {
    let folder = folder_of(path);
    fs::create_dir_all(&folder).map_err(|error| io_failure("make the folder", &folder, &error))?;
    let fail = |error: &std::io::Error| io_failure("write", path, error);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".wdev-").suffix(".new");
    #[cfg(unix)]
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(file.mode());
    #[cfg(unix)]
    builder.permissions(permissions);
    #[cfg(not(unix))]
    let _ = file;
    let mut new = builder.tempfile_in(&folder).map_err(|error| fail(&error))?;
    new.write_all(bytes)
        .and_then(|()| new.as_file().sync_all())
        .and_then(|()| replace(new, path))
        .map_err(|error| fail(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn only_what_changed_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("new/folder");
        let script = RenderedFile::text("steps/cp/swap.sh", "echo\n").executable();
        let files = [RenderedFile::text("Vagrantfile", "a\n"), script];
        assert_eq!(write_all(&root, &files).unwrap().len(), 2);
        assert_eq!(write_all(&root, &files).unwrap(), Vec::<PathBuf>::new());
        let mut files = files;
        files[0].text.push('b');
        assert_eq!(
            write_all(&root, &files).unwrap(),
            [root.join("Vagrantfile")]
        );
        assert_eq!(
            fs::read_to_string(root.join("Vagrantfile")).unwrap(),
            "a\nb"
        );
        assert_eq!(names(&root), ["Vagrantfile", "steps"]);
    }

    #[test]
    fn powershell_gets_crlf_once() {
        let file = RenderedFile::text("a.ps1", "a\nb\r\n").crlf();
        assert_eq!(file.bytes(), b"a\r\nb\r\n");
    }

    #[cfg(unix)]
    #[test]
    fn a_secret_is_the_owners_alone_even_when_it_was_not() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        fs::write(&path, "s").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let file = RenderedFile::text("token", "s").secret();
        write_all(dir.path(), std::slice::from_ref(&file)).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(!format!("{file:?}").contains("\"s\""));
    }

    #[test]
    fn what_cannot_be_replaced_stays_and_leaves_no_rest() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("Vagrantfile/full")).unwrap();
        let files = [RenderedFile::text("Vagrantfile", "a")];
        let failure = write_all(dir.path(), &files).unwrap_err();
        assert_eq!(failure.kind, Kind::Host);
        assert!(failure.message.contains("Vagrantfile"), "{failure}");
        assert_eq!(names(dir.path()), ["Vagrantfile"]);
    }

    #[test]
    fn no_path_leaves_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        for path in ["../a", "/a", "a/../../b", ".Vagrant/machines", "", "."] {
            let files = [
                RenderedFile::text("first", ""),
                RenderedFile::text(path, ""),
            ];
            let failure = write_all(dir.path(), &files).unwrap_err();
            assert_eq!(failure.kind, Kind::Bug, "{path}");
        }
        assert_eq!(names(dir.path()), Vec::<String>::new());
    }
}
