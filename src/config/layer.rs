//! Layers of a configuration: files, environment, flags; and how one lies over another.

use std::collections::HashMap;
use std::sync::Arc;

use super::Request;
use super::diagnostic::{Diagnostic, Severity, Sink};
use super::keys::{self, Shape, dotted, variable};
use super::source::{Place, Source, Span};
use super::suggest::nearest;
use super::table::TOP;
use super::yaml::{self, Entry, Node, NodeKind};

/// Lays `over` on `under`. Maps are merged key by key; everything else, lists too, is replaced. A
/// map with a `name` is replaced when the name changes: a version belongs to its name.
pub(crate) fn merge(under: Node, over: Node, shape: &Shape) -> Node {
    let (under, over) = (named(under, shape), named(over, shape));
    if over.is_null() {
        return under;
    }
    let place = over.place.clone();
    match (under.kind, over.kind) {
        (NodeKind::Map(mut base), NodeKind::Map(top)) => {
            if matches!(shape, Shape::Named(_)) {
                let (old, new) = (name_of(&base), name_of(&top));
                if new.is_some() && new != old {
                    return Node::new(NodeKind::Map(top), place);
                }
            }
            let places = base
                .iter()
                .enumerate()
                .map(|(index, entry)| (entry.key.clone(), index));
            let places: HashMap<String, usize> = places.collect();
            for entry in top {
                let index = places.get(&entry.key).copied();
                match index.and_then(|index| base.get_mut(index)) {
                    Some(slot) => {
                        let inner = shape_of(shape, &entry.key);
                        let old = Node::new(NodeKind::Null, slot.place.clone());
                        let old = std::mem::replace(&mut slot.node, old);
                        if !entry.node.is_null() {
                            slot.place = entry.place;
                        }
                        slot.node = match inner {
                            Some(inner) => merge(old, entry.node, inner),
                            None => entry.node,
                        };
                    }
                    None => base.push(entry),
                }
            }
            Node::new(NodeKind::Map(base), place)
        }
        (_, kind) => Node::new(kind, place),
    }
}

fn shape_of<'a>(shape: &'a Shape, key: &str) -> Option<&'a Shape> {
    match shape {
        Shape::Table(_, value) => Some(value),
        _ => shape
            .keys()?
            .iter()
            .find(|k| k.name == key)
            .map(|k| &k.shape),
    }
}

fn name_of(entries: &[Entry]) -> Option<&str> {
    entries
        .iter()
        .find(|e| e.key == "name")
        .and_then(|e| match &e.node.kind {
            NodeKind::Scalar(text) => Some(text.as_str()),
            _ => None,
        })
}

/// `calico` as `{name: calico}` where a map with a name belongs.
pub(crate) fn named(node: Node, shape: &Shape) -> Node {
    if !matches!(shape, Shape::Named(_)) || !matches!(node.kind, NodeKind::Scalar(_)) {
        return node;
    }
    let place = node.place.clone();
    let entry = Entry {
        key: "name".to_owned(),
        place: place.clone(),
        node,
    };
    Node::new(NodeKind::Map(vec![entry]), place)
}

/// Variables of wdev that are no configuration.
const RESERVED: &[&str] = &[
    "WDEV_VERSION",
    "WDEV_HOME",
    "WDEV_CONFIG",
    "WDEV_VAGRANT",
    "WDEV_POWERSHELL",
];
const RESERVED_PREFIXES: &[&str] = &["WDEV_TEST"];

/// What the environment sets.
pub(crate) fn environment(request: &Request, sink: &mut Sink) -> Node {
    let known: Vec<(String, String, &Shape)> = dotted()
        .into_iter()
        .map(|(path, shape)| (variable(&path), path, shape))
        .collect();
    let mut root = Node::new(NodeKind::Map(Vec::new()), Place::Default);
    let mut given: Vec<&(String, String)> = request
        .env
        .iter()
        .filter(|(name, _)| name.starts_with("WDEV_"))
        .collect();
    // `WDEV_CNI` before `WDEV_CNI_VERSION`, whatever order the environment has.
    given.sort();
    for (name, text) in given {
        if RESERVED.contains(&name.as_str())
            || RESERVED_PREFIXES
                .iter()
                .any(|prefix| name.starts_with(prefix))
        {
            continue;
        }
        let place = Place::Env(Arc::from(name.as_str()), Arc::from(text.as_str()));
        match known.iter().find(|(variable, ..)| variable == name) {
            // A variable that is set to nothing counts as not set.
            Some(_) if text.is_empty() => {}
            Some((_, path, shape)) => {
                if let Some(node) = from_text(text, shape, &place, sink) {
                    root = merge(root, nest(path, node), &TOP);
                }
            }
            None => {
                let near = nearest(name, known.iter().map(|(variable, ..)| variable.as_str()));
                sink.push(
                    Diagnostic::error(format!("`{name}` sets no key and is ignored"))
                        .severity(Severity::Warning)
                        .at(&place)
                        .suggest(near.map(str::to_owned)),
                );
            }
        }
    }
    root
}

