//! Unix: a session of its own per child, so that no child reaches the terminal behind our back and
//! one signal reaches its whole tree.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitStatus};
use std::sync::OnceLock;

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};

use super::quote;

/// The number of SIGINT on every Unix.
const SIGINT: i32 = 2;

/// Puts the child into a session of its own, which makes it the leader of a group of its own.
pub fn isolate(command: &mut CommandWrap) {
    command.wrap(ProcessSession);
}

/// Asks the child, and only the child, to end: what it has started is its own to end.
pub fn interrupt(child: &dyn ChildWrapper) -> io::Result<()> {
    // The outer wrapper would send it to the whole group.
    child.inner().signal(SIGINT)
}

/// One word of a command for a POSIX shell.
pub fn word(word: &OsStr) -> String {
    quote(word)
}

/// A command as a line for a POSIX shell, after the variables that it needs.
pub fn line(variables: &[(String, OsString)], program: &OsStr, args: &[OsString]) -> String {
    let mut words: Vec<String> = variables
        .iter()
        .map(|(name, value)| format!("{name}={}", quote(value)))
        .collect();
    words.push(quote(program));
    words.extend(args.iter().map(quote));
    words.join(" ")
}

/// Puts the program in the place of this one, with all that belongs to the process.
pub fn become_program(command: &mut Command) -> io::Result<ExitStatus> {
    Err(command.exec())
}

/// A signal needs no process of its own.
pub fn press_ctrl_c(_: std::env::ArgsOs) -> Option<bool> {
    None
}

/// The signal that ended the child.
pub fn signal(status: ExitStatus) -> Option<i32> {
    status.signal()
}

/// Whether the system could not tell what kind of program the file is.
pub fn is_bad_format(error: &io::Error) -> bool {
    // ENOEXEC, the same number on every Unix.
    error.raw_os_error() == Some(8)
}

/// The number of the user that this process acts as, when it can be told.
#[must_use]
pub fn user() -> Option<u32> {
    static USER: OnceLock<Option<u32>> = OnceLock::new();
    *USER.get_or_init(|| {
        // A file belongs to whoever makes it.
        let file = tempfile::tempfile().ok()?;
        Some(file.metadata().ok()?.uid())
    })
}

/// Whether this process acts as the superuser.
#[must_use]
pub fn is_root() -> bool {
    user() == Some(0)
}
