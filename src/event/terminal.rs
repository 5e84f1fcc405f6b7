//! The live display: a progress bar for each lane, and what is finished above them.
//!
//! indicatif lays the bars out ([`super::bars`]); [`super::canvas`] puts them on the screen. The cursor is
//! never hidden, so nothing has to restore it.

use std::collections::HashSet;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::Timestamp;

use super::bars::{Bars, toned};
use super::board::Board;
use super::canvas::{Canvas, Stderr};
use super::lines::{Columns, SIMULATION, event_line, plan_text};
use super::report::other_failures_text;
use super::row::{Row, Tone};
use super::text::{clean, fit, ms_text};
use super::{Body, Event, Sink};
use crate::error::Failure;
use crate::names::{LaneName, StepId};
use crate::ui::Verbosity;

pub use super::canvas::Screen;

/// The least time between two drawings.
const FRAME: Duration = Duration::from_millis(100);

/// With as many rows an empty one sets the display off from what is finished.
const ROWS_FOR_SPACE: usize = 12;

/// Wider rows would be no easier to read, and a window that becomes narrower would wrap them.
const WIDEST: usize = 100;

/// The live display of a run.
pub struct Terminal {
    live: Printer,
    poke: Option<Sender<()>>,
    drawer: Option<JoinHandle<()>>,
}

/// Prints above the live display; cheap to clone.
#[derive(Clone)]
pub struct Printer(Arc<Mutex<Live>>);

#[expect(
    clippy::struct_excessive_bools,
    reason = "two are settings, two are independent facts"
)]
struct Live {
    canvas: Canvas,
    bars: Bars,
    board: Board,
    columns: Columns,
    verbosity: Verbosity,
    colored: bool,
    unicode: bool,
    failures: Vec<Failure>,
    /// The steps that were started.
    begun: HashSet<(LaneName, StepId)>,
    dirty: bool,
    over: bool,
}

impl Terminal {
    /// A display on stderr.
    #[must_use]
    pub fn stderr(verbosity: Verbosity, colored: bool, unicode: bool) -> Self {
        let mut terminal = Self::on(Box::new(Stderr::new()), verbosity, colored, unicode);
        let (poke, poked) = channel::<()>();
        let live = terminal.live.clone();
        // Draws a little after something changed, whatever else the process does. Without the thread
        // the display would still be right, only up to a second late.
        terminal.drawer = std::thread::Builder::new()
            .name("display".to_owned())
            .spawn(move || {
                while poked.recv().is_ok() {
                    std::thread::sleep(FRAME);
                    live.lock().draw();
                }
            })
            .ok();
        terminal.poke = Some(poke);
        terminal
    }

    /// Whether stderr, known to be a terminal, understands what the display needs. Switches it on in
    /// Windows consoles, of which those before Windows 10 have none.
    #[must_use]
    pub fn possible() -> bool {
        !cfg!(windows) || console::Term::stderr().features().colors_supported()
    }

    /// A display on `screen` that draws only on [`Sink::tick`], [`Self::draw`] and at the end.
    #[must_use]
    pub fn on(screen: Box<dyn Screen>, verbosity: Verbosity, colored: bool, unicode: bool) -> Self {
        let canvas = Canvas::new(screen);
        let live = Live {
            bars: Bars::new(canvas.clone(), colored, unicode),
            canvas,
            board: Board::default(),
            columns: Columns::default(),
            verbosity,
            colored,
            unicode,
            failures: Vec::new(),
            begun: HashSet::new(),
            dirty: false,
            over: false,
        };
        Self {
            live: Printer(Arc::new(Mutex::new(live))),
            poke: None,
            drawer: None,
        }
    }

    /// A handle for whoever has something to say while the display stands.
    #[must_use]
    pub fn printer(&self) -> Printer {
        self.live.clone()
    }

    /// Draws what changed since the last time.
    pub fn draw(&self) {
        self.live.lock().draw();
    }

    fn changed(&self, first: bool) {
        if let Some(poke) = self.poke.as_ref().filter(|_| first) {
            let _ = poke.send(());
        }
    }
}

impl Sink for Terminal {
    fn event(&mut self, event: &Event) {
        let mut live = self.live.lock();
        let first = !live.dirty;
        live.event(event);
        drop(live);
        self.changed(first);
    }

    fn tick(&mut self, now: Timestamp) {
        let mut live = self.live.lock();
        live.board.tick(now);
        live.dirty = true;
        live.draw();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.poke = None;
        self.live.lock().finish();
        if let Some(drawer) = self.drawer.take() {
            let _ = drawer.join();
        }
    }
}

impl Printer {
    fn lock(&self) -> MutexGuard<'_, Live> {
        // A panic elsewhere is no reason to lose the display too.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints lines above the display at once.
    pub fn print(&self, text: &str) {
        let mut live = self.lock();
        live.canvas.say(text.trim_end_matches('\n'));
        live.dirty = true;
        live.draw();
    }

