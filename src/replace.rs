//! Puts a finished temporary file in the place of another in one move.

use std::ffi::OsString;
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::NamedTempFile;

/// How often a file is moved into its place. On Windows that fails while another program, such as a
/// virus scanner, has the old file open.
const MOVES: u32 = if cfg!(windows) { 20 } else { 1 };
const BETWEEN_MOVES: Duration = Duration::from_millis(100);
/// From this length on, Windows wants paths of files in the form that begins with `\\?\`
/// (<https://learn.microsoft.com/windows/win32/fileio/maximum-file-path-limitation>: 260 characters with
/// the NUL, 12 of them kept free in folders). Room for the name of a temporary file is left.
const LONG: usize = 220;

/// The folder of `path`, in the form in which a temporary file must be made there: the standard library
/// takes long paths on Windows by itself, what moves a temporary file does not.
#[must_use]
pub fn folder_of(path: &Path) -> PathBuf {
    let folder = path.parent().unwrap_or(Path::new("."));
    if cfg!(windows) {
        long_form(folder)
    } else {
        folder.to_owned()
    }
}

fn long_form(path: &Path) -> PathBuf {
    let text = path.as_os_str();
    let begins = |with: &str| text.as_encoded_bytes().starts_with(with.as_bytes());
    // Only a whole path can be written so; a share is left as it is.
    if text.len() < LONG || !path.is_absolute() || begins(r"\\") {
        return path.to_owned();
    }
    let mut long = OsString::from(r"\\?\");
    // In this form nothing is a separator but the backslash, which is what joins the parts.
    long.push(path.components().collect::<PathBuf>());
    PathBuf::from(long)
}

/// Moves `new` to `path`; what is there is replaced.
///
/// # Errors
/// Those of the system, after a while in which another program may have let go of the old file.
pub fn replace(mut new: NamedTempFile, path: &Path) -> Result<()> {
    let place = match path.file_name() {
        Some(name) => folder_of(path).join(name),
        None => path.to_owned(),
    };
    let mut left = MOVES;
    loop {
        left -= 1;
        match new.persist(&place) {
            Ok(_) => return Ok(()),
            Err(kept) if left > 0 && kept.error.kind() == ErrorKind::PermissionDenied => {
                new = kept.file;
                std::thread::sleep(BETWEEN_MOVES);
            }
            Err(kept) => return Err(kept.error),
        }
    }
}
