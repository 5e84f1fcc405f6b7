//! The effective configuration for people and programs, each value with its origin. Passwords in URLs
//! are shown as `***`.

use std::fmt::Write as _;

use serde_json::{Map as JsonMap, Value as Json, json};

use super::Loaded;
use super::item::{Item, Value};
use super::keys::{Rule, Shape};
use super::scalar::Scalar;
use super::secret::redact_url;
use super::source::Origin;
use super::table::TOP;
use super::yaml::quote;

/// The version of [`show_json`]'s form.
const JSON_VERSION: u32 = 1;

/// The effective values as a `variables.yml` that loads to the same configuration (but for masked
/// passwords), each line with a comment that says where the value is from.
#[must_use]
pub fn show_yaml(loaded: &Loaded) -> String {
    let mut out = String::new();
    map(&mut out, &loaded.effective, &TOP, 0, false);
    out
}

/// The effective values as JSON: `version` of this form, `dir`, `file`, `values` in the shape of
/// `variables.yml`, `origins` by path.
#[must_use]
pub fn show_json(loaded: &Loaded) -> Json {
    json!({
        "version": JSON_VERSION,
        "dir": loaded.dir.display().to_string(),
        "file": loaded.file.as_ref().map(|file| file.display().to_string()),
        "values": to_json(&loaded.effective, &TOP),
        "origins": loaded.origins,
        "notes": loaded.notes,
        "warnings": loaded.warnings,
    })
}

/// The shape of a key's value in a map of `shape`.
fn inner(shape: &'static Shape, key: &str) -> &'static Shape {
    match shape {
        Shape::Table(_, value) => value,
        _ => shape
            .keys()
            .and_then(|keys| keys.iter().find(|k| k.name == key))
            .map_or(&Shape::Text(Rule::Free), |k| &k.shape),
    }
}

/// A single value as text, without passwords.
fn plain(scalar: &Scalar, shape: &Shape) -> String {
    let text = scalar.canonical();
    match shape {
        Shape::Text(Rule::Proxy | Rule::Mirror | Rule::BoxUrl) => redact_url(&text).into_owned(),
        _ => text,
    }
}

/// What nobody asked for and no empty text or list can stand for: a version, a number, a list that means
/// something when it is empty.
fn is_left_out(item: &Item, shape: &Shape) -> bool {
    match shape {
        Shape::Text(Rule::Version | Rule::RuntimeVersion) => item.text().is_empty(),
        Shape::Integer { .. } | Shape::List(_) => item.is_unset(),
        _ => false,
    }
}

fn map(out: &mut String, item: &Item, shape: &'static Shape, depth: usize, mut in_line: bool) {
    for (key, _, item) in item.entries() {
        let shape = inner(shape, key);
        if is_left_out(item, shape) {
            continue;
        }
        // The first key of a list's item follows the dash.
        let indent = if std::mem::take(&mut in_line) {
            0
        } else {
            depth
        };
        let _ = write!(out, "{:1$}{2}:", "", indent * 2, quote(key));
        value(out, item, shape, depth);
    }
}

fn value(out: &mut String, item: &Item, shape: &'static Shape, depth: usize) {
    let from = match item.place.origin() {
        Origin::Derived { from } => format!("derived from {from}"),
        origin => format!("from {origin}"),
    };
    let from: String = from
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    match &item.value {
        Value::Unset => {
            let _ = writeln!(out, " \"\"  # {from}");
        }
        Value::Scalar(scalar) => {
            let text = plain(scalar, shape);
            // Numbers and words of YAML's own stay unquoted only where they are meant as such.
            let text = match scalar {
                Scalar::Int(_) | Scalar::Bool(_) => text,
                _ => quote(&text),
            };
            let _ = writeln!(out, " {text}  # {from}");
        }
        Value::List(items) if items.is_empty() => {
            let _ = writeln!(out, " []  # {from}");
        }
        Value::Map(entries)
            if entries
                .iter()
                .all(|(key, _, item)| is_left_out(item, inner(shape, key))) =>
        {
            let _ = writeln!(out, " {{}}  # {from}");
        }
        Value::Map(_) => {
            out.push('\n');
            map(out, item, shape, depth + 1, false);
        }
        Value::List(items) => {
            let shape = match shape {
                Shape::List(inner) => inner,
                other => other,
            };
            out.push('\n');
            for item in items {
                let _ = write!(out, "{:1$}-", "", (depth + 1) * 2);
                if let Value::Map(_) = item.value {
                    out.push(' ');
                    map(out, item, shape, depth + 2, true);
                } else {
                    value(out, item, shape, depth + 1);
                }
            }
        }
    }
}

fn to_json(item: &Item, shape: &'static Shape) -> Json {
    match &item.value {
        Value::Unset => Json::Null,
        Value::Scalar(Scalar::Int(number)) => json!(number),
        Value::Scalar(Scalar::Bool(value)) => json!(value),
        Value::Scalar(scalar) => Json::String(plain(scalar, shape)),
        Value::List(items) => {
            let shape = match shape {
                Shape::List(inner) => inner,
                other => other,
            };
            items.iter().map(|item| to_json(item, shape)).collect()
        }
        Value::Map(entries) => {
            let entries = entries
                .iter()
                .map(|(key, _, item)| (key.clone(), inner(shape, key), item))
                .filter(|(_, shape, item)| !is_left_out(item, shape))
                .map(|(key, shape, item)| (key, to_json(item, shape)));
            Json::Object(entries.collect::<JsonMap<_, _>>())
        }
    }
}
