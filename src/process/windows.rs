//! Windows: a job object per child, which ends with all that is in it, and a console of its own that
//! nobody sees, so that neither a Ctrl-C for wdev reaches the child behind our back nor the child our
//! console.
//!
//! A real Ctrl-C reaches a child only from a process that is attached to the child's console, and that
//! cannot be wdev itself without losing its own. Of the keys, a console group could be sent Ctrl-Break
//! from outside, but Ruby, and so Vagrant, knows only Ctrl-C as a request to end; Ctrl-Break ends it on
//! the spot (<https://docs.ruby-lang.org/en/master/Signal.html>: `Signal.list` has no `BREAK`). So wdev
//! starts itself for a moment in the role of whoever sits at that console: [`press_ctrl_c`].

use std::env::ArgsOs;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::windows::process::CommandExt as _;
use std::process::{Command, ExitStatus, Stdio};

use process_wrap::tokio::{ChildWrapper, CommandWrap, CreationFlags, JobObject, KillOnDrop};
use windows::Win32::System::Console::{
    AttachConsole, CTRL_C_EVENT, GenerateConsoleCtrlEvent, SetConsoleCtrlHandler,
};
use windows::Win32::System::Threading::{CREATE_NO_WINDOW, DETACHED_PROCESS};

/// The argument that gives wdev this role; the process id follows.
const ROLE: &str = "--press-ctrl-c-in-the-console-of";

/// Puts the child into a job that dies with wdev, and into a console of its own.
pub fn isolate(command: &mut CommandWrap) {
    command
        .wrap(CreationFlags(CREATE_NO_WINDOW))
        .wrap(KillOnDrop)
        .wrap(JobObject);
}

/// Windows has no such thing: runs the program at our console and waits for its end.
pub fn become_program(command: &mut Command) -> io::Result<ExitStatus> {
    command.status()
}

/// Asks everything at the child's console to end, as by Ctrl-C. Does not wait for it.
pub fn interrupt(child: &dyn ChildWrapper) -> io::Result<()> {
    let Some(process) = child.id() else {
        return Ok(());
    };
    Command::new(std::env::current_exe()?)
        .arg(ROLE)
        .arg(process.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // It must have no console to be able to attach itself to another.
        .creation_flags(DETACHED_PROCESS.0)
        .spawn()
        .map(drop)
}

/// What [`interrupt`] starts: presses Ctrl-C in another console and says whether that could be done.
/// Nothing when the arguments, the program's name first, ask for something else.
pub fn press_ctrl_c(args: ArgsOs) -> Option<bool> {
    let mut args = args.skip(1);
    if args.next()? != ROLE {
        return None;
    }
    let process: u32 = args.next()?.to_str()?.parse().ok()?;
    #[expect(
        unsafe_code,
        reason = "the only way to reach a console; takes plain numbers and no pointer"
    )]
    // SAFETY: no pointer is passed; an unknown process makes the first call fail.
    let pressed = unsafe {
        AttachConsole(process)
            // We are now in that console too, and must live on.
            .and_then(|()| SetConsoleCtrlHandler(None, true))
            .and_then(|()| GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0))
    };
    Some(pressed.is_ok())
}

/// A command as a line for PowerShell, after the variables that it needs.
pub fn line(variables: &[(String, OsString)], program: &OsStr, args: &[OsString]) -> String {
    let mut line = String::new();
    for (name, value) in variables {
        line += &format!("$env:{name} = {}; ", quoted(value));
    }
    let program = word(program);
    if program.starts_with('\'') {
        line += "& ";
    }
    line += &program;
    for arg in args {
        line.push(' ');
        line += &word(arg);
    }
    line
}

/// One word of a command, in quotes where PowerShell would take it for something else.
pub fn word(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || r"-_./\:=+".contains(c);
    // Windows PowerShell takes `-a.b` for two words.
    let split = text.starts_with('-') && text.contains(['.', ':']);
    if !text.is_empty() && !split && text.chars().all(plain) {
        text.into_owned()
    } else {
        quoted(word)
    }
}

/// A string in single quotes. PowerShell takes the typographic ones for the same
/// (<https://learn.microsoft.com/powershell/scripting/lang-spec/chapter-02>, 2.3.5.2).
fn quoted(text: &OsStr) -> String {
    let mut quoted = String::from("'");
    for c in text.to_string_lossy().chars() {
        if matches!(c, '\'' | '\u{2018}'..='\u{201b}') {
            quoted.push(c);
        }
        quoted.push(c);
    }
    quoted.push('\'');
    quoted
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

/// Windows numbers no users.
#[must_use]
pub fn user() -> Option<u32> {
    None
}

/// Windows has no superuser; what an administrator may is asked where it matters.
#[must_use]
pub fn is_root() -> bool {
    false
}
