//! Runs one child to its end.

use std::collections::VecDeque;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::{Instant, sleep_until};

use super::lines::Lines;
use super::{Command, Finished, TAIL, failure, prompt, system};
use crate::error::{Failure, Kind, Result};
use crate::event::Stream;
use crate::stop::{Level, Stop};

/// How long a killed child may take to be gone before it is given up.
const REAP: Duration = Duration::from_secs(5);
/// Far enough away to mean never.
const NEVER: Duration = Duration::from_hours(365 * 24);

/// A child whose tree is killed when this is dropped: process-wrap's own kill on drop reaches only
/// the leader on Unix.
struct Tree {
    child: Box<dyn ChildWrapper>,
    release: bool,
}

impl Tree {
    fn kill(&mut self) {
        // Fails when nobody is left, which is what is wanted.
        let _ = self.child.start_kill();
    }

    /// Waits for the leader alone: the wrapper itself would wait for its whole tree.
    async fn leader(&mut self) -> Option<ExitStatus> {
        self.child.inner_mut().wait().await.ok()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if !self.release {
            self.kill();
        }
    }
}

/// One of the child's output streams.
struct Output<R> {
    reader: Option<R>,
    stream: Stream,
    lines: Lines,
    buffer: Vec<u8>,
    last: Instant,
}

impl<R: AsyncRead + Unpin> Output<R> {
    fn new(reader: Option<R>, stream: Stream, longest: usize) -> Self {
        Self {
            reader,
            stream,
            lines: Lines::new(longest),
            buffer: vec![0; 16 * 1024],
            last: Instant::now(),
        }
    }

    /// Waits for more output. Dropping the future loses nothing.
    async fn more(&mut self) -> usize {
        match &mut self.reader {
            Some(reader) => reader.read(&mut self.buffer).await.unwrap_or(0),
            None => std::future::pending().await,
        }
    }

    /// Takes what [`Output::more`] has read; nothing means the end.
    fn take(&mut self, read: usize, show: &mut dyn FnMut(Stream, &str)) {
        let stream = self.stream;
        self.last = Instant::now();
        match self.buffer.get(..read) {
            Some(bytes) if read > 0 => {
                self.lines
                    .push(bytes, self.last.into_std(), &mut |line| show(stream, line));
            }
            _ => {
                self.reader = None;
                self.lines.end(&mut |line| show(stream, line));
            }
        }
    }

    fn close(&mut self, show: &mut dyn FnMut(Stream, &str)) {
        if self.reader.is_some() {
            self.take(0, show);
        }
    }

    fn question(&self, after: Duration) -> Option<String> {
        let line = self.lines.unfinished();
        (self.last.elapsed() >= after && prompt::is_question(&line)).then_some(line)
    }
}

/// What the child is doing, as far as its end is concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// Asked to end; killed at the end of the grace period.
    Interrupted,
    Killed,
}

