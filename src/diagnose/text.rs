//! Text as tools print it, made comparable.

use std::borrow::Cow;

/// A text to look for patterns in.
#[derive(Debug)]
pub(super) struct Haystack {
    /// As it is, and without what may be a machine's name before its lines: an indented `Error: ` looks
    /// just the same.
    forms: [String; 2],
}

impl Haystack {
    pub fn new(text: &str) -> Self {
        let plain = console::strip_ansi_codes(text);
        let stripped: String = plain.lines().map(without_name).collect();
        Self {
            forms: [squeeze(&plain), squeeze(&stripped)],
        }
    }

    /// Whether all of `words` occur, each after the one before it.
    pub fn has_in_order(&self, words: &[impl AsRef<str>]) -> bool {
        self.forms.iter().any(|form| {
            let mut rest = form.as_str();
            words.iter().all(|word| {
                let Some((_, after)) = rest.split_once(squeeze(word.as_ref()).as_str()) else {
                    return false;
                };
                rest = after;
                true
            })
        })
    }

    /// Whether `word` occurs.
    pub fn has(&self, word: &str) -> bool {
        self.has_in_order(&[word])
    }
}

/// The text on one line, without escapes and without machines' names before its lines.
pub(super) fn readable(text: &str) -> String {
    let plain = console::strip_ansi_codes(text);
    let lines: Vec<Cow<str>> = plain
        .lines()
        .map(|line| match certain_name(line) {
            Some(rest) => Cow::Borrowed(rest),
            None => Cow::Borrowed(line),
        })
        .collect();
    collapse(&lines.join(" "))
}

/// All white space as one space.
fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Without any white space: a break may fall anywhere, also inside a word.
fn squeeze(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Cuts what may be `==> NAME: ` or `    NAME: `, also where the indentation is gone already.
fn without_name(line: &str) -> &str {
    let line = line.trim_start();
    after_name(line.strip_prefix("==> ").unwrap_or(line)).unwrap_or(line)
}

/// Like [`without_name`], but only where it can be nothing else: a name has no capital letters, and
/// Vagrant indents by exactly four.
fn certain_name(line: &str) -> Option<&str> {
    let rest = line
        .strip_prefix("==> ")
        .or_else(|| line.strip_prefix("    "))?;
    let (name, after) = rest.split_once(':')?;
    let is_name = !name.is_empty() && name.chars().all(|c| is_of_name(c) && !c.is_uppercase());
    is_name.then_some(after)
}

fn after_name(line: &str) -> Option<&str> {
    let (name, after) = line.split_once(':')?;
    (!name.is_empty() && name.chars().all(is_of_name)).then_some(after)
}

/// Of what Vagrant's names of machines are made.
fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_break_may_fall_anywhere() {
        let text = Haystack::new("Unable to\r\n    winw1: allocate 6144 MB (0x8007\r\n05AA)");
        assert!(text.has("Unable to allocate"));
        assert!(text.has("(0x800705AA)"));
        assert!(text.has_in_order(&["Unable", "6144"]));
        assert!(!text.has_in_order(&["6144", "Unable"]));
    }

    #[test]
    fn an_indented_field_is_not_taken_for_a_name_of_a_machine() {
        assert!(Haystack::new("  Script: import_vm.ps1").has("Script: import_vm"));
        assert!(Haystack::new("==> cp: Script: import_vm.ps1").has("Script: import_vm"));
        assert_eq!(
            readable("not allowed.\n\n  Address: 10.20.30.10\n  Ranges: 192.168.56.0/21"),
            "not allowed. Address: 10.20.30.10 Ranges: 192.168.56.0/21"
        );
    }

    #[test]
    fn what_is_shown_has_no_escapes_and_no_names() {
        assert_eq!(
            readable("\u{1b}[31m==> winw1: it\r\n==> winw1: broke\u{1b}[0m"),
            "it broke"
        );
    }
}
