//! Changes one place of a YAML or JSON text and leaves every other byte as it is.
//!
//! Each change is proven before it counts: the new text is read again, and has to mean the old one with
//! that change and no other. A text that is written in a way in which this cannot be done is refused.

use std::ops::Range;

use super::tree::{Kind, Node, parse};

/// The new text, or why it cannot be made.
pub type Edited = Result<String, String>;

/// What is added at the end of a list at the top of a document.
pub struct Item<'a> {
    /// The key of the list.
    pub list: &'a str,
    /// The item on one line, as it stands in brackets.
    pub flow: String,
    /// The item as lines of their own: after an indentation, with these line ends, without the last.
    pub block: &'a dyn Fn(&str, &str) -> String,
    /// How much further than its key a new list stands.
    pub indent: &'static str,
}

/// Adds an item at the end of its list, which is made where there is none.
///
/// # Errors
/// Why that cannot be done in this text.
pub fn insert(text: &str, item: &Item) -> Edited {
    let (root, place) = (parse(text)?, Text::new(text));
    let new_item = parse(&item.flow)?;
    let mut wanted = root.clone();
    let Kind::Map { entries, flow } = &mut wanted.kind else {
        return Err("it is no map of keys".to_owned());
    };
    let flow = *flow;
    let known = entries.iter_mut().find(|(key, _)| key.is(item.list));
    if let Some((_, list)) = known {
        if list.is_null() {
            list.kind = list_of(new_item);
        } else if let Kind::List { items, .. } = &mut list.kind {
            items.push(new_item);
        }
    } else {
        let key = parse(item.list)?;
        let mut list = key.clone();
        list.kind = list_of(new_item);
        entries.push((key, list));
    }
    let new = match root.entry(item.list) {
        Some((_, list)) if list.anchor != 0 || matches!(list.kind, Kind::Alias(_)) => {
            return Err(format!("its `{}` is used in two places", item.list));
        }
        Some((key, list)) => match &list.kind {
            Kind::List { items, flow: false } => place.after_block_item(items, item)?,
            Kind::List { items, .. } if !items.is_empty() => {
                let end = items.last().map_or(list.range.end, |last| last.range.end);
                place.put(end..end, &format!(", {}", item.flow))?
            }
            Kind::List { .. } if flow || !place.is_bare(&list.range) => {
                let begin = list.range.start + 1;
                place.put(begin..begin, &item.flow)?
            }
            _ if list.is_null() || matches!(list.kind, Kind::List { .. }) => {
                if flow {
                    let value = format!(" [{}]", item.flow);
                    place.put(place.value_of(key, list)?, &value)?
                } else {
                    place.below_key(key, list, item)?
                }
            }
            _ => return Err(format!("its `{}` is no list", item.list)),
        },
        None => place.new_key(&root, item)?,
    };
    proven(new, &wanted)
}

/// Takes out the item at this place of a list at the top.
///
/// # Errors
/// Why that cannot be done in this text.
pub fn remove(text: &str, list: &str, at: usize) -> Edited {
    let (root, place) = (parse(text)?, Text::new(text));
    let mut wanted = root.clone();
    if let Kind::Map { entries, .. } = &mut wanted.kind
        && let Some((_, value)) = entries.iter_mut().find(|(key, _)| key.is(list))
        && let Kind::List { items, .. } = &mut value.kind
        && at < items.len()
    {
        items.remove(at);
    }
    let Some((key, value)) = root.entry(list) else {
        return Err(format!("it has no `{list}`"));
    };
    let Kind::List { items, flow } = &value.kind else {
        return Err(format!("its `{list}` is no list"));
    };
    let Some(item) = items.get(at) else {
        return Err(format!("its `{list}` has no such entry"));
    };
    let (next, before) = (
        items.get(at + 1),
        at.checked_sub(1).and_then(|i| items.get(i)),
    );
    let new = if *flow {
        place.put(
            match (next, before) {
                (Some(next), _) => item.range.start..next.range.start,
                (None, Some(before)) => before.range.end..item.range.end,
                (None, None) => item.range.clone(),
            },
            "",
        )?
    } else {
        let lines = place.dash_of(item)?..place.line_after(item.range.end);
        let without = place.put(lines, "")?;
        if items.len() == 1 {
            let colon = place.colon_after(key)?;
            Text::new(&without).put(colon..colon, " []")?
        } else {
            without
        }
    };
    proven(new, &wanted)
}

