//! Windows: a job object per child, which ends with all that is in it, and a console group of its
//! own, so that a Ctrl-C for wdev does not reach the child behind our back.

use std::io;
use std::process::ExitStatus;

use process_wrap::tokio::{ChildWrapper, CommandWrap, CreationFlags, JobObject, KillOnDrop};
use windows::Win32::System::Console::{CTRL_BREAK_EVENT, GenerateConsoleCtrlEvent};
use windows::Win32::System::Threading::CREATE_NEW_PROCESS_GROUP;

/// Puts the child into a job that dies with wdev, and into a console group of its own.
pub fn isolate(command: &mut CommandWrap) {
    command
        .wrap(CreationFlags(CREATE_NEW_PROCESS_GROUP))
        .wrap(KillOnDrop)
        .wrap(JobObject);
}

/// Asks the child's console group to end. There is no Ctrl-C for a single group, only Ctrl-Break.
pub fn interrupt(child: &dyn ChildWrapper) -> io::Result<()> {
    let Some(group) = child.id() else {
        return Ok(());
    };
    #[expect(
        unsafe_code,
        reason = "the only way to interrupt a console group; takes two plain numbers"
    )]
    // SAFETY: no pointer is passed; an unknown group makes the call fail.
    let sent = unsafe { GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, group) };
    sent.map_err(io::Error::other)
}

/// Windows ends no process by a signal.
pub fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// Whether the system could not tell what kind of program the file is.
pub fn is_bad_format(error: &io::Error) -> bool {
    // ERROR_BAD_EXE_FORMAT
    error.raw_os_error() == Some(193)
}

/// Windows has no superuser; what an administrator may is asked where it matters.
#[must_use]
pub fn is_root() -> bool {
    false
}
