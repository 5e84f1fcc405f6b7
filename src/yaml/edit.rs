//! Changes one place of a YAML or JSON text and leaves every other byte as it is.
//!
//! Each change is proven before it counts: the new text is read again, and has to mean the old one with
//! that change and no other. A text that is written in a way in which this cannot be done is refused.

use super::text::Text;
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
        Some((_, list)) if root.is_shared(list) => {
            return Err(format!("its `{}` is used in two places", item.list));
        }
        Some((key, list)) => match &list.kind {
            Kind::List { items, flow: false } => place.after_block_item(key, items, item)?,
            Kind::List { items, .. } if !items.is_empty() => {
                let end = items.last().map_or(list.range.end, |last| last.range.end);
                place.put(end..end, &format!(", {}", item.flow))?
            }
            Kind::List { .. }
                if flow || !place.is_bare(&list.range) || place.value_of(key, list).is_err() =>
            {
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
        let lines = place.dash_of(key, items, at)?..place.line_after(item.range.end);
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
            if root.is_shared(current) || !matches!(current.kind, Kind::Scalar { .. }) {
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
    let item =
        map_in(&root, list, at).filter(|item| !root.is_shared(item) && item.get(name).is_none());
    let Some(item) = item else {
        return Err(format!("an entry of its `{list}` is no map of its own"));
    };
    let Kind::Map { flow, .. } = item.kind else {
        return Err(format!("an entry of its `{list}` is no map"));
    };
    let line = if place.quotes(&root, list, Some(at)) {
        format!("\"{name}\": {quoted}")
    } else {
        format!("{name}: {quoted}")
    };
    let new = if flow {
        place.in_braces(item, &line)?
    } else {
        place.below_first(item, &line)?
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

/// Whether a new key of an item of this list is to stand in double quotes, as the keys beside it do: those
/// of the item itself, of the other items, the list's own, or the last one of the document. Where there is
/// no key at all, braces are taken for JSON.
#[must_use]
pub fn quotes_keys(text: &str, list: &str, at: Option<usize>) -> bool {
    parse(text).is_ok_and(|root| Text::new(text).quotes(&root, list, at))
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
            ("w:\n- &a {}\n", "w:\n- &a {k: \"v\"}\n"),
            ("w:\n- &a {}\n- *a\n", ""),
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