/// Runs a command to its end and passes on each line of output.
///
/// At [`Level::Interrupt`] the child alone is interrupted and given its grace period; after it, and at
/// [`Level::Kill`], its whole tree is killed.
///
/// # Errors
/// `Host` when the program cannot be started; `Interrupted` when `stop` ended it; the command's own
/// blame when it asked a question. Any exit code is a result, not an error.
pub async fn run(
    mut command: Command,
    stop: &Stop,
    line: &mut (dyn FnMut(Stream, &str) + Send),
) -> Result<Finished> {
    if stop.level() > Level::Go {
        return Err(interrupted(&command, Vec::new()));
    }
    let mut tree = spawn(&mut command)?;
    let mut out = Output::new(
        tree.child.stdout().take(),
        Stream::Stdout,
        command.longest_line,
    );
    let mut err = Output::new(
        tree.child.stderr().take(),
        Stream::Stderr,
        command.longest_line,
    );
    let mut tail = VecDeque::with_capacity(TAIL);
    let mut show = |stream: Stream, text: &str| {
        if tail.len() == TAIL {
            tail.pop_front();
        }
        tail.push_back(text.to_owned());
        line(stream, text);
    };

    let mut phase = Phase::Running;
    let mut asked = None;
    // The output that was last looked at for a question, by the time that it came.
    let mut looked_at = None;
    let mut status = None;
    let mut leftovers_killed = false;
    // When patience with the present state of things is over.
    let mut until = Instant::now() + NEVER;
    let question_after = command.question_after.unwrap_or(NEVER);

    loop {
        if status.is_some() && out.reader.is_none() && err.reader.is_none() {
            break;
        }
        let newest = out.last.max(err.last);
        tokio::select! {
            read = out.more(), if out.reader.is_some() => out.take(read, &mut show),
            read = err.more(), if err.reader.is_some() => err.take(read, &mut show),
            ended = tree.leader(), if status.is_none() => {
                status = Some(ended);
                until = Instant::now() + command.drain;
            }
            () = stop.reached(Level::Kill), if phase != Phase::Killed => {
                phase = Phase::Killed;
                tree.kill();
                until = Instant::now() + REAP;
            }
            () = stop.reached(Level::Interrupt), if phase == Phase::Running && status.is_none() => {
                phase = Phase::Interrupted;
                // A child that ended this very moment cannot be interrupted, nor need it be.
                let _ = system::interrupt(tree.child.as_ref());
                until = Instant::now() + command.grace;
            }
            () = sleep_until(newest + question_after),
                if phase == Phase::Running && status.is_none() && looked_at != Some(newest) =>
            {
                looked_at = Some(newest);
                asked = out.question(question_after).or_else(|| err.question(question_after));
                if asked.is_some() {
                    phase = Phase::Killed;
                    tree.kill();
                    until = Instant::now() + REAP;
                }
            }
            () = sleep_until(until) => {
                if leftovers_killed || (phase == Phase::Killed && status.is_none()) {
                    break;
                }
                leftovers_killed = status.is_some();
                if phase == Phase::Interrupted {
                    phase = Phase::Killed;
                }
                tree.kill();
                until = Instant::now() + REAP;
            }
        }
    }
    out.close(&mut show);
    err.close(&mut show);
    tree.release = command.keep_leftovers && phase == Phase::Running && !leftovers_killed;
    drop(tree);

    let tail: Vec<String> = tail.into();
    if let Some(question) = asked {
        return Err(question_asked(&command, &question, tail));
    }
    if phase != Phase::Running {
        return Err(interrupted(&command, tail));
    }
    let status = status.flatten();
    Ok(Finished {
        code: status.and_then(|status| status.code()),
        signal: status.and_then(system::signal),
        tail,
        leftovers_killed,
    })
}

fn spawn(command: &mut Command) -> Result<Tree> {
    let mut child = CommandWrap::with_new(&command.program, |child| {
        child
            .args(&command.args)
            .stdin(command.stdin.take().map_or_else(Stdio::null, Stdio::from))
            .stdout(command.stdout.take().map_or_else(Stdio::piped, Stdio::from))
            .stderr(command.stderr.take().map_or_else(Stdio::piped, Stdio::from));
        if let Some(environment) = &command.environment {
            child.env_clear().envs(environment);
        }
        child.envs(command.shown.iter().map(|(name, value)| (name, value)));
        if let Some(dir) = &command.dir {
            child.current_dir(dir);
        }
    });
    system::isolate(&mut child);
    match child.spawn() {
        Ok(child) => Ok(Tree {
            child,
            release: false,
        }),
        Err(error) => Err(failure::not_started(command, &error)),
    }
}

fn interrupted(command: &Command, tail: Vec<String>) -> Box<Failure> {
    Box::new(
        Failure::new(Kind::Interrupted, "interrupted")
            .command(command.line())
            .output(tail)
            .permanent(),
    )
}

fn question_asked(command: &Command, question: &str, tail: Vec<String>) -> Box<Failure> {
    Box::new(
        Failure::new(
            command.blame,
            format!(
                "`{}` asked a question that nobody can answer here",
                command.program().display()
            ),
        )
        .because(format!("it asked: `{}`", question.trim()))
        .advise("run the command yourself once and answer it, then run the same again")
        .command(command.line())
        .output(tail),
    )
}
