//! The effective configuration as a tree of typed values, each with its place: between the text of
//! the files and [`Config`](super::Config).

use std::collections::BTreeMap;
use std::time::Duration;

use super::scalar::Scalar;
use super::source::{Origin, Place};

/// A typed value with its place.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) value: Value,
    pub(crate) place: Place,
    /// A mistake in it was reported, and the value stands in for it.
    pub(crate) bad: bool,
}

/// A typed value.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// Nothing was written and there is no default.
    Unset,
    Scalar(Scalar),
    List(Vec<Item>),
    /// In the order of the key list; the places are those of the keys.
    Map(Vec<(String, Place, Item)>),
}

static UNSET: Item = Item {
    value: Value::Unset,
    place: Place::Default,
    bad: false,
};

impl Item {
    pub(crate) fn new(value: Value, place: Place) -> Self {
        Self {
            value,
            place,
            bad: false,
        }
    }

    /// The value of a key; nothing where there is none.
    pub(crate) fn at(&self, key: &str) -> &Self {
        self.entries()
            .iter()
            .find(|(name, ..)| name == key)
            .map_or(&UNSET, |(.., item)| item)
    }

    pub(crate) fn at_mut(&mut self, key: &str) -> Option<&mut Self> {
        match &mut self.value {
            Value::Map(entries) => entries
                .iter_mut()
                .find(|(name, ..)| name == key)
                .map(|(.., item)| item),
            _ => None,
        }
    }

    pub(crate) fn entries(&self) -> &[(String, Place, Self)] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Where the value at `path` was written, which is named as [`Item::origins`] does it, or with `key`
    /// its key; where nobody wrote it, the place of what stands around it.
    pub(crate) fn place_of(&self, path: &str, key: bool) -> &Place {
        let path = path.trim_start_matches('.');
        let below = if let Some(rest) = path.strip_prefix('[') {
            rest.split_once(']').and_then(|(index, rest)| {
                let item = self.items().get(index.parse::<usize>().ok()?)?;
                Some((&item.place, item, rest))
            })
        } else {
            // A key of a table may hold a dot, so the longest is meant.
            let found = self.entries().iter().filter_map(|(name, place, item)| {
                let rest = path.strip_prefix(name.as_str())?;
                let whole = rest.is_empty() || rest.starts_with(['.', '[']);
                whole.then_some((place, item, rest))
            });
            found.min_by_key(|(.., rest)| rest.len())
        };
        let Some((place, item, rest)) = below else {
            return &self.place;
        };
        let inner = match rest {
            "" if key => place,
            "" => &item.place,
            _ => item.place_of(rest, key),
        };
        if inner.is_written() {
            inner
        } else {
            &self.place
        }
    }

    pub(crate) fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    pub(crate) fn items_mut(&mut self) -> &mut [Self] {
        match &mut self.value {
            Value::List(items) => items,
            _ => &mut [],
        }
    }

    pub(crate) fn is_unset(&self) -> bool {
        matches!(self.value, Value::Unset)
    }

    pub(crate) fn scalar(&self) -> Option<&Scalar> {
        match &self.value {
            Value::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// A text; empty where there is none.
    pub(crate) fn text(&self) -> &str {
        match self.scalar() {
            Some(Scalar::Text(text)) => text,
            _ => "",
        }
    }

    pub(crate) fn number(&self) -> u64 {
        match self.scalar() {
            Some(Scalar::Int(number) | Scalar::Memory(number)) => *number,
            _ => 0,
        }
    }

    pub(crate) fn boolean(&self) -> bool {
        matches!(self.scalar(), Some(Scalar::Bool(true)))
    }

    pub(crate) fn duration(&self) -> Duration {
        match self.scalar() {
            Some(Scalar::Duration(duration)) => *duration,
            _ => Duration::ZERO,
        }
    }

    /// The origin of every single value below, by its path such as `workers[0].memory`.
    pub(crate) fn origins(&self, path: &str, out: &mut BTreeMap<String, Origin>) {
        match &self.value {
            Value::Unset | Value::Scalar(_) => {
                out.insert(path.to_owned(), self.place.origin());
            }
            Value::List(items) => {
                if items.is_empty() {
                    out.insert(path.to_owned(), self.place.origin());
                }
                for (index, item) in items.iter().enumerate() {
                    item.origins(&format!("{path}[{index}]"), out);
                }
            }
            Value::Map(entries) => {
                if entries.is_empty() {
                    out.insert(path.to_owned(), self.place.origin());
                }
                for (key, _, item) in entries {
                    item.origins(&super::keys::join(path, key), out);
                }
            }
        }
    }
}
