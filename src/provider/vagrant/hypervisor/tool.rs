//! Asking a hypervisor's command-line tool.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use crate::channel::Io;
use crate::clock::Clock;
use crate::error::{Failure, Kind, Result};
use crate::event::Stream;
use crate::process::{Command, Finished, run};

/// Runs the tool and returns how it ended and what it printed on its standard output, line by line.
///
/// `name` is the tool's name for people. Its messages are English whatever the user's language.
///
/// # Errors
/// `Host` when it cannot be started or does not end within `limit`; `Interrupted`.
pub async fn ask(
    name: &str,
    command: Command,
    limit: Duration,
    clock: Clock,
    io: &Io,
) -> Result<(Finished, Vec<String>)> {
    let mut environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    environment.insert("LC_ALL".into(), "C.UTF-8".into());
    let command = command.environment(environment);
    let line = command.line();
    let mut lines = Vec::new();
    let mut take = |stream: Stream, text: &str| {
        if stream == Stream::Stdout {
            lines.push(text.to_owned());
        }
    };
    match clock
        .timeout(limit, run(command, &io.stop, &mut take))
        .await
    {
        Some(finished) => finished.map(|finished| (finished, lines)),
        None => Err(Box::new(
            Failure::new(
                Kind::Host,
                format!("{name} did not answer within {} s", limit.as_secs()),
            )
            .command(line)
            .advise(format!("restart {name}, then run the same again")),
        )),
    }
}
