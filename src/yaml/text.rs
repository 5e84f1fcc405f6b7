//! A text with its lines: where something of it stands, and what it is with something put there.

use std::ops::Range;

use super::edit::{Edited, Item};
use super::tree::{Kind, Node};

/// A text with its lines.
pub(crate) struct Text<'a> {
    text: &'a str,
    pub(crate) newline: &'static str,
}

impl<'a> Text<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Self { text, newline }
    }

    /// The text with `new` in the place of `range`.
    pub(super) fn put(&self, range: Range<usize>, new: &str) -> Edited {
        match (self.text.get(..range.start), self.text.get(range.end..)) {
            (Some(before), Some(after)) => Ok(format!("{before}{new}{after}")),
            _ => Err("its places cannot be told".to_owned()),
        }
    }

    /// The text with whole lines at `at`, the begin of a line or the end of the text.
    fn put_lines(&self, at: usize, lines: &str) -> Edited {
        let newline = self.newline;
        let unfinished = self.text.get(..at).is_some_and(|before| {
            let before = before.strip_prefix('\u{feff}').unwrap_or(before);
            !before.is_empty() && !before.ends_with('\n')
        });
        let text = if unfinished {
            format!("{newline}{lines}")
        } else {
            format!("{lines}{newline}")
        };
        self.put(at..at, &text)
    }

    /// Where the line that `at` is in begins.
    fn line_of(&self, at: usize) -> usize {
        let before = self.text.get(..at).unwrap_or_default();
        before.rfind('\n').map_or(0, |end| end + 1)
    }

    /// Where the next line begins after a value that ends at `at`.
    pub(super) fn line_after(&self, at: usize) -> usize {
        let before = self.text.get(..at).unwrap_or_default();
        if before.ends_with('\n') {
            return at;
        }
        let rest = self.text.get(at..).unwrap_or_default();
        rest.find('\n').map_or(self.text.len(), |end| at + end + 1)
    }

    /// The blanks before `at` in its line, where there is nothing else.
    fn indent(&self, at: usize) -> Result<&'a str, String> {
        let indent = self.text.get(self.line_of(at)..at).unwrap_or_default();
        let indent = indent.strip_prefix('\u{feff}').unwrap_or(indent);
        if indent.chars().all(|c| c == ' ') {
            Ok(indent)
        } else {
            Err("its keys do not begin their lines".to_owned())
        }
    }

    /// Where the line begins in which the dash of the item at this place of a key's list stands. The
    /// item itself may begin lines below, and behind an anchor or a tag.
    pub(super) fn dash_of(&self, key: &Node, items: &[Node], at: usize) -> Result<usize, String> {
        let mut place = match at.checked_sub(1).and_then(|before| items.get(before)) {
            Some(before) => before.range.end,
            None => self.colon_after(key)?,
        };
        loop {
            let rest = self.text.get(place..).unwrap_or_default();
            let found = rest.trim_start();
            place += rest.len() - found.len();
            let passed = match found.chars().next() {
                Some('-') => {
                    self.indent(place)?;
                    return Ok(self.line_of(place));
                }
                Some('#') => found.find('\n'),
                Some('&' | '!') => found.find(char::is_whitespace),
                _ => None,
            };
            place += passed.ok_or("the dash of an entry cannot be found")?;
        }
    }

    /// Whether nothing but blanks is between the brackets.
    pub(super) fn is_bare(&self, range: &Range<usize>) -> bool {
        let text = self.text.get(range.clone()).unwrap_or_default();
        let inner = text
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        inner.is_some_and(|inner| inner.trim().is_empty())
    }

    /// The place behind the colon of a key.
    pub(super) fn colon_after(&self, key: &Node) -> Result<usize, String> {
        let rest = self.text.get(key.range.end..).unwrap_or_default();
        let blank = rest.len() - rest.trim_start_matches(' ').len();
        if rest.get(blank..).is_some_and(|rest| rest.starts_with(':')) {
            Ok(key.range.end + blank + 1)
        } else {
            Err("a key has its colon on another line".to_owned())
        }
    }

    /// The value of a key with the blanks before it; an empty place where there is none. An anchor or a
    /// tag stays before it.
    pub(super) fn value_of(&self, key: &Node, value: &Node) -> Result<Range<usize>, String> {
        let colon = self.colon_after(key)?;
        if value.range.is_empty() {
            return Ok(colon..colon);
        }
        let between = self.text.get(colon..value.range.start).unwrap_or("\n");
        if between.contains(['\n', '\r']) {
            return Err("a value is not on the line of its key".to_owned());
        }
        Ok(colon + between.trim_end_matches(' ').len()..value.range.end)
    }

    /// See [`super::edit::quotes_keys`].
    pub(super) fn quotes(&self, root: &Node, list: &str, at: Option<usize>) -> bool {
        let entry = root.entry(list);
        let items: &[Node] = match entry.map(|(_, list)| &list.kind) {
            Some(Kind::List { items, .. }) => items,
            _ => &[],
        };
        let own = at.and_then(|at| items.get(at)).and_then(last_key);
        let beside = own
            .or_else(|| items.iter().rev().find_map(last_key))
            .or(entry.map(|(key, _)| key))
            .or_else(|| last_key(root));
        match beside {
            Some(key) => self.is_quoted(key),
            None => matches!(root.kind, Kind::Map { flow: true, .. }),
        }
    }

    fn is_quoted(&self, key: &Node) -> bool {
        let key = self.text.get(key.range.clone());
        key.is_some_and(|key| key.starts_with('"'))
    }

    pub(super) fn after_block_item(&self, key: &Node, items: &[Node], item: &Item) -> Edited {
        let Some(last) = items.last() else {
            return Err("a list is empty".to_owned());
        };
        let line = self.dash_of(key, items, 0)?;
        let rest = self.text.get(line..).unwrap_or_default();
        let indent = &rest[..rest.len() - rest.trim_start_matches(' ').len()];
        let lines = (item.block)(indent, self.newline);
        self.put_lines(self.line_after(last.range.end), &lines)
    }

    /// The first entry of a list that is null or `[]`.
    pub(super) fn below_key(&self, key: &Node, list: &Node, item: &Item) -> Edited {
        let indent = format!("{}{}", self.indent(key.range.start)?, item.indent);
        let lines = (item.block)(&indent, self.newline);
        let value = self.value_of(key, list)?;
        let without = self.put(value.clone(), "")?;
        let text = Text::new(&without);
        text.put_lines(text.line_after(value.start), &lines)
    }

    pub(super) fn new_key(&self, root: &Node, item: &Item) -> Edited {
        let Kind::Map { entries, flow } = &root.kind else {
            return Err("it is no map of keys".to_owned());
        };
        if *flow {
            return self.in_braces(root, &format!("\"{}\": [{}]", item.list, item.flow));
        }
        let indent = match entries.first() {
            Some((key, _)) => self.indent(key.range.start)?,
            None => "",
        };
        let newline = self.newline;
        let lines = (item.block)(&format!("{indent}{}", item.indent), newline);
        let quote = if last_key(root).is_some_and(|key| self.is_quoted(key)) {
            "\""
        } else {
            ""
        };
        let key = format!("{quote}{}{quote}", item.list);
        self.at_end(root, &format!("{key}:{newline}{lines}"))
    }

    /// With a key at the end of the map in braces.
    pub(super) fn in_braces(&self, root: &Node, key: &str) -> Edited {
        let Kind::Map { entries, .. } = &root.kind else {
            return Err("it is no map of keys".to_owned());
        };
        match entries.last() {
            Some((_, last)) => self.put(last.range.end..last.range.end, &format!(", {key}")),
            None => self.put(root.range.start + 1..root.range.start + 1, key),
        }
    }

    /// With lines at the end of the map; the first is to have the indentation of its keys.
    pub(super) fn at_end(&self, root: &Node, lines: &str) -> Edited {
        let Kind::Map { entries, .. } = &root.kind else {
            return Err("it is no map of keys".to_owned());
        };
        let (Some((first, _)), Some((key, last))) = (entries.first(), entries.last()) else {
            return Err("it has no keys".to_owned());
        };
        let indent = self.indent(first.range.start)?;
        let end = last.range.end.max(key.range.end);
        self.put_lines(self.line_after(end), &format!("{indent}{lines}"))
    }

    /// With a line after the first key of a map in block style, which may stand behind a dash.
    pub(super) fn below_first(&self, map: &Node, line: &str) -> Edited {
        let Kind::Map { entries, .. } = &map.kind else {
            return Err("it is no map of keys".to_owned());
        };
        let Some((key, value)) = entries.first() else {
            return Err("it has no keys".to_owned());
        };
        let before = self
            .text
            .get(self.line_of(key.range.start)..key.range.start);
        let before = before.unwrap_or_default();
        let before = before.strip_prefix('\u{feff}').unwrap_or(before);
        if !before.chars().all(|c| matches!(c, ' ' | '-')) {
            return Err("its keys do not begin their lines".to_owned());
        }
        let indent = " ".repeat(before.len());
        let end = value.range.end.max(key.range.end);
        self.put_lines(self.line_after(end), &format!("{indent}{line}"))
    }
}

fn last_key(map: &Node) -> Option<&Node> {
    match &map.kind {
        Kind::Map { entries, .. } => entries.last().map(|(key, _)| key),
        _ => None,
    }
}
