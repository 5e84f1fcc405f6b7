//! The terminal that indicatif draws on: takes its rows over and puts them on the real screen.
//!
//! indicatif 0.18 fills each row with spaces up to the last column, lets the terminal wrap there and
//! moves up by the number of rows it drew (`DrawState::draw_to_term` in its `src/draw_target.rs`). A
//! terminal that reflows text takes such rows for one long line, so that a change of the width tears
//! the rows and what is finished above them. Here every row ends in a newline, and what is replaced is
//! counted at the width of now. Rows that a terminal moved into its history when it became smaller
//! stay there: nothing can reach them.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indicatif::TermLike;

use super::text::width as columns_of;

/// Where the display is drawn.
pub trait Screen: Send {
    /// Rows and columns now.
    fn size(&self) -> (usize, usize);
    /// Writes the text in one piece; errors are ignored.
    fn write(&mut self, text: &str);
}

/// The stderr of this process.
pub(super) struct Stderr(console::Term);

impl Stderr {
    pub(super) fn new() -> Self {
        Self(console::Term::buffered_stderr())
    }
}

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

/// A screen of which the lower part is replaced again and again; clones draw on the same.
#[derive(Clone)]
pub(super) struct Canvas(Arc<Mutex<Inner>>);

struct Inner {
    screen: Box<dyn Screen>,
    /// Rows and columns when the rows were last laid out; they stay the same within a layout.
    size: (usize, usize),
    /// What indicatif writes at the moment: whole rows, and one that is not yet filled.
    incoming: Vec<String>,
    open: Option<String>,
    /// What indicatif wrote last.
    rows: Vec<String>,
    /// Finished lines that are not yet on the screen.
    above: String,
    /// The widths of the rows that are on the screen and will be replaced.
    drawn: Vec<usize>,
}

impl Canvas {
    pub(super) fn new(screen: Box<dyn Screen>) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            size: screen.size(),
            screen,
            incoming: Vec::new(),
            open: None,
            rows: Vec::new(),
            above: String::new(),
            drawn: Vec::new(),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic elsewhere is no reason to lose the display too.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the screen for its rows and columns, which are then those of the next layout.
    pub(super) fn measure(&self) -> (usize, usize) {
        let mut inner = self.lock();
        inner.size = inner.screen.size();
        inner.size
    }

    /// Keeps finished lines for the next drawing.
    pub(super) fn say(&self, text: &str) {
        let mut inner = self.lock();
        for line in text.lines() {
            inner.above.push_str(line);
            inner.above.push_str("\r\n");
        }
    }

    /// Whether finished lines wait for a drawing.
    pub(super) fn has_news(&self) -> bool {
        !self.lock().above.is_empty()
    }

    /// Puts the finished lines and the rows below them on the screen.
    pub(super) fn show(&self) {
        let mut inner = self.lock();
        let rows = std::mem::take(&mut inner.rows);
        inner.replace(&rows);
        inner.rows = rows;
    }

    /// Takes the rows off the screen and leaves the finished lines.
    pub(super) fn erase(&self) {
        self.lock().replace(&[]);
    }
}

impl Inner {
    /// Replaces the rows on the screen by the finished lines and `rows` below them, in one write.
    fn replace(&mut self, rows: &[String]) {
        use std::fmt::Write;
        let columns = self.screen.size().1.max(1);
        let height: usize = self
            .drawn
            .iter()
            .map(|width| width.div_ceil(columns).max(1))
            .sum();
        // Where the terminal understands it (DEC private mode 2026), the screen changes at once.
        let mut text = String::from("\x1b[?2026h\r");
        if height > 0 {
            let _ = write!(text, "\x1b[{height}A");
        }
        let finished = self.above.split_terminator("\r\n");
        for line in finished.chain(rows.iter().map(String::as_str)) {
            let _ = write!(text, "{line}\x1b[K\r\n");
        }
        text.push_str("\x1b[J\x1b[?2026l");
        self.screen.write(&text);
        self.above.clear();
        self.drawn = rows.iter().map(|row| columns_of(row)).collect();
    }
}

impl std::fmt::Debug for Canvas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Canvas").finish_non_exhaustive()
    }
}

fn saturated(n: usize) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX)
}

/// Movements are not needed, since every layout writes all rows.
impl TermLike for Canvas {
    fn width(&self) -> u16 {
        saturated(self.lock().size.1.max(1))
    }

    fn height(&self) -> u16 {
        saturated(self.lock().size.0.max(1))
    }

    fn move_cursor_up(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        Ok(())
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(text)?;
        self.write_str("")
    }

    /// Takes a row, or the spaces that fill the one before.
    fn write_str(&self, text: &str) -> io::Result<()> {
        let mut inner = self.lock();
        let fills = text.bytes().all(|byte| byte == b' ');
        match inner.open.take() {
            Some(row) if fills => inner.incoming.push(row),
            Some(row) => {
                inner.incoming.push(row);
                inner.open = Some(text.to_owned());
            }
            None => inner.open = Some(text.trim_end().to_owned()),
        }
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let mut inner = self.lock();
        let last = inner.open.take();
        inner.incoming.extend(last);
        inner.rows = std::mem::take(&mut inner.incoming);
        Ok(())
    }
}
