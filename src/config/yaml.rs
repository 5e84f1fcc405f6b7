//! YAML text to a tree in which every key and value knows its place. With `crate::yaml::tree`, which keeps
//! the text, the only module that knows the parser: `granit-parser`, as serde-saphyr brings it (serde
//! itself would stop at the first mistake and could not tell `1.30` from `"1.30"`).

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_saphyr::granit_parser::{
    ErrorKind, Event, Marker, Options, Parser, ScalarStyle, ScanError, Span as EventSpan, StrInput,
    Tag,
};

use super::diagnostic::{Diagnostic, Sink};
use super::source::{Place, Source, Span};

/// Nested collections that are read at most.
const DEPTH: usize = 24;
/// Nodes that are read at most, those of expanded aliases included.
const NODES: usize = 100_000;

/// A value with its place.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    pub(crate) place: Place,
}

/// What a value is, before anything is known about what it should be.
#[derive(Debug, Clone)]
pub(crate) enum NodeKind {
    /// Nothing, `~` or `null`.
    Null,
    /// Text as written; numbers and booleans too.
    Scalar(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) place: Place,
    pub(crate) node: Node,
}

impl Node {
    pub(crate) fn new(kind: NodeKind, place: Place) -> Self {
        Self { kind, place }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.kind, NodeKind::Null)
    }

    /// What it is, in words.
    pub(crate) fn what(&self) -> &'static str {
        match self.kind {
            NodeKind::Null => "nothing",
            NodeKind::Scalar(_) => "a single value",
            NodeKind::List(_) => "a list",
            NodeKind::Map(_) => "a map of keys",
        }
    }

    fn size(&self) -> usize {
        match &self.kind {
            NodeKind::Null | NodeKind::Scalar(_) => 1,
            NodeKind::List(items) => 1 + items.iter().map(Self::size).sum::<usize>(),
            NodeKind::Map(entries) => 1 + entries.iter().map(|e| 1 + e.node.size()).sum::<usize>(),
        }
    }
}

/// Reads `source`. What is wrong goes into `sink`; `None` when the text cannot be read on.
pub(crate) fn parse(source: &Arc<Source>, sink: &mut Sink) -> Option<Node> {
    let mut options = Options::default();
    options.emit_comments = false;
    let mut builder = Builder {
        events: Parser::new_from_str_with_options(&source.text, options),
        source,
        sink,
        anchors: HashMap::new(),
        nodes: 0,
    };
    match builder.document() {
        Ok(node) => Some(node),
        Err(stop) => {
            sink.push(*stop);
            None
        }
    }
}

type Read<T> = Result<T, Box<Diagnostic>>;

struct Builder<'a> {
    events: Parser<'a, StrInput<'a>>,
    source: &'a Arc<Source>,
    sink: &'a mut Sink,
    anchors: HashMap<usize, Node>,
    nodes: usize,
}

impl<'a> Builder<'a> {
    fn next(&mut self) -> Read<Option<(Event<'a>, EventSpan)>> {
        match self.events.next_event() {
            None => Ok(None),
            Some(Ok(next)) => Ok(Some(next)),
            Some(Err(error)) => Err(Box::new(self.syntax(&error))),
        }
    }

    fn document(&mut self) -> Read<Node> {
        let mut root = None;
        while let Some((event, span)) = self.next()? {
            match event {
                Event::DocumentStart(..) if root.is_some() => {
                    return Err(Box::new(
                        Diagnostic::error("a second document starts here")
                            .at(&self.place(&span))
                            .allow("one YAML document per file"),
                    ));
                }
                Event::DocumentStart(..)
                | Event::DocumentEnd
                | Event::StreamStart
                | Event::StreamEnd
                | Event::Anchor(..)
                | Event::Comment(..) => {}
                other => root = Some(self.node(other, &span, 0)?),
            }
        }
        let start = Place::File(
            self.source.clone(),
            Span {
                line: 1,
                col: 1,
                len: 1,
                at: 0,
            },
        );
        Ok(root.unwrap_or(Node::new(NodeKind::Null, start)))
    }

