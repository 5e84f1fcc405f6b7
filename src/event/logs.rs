//! Log files: one for each step, and `run.log` with everything.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use jiff::Timestamp;

use super::lines::{Columns, event_line};
use super::report::failure_text;
use super::text::{clean, ms_text};
use super::{Body, Event, Sink, Stream};
use crate::error::io_failure;
use crate::names::{LaneName, StepId};

/// The log of the whole run, beside the logs of its steps.
pub const RUN_LOG: &str = "run.log";

/// More files than this are not kept open: macOS allows a process 256 by default.
const OPEN_FILES: usize = 64;

/// Longer names are cut; Windows counts the whole path, 260 characters by default.
const NAME_LENGTH: usize = 80;

/// Writes the log files of one run, each when the first line for it comes. An error, such as a full
/// disk, is told once and ends neither the run nor the attempts to write.
pub struct Logs {
    dir: PathBuf,
    open: HashMap<String, File>,
    columns: Columns,
    warned: bool,
    warn: Box<dyn FnMut(&str) + Send>,
}

impl Logs {
    /// Logs in the folder `dir`, which is created when needed. Warnings go to stderr.
    #[must_use]
    pub fn new(dir: PathBuf) -> Self {
        Self {
            dir,
            open: HashMap::new(),
            columns: Columns::default(),
            warned: false,
            warn: Box::new(|text| {
                let _ = writeln!(std::io::stderr(), "{text}");
            }),
        }
    }

    /// Gives warnings to `warn` instead, so that they do not tear the progress display.
    #[must_use]
    pub fn warnings_to(mut self, warn: impl FnMut(&str) + Send + 'static) -> Self {
        self.warn = Box::new(warn);
        self
    }

    fn write(&mut self, name: &str, text: &str) {
        if let Err(error) = self.try_write(name, text) {
            self.open.remove(name);
            if !self.warned {
                self.warned = true;
                let failure = io_failure("write the log", &self.dir.join(name), &error);
                (self.warn)(&format!(
                    "warning: {failure}; the run goes on, its logs are incomplete"
                ));
            }
        }
    }

    fn try_write(&mut self, name: &str, text: &str) -> std::io::Result<()> {
        if let Some(file) = self.open.get_mut(name) {
            return file.write_all(text.as_bytes());
        }
        if self.open.len() >= OPEN_FILES {
            let victim = self.open.keys().find(|open| *open != RUN_LOG).cloned();
            if let Some(victim) = victim {
                self.open.remove(&victim);
            }
        }
        std::fs::create_dir_all(&self.dir)?;
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.dir.join(name))?;
        file.write_all(text.as_bytes())?;
        self.open.insert(name.to_owned(), file);
        Ok(())
    }
}

impl Sink for Logs {
    fn event(&mut self, event: &Event) {
        if let Body::RunStarted { lanes, .. } = &event.body {
            self.columns = Columns::of(lanes);
        }
        let at = time(event.at);
        if let Some(line) = event_line(event, self.columns) {
            self.write(RUN_LOG, &format!("{at} {line}\n"));
        }
        if let (Some(lane), Some(step)) = (event.body.lane(), event.body.step())
            && let Some(text) = step_text(&at, &event.body)
        {
            let name = step_log_name(lane, step);
            self.write(&name, &text);
            if ends_step(&event.body) {
                self.open.remove(&name);
            }
        }
        if matches!(event.body, Body::RunFinished { .. }) {
            self.open.clear();
        }
    }
}

fn ends_step(body: &Body) -> bool {
    matches!(
        body,
        Body::StepFinished { .. } | Body::StepFailed { .. } | Body::StepCancelled { .. }
    )
}

/// What the log of the step says about the event.
fn step_text(at: &str, body: &Body) -> Option<String> {
    let mut text = String::new();
    let _ = match body {
        Body::StepOutput { stream, line, .. } => {
            let mark = match stream {
                Stream::Stderr => "err",
                Stream::Note => "---",
                Stream::Stdout | Stream::Unknown => "out",
            };
            writeln!(text, "{at} {mark} {}", clean(line))
        }
        Body::StepStarted {
            attempt,
            fingerprint,
            ..
        } => writeln!(
            text,
            "{at} --- attempt {attempt}, fingerprint {fingerprint}"
        ),
        Body::StepRetry {
            attempt,
            of,
            delay_ms,
            failure,
            ..
        } => writeln!(
            text,
            "{at} --- attempt {attempt} of {of} failed; the next one in {}\n{}",
            ms_text(*delay_ms),
            failure_text(failure, 100, false, "")
        ),
        Body::RebootStarted { boot, .. } => {
            writeln!(text, "{at} --- rebooting, boot identity {boot}")
        }
        Body::RebootProven { boot, took_ms, .. } => writeln!(
            text,
            "{at} --- back after {}, boot identity {boot}",
            ms_text(*took_ms)
        ),
        Body::StepFinished { took_ms, .. } => {
            writeln!(text, "{at} --- done in {}", ms_text(*took_ms))
        }
        Body::StepFailed {
            took_ms, failure, ..
        } => writeln!(
            text,
            "{at} --- failed after {}\n{}",
            ms_text(*took_ms),
            failure_text(failure, 100, false, "")
        ),
        Body::StepCancelled { why, .. } => writeln!(text, "{at} --- stopped: {}", clean(why)),
        _ => return None,
    };
    Some(text)
}

fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// The name of the log file of a step, `NODE-STEP.log`: safe on every file system, and never the same
/// for two steps.
#[must_use]
pub fn step_log_name(lane: &LaneName, step: &StepId) -> String {
    let plain = format!("{lane}-{step}");
    let mut name: String = plain
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') {
                c
            } else {
                '_'
            }
        })
        .take(NAME_LENGTH)
        .collect();
    // Windows takes `A` and `a` for one name, and no name that begins with a device's (`con.x.log`).
    let dotted_lane = lane.as_str().contains('.');
    let upper = name.chars().any(|c| c.is_ascii_uppercase());
    if name != plain || upper || dotted_lane || name.starts_with(['-', '.']) {
        if dotted_lane || name.starts_with(['-', '.']) {
            name.insert(0, '_');
        }
        let hash = blake3::hash(format!("{lane}\0{step}").as_bytes()).to_hex();
        name.push('-');
        name.extend(hash.chars().take(8));
    }
    name.push_str(".log");
    name
}
