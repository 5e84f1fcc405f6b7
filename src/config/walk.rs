//! From the merged text to typed values: every key and value is held against the key list, and every
//! mistake is reported.

use std::path::Path;

use super::diagnostic::{Diagnostic, Sink};
use super::item::{Item, Value};
use super::keys::{self, Fallback, Key, KeyRule, Rule, Shape, join};
use super::legacy;
use super::scalar::{Folders, Scalar, read};
use super::source::Place;
use super::suggest::nearest;
use super::table::ROOT;
use super::text::is_label_key;
use super::yaml::{Node, NodeKind};

/// What reading needs to know besides the text.
pub(crate) struct Walker<'a> {
    /// The folder that relative paths in variables and flags start from.
    pub(crate) start: &'a Path,
    pub(crate) home: Option<&'a Path>,
    pub(crate) sink: &'a mut Sink,
}

impl Walker<'_> {
    /// The whole configuration, with defaults where nothing is written.
    pub(crate) fn root(&mut self, node: &Node) -> Item {
        self.map(ROOT, Some(node), &Place::Default, "")
    }

    fn map(
        &mut self,
        keys: &'static [Key],
        node: Option<&Node>,
        place: &Place,
        path: &str,
    ) -> Item {
        let entries = match node.map(|n| (&n.kind, n)) {
            None | Some((NodeKind::Null, _)) => &[][..],
            Some((NodeKind::Map(entries), _)) => entries,
            Some((_, node)) => {
                let names: Vec<&str> = keys.iter().map(|k| k.name).collect();
                self.wrong_kind(node, path, &format!("keys: {}", names.join(", ")));
                &[][..]
            }
        };
        let mut bad = node.is_some_and(|n| !n.is_null() && !matches!(n.kind, NodeKind::Map(_)));
        for entry in entries {
            if keys.iter().all(|key| key.name != entry.key) {
                bad = true;
                if self.sink.is_full() {
                    self.sink.push(Diagnostic::error(""));
                    continue;
                }
                self.sink
                    .push(unknown_key(&entry.key, keys, path).at(&entry.place));
            }
        }
        let mut out = Vec::new();
        for key in keys {
            let entry = entries.iter().find(|e| e.key == key.name);
            let path = join(path, key.name);
            let key_place = entry.map_or(Place::Default, |e| e.place.clone());
            let written = entry.map(|e| &e.node).filter(|n| !n.is_null());
            let missing_at = node.map_or(place, |n| &n.place);
            let item = match written {
                Some(node) => self.written(key, node, &path),
                None => self.missing(key, missing_at, &path),
            };
            out.push((key.name.to_owned(), key_place, item));
        }
        let place = node.map_or_else(|| place.clone(), |n| n.place.clone());
        Item {
            value: Value::Map(out),
            place,
            bad,
        }
    }

    fn written(&mut self, key: &'static Key, node: &Node, path: &str) -> Item {
        let mut item = self.value(&key.shape, node, path);
        if item.bad && item.is_unset() {
            item = Item {
                bad: true,
                place: item.place.clone(),
                ..self.fallback(key, path)
            };
        }
        item
    }

    /// A required key that is not there is reported at `at`.
    fn missing(&mut self, key: &'static Key, at: &Place, path: &str) -> Item {
        if matches!(key.fallback, Fallback::Required) {
            let mut diagnostic = Diagnostic::error(format!("`{path}` is missing")).at(at);
            diagnostic.note = Some(key.doc.to_owned());
            if let Shape::Choice(_, names) = key.shape {
                diagnostic = diagnostic.allow(names.join(", "));
            }
            self.sink.push(diagnostic);
            return Item {
                bad: true,
                ..Item::new(Value::Unset, at.clone())
            };
        }
        self.fallback(key, path)
    }

    fn fallback(&mut self, key: &'static Key, path: &str) -> Item {
        let text = match key.fallback {
            Fallback::Text(text) => text.to_owned(),
            Fallback::Data(name) => keys::data(name).unwrap_or_default(),
            Fallback::Derived(how) if !matches!(key.shape, Shape::List(Shape::Map(_))) => {
                return Item::new(Value::Unset, Place::Derived(how));
            }
            Fallback::Derived(_) | Fallback::Unset | Fallback::Required => {
                return match &key.shape {
                    Shape::List(Shape::Map(keys))
                        if matches!(key.fallback, Fallback::Derived(_)) =>
                    {
                        let one = self.map(keys, None, &Place::Default, &format!("{path}[0]"));
                        Item::new(Value::List(vec![one]), Place::Default)
                    }
                    Shape::Map(keys) | Shape::Named(keys) => {
                        self.map(keys, None, &Place::Default, path)
                    }
                    Shape::List(_) | Shape::Components => {
                        Item::new(Value::List(Vec::new()), Place::Default)
                    }
                    Shape::Table(..) => Item::new(Value::Map(Vec::new()), Place::Default),
                    _ => Item::new(Value::Unset, Place::Default),
                };
            }
        };
        let folders = Folders {
            base: self.start,
            home: self.home,
        };
        match read(&key.shape, &text, &folders) {
            Ok(scalar) => Item::new(Value::Scalar(scalar), Place::Default),
            Err(_) => Item::new(Value::Unset, Place::Default),
        }
    }

    /// A value that is written. Where it is wrong it comes back unset and bad.
    fn value(&mut self, shape: &'static Shape, node: &Node, path: &str) -> Item {
        match shape {
            Shape::Map(keys) => self.map(keys, Some(node), &node.place, path),
            Shape::Named(keys) => {
                let node = super::layer::named(node.clone(), shape);
                self.map(keys, Some(&node), &node.place, path)
            }
            Shape::List(inner) => self.list(inner, node, path),
            Shape::Components => self.components(shape, node, path),
            Shape::Table(rule, inner) => self.table(*rule, inner, node, path),
            _ => self.scalar(shape, node, path),
        }
    }

    fn list(&mut self, inner: &'static Shape, node: &Node, path: &str) -> Item {
        let NodeKind::List(nodes) = &node.kind else {
            return self.wrong_kind(node, path, "a list");
        };
        let items = nodes.iter().enumerate().map(|(index, node)| {
            let path = format!("{path}[{index}]");
            match (&node.kind, inner) {
                (NodeKind::Null, Shape::Map(keys)) => self.map(keys, None, &node.place, &path),
                (NodeKind::Null, _) => self.wrong_kind(node, &path, "a value"),
                _ => self.value(inner, node, &path),
            }
        });
        let items = items.collect();
        Item::new(Value::List(items), node.place.clone())
    }

    fn components(&mut self, shape: &'static Shape, node: &Node, path: &str) -> Item {
        let names: Vec<&str> = match &node.kind {
            NodeKind::Scalar(text) => match text.as_str() {
                "all" => keys::COMPONENTS.to_vec(),
                "none" | "" => Vec::new(),
                other => {
                    let message = format!("unknown component `{other}`");
                    let words = keys::COMPONENTS
                        .iter()
                        .chain(&keys::COMPONENTS_WORDS)
                        .copied();
                    let near = nearest(other, words);
                    let near = near.map(|near| {
                        if keys::COMPONENTS.contains(&near) {
                            format!("[{near}]")
                        } else {
                            near.to_owned()
                        }
                    });
                    self.sink.push(
                        Diagnostic::error(message)
                            .at(&node.place)
                            .allow(format!(
                                "`all`, `none`, or a list of {}",
                                keys::COMPONENTS.join(", ")
                            ))
                            .suggest(near),
                    );
                    return bad(node);
                }
            },
            NodeKind::List(nodes) => {
                let mut items: Vec<Item> = Vec::new();
                for (index, node) in nodes.iter().enumerate() {
                    let item = self.scalar(shape, node, &format!("{path}[{index}]"));
                    if item.bad || items.iter().all(|i| i.text() != item.text()) {
                        items.push(item);
                    }
                }
                return Item::new(Value::List(items), node.place.clone());
            }
            _ => return self.wrong_kind(node, path, "`all`, `none`, or a list of components"),
        };
        let items = names.iter().map(|name| {
            Item::new(
                Value::Scalar(Scalar::Text((*name).to_owned())),
                node.place.clone(),
            )
        });
        Item::new(Value::List(items.collect()), node.place.clone())
    }

    fn table(&mut self, rule: KeyRule, inner: &'static Shape, node: &Node, path: &str) -> Item {
        let NodeKind::Map(entries) = &node.kind else {
            return self.wrong_kind(node, path, "a map of keys");
        };
        let mut out = Vec::new();
        for entry in entries {
            let path = join(path, &entry.key);
            if let Some(problem) = wrong_table_key(rule, &entry.key) {
                self.sink.push(problem.at(&entry.place));
            }
            let item = if entry.node.is_null() {
                self.wrong_kind(&entry.node, &path, "a value")
            } else {
                self.value(inner, &entry.node, &path)
            };
            out.push((entry.key.clone(), entry.place.clone(), item));
        }
        Item::new(Value::Map(out), node.place.clone())
    }

    fn scalar(&mut self, shape: &'static Shape, node: &Node, path: &str) -> Item {
        let NodeKind::Scalar(text) = &node.kind else {
            return self.wrong_kind(node, path, "a single value");
        };
        // The way to leave out a value that has no empty form.
        let optional = matches!(
            shape,
            Shape::Address | Shape::Path(_) | Shape::Text(Rule::Proxy)
        );
        if text.is_empty() && optional && !path.ends_with(']') {
            return Item::new(Value::Unset, node.place.clone());
        }
        let base = node.place.folder().unwrap_or(self.start);
        match read(
            shape,
            text,
            &Folders {
                base,
                home: self.home,
            },
        ) {
            Ok(scalar) => Item::new(Value::Scalar(scalar), node.place.clone()),
            Err(complaint) => {
                let mut diagnostic =
                    Diagnostic::error(format!("`{path}`: {}", complaint.message)).at(&node.place);
                diagnostic.allowed = complaint.allowed;
                diagnostic.suggestion = complaint.suggestion;
                diagnostic.note = complaint.note;
                self.sink.push(diagnostic);
                bad(node)
            }
        }
    }

    fn wrong_kind(&mut self, node: &Node, path: &str, wanted: &str) -> Item {
        let what = if path.is_empty() {
            "the top level".to_owned()
        } else {
            format!("`{path}`")
        };
        self.sink.push(
            Diagnostic::error(format!("{what} is {}", node.what()))
                .at(&node.place)
                .allow(wanted),
        );
        bad(node)
    }
}

