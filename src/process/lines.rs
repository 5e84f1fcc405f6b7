//! Cuts a byte stream into lines that can be shown: lossy UTF-8, no terminal escapes, progress that
//! overwrites itself thinned out, and no line without bound.

use std::time::{Duration, Instant};

/// How often progress that overwrites its own line is passed on.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// One stream being cut into lines.
#[derive(Debug)]
pub struct Lines {
    segment: Vec<u8>,
    /// What stands on the line before the last carriage return.
    overwritten: Vec<u8>,
    after_return: bool,
    longest: usize,
    progress_shown: Option<Instant>,
}

impl Lines {
    /// Lines of at most `longest` bytes; longer ones are passed on in pieces.
    #[must_use]
    pub fn new(longest: usize) -> Self {
        Self {
            segment: Vec::new(),
            overwritten: Vec::new(),
            after_return: false,
            longest: longest.max(8),
            progress_shown: None,
        }
    }

    /// Takes more bytes, and passes on each line that they complete.
    pub fn push(&mut self, bytes: &[u8], now: Instant, line: &mut dyn FnMut(&str)) {
        for &byte in bytes {
            if byte == b'\n' {
                self.end_line(line);
                continue;
            }
            if self.after_return {
                self.after_return = false;
                self.overwrite(now, line);
            }
            if byte == b'\r' {
                self.after_return = true;
                continue;
            }
            self.segment.push(byte);
            if self.segment.len() >= self.longest {
                let rest = self.segment.split_off(whole_characters(&self.segment));
                line(&clean(&self.segment));
                self.segment = rest;
            }
        }
    }

    /// The stream has ended: passes on what has no line end.
    pub fn end(&mut self, line: &mut dyn FnMut(&str)) {
        if !self.segment.is_empty() || !self.overwritten.is_empty() {
            self.end_line(line);
        }
    }

    /// What stands on the unfinished last line.
    #[must_use]
    pub fn unfinished(&self) -> String {
        clean(&self.segment)
    }

    fn overwrite(&mut self, now: Instant, line: &mut dyn FnMut(&str)) {
        let segment = std::mem::take(&mut self.segment);
        if segment.is_empty() {
            return;
        }
        let due = self
            .progress_shown
            .is_none_or(|shown| now.duration_since(shown) >= PROGRESS_EVERY);
        if due {
            self.progress_shown = Some(now);
            self.overwritten.clear();
            line(&clean(&segment));
        } else {
            self.overwritten = segment;
        }
    }

    fn end_line(&mut self, line: &mut dyn FnMut(&str)) {
        self.after_return = false;
        let segment = std::mem::take(&mut self.segment);
        let overwritten = std::mem::take(&mut self.overwritten);
        line(&clean(if segment.is_empty() {
            &overwritten
        } else {
            &segment
        }));
    }
}

/// How many bytes make whole characters: a character that is cut at the end is left for later.
fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => error.valid_up_to(),
        _ => bytes.len(),
    }
}

/// The text as it can be shown and stored: lossy UTF-8 without terminal escapes.
#[must_use]
pub fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    anstream::adapter::strip_str(&text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(longest: usize, pieces: &[&[u8]]) -> Vec<String> {
        let mut got = Vec::new();
        let mut lines = Lines::new(longest);
        let now = Instant::now();
        for piece in pieces {
            lines.push(piece, now, &mut |line| got.push(line.to_owned()));
        }
        lines.end(&mut |line| got.push(line.to_owned()));
        got
    }

    #[test]
    fn lines_end_where_they_end_whatever_the_reads() {
        assert_eq!(cut(80, &[b"a\nb", b"c\r", b"\n\nd"]), ["a", "bc", "", "d"]);
    }

    #[test]
    fn a_character_cut_by_a_read_is_whole_again() {
        assert_eq!(cut(80, &[b"caf\xc3", b"\xa9\n"]), ["café"]);
    }

    #[test]
    fn garbage_is_shown_as_garbage_and_escapes_are_gone() {
        assert_eq!(
            cut(80, &[b"\xff\xfe\x1b[31mred\x1b[0m\n"]),
            ["\u{fffd}\u{fffd}red"]
        );
    }

    #[test]
    fn a_line_without_end_is_passed_on_in_pieces_of_whole_characters() {
        let got = cut(9, &["ééééééé".as_bytes()]);
        assert_eq!(got.concat(), "ééééééé");
        assert!(got.iter().all(|piece| piece.len() <= 9), "{got:?}");
    }

    #[test]
    fn progress_is_thinned_out_and_its_last_state_is_kept() {
        assert_eq!(
            cut(80, &[b"1%\r2%\r3%\r100%\n", b"next\n"]),
            ["1%", "100%", "next"]
        );
        assert_eq!(cut(80, &[b"1%\r2%\r3%\r\n"]), ["1%", "3%"]);
    }
}
