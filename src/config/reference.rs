//! The reference of keys in `docs/configuration.md`, from the list of keys.

use std::fmt::Write as _;

use super::keys::{Fallback, Key, Shape, dotted, join, variable};
use super::table::ROOT;
use super::{keys, legacy};

/// Every key as a Markdown table by section, then the predecessor's keys.
#[must_use]
pub fn reference() -> String {
    let mut out = String::new();
    section(&mut out, "Top level", ROOT, "");
    out.push_str("### Keys of the predecessor\n\n| flat key | now |\n| --- | --- |\n");
    for (old, new) in legacy::KEYS {
        let _ = writeln!(out, "| `{old}` | `{}` |", legacy::shown(new));
    }
    out
}

fn section(out: &mut String, title: &str, keys: &'static [Key], prefix: &str) {
    let _ = writeln!(
        out,
        "### {title}\n\n| key | value | default | meaning |\n| --- | --- | --- | --- |"
    );
    for key in keys {
        let (value, default) = (allowed(&key.shape), default(key));
        let variable = if dotted()
            .iter()
            .all(|(path, _)| *path != join(prefix, key.name))
        {
            String::new()
        } else {
            format!(" `{}`", variable(&join(prefix, key.name)))
        };
        let _ = writeln!(
            out,
            "| `{}` | {value} | {default} | {}{variable} |",
            key.name, key.doc
        );
    }
    out.push('\n');
    for key in keys {
        let path = join(prefix, key.name);
        match &key.shape {
            Shape::Map(inner) | Shape::Named(inner) => {
                section(out, &format!("`{path}`"), inner, &path);
            }
            Shape::List(Shape::Map(inner)) => {
                section(
                    out,
                    &format!("`{path}`, each item"),
                    inner,
                    &format!("{path}[]"),
                );
            }
            _ => {}
        }
    }
}

fn allowed(shape: &Shape) -> String {
    match shape {
        Shape::Text(_) => "text".to_owned(),
        Shape::Choice(_, names) => format!("`{}`", names.join("`, `")),
        Shape::Integer { min, max } if min == max => format!("`{min}`"),
        Shape::Integer { min, max } => format!("{min} to {max}"),
        Shape::Bool => "`true`, `false`".to_owned(),
        Shape::Memory => "memory".to_owned(),
        Shape::Duration => "time".to_owned(),
        Shape::Cidr => "IPv4 range".to_owned(),
        Shape::Address => "IPv4 address".to_owned(),
        Shape::AnyAddress => "IP address".to_owned(),
        Shape::Path(_) => "path".to_owned(),
        Shape::List(Shape::Map(_)) => "list of maps".to_owned(),
        Shape::List(inner) => format!("list: {}", allowed(inner)),
        Shape::Components => format!(
            "`all`, `none`, or a list: `{}`",
            keys::COMPONENTS.join("`, `")
        ),
        Shape::Map(_) => "map".to_owned(),
        Shape::Named(_) => "name or map".to_owned(),
        Shape::Table(_, inner) => format!("map: {}", allowed(inner)),
    }
}

fn default(key: &Key) -> String {
    match key.fallback {
        Fallback::Text(text) => format!("`{text}`"),
        Fallback::Data(name) => format!("`{}`", keys::data(name).unwrap_or_default()),
        Fallback::Derived(how) => how.to_owned(),
        Fallback::Unset => String::new(),
        Fallback::Required => "(required)".to_owned(),
    }
}