    /// Runs `f` without the display, as for a question; it returns afterwards.
    pub fn suspend<R>(&self, f: impl FnOnce() -> R) -> R {
        let mut live = self.lock();
        live.canvas.erase();
        let result = f();
        live.dirty = true;
        live.draw();
        result
    }
}

impl Live {
    fn event(&mut self, event: &Event) {
        self.board.event(event);
        self.dirty = true;
        if let Body::StepStarted { lane, step, .. } = &event.body {
            self.begun.insert((lane.clone(), step.clone()));
        }
        match &event.body {
            Body::RunStarted {
                command,
                sandbox,
                provider,
                simulated,
                lanes,
                ..
            } => {
                self.columns = Columns::of(lanes);
                if *simulated {
                    let banner = self.tone(&format!("*** {SIMULATION} ***"), Tone::Loud);
                    self.canvas.say(&banner);
                }
                let plan = plan_text(lanes);
                self.canvas.say(&format!(
                    "{command}: sandbox {sandbox}, provider {provider}, {plan}"
                ));
            }
            Body::StepFailed {
                lane,
                step,
                failure,
                ..
            } => {
                let mut failure = failure.clone();
                failure.lane.get_or_insert_with(|| lane.clone());
                failure.step.get_or_insert_with(|| step.clone());
                self.failures.push(failure);
                self.say_event(event);
            }
            Body::RunFinished { failure, .. } => {
                let width = self.canvas.measure().1;
                let text =
                    other_failures_text(&self.failures, failure.as_ref(), width, self.colored);
                self.canvas.say(&text);
                self.finish();
            }
            _ => self.say_event(event),
        }
    }

    /// The line that an event leaves above the display, if it is worth one.
    fn say_event(&mut self, event: &Event) {
        let verbose = self.verbosity >= Verbosity::Verbose;
        let (mark, tone, text) = match &event.body {
            Body::StepFinished { took_ms, .. } => {
                (Mark::Good, Tone::Good, format!("({})", ms_text(*took_ms)))
            }
            Body::StepFailed {
                took_ms, failure, ..
            } => {
                let why = clean(&failure.message);
                let text = format!("FAILED ({}): {why}", ms_text(*took_ms));
                (Mark::Bad, Tone::Bad, text)
            }
            // What never began is no news.
            Body::StepCancelled { lane, step, .. }
                if !self.begun.contains(&(lane.clone(), step.clone())) =>
            {
                return;
            }
            Body::StepCancelled { why, .. } => (
                Mark::Bad,
                Tone::Normal,
                format!("(stopped: {})", clean(why)),
            ),
            Body::Warning { .. } | Body::MachineReplaced { .. } | Body::Interrupting { .. } => {
                if let Some(line) = event_line(event, self.columns) {
                    let line = self.tone(&line, Tone::Loud);
                    self.canvas.say(&line);
                }
                return;
            }
            _ if verbose => {
                if let Some(line) = event_line(event, self.columns) {
                    let line = self.tone(&line, Tone::Dim);
                    self.canvas.say(&line);
                }
                return;
            }
            _ => return,
        };
        let (Some(lane), Some(step)) = (event.body.lane(), event.body.step()) else {
            return;
        };
        let mark = match (mark, self.unicode) {
            (Mark::Good, true) => "✓",
            (Mark::Good, false) => "ok",
            (Mark::Bad, true) => "✗",
            (Mark::Bad, false) => "!!",
        };
        let name = fit(lane.as_str(), self.board.name_width());
        let title = self.board.title(lane, step);
        let mark = self.tone(mark, tone);
        self.canvas.say(&format!("{mark} {name}  {title} {text}"));
    }

    fn tone(&self, text: &str, tone: Tone) -> String {
        toned(text, tone, self.colored)
    }

    fn draw(&mut self) {
        if self.over {
            if self.canvas.has_news() {
                self.canvas.erase();
            }
            return;
        }
        if !std::mem::take(&mut self.dirty) {
            return;
        }
        let (rows, columns) = self.canvas.measure();
        // The last column stays free, since writing there makes terminals differ; a third of the rows
        // stays for what is finished.
        let mut frame = self
            .board
            .frame(columns.saturating_sub(1).min(WIDEST), (rows * 2 / 3).max(1));
        if rows >= ROWS_FOR_SPACE && !frame.is_empty() {
            frame.insert(0, Row::new("", 0, Tone::Normal));
        }
        self.bars.set(frame);
        self.canvas.show();
    }

    /// Takes the display away for good and leaves the finished lines.
    fn finish(&mut self) {
        if !self.over {
            self.canvas.erase();
            self.over = true;
        }
    }
}

enum Mark {
    Good,
    Bad,
}