/// Gives a key at the top this value, a scalar that is already quoted.
///
/// # Errors
/// Why that cannot be done in this text.
pub fn set(text: &str, name: &str, quoted: &str) -> Edited {
    let (root, place) = (parse(text)?, Text::new(text));
    let mut wanted = root.clone();
    let value = parse(quoted)?;
    let Kind::Map { entries, flow } = &mut wanted.kind else {
        return Err("it is no map of keys".to_owned());
    };
    match entries.iter_mut().find(|(key, _)| key.is(name)) {
        Some((_, current)) => *current = value,
        None => entries.push((parse(name)?, value)),
    }
    let new = match root.entry(name) {
        Some((key, current)) => {
            if current.anchor != 0 || !matches!(current.kind, Kind::Scalar { .. }) {
                return Err(format!("its `{name}` is no plain text"));
            }
            place.put(place.value_of(key, current)?, &format!(" {quoted}"))?
        }
        None if *flow => place.in_braces(&root, &format!("\"{name}\": {quoted}"))?,
        None => place.at_end(&root, &format!("{name}: {quoted}"))?,
    };
    proven(new, &wanted)
}

/// Gives the item at this place of a list at the top, a map, one more key with this value, a scalar that is
/// already quoted.
///
/// # Errors
/// Why that cannot be done in this text.
pub fn add_key(text: &str, list: &str, at: usize, name: &str, quoted: &str) -> Edited {
    let (root, place) = (parse(text)?, Text::new(text));
    let mut wanted = root.clone();
    let (key, value) = (parse(name)?, parse(quoted)?);
    let item = map_in(&root, list, at).filter(|item| item.anchor == 0 && item.get(name).is_none());
    let Some(item) = item else {
        return Err(format!("an entry of its `{list}` is no map of its own"));
    };
    let Kind::Map { flow, .. } = item.kind else {
        return Err(format!("an entry of its `{list}` is no map"));
    };
    let new = if flow {
        place.in_braces(item, &format!("{name}: {quoted}"))?
    } else {
        place.below_first(item, &format!("{name}: {quoted}"))?
    };
    if let Kind::Map { entries, .. } = &mut wanted.kind
        && let Some((_, list)) = entries.iter_mut().find(|(key, _)| key.is(list))
        && let Kind::List { items, .. } = &mut list.kind
        && let Some(item) = items.get_mut(at)
        && let Kind::Map { entries, flow } = &mut item.kind
    {
        let end = if *flow { entries.len() } else { 1 };
        entries.insert(end.min(entries.len()), (key, value));
    }
    proven(new, &wanted)
}

fn map_in<'a>(root: &'a Node, list: &str, at: usize) -> Option<&'a Node> {
    match &root.get(list)?.kind {
        Kind::List { items, .. } => items.get(at),
        _ => None,
    }
}

fn list_of(item: Node) -> Kind {
    Kind::List {
        items: vec![item],
        flow: false,
    }
}

