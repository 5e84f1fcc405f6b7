//! Why a program could not be started, and what to do about it.

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use super::{Command, system};
use crate::error::{Failure, Kind};

/// The failure of a program that could not be started.
pub(super) fn not_started(command: &Command, error: &Error) -> Box<Failure> {
    let program = command.program();
    let name = program.display();
    let failure = Failure::new(Kind::Host, format!("cannot start `{name}`"))
        .because(reason(program, command, error))
        .command(command.line())
        .permanent();
    Box::new(match error.kind() {
        ErrorKind::NotFound if is_there(program) => failure.advise(format!(
            "look at the first line of `{name}`: the program that it names must be installed"
        )),
        ErrorKind::NotFound => {
            failure.advise(format!("install `{name}`, or put it on your `PATH`"))
        }
        ErrorKind::PermissionDenied if program.is_dir() => {
            failure.advise("name the program itself, not its folder")
        }
        ErrorKind::PermissionDenied if cfg!(windows) => failure.advise(
            "see whether you may run it, and whether a virus scanner or a policy keeps it from running",
        ),
        ErrorKind::PermissionDenied => failure.advise(format!(
            "make it executable for you: `chmod +x {}`",
            super::word(program)
        )),
        _ if system::is_bad_format(error) => {
            failure.advise("install the build that is made for this operating system and processor")
        }
        _ => failure,
    })
}

fn reason(program: &Path, command: &Command, error: &Error) -> String {
    if let Some(dir) = command.dir.as_deref().filter(|dir| !dir.is_dir()) {
        return format!("its folder `{}` is not there", dir.display());
    }
    match error.kind() {
        ErrorKind::NotFound if is_there(program) => {
            "the interpreter or loader that it asks for is missing".to_owned()
        }
        ErrorKind::NotFound => "there is no such program".to_owned(),
        ErrorKind::PermissionDenied if program.is_dir() => "it is a folder".to_owned(),
        ErrorKind::PermissionDenied => "it is not executable, or you may not run it".to_owned(),
        _ if system::is_bad_format(error) => "it is no program that this system can run".to_owned(),
        _ => error.to_string(),
    }
}

fn is_there(program: &Path) -> bool {
    program.is_file() || which::which(program).is_ok_and(|found: PathBuf| found.is_file())
}
