//! Whether this host has a Vagrant that can be used.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::call::Caller;
pub use super::versions::{Version, rules};
use crate::channel::Io;
use crate::error::{Failure, Kind, Result};
use crate::event::Stream;
use crate::process::run;

/// How long a tool may take to tell its version.
pub const LIMIT: Duration = Duration::from_secs(10);
/// The longest path of programs that are not made for longer ones, such as Ruby
/// (<https://learn.microsoft.com/windows/win32/fileio/maximum-file-path-limitation>, without the NUL).
const LONGEST: usize = 259;
/// What Vagrant and its providers need of it below the Vagrantfile:
/// `\.vagrant\machines\NAME\hyperv\Virtual Hard Disks\DISK.vhdx`.
const ROOM: usize = 100;
/// Names the program to use in place of the `vagrant` on `PATH`.
pub const VARIABLE: &str = "WDEV_VAGRANT";

const WHERE_FROM: &str =
    "install Vagrant from https://developer.hashicorp.com/vagrant/install or your distribution";

/// Finds Vagrant: `WDEV_VAGRANT`, or `vagrant` on `PATH`.
///
/// # Errors
/// `Host` when there is none.
pub fn find_program() -> Result<PathBuf> {
    find(std::env::var_os(VARIABLE))
}

fn find(chosen: Option<OsString>) -> Result<PathBuf> {
    if let Some(chosen) = chosen.filter(|chosen| !chosen.is_empty()) {
        return Ok(PathBuf::from(chosen));
    }
    which::which("vagrant").map_err(|_| {
        Box::new(
            Failure::new(Kind::Host, "Vagrant is not installed")
                .because("there is no `vagrant` on your `PATH`")
                .advise(WHERE_FROM)
                .advise(format!("or name the program in `{VARIABLE}`"))
                .advise("or try wdev without machines: `--provider sim`")
                .permanent(),
        )
    })
}

/// The version of Vagrant.
///
/// # Errors
/// `Host` when it does not answer with one.
pub async fn version(caller: &Caller, io: &Io) -> Result<Version> {
    let command = caller.command(&["--version"])?;
    let line = command.line();
    let mut printed = Vec::new();
    let mut take = |_: Stream, text: &str| printed.push(text.to_owned());
    let ended = caller
        .clock
        .timeout(LIMIT, run(command, &io.stop, &mut take))
        .await;
    let program = caller.program.display();
    let failure = |message: String| Failure::new(Kind::Host, message).permanent();
    let Some(finished) = ended else {
        return Err(Box::new(
            failure(format!(
                "`{program} --version` did not answer within {} s",
                LIMIT.as_secs()
            ))
            .command(line)
            .advise("run it yourself to see what it waits for"),
        ));
    };
    let finished = finished.map_err(|mut failure| {
        if failure.kind == Kind::Host || failure.kind == Kind::Provider {
            failure.kind = Kind::Host;
            failure.advice.push(WHERE_FROM.to_owned());
        }
        failure
    })?;
    if !finished.ok() {
        return Err(Box::new(
            failure(format!(
                "`{program} --version` ended with {}",
                finished.ending()
            ))
            .command(line)
            .output(finished.tail)
            .advise("repair or reinstall Vagrant"),
        ));
    }
    let Some(found) = printed.iter().find_map(|line| parse(line)) else {
        return Err(Box::new(
            failure(format!("`{program}` does not look like Vagrant"))
                .because("`--version` printed no `Vagrant X.Y.Z`")
                .command(line)
                .output(finished.tail)
                .advise(format!("see what `{VARIABLE}` and your `PATH` name"))
                .advise(WHERE_FROM),
        ));
    };
    Ok(found)
}

/// Whether Vagrant can work in `dir`. On Windows it takes no path that is too long, and the program that
/// it is started in a folder by takes none either.
///
/// # Errors
/// `Host` when the folder lies too deep.
pub fn depth(dir: &Path) -> Result<()> {
    let length = dir.to_string_lossy().encode_utf16().count();
    if !cfg!(windows) || length + ROOM <= LONGEST {
        return Ok(());
    }
    Err(Box::new(
        Failure::new(
            Kind::Host,
            "the folder of the sandbox lies too deep for Vagrant",
        )
        .because(format!("`{}` is {length} characters long", dir.display()))
        .because(format!(
            "Vagrant takes paths of up to {LONGEST} characters on Windows, and makes files below \
                 that need {ROOM} of them"
        ))
        .advise(r"move the project to a folder with a shorter path, such as `C:\src\wdev`")
        .permanent(),
    ))
}

fn parse(line: &str) -> Option<Version> {
    super::versions::parse(line.trim().strip_prefix("Vagrant ")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers_with_or_without_a_tail() {
        assert_eq!(parse("Vagrant 2.4.10.dev"), Some((2, 4, 10)));
        assert_eq!(parse("Vagrant 2.3.4"), Some((2, 3, 4)));
        assert_eq!(parse("vagabond 1.2.3"), None);
    }
}
