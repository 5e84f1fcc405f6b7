//! What the live display shows: the state of every lane, laid out as lines of a given width.
//!
//! Pure: no terminal, no clock. [`super::terminal`] draws it.

use std::collections::HashMap;
use std::fmt::Write;

use jiff::Timestamp;

use super::lines::{SIMULATION, on_text};
use super::row::{Bar, Row, Tone};
use super::text::{between, clean, clock_text, fit, width as columns_of};
use super::{Body, Event, LaneInfo};
use crate::names::{LaneName, StepId};

/// What a lane is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Running,
    Rebooting,
    Retrying,
    Checking,
    Failed,
    Stopped,
    Blocked,
    Waiting,
    Queued,
    Done,
}

impl State {
    const ALL: [Self; 10] = [
        Self::Running,
        Self::Rebooting,
        Self::Retrying,
        Self::Checking,
        Self::Failed,
        Self::Stopped,
        Self::Blocked,
        Self::Waiting,
        Self::Queued,
        Self::Done,
    ];

    const fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Rebooting => "rebooting",
            Self::Retrying => "retrying",
            Self::Checking => "checking",
            Self::Failed => "FAILED",
            Self::Stopped => "stopped",
            Self::Blocked => "blocked",
            Self::Waiting => "waiting",
            Self::Queued => "queued",
            Self::Done => "done",
        }
    }

    const fn tone(self) -> Tone {
        match self {
            Self::Done => Tone::Good,
            Self::Failed => Tone::Bad,
            Self::Stopped | Self::Blocked | Self::Waiting | Self::Queued => Tone::Dim,
            _ => Tone::Normal,
        }
    }

    const fn is_active(self) -> bool {
        matches!(
            self,
            Self::Running | Self::Rebooting | Self::Retrying | Self::Checking
        )
    }

    /// Whether the lane stays so until the end of the run.
    const fn is_bad_end(self) -> bool {
        matches!(self, Self::Failed | Self::Stopped | Self::Blocked)
    }
}

struct Lane {
    info: LaneInfo,
    state: State,
    ended: usize,
    what: String,
    since: Option<Timestamp>,
    output: Option<String>,
}

impl Lane {
    fn title(&self, step: &StepId) -> String {
        let step_info = self.info.steps.iter().find(|info| info.step == *step);
        step_info.map_or_else(|| step.to_string(), |info| clean(&info.title))
    }

    fn enter(&mut self, state: State, what: String, at: Timestamp) {
        if self.state.is_bad_end() {
            return;
        }
        if self.state != state || self.what != what {
            self.since = Some(at);
        }
        self.state = state;
        self.what = what;
    }

    fn end_step(&mut self) {
        self.ended += 1;
        self.output = None;
        self.since = None;
        if self.ended >= self.info.steps.len() {
            self.state = State::Done;
            self.what.clear();
        } else if !self.state.is_bad_end() {
            self.state = State::Queued;
            self.what.clear();
        }
    }

    fn end_badly(&mut self, state: State, what: String) {
        self.output = None;
        self.since = None;
        // The first bad end is the reason of the others.
        if !self.state.is_bad_end() {
            self.state = state;
            self.what = what;
        }
    }
}

/// The state of a run as far as the live display shows it.
#[derive(Default)]
pub struct Board {
    lanes: Vec<Lane>,
    by_name: HashMap<LaneName, usize>,
    simulated: bool,
    started: Option<Timestamp>,
    now: Option<Timestamp>,
    stopping: bool,
}

impl Board {
    /// Takes an event in.
    pub fn event(&mut self, event: &Event) {
        self.tick(event.at);
        match &event.body {
            Body::RunStarted {
                lanes, simulated, ..
            } => {
                self.started = Some(event.at);
                self.simulated = *simulated;
                let names = lanes.iter().map(|info| info.lane.clone());
                self.by_name = names.zip(0..).collect();
                self.lanes = lanes.iter().map(new_lane).collect();
            }
            Body::Interrupting { .. } => self.stopping = true,
            body => {
                let lane = body.lane().and_then(|name| self.by_name.get(name));
                if let Some(lane) = lane.and_then(|&i| self.lanes.get_mut(i)) {
                    lane_event(lane, body, event.at);
                }
            }
        }
    }