/// What the flags set; a later one wins.
pub(crate) fn flags(request: &Request, sink: &mut Sink) -> Node {
    let known = dotted();
    let mut root = Node::new(NodeKind::Map(Vec::new()), Place::Default);
    for (path, text, flag) in &request.flags {
        let place = Place::Flag(Arc::from(flag.as_str()), Arc::from(text.as_str()));
        if let Some((_, shape)) = known.iter().find(|(known, _)| known == path) {
            if let Some(node) = from_text(text, shape, &place, sink) {
                root = merge(root, nest(path, node), &TOP);
            }
        } else {
            let near = nearest(path, known.iter().map(|(known, _)| known.as_str()));
            let mut problem = Diagnostic::error(format!("there is no key `{path}`"))
                .at(&place)
                .suggest(near.map(str::to_owned));
            // The key is wrong, not its value.
            if let Some(before) = flag.strip_suffix(path.as_str()) {
                problem.caret = Some((before.chars().count() + 1, path.chars().count().max(1)));
            }
            sink.push(problem);
        }
    }
    root
}

/// `node` as the value of a dotted path.
fn nest(path: &str, node: Node) -> Node {
    path.rsplit('.').fold(node, |inner, key| {
        let place = inner.place.clone();
        let entry = Entry {
            key: key.to_owned(),
            place: place.clone(),
            node: inner,
        };
        Node::new(NodeKind::Map(vec![entry]), place)
    })
}

/// A value given as one text: single values as they are, lists with commas, anything else as YAML.
fn from_text(text: &str, shape: &Shape, place: &Place, sink: &mut Sink) -> Option<Node> {
    let trimmed = text.trim_start();
    let is_yaml = match shape {
        Shape::List(Shape::Map(_)) | Shape::Table(..) => true,
        Shape::List(_) | Shape::Components => trimmed.starts_with('['),
        Shape::Named(_) | Shape::Map(_) => trimmed.starts_with('{'),
        _ => false,
    };
    if is_yaml {
        return from_yaml(text, place, sink);
    }
    let scalar = |text: &str| Node::new(NodeKind::Scalar(text.to_owned()), place.clone());
    Some(match shape {
        Shape::Components if keys::COMPONENTS_WORDS.contains(&text) => scalar(text),
        Shape::List(_) | Shape::Components => {
            let items = text
                .split(',')
                .map(str::trim)
                .filter(|part| !part.is_empty());
            Node::new(NodeKind::List(items.map(scalar).collect()), place.clone())
        }
        _ => scalar(text),
    })
}

fn from_yaml(text: &str, place: &Place, sink: &mut Sink) -> Option<Node> {
    let source = Arc::new(Source::inline(text));
    let mut inner = Sink::default();
    let node = yaml::parse(&source, &mut inner);
    for problem in inner.errors {
        let at = problem.line.zip(problem.col);
        let mut moved = Diagnostic::error(problem.message).at(place);
        moved.note = problem.note;
        if let (Some((1, col)), Some((start, _))) = (at, moved.caret) {
            moved.caret = Some((start + col - 1, 1));
        }
        sink.push(moved);
    }
    node.map(|node| moved(node, place))
}

/// `node` with `place` everywhere.
fn moved(node: Node, place: &Place) -> Node {
    let kind = match node.kind {
        NodeKind::List(items) => {
            NodeKind::List(items.into_iter().map(|item| moved(item, place)).collect())
        }
        NodeKind::Map(entries) => NodeKind::Map(
            entries
                .into_iter()
                .map(|e| Entry {
                    key: e.key,
                    place: place.clone(),
                    node: moved(e.node, place),
                })
                .collect(),
        ),
        kind => kind,
    };
    Node::new(kind, place.clone())
}

/// The place of a file as a whole.
pub(crate) fn start_of(source: &Arc<Source>) -> Place {
    Place::File(
        source.clone(),
        Span {
            line: 1,
            col: 1,
            len: 1,
            at: 0,
        },
    )
}
