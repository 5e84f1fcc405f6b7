//! Changes one entry of a kubeconfig's text and leaves every other byte as it is.
//!
//! Each change is proven before it counts: the new text is read again, and has to mean the old one with
//! that change and no other. A text that is written in a way in which this cannot be done is refused.

use std::ops::Range;

use super::tree::{Kind, Node, parse};
use crate::render::quote::YAML;

/// An entry of one of the lists of a kubeconfig: a cluster, a user or a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The list: `clusters`, `users` or `contexts`.
    pub list: &'static str,
    /// The key of its value: `cluster`, `user` or `context`.
    pub key: &'static str,
    /// Its name.
    pub name: String,
    /// Its value, in order.
    pub fields: Vec<(&'static str, String)>,
}

type Edited = Result<String, String>;

impl Entry {
    /// In block style, each line after `indent`; the last without its end.
    pub(super) fn block(&self, indent: &str, newline: &str) -> crate::error::Result<String> {
        let quote = |text: &str| YAML.quote(text);
        let mut lines = vec![format!("{indent}- {}:", self.key)];
        for (key, value) in &self.fields {
            lines.push(format!("{indent}    {key}: {}", quote(value)?));
        }
        lines.push(format!("{indent}  name: {}", quote(&self.name)?));
        Ok(lines.join(newline))
    }

    /// On one line, as JSON.
    fn flow(&self) -> Edited {
        // Written by hand, since the order counts for whoever compares.
        let quote = |text: &str| serde_json::to_string(text).map_err(|error| error.to_string());
        let mut fields = Vec::new();
        for (key, value) in &self.fields {
            fields.push(format!("\"{key}\": {}", quote(value)?));
        }
        Ok(format!(
            "{{\"{}\": {{{}}}, \"name\": {}}}",
            self.key,
            fields.join(", "),
            quote(&self.name)?
        ))
    }
}

/// Adds an entry at the end of its list.
///
/// # Errors
/// Why that cannot be done in this text.
pub fn insert(text: &str, entry: &Entry) -> Edited {
    let text = &with_document(text)?;
    let (root, place) = (parse(text)?, Text::new(text));
    let item = parse(&entry.flow()?)?;
    let mut wanted = root.clone();
    let Kind::Map { entries, flow } = &mut wanted.kind else {
        return Err("it is no map of keys".to_owned());
    };
    let flow = *flow;
    let known = entries.iter_mut().find(|(key, _)| key.is(entry.list));
    if let Some((_, list)) = known {
        if list.is_null() {
            list.kind = list_of(item);
        } else if let Kind::List { items, .. } = &mut list.kind {
            items.push(item);
        }
    } else {
        let key = parse(entry.list)?;
        let mut list = key.clone();
        list.kind = list_of(item);
        entries.push((key, list));
    }
    let new = match root.entry(entry.list) {
        Some((_, list)) if list.anchor != 0 || matches!(list.kind, Kind::Alias(_)) => {
            return Err(format!("its `{}` is used in two places", entry.list));
        }
        Some((key, list)) => match &list.kind {
            Kind::List { items, flow: false } => place.after_block_item(items, entry)?,
            Kind::List { items, .. } if !items.is_empty() => {
                let end = items.last().map_or(list.range.end, |last| last.range.end);
                place.put(end..end, &format!(", {}", entry.flow()?))?
            }
            Kind::List { .. } if flow || !place.is_bare(&list.range) => {
                let begin = list.range.start + 1;
                place.put(begin..begin, &entry.flow()?)?
            }
            _ if list.is_null() || matches!(list.kind, Kind::List { .. }) => {
                if flow {
                    let value = format!(" [{}]", entry.flow()?);
                    place.put(place.value_of(key, list)?, &value)?
                } else {
                    place.below_key(key, list, entry)?
                }
            }
            _ => return Err(format!("its `{}` is no list", entry.list)),
        },
        None => place.new_key(&root, entry)?,
    };
    proven(new, &wanted)
}

/// Takes out the entry at this place of a list.
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

/// Makes this the current context.
///
/// # Errors
/// Why that cannot be done in this text.
pub fn set_current(text: &str, name: &str) -> Edited {
    const KEY: &str = "current-context";
    let text = &with_document(text)?;
    let (root, place) = (parse(text)?, Text::new(text));
    let quoted = YAML.quote(name).map_err(|failure| failure.to_string())?;
    let mut wanted = root.clone();
    let value = parse(&quoted)?;
    let Kind::Map { entries, flow } = &mut wanted.kind else {
        return Err("it is no map of keys".to_owned());
    };
    match entries.iter_mut().find(|(key, _)| key.is(KEY)) {
        Some((_, current)) => *current = value,
        None => entries.push((parse(KEY)?, value)),
    }
    let new = match root.entry(KEY) {
        Some((key, current)) => {
            if current.anchor != 0 || !matches!(current.kind, Kind::Scalar { .. }) {
                return Err(format!("its `{KEY}` is no plain text"));
            }
            place.put(place.value_of(key, current)?, &format!(" {quoted}"))?
        }
        None if *flow => place.in_braces(&root, &format!("\"{KEY}\": {quoted}"))?,
        None => place.at_end(&root, &format!("{KEY}: {quoted}"))?,
    };
    proven(new, &wanted)
}