    /// Notes the time by the run's clock, from which elapsed times are counted.
    pub fn tick(&mut self, now: Timestamp) {
        self.now = Some(self.now.map_or(now, |before| before.max(now)));
    }

    /// The title that the plan gives a step.
    #[must_use]
    pub fn title(&self, lane: &LaneName, step: &StepId) -> String {
        let lane = self.by_name.get(lane).and_then(|&i| self.lanes.get(i));
        lane.map_or_else(|| step.to_string(), |lane| lane.title(step))
    }

    /// The width of the column for lanes.
    #[must_use]
    pub fn name_width(&self) -> usize {
        let names = self.lanes.iter().map(|lane| lane.info.lane.as_str().len());
        names.max().unwrap_or(0).min(15)
    }

    /// The display as at most `rows` rows of at most `width` columns. Lanes that do something come
    /// first when there is no room for all.
    #[must_use]
    pub fn frame(&self, width: usize, rows: usize) -> Vec<Row> {
        if self.lanes.is_empty() {
            return Vec::new();
        }
        let room = rows.saturating_sub(1).max(1);
        let active = |lane: &&Lane| lane.state.is_active();
        let details = self.lanes.iter().filter(|lane| lane.detail().is_some());
        let (shown, mut details_left): (Vec<&Lane>, usize) = if self.lanes.len() <= room {
            let left = room - self.lanes.len();
            (self.lanes.iter().collect(), left.min(details.count()))
        } else {
            // One line is for those that are left out.
            let room = room.saturating_sub(1);
            let mut shown: Vec<&Lane> = self.lanes.iter().filter(active).take(room).collect();
            let details = shown.iter().filter(|lane| lane.detail().is_some()).count();
            let left = (room - shown.len()).min(details);
            if shown.is_empty() {
                shown = self.lanes.iter().take(room).collect();
            }
            (shown, left)
        };
        let mut lines = Vec::with_capacity(rows);
        let name_width = self.name_width().min(width / 4);
        for lane in &shown {
            lines.push(lane_row(self.now, lane, name_width, width));
            if let Some(detail) = lane.detail()
                && details_left > 0
            {
                details_left -= 1;
                let line = format!("{:name_width$}    {detail}", "");
                lines.push(Row::new(&line, width, Tone::Dim));
            }
        }
        if shown.len() < self.lanes.len() {
            let more = self.more_text(&shown);
            lines.push(Row::new(&more, width, Tone::Dim));
        }
        if rows > 1 {
            lines.push(self.total_row(width));
        }
        lines
    }

    fn more_text(&self, shown: &[&Lane]) -> String {
        let hidden = self.lanes.len() - shown.len();
        let mut counts = Vec::new();
        for state in State::ALL {
            let all = self.lanes.iter().filter(|lane| lane.state == state);
            let visible = shown.iter().filter(|lane| lane.state == state);
            let n = all.count() - visible.count();
            if n > 0 {
                counts.push(format!("{n} {}", state.word()));
            }
        }
        format!("+{hidden} more: {}", counts.join(", "))
    }

    fn total_row(&self, width: usize) -> Row {
        let ended: usize = self.lanes.iter().map(|lane| lane.ended).sum();
        let total: usize = self.lanes.iter().map(|lane| lane.info.steps.len()).sum();
        let elapsed = match (self.started, self.now) {
            (Some(started), Some(now)) => clock_text(between(started, now)),
            _ => String::new(),
        };
        let mut line = format!("{ended}/{total} steps, {elapsed}");
        let mut tone = Tone::Dim;
        if self.stopping {
            line = format!("stopping; Ctrl-C again to stop at once   {line}");
            tone = Tone::Loud;
        }
        if self.simulated {
            let whole = format!("{line}   {SIMULATION}");
            let short = format!("SIMULATION   {line}");
            line = if columns_of(&whole) <= width {
                whole
            } else {
                short
            };
            tone = Tone::Loud;
        }
        Row::new(&line, width, tone)
    }
}