    fn node(&mut self, event: Event<'a>, span: &EventSpan, depth: usize) -> Read<Node> {
        let place = self.place(span);
        self.count(1, &place)?;
        if depth > DEPTH {
            return Err(Box::new(
                Diagnostic::error("this is nested too deeply")
                    .at(&place)
                    .allow(format!("at most {DEPTH} levels")),
            ));
        }
        let (kind, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let forced = self.tag(tag.as_deref(), &place);
                let plain = style == ScalarStyle::Plain && !forced;
                let kind = if plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL") {
                    NodeKind::Null
                } else {
                    NodeKind::Scalar(text.into_owned())
                };
                (kind, anchor)
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.tag(tag.as_deref(), &place);
                (NodeKind::List(self.list(depth)?), anchor)
            }
            Event::MappingStart(_, anchor, tag) => {
                self.tag(tag.as_deref(), &place);
                (NodeKind::Map(self.map(depth)?), anchor)
            }
            Event::Alias(id) => return self.alias(id, &place),
            _ => (NodeKind::Null, 0),
        };
        let node = Node::new(kind, place);
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self, depth: usize) -> Read<Vec<Node>> {
        let mut items = Vec::new();
        while let Some((event, span)) = self.next()? {
            match event {
                Event::SequenceEnd => break,
                Event::Anchor(..) | Event::Comment(..) => {}
                other => items.push(self.node(other, &span, depth + 1)?),
            }
        }
        Ok(items)
    }

    fn map(&mut self, depth: usize) -> Read<Vec<Entry>> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen: HashMap<String, usize> = HashMap::new();
        while let Some((event, span)) = self.next()? {
            let key = match event {
                Event::MappingEnd => break,
                Event::Anchor(..) | Event::Comment(..) => continue,
                other => self.node(other, &span, depth + 1)?,
            };
            let Some((event, span)) = self.next()? else {
                break;
            };
            let node = self.node(event, &span, depth + 1)?;
            let text = match key.kind {
                NodeKind::Scalar(text) => text,
                NodeKind::Null => String::new(),
                NodeKind::List(_) | NodeKind::Map(_) => {
                    let message = "a key must be plain text";
                    self.sink.push(Diagnostic::error(message).at(&key.place));
                    continue;
                }
            };
            if text == "<<" {
                self.sink.push(
                    Diagnostic::error("merge keys (`<<`) are not part of YAML 1.2 and not supported")
                        .at(&key.place)
                        .note("write the keys out, or use an anchor (`&name`) and an alias (`*name`) for a whole value"),
                );
                continue;
            }
            if let Some(first) = seen.get(&text).and_then(|i| entries.get(*i)) {
                self.sink.push(
                    Diagnostic::error(format!("the key `{text}` is there twice"))
                        .at(&key.place)
                        .note(format!("first at {}", first.place.origin())),
                );
                continue;
            }
            seen.insert(text.clone(), entries.len());
            entries.push(Entry {
                key: text,
                place: key.place,
                node,
            });
        }
        Ok(entries)
    }

    fn alias(&mut self, id: usize, place: &Place) -> Read<Node> {
        let Some(node) = self.anchors.get(&id).cloned() else {
            return Err(Box::new(
                Diagnostic::error("this alias stands inside the value that it names").at(place),
            ));
        };
        self.count(node.size(), place)?;
        Ok(node)
    }

    fn count(&mut self, more: usize, place: &Place) -> Read<()> {
        self.nodes = self.nodes.saturating_add(more);
        if self.nodes <= NODES {
            return Ok(());
        }
        Err(Box::new(
            Diagnostic::error("the file holds too many values")
                .at(place)
                .allow(format!("at most {NODES}, those of aliases included")),
        ))
    }

    /// Whether a tag makes the value text. Any tag but YAML's own is a mistake.
    fn tag(&mut self, tag: Option<&Tag>, place: &Place) -> bool {
        let Some(tag) = tag else {
            return false;
        };
        if tag.is_custom() {
            let message = format!("the tag `{}` has no meaning here", tag.original());
            self.sink.push(Diagnostic::error(message).at(place));
        }
        tag.is_yaml_core_schema_tag("str")
    }

    fn place(&self, span: &EventSpan) -> Place {
        let range = span.byte_range().unwrap_or_default();
        let text = self.source.text.get(range.clone()).unwrap_or_default();
        let first = text.split(['\n', '\r']).next().unwrap_or_default();
        let len = first.trim_end().chars().count();
        Place::File(self.source.clone(), marked(&span.start, len))
    }

    /// The first tab that starts a line, from the line of `span` on.
    fn tab_near(&self, span: Span) -> Option<Span> {
        let mut at = self.source.line_start(span.at);
        for (index, line) in self
            .source
            .text
            .get(at..)?
            .split_inclusive('\n')
            .enumerate()
        {
            let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
            if let Some(tab) = line.get(..blank)?.find('\t') {
                return Some(Span {
                    line: span.line + index,
                    col: tab + 1,
                    len: 1,
                    at: at + tab,
                });
            }
            at += line.len();
        }
        None
    }

    fn syntax(&self, error: &ScanError) -> Diagnostic {
        let mut span = marked(error.marker(), 1);
        let message = match error.kind() {
            kind if is_tab(kind) => {
                // The parser may stand behind the tab, or at the start of the value before it.
                if let Some(tab) = self.tab_near(span) {
                    span = tab;
                }
                "a tab is used for indentation, which YAML does not allow".to_owned()
            }
            ErrorKind::UnknownAnchor => "no anchor with this name stands before it".to_owned(),
            kind => format!("this is not valid YAML: {kind}"),
        };
        let diagnostic = Diagnostic::error(message).at(&Place::File(self.source.clone(), span));
        match error.kind() {
            kind if is_tab(kind) => diagnostic.note("use spaces; most editors can convert them"),
            ErrorKind::UnknownAnchor => diagnostic.note("text that starts with `*` needs quotes"),
            _ => diagnostic,
        }
    }
}

