//! Plain lines: one timestamped line an event, for pipes, CI and whoever wants no colours.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use owo_colors::OwoColorize;

use super::lines::{Columns, SIMULATION, event_line};
use super::report::other_failures_text;
use super::text::{between, count, duration_text};
use super::{Body, Event, Sink};
use crate::error::Failure;
use crate::names::StepKey;
use crate::ui::Verbosity;

/// A running step that printed nothing for this long is mentioned, so that nobody takes it for hung.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// More silent steps than this are told in one line.
const HEARTBEAT_LINES: usize = 8;

/// The width to which the failures at the end are wrapped.
const WIDTH: usize = 100;

/// Writes one line an event. Errors of the writer are ignored: a run does not end because nobody
/// reads about it.
pub struct Plain {
    writer: Box<dyn Write + Send>,
    verbosity: Verbosity,
    colored: bool,
    zone: TimeZone,
    columns: Columns,
    running: BTreeMap<StepKey, Running>,
    failures: Vec<Failure>,
}

struct Running {
    since: Timestamp,
    last_line: Timestamp,
}

impl Plain {
    /// Lines for `writer`, with times of day in the host's time zone.
    #[must_use]
    pub fn new(writer: Box<dyn Write + Send>, verbosity: Verbosity, colored: bool) -> Self {
        Self {
            writer,
            verbosity,
            colored,
            zone: TimeZone::system(),
            columns: Columns::default(),
            running: BTreeMap::new(),
            failures: Vec::new(),
        }
    }

    /// Shows times of day in `zone` instead.
    #[must_use]
    pub fn in_zone(mut self, zone: TimeZone) -> Self {
        self.zone = zone;
        self
    }

    fn shows(&self, body: &Body) -> bool {
        let least = match body {
            Body::StepFailed { .. } | Body::Warning { .. } => Verbosity::Quiet,
            Body::StepOutput { .. }
            | Body::StepProbing { .. }
            | Body::BootSeen { .. }
            | Body::Intent { .. }
            | Body::Removed { .. } => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        self.verbosity >= least
    }

    fn line(&mut self, at: Timestamp, text: &str) {
        let time = self.zone.to_datetime(at).strftime("%H:%M:%S");
        // One write a line, so that lines of several writers to one file stay whole.
        let _ = self.writer.write_all(format!("{time} {text}\n").as_bytes());
    }

    fn paint(&self, text: String, body: &Body) -> String {
        if !self.colored {
            return text;
        }
        match body {
            Body::StepFailed { .. } => text.red().to_string(),
            Body::StepRetry { .. } | Body::Warning { .. } | Body::Interrupting { .. } => {
                text.yellow().to_string()
            }
            Body::StepFinished { .. } => text.green().to_string(),
            Body::StepOutput { .. } | Body::StepSkipped { .. } => text.dimmed().to_string(),
            _ => text,
        }
    }

    fn keep_track(&mut self, event: &Event, shown: bool) {
        let (Some(lane), Some(step)) = (event.body.lane(), event.body.step()) else {
            return;
        };
        let key = StepKey {
            lane: lane.clone(),
            step: step.clone(),
        };
        match &event.body {
            Body::StepStarted { .. } => {
                let running = Running {
                    since: event.at,
                    last_line: event.at,
                };
                self.running.insert(key, running);
            }
            Body::StepFinished { .. } | Body::StepCancelled { .. } | Body::StepSkipped { .. } => {
                self.running.remove(&key);
            }
            Body::StepFailed { failure, .. } => {
                self.running.remove(&key);
                let mut failure = failure.clone();
                failure.lane.get_or_insert(key.lane);
                failure.step.get_or_insert(key.step);
                self.failures.push(failure);
            }
            _ => {
                if let Some(running) = self.running.get_mut(&key)
                    && shown
                {
                    running.last_line = event.at;
                }
            }
        }
    }
}

impl Sink for Plain {
    fn event(&mut self, event: &Event) {
        let shown = self.shows(&event.body);
        self.keep_track(event, shown);
        if let Body::RunStarted {
            lanes, simulated, ..
        } = &event.body
        {
            self.columns = Columns::of(lanes);
            // With `--quiet` the line that says so is left out, but not the fact.
            if *simulated && !shown {
                self.line(event.at, SIMULATION);
            }
        }
        if shown && let Some(line) = event_line(event, self.columns) {
            let line = self.paint(line, &event.body);
            self.line(event.at, &line);
        }
        if let Body::RunFinished { failure, .. } = &event.body {
            let text = other_failures_text(&self.failures, failure.as_ref(), WIDTH, self.colored);
            let _ = self.writer.write_all(text.as_bytes());
            self.running.clear();
        }
        let _ = self.writer.flush();
    }

    fn tick(&mut self, now: Timestamp) {
        if self.verbosity < Verbosity::Normal {
            return;
        }
        let mut silent = Vec::new();
        for (key, running) in &mut self.running {
            if between(running.last_line, now) >= HEARTBEAT {
                running.last_line = now;
                silent.push((running.since, key.clone()));
            }
        }
        if silent.len() > HEARTBEAT_LINES {
            let Some((since, key)) = silent.iter().min() else {
                return;
            };
            let text = format!(
                "{} still running; longest {key}, {} so far",
                count(silent.len(), "step"),
                duration_text(between(*since, now))
            );
            self.line(now, &text);
        } else {
            for (since, key) in silent {
                let who = self.columns.who(&key.lane, &key.step);
                let text = format!(
                    "{who}still running, {} so far",
                    duration_text(between(since, now))
                );
                self.line(now, &text);
            }
        }
        let _ = self.writer.flush();
    }
}
