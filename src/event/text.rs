//! Text that goes to a terminal or a log: cleaned of what a guest could do to it, cut to a width.

use std::borrow::Cow;
use std::time::Duration;

/// What replaces the end of a text that was cut.
const CUT: &str = "..";

/// One line of foreign output, safe to print: without escape sequences, control characters and marks
/// that turn the writing direction, and with only what a terminal would show last where the line
/// overwrites itself by carriage returns.
#[must_use]
pub fn clean(line: &str) -> String {
    let line = line.trim_end_matches(['\r', '\n']);
    let line = line.rsplit('\r').next().unwrap_or(line);
    let stripped = console::strip_ansi_codes(line);
    let mut clean = String::with_capacity(stripped.len());
    for c in stripped.chars() {
        match c {
            '\t' => clean.push_str("    "),
            '\n' => clean.push(' '),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            c if c.is_control() => {}
            c => clean.push(c),
        }
    }
    clean
}

/// The number of terminal columns that `text` takes.
#[must_use]
pub fn width(text: &str) -> usize {
    console::measure_text_width(text)
}

/// `text` in at most `columns` columns, ending in `..` when something was cut.
#[must_use]
pub fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if columns < CUT.len() {
        return Cow::Borrowed(if width(text) <= columns { text } else { "" });
    }
    console::truncate_str(text, columns, CUT)
}

/// `text` cut or padded with spaces to exactly `columns` columns.
#[must_use]
pub fn fit(text: &str, columns: usize) -> String {
    let mut fitted = cut(text, columns).into_owned();
    let missing = columns.saturating_sub(width(&fitted));
    fitted.extend(std::iter::repeat_n(' ', missing));
    fitted
}

/// A duration for people: `40 ms`, `1.2 s`, `3 min 12 s`, `1 h 5 min`.
#[must_use]
pub fn duration_text(duration: Duration) -> String {
    let ms = duration.as_millis();
    if ms < 100 {
        return format!("{ms} ms");
    }
    let tenths = (ms + 50) / 100;
    if tenths < 600 {
        return format!("{}.{} s", tenths / 10, tenths % 10);
    }
    let seconds = (ms + 500) / 1000;
    if seconds < 3600 {
        return format!("{} min {} s", seconds / 60, seconds % 60);
    }
    let minutes = (seconds + 30) / 60;
    format!("{} h {} min", minutes / 60, minutes % 60)
}

/// A duration as a clock shows it, short and without fractions: `0:07`, `12:28`, `1:12:28`.
#[must_use]
pub fn clock_text(duration: Duration) -> String {
    let (hours, minutes) = (duration.as_secs() / 3600, duration.as_secs() / 60 % 60);
    let seconds = duration.as_secs() % 60;
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// [`duration_text`] of milliseconds.
#[must_use]
pub fn ms_text(ms: u64) -> String {
    duration_text(Duration::from_millis(ms))
}

/// The time from `start` to `end`; zero when the clock went backwards.
#[must_use]
pub fn between(start: jiff::Timestamp, end: jiff::Timestamp) -> Duration {
    Duration::try_from(end.duration_since(start)).unwrap_or_default()
}

/// `1 step`, `2 steps`.
#[must_use]
pub fn count(n: usize, one: &str) -> String {
    if n == 1 {
        format!("{n} {one}")
    } else {
        format!("{n} {one}s")
    }
}
