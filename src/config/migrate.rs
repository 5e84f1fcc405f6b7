//! `wdev config migrate`: the predecessor's flat keys in their new form, with the comments.

use std::fmt::Write as _;
use std::path::Path;

use super::diagnostic::{Problems, Sink};
use super::legacy;
use super::source::Place;
use super::yaml::{Entry, Node, NodeKind, quote};
use super::{files, yaml};

/// The text of the file at `path` in the new form. Comments stay with their keys; where one cannot, the
/// text says so at its top. A file without flat keys comes back as it is. Only the file's form is
/// looked at, not its values.
pub fn migrate(path: &Path) -> Result<String, Problems> {
    let mut sink = Sink::default();
    let here = std::env::current_dir().unwrap_or_default();
    let source = files::read(&here.join(path), &here, &mut sink);
    let read = source.and_then(|source| Some((yaml::parse(&source, &mut sink)?, source)));
    let (Some((root, source)), true) = (read, sink.errors.is_empty()) else {
        return Err(sink.into_problems());
    };
    if !super::is_map(&root, &mut sink) {
        return Err(sink.into_problems());
    }
    let wanted = legacy::convert(root.clone(), &mut sink);
    if !sink.errors.is_empty() {
        return Err(sink.into_problems());
    }
    if sink.notes.is_empty() {
        return Ok(source.text.clone());
    }
    let edited = edit(&source.text, &root, &wanted).filter(|text| means(text, &wanted));
    Ok(edited.unwrap_or_else(|| {
        let mut out = if source.text.contains('#') {
            "# wdev config migrate: the comments of the old file could not be kept.\n".to_owned()
        } else {
            String::new()
        };
        write_map(&mut out, &wanted, 0);
        out
    }))
}

/// Whether `text` reads as `wanted`, without flat keys.
fn means(text: &str, wanted: &Node) -> bool {
    let source = std::sync::Arc::new(super::source::Source::inline(text));
    let mut sink = Sink::default();
    let read = yaml::parse(&source, &mut sink);
    sink.errors.is_empty() && read.is_some_and(|read| same(&read, wanted))
}

fn same(a: &Node, b: &Node) -> bool {
    match (&a.kind, &b.kind) {
        (NodeKind::Null, NodeKind::Null) => true,
        (NodeKind::Scalar(a), NodeKind::Scalar(b)) => a == b,
        (NodeKind::List(a), NodeKind::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (NodeKind::Map(a), NodeKind::Map(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|a| b.iter().any(|b| a.key == b.key && same(&a.node, &b.node)))
        }
        _ => false,
    }
}

/// A key at the top with its lines: those before it that are comments, and its own.
struct Block<'a> {
    entry: &'a Entry,
    lead: Vec<&'a str>,
    body: Vec<&'a str>,
}

/// The text with the flat keys replaced line by line; `None` where keys do not start their lines.
fn edit(text: &str, root: &Node, wanted: &Node) -> Option<String> {
    let (head, blocks, tail) = split(text, root)?;
    let NodeKind::Map(wanted) = &wanted.kind else {
        return None;
    };
    let is_flat = |block: &Block<'_>| legacy::KEYS.iter().find(|(old, _)| *old == block.entry.key);
    let top = |new: &'static str| new.split('.').next().unwrap_or(new);
    let mut lost = Vec::new();
    let mut written: Vec<&str> = Vec::new();
    let mut body = String::new();
    for block in &blocks {
        let names: Vec<&str> = match is_flat(block) {
            None => vec![block.entry.key.as_str()],
            // An address of a node also says what the node subnet is.
            Some((old, new)) if old.ends_with("ip") => vec![top(new), "network"],
            Some((_, new)) => vec![top(new)],
        };
        for name in names {
            let Some(entry) = wanted.iter().find(|e| e.key == name) else {
                // A flat key that means nothing any more: its comments go with it.
                lost.extend(comments(block).map(str::to_owned));
                continue;
            };
            if written.contains(&entry.key.as_str()) {
                continue;
            }
            written.push(&entry.key);
            let parts: Vec<&Block<'_>> = blocks
                .iter()
                .filter(|b| match is_flat(b) {
                    None => b.entry.key == name,
                    Some((_, new)) => top(new) == name,
                })
                .collect();
            replace(&mut body, entry, &parts, &mut lost);
        }
    }
    let mut out = String::new();
    for line in head {
        let _ = writeln!(out, "{line}");
    }
    if !lost.is_empty() {
        out.push_str("# wdev config migrate: these comments have lost their place:\n");
        for line in lost {
            let _ = writeln!(out, "# {line}");
        }
    }
    out.push_str(&body);
    for line in tail {
        let _ = writeln!(out, "{line}");
    }
    Some(if text.contains("\r\n") {
        out.replace('\n', "\r\n")
    } else {
        out
    })
}

