//! Asking a hypervisor's command-line tool.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use crate::channel::Io;
use crate::clock::Clock;
use crate::error::{Failure, Kind, Result};
use crate::event::Stream;
use crate::process::{Command, Finished, run};

/// How one call ended.
#[derive(Debug)]
pub struct Answer {
    /// How the process ended.
    pub finished: Finished,
    /// What it printed on its standard output, line by line.
    pub lines: Vec<String>,
    /// What it printed on its standard error, each line with its end.
    pub errors: String,
    /// The command line.
    pub command: String,
}

/// Runs a command of the tool that people know by `name`, with these variables in its environment: the
/// tools' messages are read, so they must be English. Without an answer the user is advised to do `mend`.
///
/// # Errors
/// `Host` when it cannot be started or does not end within `limit`; `Interrupted`.
pub async fn call(
    (name, mend): (&str, &str),
    command: Command,
    variables: &[(&str, &str)],
    (limit, clock): (Duration, Clock),
    io: &Io,
) -> Result<Answer> {
    let mut environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    for (variable, value) in variables {
        environment.insert(variable.into(), value.into());
    }
    let command = command.environment(environment);
    let line = command.line();
    let (mut lines, mut errors) = (Vec::new(), String::new());
    let mut take = |stream: Stream, text: &str| {
        if stream == Stream::Stdout {
            lines.push(text.to_owned());
        } else {
            errors.push_str(text);
            errors.push('\n');
        }
    };
    match clock
        .timeout(limit, run(command, &io.stop, &mut take))
        .await
    {
        Some(finished) => Ok(Answer {
            finished: finished?,
            lines,
            errors,
            command: line,
        }),
        None => Err(Box::new(
            Failure::new(
                Kind::Host,
                format!("{name} did not answer within {} s", limit.as_secs()),
            )
            .command(line)
            .advise(format!("{mend}, then run the same again")),
        )),
    }
}

/// As [`call`], for tools of which only how they end and what they print on their standard output count.
///
/// # Errors
/// As [`call`].
pub async fn ask(
    name: &str,
    command: Command,
    limit: Duration,
    clock: Clock,
    io: &Io,
) -> Result<(Finished, Vec<String>)> {
    let mend = format!("restart {name}");
    let english = [("LC_ALL", "C.UTF-8")];
    let answer = call((name, &mend), command, &english, (limit, clock), io).await?;
    Ok((answer.finished, answer.lines))
}
