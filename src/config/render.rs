//! Diagnostics as a text for people: message, place, source line with a caret, what is allowed.

use std::fmt::Write as _;

use owo_colors::{OwoColorize as _, Style};
use unicode_width::UnicodeWidthChar as _;

use super::diagnostic::{Diagnostic, SHOWN, Severity};

/// Columns that a tab of a source line takes.
const TAB: usize = 4;
/// Columns of a source line that are shown at most, and those before the caret in a longer line.
const WINDOW: usize = 120;
const BEFORE_CARET: usize = 60;

struct Paint {
    colored: bool,
}

impl Paint {
    fn paint(&self, text: &str, style: Style) -> String {
        if self.colored {
            text.style(style).to_string()
        } else {
            text.to_owned()
        }
    }
}

/// All of `diagnostics`; the first 50 in full, the rest counted.
pub(crate) fn render(diagnostics: &[Diagnostic], colored: bool) -> String {
    let paint = Paint { colored };
    let mut out = String::new();
    for diagnostic in diagnostics.iter().take(SHOWN) {
        if !out.is_empty() {
            out.push('\n');
        }
        one(&mut out, diagnostic, &paint);
    }
    if let Some(more) = diagnostics.len().checked_sub(SHOWN).filter(|n| *n > 0) {
        let _ = writeln!(out, "\n… and {more} more");
    }
    out
}

fn one(out: &mut String, diagnostic: &Diagnostic, paint: &Paint) {
    let strong = match diagnostic.severity {
        Severity::Error => Style::new().red().bold(),
        Severity::Warning => Style::new().yellow().bold(),
        Severity::Note => Style::new().cyan().bold(),
    };
    let dim = Style::new().blue();
    let label = paint.paint(&diagnostic.severity.to_string(), strong);
    let _ = writeln!(out, "{label}: {}", printable(&diagnostic.message));
    let number = diagnostic.line.map_or(String::new(), |n| n.to_string());
    let margin = " ".repeat(number.len().max(1));
    if let Some(place) = diagnostic.place() {
        let arrow = paint.paint("-->", dim);
        let _ = writeln!(out, "{margin}{arrow} {}", printable(&place));
    }
    let bar = paint.paint("|", dim);
    if let (Some(line), Some((col, len))) = (&diagnostic.source_line, diagnostic.caret) {
        let (text, pad, width) = window(line, col, len);
        let carets = paint.paint(&"^".repeat(width.max(1)), strong);
        let number = paint.paint(&format!("{number:>width$}", width = margin.len()), dim);
        let _ = writeln!(out, "{margin} {bar}");
        let _ = writeln!(out, "{number} {bar} {text}");
        let _ = writeln!(out, "{margin} {bar} {}{carets}", " ".repeat(pad));
    }
    let equals = paint.paint("=", dim);
    if let Some(allowed) = &diagnostic.allowed {
        let _ = writeln!(out, "{margin} {equals} allowed: {}", printable(allowed));
    }
    if let Some(suggestion) = &diagnostic.suggestion {
        let text = printable(suggestion);
        let _ = writeln!(out, "{margin} {equals} did you mean `{text}`?");
    }
    if let Some(note) = &diagnostic.note {
        let _ = writeln!(out, "{margin} {equals} {}", printable(note));
    }
}

/// The part of `line` around the caret as it is printed, the columns before the caret, and the
/// columns that the caret covers.
fn window(line: &str, col: usize, len: usize) -> (String, usize, usize) {
    let first = col.saturating_sub(1);
    let skip = first.saturating_sub(BEFORE_CARET);
    let (mut text, mut pad, mut width, mut total) = (String::new(), 0, 0, 0);
    if skip > 0 {
        text.push('…');
        pad = 1;
        total = 1;
    }
    for (index, c) in line.chars().enumerate().skip(skip) {
        if total >= WINDOW {
            text.push('…');
            break;
        }
        let shown = if c == '\t' {
            " ".repeat(TAB)
        } else {
            visible(c).to_string()
        };
        let columns = shown.chars().map(|c| c.width().unwrap_or(0)).sum::<usize>();
        if index < first {
            pad += columns;
        } else if index < first + len {
            width += columns;
        }
        total += columns;
        text.push_str(&shown);
    }
    // A caret behind the end of the line (something is missing there).
    let shown = line.chars().count();
    if first > shown {
        pad += first - shown;
    }
    (text.trim_end().to_owned(), pad, width)
}

/// A control character would act on the terminal instead of being seen.
fn visible(c: char) -> char {
    if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
        '\u{fffd}'
    } else {
        c
    }
}

/// A text of ours with a piece of the user's in it, safe for a terminal and on one line.
fn printable(text: &str) -> String {
    text.chars().map(visible).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caret_stands_under_the_same_column_with_tabs_and_wide_characters() {
        let (text, pad, width) = window("\t日本: cilium", 6, 6);
        assert_eq!(text, "    日本: cilium");
        assert_eq!((pad, width), (4 + 4 + 2, 6));
    }

    #[test]
    fn a_long_line_is_cut_around_the_caret() {
        let line = format!("{}bad{}", "a".repeat(5000), "b".repeat(5000));
        let (text, pad, width) = window(&line, 5001, 3);
        assert!(text.chars().count() <= WINDOW + 1, "{}", text.len());
        let under: String = text.chars().skip(pad).take(width).collect();
        assert_eq!(under, "bad");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let diagnostic = Diagnostic::error("unknown key `\u{1b}[31m\n`");
        let text = render(&[diagnostic], false);
        assert!(!text.contains('\u{1b}'), "{text:?}");
        assert_eq!(text.lines().count(), 1, "{text:?}");
    }
}