/// Writes `entry`, which stands for all of `parts`.
fn replace(out: &mut String, entry: &Entry, parts: &[&Block<'_>], lost: &mut Vec<String>) {
    for line in parts.iter().flat_map(|block| &block.lead) {
        let _ = writeln!(out, "{line}");
    }
    if let [only] = parts
        && only.entry.key == entry.key
        && same(&only.entry.node, &entry.node)
    {
        for line in &only.body {
            let _ = writeln!(out, "{line}");
        }
        return;
    }
    for block in parts {
        let own = block.body.iter().filter_map(|line| trailing(line));
        if block.body.len() == 1 {
            for comment in own {
                let _ = writeln!(out, "{comment}");
            }
        } else {
            lost.extend(own.map(str::to_owned));
            lost.extend(
                block
                    .body
                    .iter()
                    .map(|l| l.trim())
                    .filter(|l| l.starts_with('#'))
                    .map(str::to_owned),
            );
        }
    }
    write_entry(out, entry, 0);
}

fn comments<'a>(block: &'a Block<'a>) -> impl Iterator<Item = &'a str> {
    let lead = block
        .lead
        .iter()
        .map(|l| l.trim())
        .filter(|l| !l.is_empty());
    lead.chain(block.body.iter().filter_map(|line| trailing(line)))
}

/// The comment at the end of a line. A `#` in quotes is none; a comment that is taken for text is
/// found out later, when the result is read again.
fn trailing(line: &str) -> Option<&str> {
    let at = line.find(" #")?;
    let (before, after) = line.split_at_checked(at + 1)?;
    let balanced = |quote: char| before.matches(quote).count() % 2 == 0;
    (balanced('"') && balanced('\'') && !before.trim().is_empty()).then_some(after.trim_end())
}

type Split<'a> = (Vec<&'a str>, Vec<Block<'a>>, Vec<&'a str>);

/// The lines of `text` by key; before them what belongs to the whole file, after them what follows
/// the last key.
fn split<'a>(text: &'a str, root: &'a Node) -> Option<Split<'a>> {
    let NodeKind::Map(entries) = &root.kind else {
        return None;
    };
    let lines: Vec<&str> = text.lines().collect();
    let mut starts = Vec::new();
    for entry in entries {
        match &entry.place {
            Place::File(_, span) if span.col == 1 => starts.push(span.line.checked_sub(1)?),
            _ => return None,
        }
    }
    if !starts.is_sorted_by(|a, b| a < b) {
        return None;
    }
    let is_loose = |line: &str| line.trim().is_empty() || line.starts_with('#');
    let first = *starts.first()?;
    // What stands before a blank line at the top is about the file.
    let head_end = lines
        .get(..first)?
        .iter()
        .rposition(|l| l.trim().is_empty())
        .map_or(0, |i| i + 1);
    let mut lead_start = head_end;
    let mut blocks = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let start = *starts.get(index)?;
        let next = starts.get(index + 1).copied().unwrap_or(lines.len());
        let own = lines.get(start..next)?;
        let end = start
            + own
                .iter()
                .rposition(|line| !is_loose(line))
                .map_or(1, |i| i + 1);
        blocks.push(Block {
            entry,
            lead: lines.get(lead_start..start)?.to_vec(),
            body: lines.get(start..end)?.to_vec(),
        });
        lead_start = end;
    }
    Some((
        lines.get(..head_end)?.to_vec(),
        blocks,
        lines.get(lead_start..)?.to_vec(),
    ))
}

fn write_map(out: &mut String, node: &Node, depth: usize) {
    if let NodeKind::Map(entries) = &node.kind {
        for entry in entries {
            write_entry(out, entry, depth);
        }
    }
}

fn write_entry(out: &mut String, entry: &Entry, depth: usize) {
    let _ = write!(out, "{:1$}{2}:", "", depth * 2, quote(&entry.key));
    write_value(out, &entry.node, depth);
}

fn write_value(out: &mut String, node: &Node, depth: usize) {
    match &node.kind {
        NodeKind::Null => out.push('\n'),
        NodeKind::Scalar(text) => {
            let plain_number =
                !text.is_empty() && text.len() < 10 && text.bytes().all(|b| b.is_ascii_digit());
            let text = if plain_number {
                text.clone()
            } else {
                quote(text)
            };
            let _ = writeln!(out, " {text}");
        }
        NodeKind::List(items) if items.is_empty() => out.push_str(" []\n"),
        NodeKind::Map(entries) if entries.is_empty() => out.push_str(" {}\n"),
        NodeKind::Map(_) => {
            out.push('\n');
            write_map(out, node, depth + 1);
        }
        NodeKind::List(items) => {
            out.push('\n');
            for item in items {
                let _ = write!(out, "{:1$}-", "", (depth + 1) * 2);
                match &item.kind {
                    NodeKind::Map(entries) if !entries.is_empty() => {
                        let mut inner = String::new();
                        write_map(&mut inner, item, depth + 2);
                        let _ = write!(out, " {}", inner.trim_start());
                    }
                    _ => write_value(out, item, depth + 1),
                }
            }
        }
    }
}
