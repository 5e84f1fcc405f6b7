//! The live display: a line for each lane that redraws itself, and what is finished above it.
//!
//! Drawn with `console` and not with indicatif: indicatif 0.18 fills every line up to the last column
//! and lets the terminal wrap, so each later change of the width tears what stands on the screen. Here
//! every line ends in a newline, no line reaches the last column, and a redraw counts the rows that the
//! previous one takes at the width of now. The cursor is never hidden, so nothing has to restore it.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::Timestamp;
use owo_colors::OwoColorize;

use super::board::{Board, Tone};
use super::lines::{Columns, SIMULATION, event_line, plan_text};
use super::report::other_failures_text;
use super::text::{clean, fit, ms_text, width as columns_of};
use super::{Body, Event, Sink};
use crate::error::Failure;
use crate::ui::Verbosity;

/// The least time between two drawings.
const FRAME: Duration = Duration::from_millis(100);

/// With as many rows an empty one sets the display off from what is finished.
const ROWS_FOR_SPACE: usize = 12;

/// Where the display is drawn.
pub trait Screen: Send {
    /// Rows and columns now.
    fn size(&self) -> (usize, usize);
    /// Writes the text in one piece; errors are ignored.
    fn write(&mut self, text: &str);
}

struct Stderr(console::Term);

impl Screen for Stderr {
    fn size(&self) -> (usize, usize) {
        let (rows, columns) = self.0.size();
        (usize::from(rows), usize::from(columns))
    }

    fn write(&mut self, text: &str) {
        let _ = self.0.write_str(text);
        let _ = self.0.flush();
    }
}

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
    screen: Box<dyn Screen>,
    board: Board,
    columns: Columns,
    verbosity: Verbosity,
    colored: bool,
    unicode: bool,
    failures: Vec<Failure>,
    /// Finished lines that are not yet on the screen.
    above: String,
    /// The widths of the lines that are on the screen and will be replaced.
    drawn: Vec<usize>,
    dirty: bool,
    over: bool,
}

impl Terminal {
    /// A display on stderr.
    #[must_use]
    pub fn stderr(verbosity: Verbosity, colored: bool, unicode: bool) -> Self {
        let screen = Stderr(console::Term::buffered_stderr());
        let mut terminal = Self::on(Box::new(screen), verbosity, colored, unicode);
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
        let live = Live {
            screen,
            board: Board::default(),
            columns: Columns::default(),
            verbosity,
            colored,
            unicode,
            failures: Vec::new(),
            above: String::new(),
            drawn: Vec::new(),
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
        live.say(text.trim_end_matches('\n'));
        live.dirty = true;
        live.draw();
    }

    /// Runs `f` without the display, as for a question; it returns afterwards.
    pub fn suspend<R>(&self, f: impl FnOnce() -> R) -> R {
        let mut live = self.lock();
        live.draw_frame(&[]);
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
                    self.say(&banner);
                }
                let plan = plan_text(lanes);
                self.say(&format!(
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
                let width = self.screen.size().1;
                let text =
                    other_failures_text(&self.failures, failure.as_ref(), width, self.colored);
                self.above.push_str(&text.replace('\n', "\r\n"));
                self.finish();
            }
            _ => self.say_event(event),
        }
    }

    fn say(&mut self, text: &str) {
        for line in text.lines() {
            self.above.push_str(line);
            self.above.push_str("\r\n");
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
            Body::StepCancelled { why, .. } => {
                (Mark::Bad, Tone::Normal, format!("stopped: {}", clean(why)))
            }
            Body::Warning { .. } | Body::MachineReplaced { .. } | Body::Interrupting { .. } => {
                if let Some(line) = event_line(event, self.columns) {
                    let line = self.tone(&line, Tone::Loud);
                    self.say(&line);
                }
                return;
            }
            _ if verbose => {
                if let Some(line) = event_line(event, self.columns) {
                    let line = self.tone(&line, Tone::Dim);
                    self.say(&line);
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
        self.say(&format!("{mark} {name}  {title} {text}"));
    }

    fn tone(&self, text: &str, tone: Tone) -> String {
        if !self.colored {
            return text.to_owned();
        }
        match tone {
            Tone::Normal => text.to_owned(),
            Tone::Dim => text.dimmed().to_string(),
            Tone::Good => text.green().to_string(),
            Tone::Bad => text.red().bold().to_string(),
            Tone::Loud => text.yellow().bold().to_string(),
        }
    }

    fn draw(&mut self) {
        if self.over {
            if !self.above.is_empty() {
                self.draw_frame(&[]);
            }
            return;
        }
        if !std::mem::take(&mut self.dirty) {
            return;
        }
        let (rows, columns) = self.screen.size();
        // The last column stays free, since writing there makes terminals differ; a third of the rows
        // stays for what is finished.
        let mut frame = self
            .board
            .frame(columns.saturating_sub(1), (rows * 2 / 3).max(1));
        if rows >= ROWS_FOR_SPACE && !frame.is_empty() {
            frame.insert(0, (String::new(), Tone::Normal));
        }
        self.draw_frame(&frame);
    }

    /// Replaces the display by the finished lines and the frame below them, in one write.
    fn draw_frame(&mut self, frame: &[(String, Tone)]) {
        use std::fmt::Write;
        let columns = self.screen.size().1.max(1);
        let rows: usize = self
            .drawn
            .iter()
            .map(|width| width.div_ceil(columns).max(1))
            .sum();
        // Where the terminal understands it (DEC private mode 2026), the screen changes at once.
        let mut text = String::from("\x1b[?2026h\r");
        if rows > 0 {
            let _ = write!(text, "\x1b[{rows}A");
        }
        for line in self.above.split_inclusive("\r\n") {
            let _ = write!(text, "{}\x1b[K\r\n", line.trim_end_matches("\r\n"));
        }
        for (line, tone) in frame {
            let _ = write!(text, "{}\x1b[K\r\n", self.tone(line, *tone));
        }
        text.push_str("\x1b[J\x1b[?2026l");
        self.screen.write(&text);
        self.above.clear();
        self.drawn = frame.iter().map(|(line, _)| columns_of(line)).collect();
    }

    /// Takes the display away for good and leaves the finished lines.
    fn finish(&mut self) {
        if !self.over {
            self.draw_frame(&[]);
            self.over = true;
        }
    }
}

enum Mark {
    Good,
    Bad,
}