fn bad(node: &Node) -> Item {
    Item {
        bad: true,
        ..Item::new(Value::Unset, node.place.clone())
    }
}

/// An error about `key`, which is none of `keys`, with the nearest key here or anywhere.
fn unknown_key(key: &str, keys: &[Key], path: &str) -> Diagnostic {
    let place = if path.is_empty() {
        String::new()
    } else {
        format!(" in `{path}`")
    };
    let names: Vec<&str> = keys.iter().map(|k| k.name).collect();
    let diagnostic =
        Diagnostic::error(format!("unknown key `{key}`{place}")).allow(names.join(", "));
    if let Some(near) = nearest(key, names.iter().copied()) {
        return diagnostic.suggest(Some(near.to_owned()));
    }
    if path.is_empty() {
        if let Some(new) = legacy::nearest_new(key) {
            return diagnostic.suggest(Some(new));
        }
        let all = keys::dotted();
        if let Some(near) = nearest(key, all.iter().map(|(path, _)| path.as_str())) {
            return diagnostic.suggest(Some(near.to_owned()));
        }
        let elsewhere: Vec<String> = all
            .iter()
            .filter(|(path, _)| path.rsplit('.').next() == Some(key))
            .map(|(path, _)| format!("`{path}`"))
            .collect();
        if !elsewhere.is_empty() {
            return diagnostic.note(format!("there is {}", elsewhere.join(" and ")));
        }
    }
    diagnostic
}

fn wrong_table_key(rule: KeyRule, key: &str) -> Option<Diagnostic> {
    let plain = |extra: &str| {
        !key.is_empty()
            && key
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || extra.contains(c))
    };
    let (good, what, allowed) = match rule {
        KeyRule::Label => (
            is_label_key(key),
            "a label's key",
            "a name of at most 63 letters, digits, `-`, `_` and `.`, perhaps with a DNS name and `/` before it",
        ),
        KeyRule::Gate => (plain(""), "a feature gate", "letters and digits"),
        KeyRule::Argument => (
            plain("-.") && !key.starts_with('-'),
            "a flag's name",
            "letters, digits, `-` and `.`, without the leading dashes",
        ),
        // Checked once the nodes are known.
        KeyRule::ProviderOrNode => (true, "", ""),
    };
    if good {
        return None;
    }
    let suggestion = match rule {
        KeyRule::Argument => key.trim_start_matches('-').split('=').next(),
        _ => None,
    };
    let suggestion = suggestion
        .filter(|s| !s.is_empty() && *s != key)
        .map(str::to_owned);
    Some(
        Diagnostic::error(format!("`{key}` is not {what}"))
            .allow(allowed)
            .suggest(suggestion),
    )
}
