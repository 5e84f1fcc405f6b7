//! A YAML or JSON text as a tree in which every value knows its bytes, so that a text can be changed in
//! one place and stay as it is everywhere else.

use std::ops::Range;

use serde_saphyr::granit_parser::{
    Event, Options, Parser, ScalarStyle, Span, StrInput, StructureStyle,
};

/// Nested collections that are read at most.
const DEPTH: usize = 64;

/// A value with its place in the text.
#[derive(Debug, Clone)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// Its bytes, without the blanks and the comments around it.
    pub range: Range<usize>,
    /// The number of its anchor, by which another place may refer to it; 0 for none.
    pub anchor: usize,
}

/// What a value is.
#[derive(Debug, Clone)]
pub enum Kind {
    /// Text; `plain` without quotes, where words such as `null` mean something else.
    Scalar {
        /// The text, unescaped.
        text: String,
        /// Whether it stands without quotes.
        plain: bool,
    },
    /// A list; `flow` in brackets.
    List {
        /// Its values.
        items: Vec<Node>,
        /// Whether it is written in brackets.
        flow: bool,
    },
    /// A map; `flow` in braces.
    Map {
        /// Its keys and values.
        entries: Vec<(Node, Node)>,
        /// Whether it is written in braces.
        flow: bool,
    },
    /// What stands at the anchor with this number.
    Alias(usize),
}

impl Node {
    /// The text of a scalar that is not null.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar { text, .. } if !self.is_null() => Some(text),
            _ => None,
        }
    }

    /// Whether it is nothing, `~` or `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(&self.kind, Kind::Scalar { text, plain: true }
            if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// The value of a key of a map.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|(_, value)| value)
    }

    /// A key of a map with its value.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&(Node, Node)> {
        match &self.kind {
            Kind::Map { entries, .. } => entries.iter().find(|(found, _)| found.is(key)),
            _ => None,
        }
    }

    /// What it stands for: itself, or for an alias the value in this document that it names.
    #[must_use]
    pub fn in_document<'a>(&'a self, root: &'a Node) -> &'a Node {
        match self.kind {
            Kind::Alias(id) => root.anchored(id).unwrap_or(self),
            _ => self,
        }
    }

    fn anchored(&self, id: usize) -> Option<&Node> {
        if self.anchor == id {
            return Some(self);
        }
        match &self.kind {
            Kind::List { items, .. } => items.iter().find_map(|item| item.anchored(id)),
            Kind::Map { entries, .. } => entries
                .iter()
                .find_map(|(key, value)| key.anchored(id).or_else(|| value.anchored(id))),
            _ => None,
        }
    }

    /// Whether `value`, a part of this document, stands in another place of it too: whoever changes the
    /// one changes the other.
    #[must_use]
    pub fn is_shared(&self, value: &Node) -> bool {
        matches!(value.kind, Kind::Alias(_)) || (value.anchor != 0 && self.names(value.anchor))
    }

    /// Whether an alias in it names this anchor.
    fn names(&self, anchor: usize) -> bool {
        match &self.kind {
            Kind::Alias(id) => *id == anchor,
            Kind::List { items, .. } => items.iter().any(|item| item.names(anchor)),
            Kind::Map { entries, .. } => entries
                .iter()
                .any(|(key, value)| key.names(anchor) || value.names(anchor)),
            Kind::Scalar { .. } => false,
        }
    }

    /// Whether it is a scalar with this text.
    #[must_use]
    pub fn is(&self, wanted: &str) -> bool {
        matches!(&self.kind, Kind::Scalar { text, .. } if text == wanted)
    }

    /// Whether two trees mean the same, wherever and however they are written.
    #[must_use]
    pub fn means(&self, other: &Node) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::Scalar { text, .. }, Kind::Scalar { text: others, .. }) => {
                self.is_null() == other.is_null() && (self.is_null() || text == others)
            }
            (Kind::List { items, .. }, Kind::List { items: others, .. }) => {
                items.len() == others.len() && items.iter().zip(others).all(|(a, b)| a.means(b))
            }
            (
                Kind::Map { entries, .. },
                Kind::Map {
                    entries: others, ..
                },
            ) => {
                entries.len() == others.len()
                    && entries
                        .iter()
                        .zip(others)
                        .all(|((a, av), (b, bv))| a.means(b) && av.means(bv))
            }
            (Kind::Alias(id), Kind::Alias(other)) => id == other,
            _ => false,
        }
    }
}