/// Whether the parser stumbled over a tab where blanks belong.
fn is_tab(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::TabNotAllowed
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation
            | ErrorKind::TabInPlainScalar
            | ErrorKind::TabAtBlockScalarStart
    )
}

fn marked(mark: &Marker, len: usize) -> Span {
    Span {
        line: mark.line().max(1),
        col: mark.col() + 1,
        len: len.max(1),
        at: mark.byte_offset().unwrap_or_default(),
    }
}

/// Whether `text` starts with a digit and no reader takes it for a number or a date: an address, a range,
/// an amount with its unit.
fn is_plain_number(text: &str) -> bool {
    let amount = || {
        let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
        unit.len() < text.len() && matches!(unit, "MiB" | "GiB" | "m" | "s" | "h")
    };
    text.parse::<std::net::Ipv4Addr>().is_ok() || text.parse::<ipnet::Ipv4Net>().is_ok() || amount()
}

/// `text` as a YAML scalar on one line that reads back as the same text.
pub(crate) fn quote(text: &str) -> String {
    if is_plain_number(text) {
        return text.to_owned();
    }
    let safe =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '-' | '+' | '=');
    let starts_well = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let keyword = matches!(
        text.to_ascii_lowercase().as_str(),
        "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n"
    );
    if starts_well && text.chars().all(safe) && !keyword {
        return text.to_owned();
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            ' '..='~' => quoted.push(c),
            // Letters and symbols of every script that YAML calls printable and that no reader
            // takes for a line break or a byte order mark.
            '\u{a1}'..='\u{1fff}' | '\u{2030}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' => {
                quoted.push(c);
            }
            _ if u32::from(c) < 0x1_0000 => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            _ => {
                let _ = write!(quoted, "\\U{:08x}", u32::from(c));
            }
        }
    }
    quoted.push('"');
    quoted
}