impl Lane {
    fn detail(&self) -> Option<&str> {
        self.output.as_deref().filter(|_| self.state.is_active())
    }
}

fn lane_row(now: Option<Timestamp>, lane: &Lane, name_width: usize, width: usize) -> Row {
    const STATE: usize = 9;
    let elapsed = match (lane.since, now) {
        (Some(since), Some(now)) => clock_text(between(since, now)),
        _ => String::new(),
    };
    let after = format!("{elapsed:>7}");
    let (pos, len) = (lane.ended.min(lane.info.steps.len()), lane.info.steps.len());
    // Wide enough for any lane, so that the bars of all lanes begin in one column.
    let right = format!("{pos:>2}/{len:<2} {after}");
    let left = format!(
        "{}  {} ",
        fit(lane.info.lane.as_str(), name_width),
        fit(lane.state.word(), STATE)
    );
    let tone = lane.state.tone();
    let room = width.saturating_sub(columns_of(&left) + columns_of(&right) + 1);
    // Below, the title of the step says more than a bar, and the numbers say the same.
    if room >= 20 {
        let columns = (room / 3).min(16);
        return Row {
            text: format!("{left}{} ", fit(&lane.what, room - columns - 1)),
            bar: Some(Bar {
                columns,
                pos,
                len,
                after,
            }),
            tone,
        };
    }
    let whole = if room >= 8 {
        format!("{left}{} {right}", fit(&lane.what, room))
    } else {
        format!("{left}{}", right.trim_start())
    };
    Row::new(whole.trim_end(), width, tone)
}

fn new_lane(info: &LaneInfo) -> Lane {
    Lane {
        info: info.clone(),
        state: if info.steps.is_empty() {
            State::Done
        } else {
            State::Queued
        },
        ended: 0,
        what: String::new(),
        since: None,
        output: None,
    }
}

fn lane_event(lane: &mut Lane, body: &Body, at: Timestamp) {
    match body {
        Body::StepProbing { step, .. } => {
            lane.output = None;
            let title = lane.title(step);
            lane.enter(State::Checking, title, at);
        }
        Body::StepWaiting { on, .. } => {
            lane.enter(State::Waiting, format!("for {}", on_text(on)), at);
        }
        Body::StepStarted { step, attempt, .. } => {
            lane.output = None;
            let mut title = lane.title(step);
            if *attempt > 1 {
                let _ = write!(title, " (attempt {attempt})");
            }
            lane.enter(State::Running, title, at);
        }
        Body::StepOutput { line, .. } => {
            let text = clean(line);
            if !text.trim().is_empty() {
                lane.output = Some(text);
            }
        }
        Body::StepRetry {
            step,
            attempt,
            of,
            failure,
            ..
        } => {
            let title = format!("{}, attempt {attempt} of {of} failed", lane.title(step));
            lane.enter(State::Retrying, title, at);
            lane.output = Some(clean(&failure.to_string()));
        }
        Body::RebootStarted { step, .. } => {
            let title = lane.title(step);
            lane.enter(State::Rebooting, title, at);
        }
        Body::RebootProven { step, .. } => {
            let title = lane.title(step);
            lane.enter(State::Running, title, at);
        }
        Body::StepFinished { .. } | Body::StepSkipped { .. } => lane.end_step(),
        Body::StepFailed { step, .. } => {
            let title = lane.title(step);
            lane.end_badly(State::Failed, title);
        }
        Body::StepCancelled { step, .. } => {
            let title = lane.title(step);
            lane.end_badly(State::Stopped, title);
        }
        Body::StepBlocked { on, .. } => {
            lane.end_badly(State::Blocked, format!("needs {}", on_text(on)));
        }
        _ => {}
    }
}