/// Reads the one document of a text; null where there is none.
///
/// # Errors
/// In words, why the text cannot be read.
pub fn parse(text: &str) -> Result<Node, String> {
    let mut options = Options::default();
    options.emit_comments = false;
    let mut builder = Builder {
        events: Parser::new_from_str_with_options(text, options),
    };
    builder.document(text.len())
}

struct Builder<'a> {
    events: Parser<'a, StrInput<'a>>,
}

impl<'a> Builder<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Range<usize>), String> {
        loop {
            match self.events.next_event() {
                None => return Err("it ends in the middle of a value".to_owned()),
                Some(Err(error)) => {
                    let at = error.marker();
                    return Err(format!(
                        "line {}, column {}: {}",
                        at.line().max(1),
                        at.col() + 1,
                        error.kind()
                    ));
                }
                Some(Ok((Event::Anchor(..) | Event::Comment(..), _))) => {}
                Some(Ok((event, span))) => return Ok((event, bytes(&span))),
            }
        }
    }

    fn document(&mut self, end: usize) -> Result<Node, String> {
        let mut root = None;
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => break,
                (Event::DocumentStart(..), _) if root.is_some() => {
                    return Err("it holds more than one document".to_owned());
                }
                (Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd, _) => {}
                (event, range) => root = Some(self.node(event, range, 0)?),
            }
        }
        Ok(root.unwrap_or(Node {
            kind: Kind::Scalar {
                text: String::new(),
                plain: true,
            },
            range: end..end,
            anchor: 0,
        }))
    }

    fn node(
        &mut self,
        event: Event<'a>,
        range: Range<usize>,
        depth: usize,
    ) -> Result<Node, String> {
        if depth > DEPTH {
            return Err("it is nested too deeply".to_owned());
        }
        let (kind, range, anchor) = match event {
            Event::Scalar(text, style, anchor, _) => {
                let plain = style == ScalarStyle::Plain;
                let text = text.into_owned();
                (Kind::Scalar { text, plain }, range, anchor)
            }
            Event::Alias(id) => (Kind::Alias(id), range, 0),
            Event::SequenceStart(style, anchor, _) => {
                let flow = style == StructureStyle::Flow;
                let mut items = Vec::new();
                let end = loop {
                    match self.next()? {
                        (Event::SequenceEnd, end) => break end,
                        (event, range) => items.push(self.node(event, range, depth + 1)?),
                    }
                };
                let last = items.last().map(|last| last.range.end);
                let whole = whole(&range, &end, last, flow);
                (Kind::List { items, flow }, whole, anchor)
            }
            Event::MappingStart(style, anchor, _) => {
                let flow = style == StructureStyle::Flow;
                let mut entries: Vec<(Node, Node)> = Vec::new();
                let end = loop {
                    let key = match self.next()? {
                        (Event::MappingEnd, end) => break end,
                        (event, range) => self.node(event, range, depth + 1)?,
                    };
                    let (event, range) = self.next()?;
                    let mut value = self.node(event, range, depth + 1)?;
                    if value.is_null() && value.range.is_empty() {
                        // The parser says where it noticed, which may be lines below.
                        value.range = key.range.end..key.range.end;
                    }
                    entries.push((key, value));
                };
                let last = entries.last().map(|(_, value)| value.range.end);
                let first = entries
                    .first()
                    .map_or(range.start, |(key, _)| key.range.start);
                let whole = whole(&(first.min(range.start)..range.end), &end, last, flow);
                (Kind::Map { entries, flow }, whole, anchor)
            }
            _ => return Err("it cannot be understood".to_owned()),
        };
        Ok(Node {
            kind,
            range,
            anchor,
        })
    }
}

fn whole(
    start: &Range<usize>,
    end: &Range<usize>,
    last: Option<usize>,
    flow: bool,
) -> Range<usize> {
    // In block style the end is noticed where something else begins.
    let end = match last {
        Some(last) if !flow => last,
        _ => end.end,
    };
    start.start..end.max(start.start)
}

fn bytes(span: &Span) -> Range<usize> {
    span.byte_range().unwrap_or_default()
}