/// The text, once it means what it is to mean.
pub(crate) fn proven(new: String, wanted: &Node) -> Edited {
    match parse(&new) {
        Ok(root) if root.means(wanted) => Ok(new),
        _ => Err("it is written in a way that wdev cannot change without changing more".to_owned()),
    }
}

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
    fn put(&self, range: Range<usize>, new: &str) -> Edited {
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
    fn line_after(&self, at: usize) -> usize {
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

    /// Where the line begins in which the dash of a list's item stands.
    fn dash_of(&self, item: &Node) -> Result<usize, String> {
        let line = self.line_of(item.range.start);
        let dash = self.text.get(line..item.range.start).unwrap_or_default();
        if dash.trim_start_matches(' ').starts_with('-') {
            Ok(line)
        } else {
            Err("the dash of an entry does not begin its line".to_owned())
        }
    }

    /// Whether nothing but blanks is between the brackets.
    fn is_bare(&self, range: &Range<usize>) -> bool {
        let text = self.text.get(range.clone()).unwrap_or_default();
        let inner = text
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        inner.is_some_and(|inner| inner.trim().is_empty())
    }

    /// The place behind the colon of a key.
    fn colon_after(&self, key: &Node) -> Result<usize, String> {
        let rest = self.text.get(key.range.end..).unwrap_or_default();
        let blank = rest.len() - rest.trim_start_matches(' ').len();
        if rest.get(blank..).is_some_and(|rest| rest.starts_with(':')) {
            Ok(key.range.end + blank + 1)
        } else {
            Err("a key has its colon on another line".to_owned())
        }
    }

    /// The value of a key with the blanks before it; an empty place where there is none.
    fn value_of(&self, key: &Node, value: &Node) -> Result<Range<usize>, String> {
        let colon = self.colon_after(key)?;
        let blank = |range: Range<usize>| {
            let between = self.text.get(range).unwrap_or("?");
            between.chars().all(|c| c == ' ')
        };
        if value.range.is_empty() {
            Ok(colon..colon)
        } else if blank(colon..value.range.start) {
            Ok(colon..value.range.end)
        } else {
            Err("a value is not beside its key".to_owned())
        }
    }

    fn after_block_item(&self, items: &[Node], item: &Item) -> Edited {
        let (Some(first), Some(last)) = (items.first(), items.last()) else {
            return Err("a list is empty".to_owned());
        };
        let line = self.dash_of(first)?;
        let rest = self.text.get(line..).unwrap_or_default();
        let indent = &rest[..rest.len() - rest.trim_start_matches(' ').len()];
        let lines = (item.block)(indent, self.newline);
        self.put_lines(self.line_after(last.range.end), &lines)
    }

    /// The first entry of a list that is null or `[]`.
    fn below_key(&self, key: &Node, list: &Node, item: &Item) -> Edited {
        let indent = format!("{}{}", self.indent(key.range.start)?, item.indent);
        let lines = (item.block)(&indent, self.newline);
        let value = self.value_of(key, list)?;
        let without = self.put(value.clone(), "")?;
        let text = Text::new(&without);
        text.put_lines(text.line_after(value.start), &lines)
    }

    fn new_key(&self, root: &Node, item: &Item) -> Edited {
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
        self.at_end(root, &format!("{}:{newline}{lines}", item.list))
    }

    /// With a key at the end of the map in braces.
    fn in_braces(&self, root: &Node, key: &str) -> Edited {
        let Kind::Map { entries, .. } = &root.kind else {
            return Err("it is no map of keys".to_owned());
        };
        match entries.last() {
            Some((_, last)) => self.put(last.range.end..last.range.end, &format!(", {key}")),
            None => self.put(root.range.start + 1..root.range.start + 1, key),
        }
    }

    /// With lines at the end of the map; the first is to have the indentation of its keys.
    fn at_end(&self, root: &Node, lines: &str) -> Edited {
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
    fn below_first(&self, map: &Node, line: &str) -> Edited {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_added_where_the_others_of_its_item_stand() {
        for (before, wanted) in [
            (
                "a: 1\nw:\n  - name: x # mine\n    b: 2\n  - {}\n",
                "a: 1\nw:\n  - name: x # mine\n    k: \"v\"\n    b: 2\n  - {}\n",
            ),
            ("w: [{name: x}, {}]\n", "w: [{name: x, k: \"v\"}, {}]\n"),
            ("w:\n- {}\n", "w:\n- {k: \"v\"}\n"),
            ("w:\n- - a\n", ""),
            ("w:\n- &a {}\n", ""),
            ("w:\n- k: 1\n", ""),
            ("w:\n", ""),
        ] {
            let new = add_key(before, "w", 0, "k", "\"v\"");
            assert_eq!(
                new.as_deref().unwrap_or_default(),
                wanted,
                "{before}: {new:?}"
            );
        }
    }
}