fn block(entry: &Entry, indent: &str, newline: &str) -> Edited {
    let text = entry.block(indent, newline);
    text.map_err(|failure| failure.to_string())
}

fn list_of(item: Node) -> Kind {
    Kind::List {
        items: vec![item],
        flow: false,
    }
}

/// The text, with the head of a kubeconfig where it has nothing at all.
fn with_document(text: &str) -> Edited {
    let root = parse(text)?;
    if !root.is_null() {
        return Ok(text.to_owned());
    }
    let newline = Text::new(text).newline;
    let head = ["apiVersion: v1", "kind: Config", ""].join(newline);
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let between = if rest.is_empty() || text.ends_with('\n') {
        ""
    } else {
        newline
    };
    let wanted = parse(&head)?;
    proven(format!("{text}{between}{head}"), &wanted)
}

fn proven(new: String, wanted: &Node) -> Edited {
    match parse(&new) {
        Ok(root) if root.means(wanted) => Ok(new),
        _ => Err("it is written in a way that wdev cannot change without changing more".to_owned()),
    }
}

/// A text with its lines.
struct Text<'a> {
    text: &'a str,
    newline: &'static str,
}

impl<'a> Text<'a> {
    fn new(text: &'a str) -> Self {
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

    fn after_block_item(&self, items: &[Node], entry: &Entry) -> Edited {
        let (Some(first), Some(last)) = (items.first(), items.last()) else {
            return Err("a list is empty".to_owned());
        };
        let line = self.dash_of(first)?;
        let rest = self.text.get(line..).unwrap_or_default();
        let indent = &rest[..rest.len() - rest.trim_start_matches(' ').len()];
        let lines = block(entry, indent, self.newline)?;
        self.put_lines(self.line_after(last.range.end), &lines)
    }

    /// The first entry of a list that is null or `[]`.
    fn below_key(&self, key: &Node, list: &Node, entry: &Entry) -> Edited {
        let indent = self.indent(key.range.start)?;
        let lines = block(entry, indent, self.newline)?;
        let value = self.value_of(key, list)?;
        let without = self.put(value.clone(), "")?;
        let text = Text::new(&without);
        text.put_lines(text.line_after(value.start), &lines)
    }

    fn new_key(&self, root: &Node, entry: &Entry) -> Edited {
        let Kind::Map { entries, flow } = &root.kind else {
            return Err("it is no map of keys".to_owned());
        };
        if *flow {
            return self.in_braces(root, &format!("\"{}\": [{}]", entry.list, entry.flow()?));
        }
        let indent = match entries.first() {
            Some((key, _)) => self.indent(key.range.start)?,
            None => "",
        };
        let newline = self.newline;
        let lines = block(entry, indent, newline)?;
        self.at_end(root, &format!("{}:{newline}{lines}", entry.list))
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
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry() -> Entry {
        Entry {
            list: "clusters",
            key: "cluster",
            name: "wdev-default".to_owned(),
            fields: vec![("server", "https://192.168.56.10:6443".to_owned())],
        }
    }

    const LINES: &str =
        "- cluster:\n    server: \"https://192.168.56.10:6443\"\n  name: \"wdev-default\"\n";

    #[test]
    fn an_entry_comes_after_the_others_and_all_else_stays() {
        for (before, wanted) in [
            (
                "a: 1\nclusters:\n- name: x # mine\n\n# end\nb: 2\n",
                format!("a: 1\nclusters:\n- name: x # mine\n{LINES}\n# end\nb: 2\n"),
            ),
            (
                "clusters:\n- name: x",
                format!("clusters:\n- name: x\n{}", LINES.trim_end()),
            ),
            (
                "clusters: null # none\nb: 2\n",
                format!("clusters: # none\n{LINES}b: 2\n"),
            ),
            ("clusters: []\nb: 2\n", format!("clusters:\n{LINES}b: 2\n")),
            ("clusters:\nb: 2\n", format!("clusters:\n{LINES}b: 2\n")),
            ("clusters:", format!("clusters:\n{}", LINES.trim_end())),
            (
                "b: |+\n  text\n\n",
                format!("b: |+\n  text\n\nclusters:\n{LINES}"),
            ),
            (
                "---\nb: >-\n  x\n  y\n...\n",
                format!("---\nb: >-\n  x\n  y\nclusters:\n{LINES}...\n"),
            ),
            (
                "# nothing",
                format!("# nothing\napiVersion: v1\nkind: Config\nclusters:\n{LINES}"),
            ),
            (
                "",
                format!("apiVersion: v1\nkind: Config\nclusters:\n{LINES}"),
            ),
            (
                "\u{feff}b: 1\n",
                format!("\u{feff}b: 1\nclusters:\n{LINES}"),
            ),
            (
                "b: 1\r\nclusters:\r\n- name: x\r\n",
                format!(
                    "b: 1\r\nclusters:\r\n- name: x\r\n{}",
                    LINES.replace('\n', "\r\n")
                ),
            ),
        ] {
            assert_eq!(insert(before, &entry()).as_ref(), Ok(&wanted), "{before:?}");
            let at = usize::from(before.contains("name: x"));
            let after = remove(&wanted, "clusters", at).unwrap();
            if at == 1 {
                assert_eq!(after.trim_end(), before.trim_end());
            } else {
                assert!(parse(&after).unwrap().get("clusters").is_some());
            }
        }
        let nested = "clusters:\n    - name: x\n      cluster: {}\n";
        let new = insert(nested, &entry()).unwrap();
        assert!(new.contains("\n    - cluster:\n        server: "), "{new}");
    }

    #[test]
    fn json_stays_json() {
        for (before, count) in [
            ("{}", 1),
            ("{\"clusters\":[]}", 1),
            ("{\"clusters\": null, \"b\": 1}", 1),
            ("{\n  \"clusters\": [\n    {\"name\": \"x\"}\n  ]\n}\n", 2),
        ] {
            let new = insert(before, &entry()).unwrap();
            let json: serde_json::Value = serde_json::from_str(&new).unwrap();
            assert_eq!(json["clusters"].as_array().unwrap().len(), count, "{new}");
            let old = remove(&new, "clusters", count - 1).unwrap();
            serde_json::from_str::<serde_json::Value>(&old).unwrap();
            if before.contains('x') {
                assert_eq!(old, before);
            }
        }
    }

    #[test]
    fn what_stands_in_two_places_is_not_changed() {
        for text in [
            "contexts: &c []\nclusters: *c\n",
            "clusters: &c\n- name: x\nother: *c\n",
            "clusters: text\n",
            "- a\n",
            "a: 1\n---\nb: 2\n",
            "clusters: {a: b}\n",
        ] {
            assert!(insert(text, &entry()).is_err(), "{text}");
        }
    }

    #[test]
    fn the_current_context_is_one_value() {
        for (before, wanted) in [
            (
                "current-context: old # why\n",
                "current-context: \"new\" # why\n",
            ),
            (
                "current-context: \"\"\na: 1\n",
                "current-context: \"new\"\na: 1\n",
            ),
            (
                "current-context:\na: 1\n",
                "current-context: \"new\"\na: 1\n",
            ),
            ("a: 1\n", "a: 1\ncurrent-context: \"new\"\n"),
            ("{\"a\": 1}", "{\"a\": 1, \"current-context\": \"new\"}"),
        ] {
            assert_eq!(set_current(before, "new").unwrap(), wanted);
        }
    }

    proptest! {
        /// Whatever the text: what comes back means the old one and the entry, or there is an error.
        #[test]
        fn nothing_else_is_ever_changed(pieces in proptest::collection::vec(proptest::sample::select(&[
            "clusters:", "\n", "\r\n", "- ", "  ", "name: x", "cluster:", " ", "#c", "[", "]", "{", "}", ",",
            "\"q\"", "'q'", "|\n", "&a ", "*a", "null", "---\n", "...\n", "\t", "\u{feff}", "users", ":", "? ",
        ][..]), 0..14)) {
            let text = pieces.concat();
            if let (Ok(new), Ok(old)) = (insert(&text, &entry()), parse(&text)) {
                let root = parse(&new).unwrap();
                let Kind::List { items, .. } = &root.get("clusters").unwrap().kind else { panic!("{new}") };
                prop_assert!(items.last().unwrap().get("name").unwrap().is("wdev-default"));
                let back = remove(&new, "clusters", items.len() - 1);
                if let (Ok(back), Some(list)) = (back, old.get("clusters")) {
                    let back = parse(&back).unwrap();
                    let now = back.get("clusters").unwrap();
                    prop_assert!(now.means(list) || list.is_null());
                }
            }
        }
    }
}
