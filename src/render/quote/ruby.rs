//! Ruby.
//!
//! Rule: Ruby's "Literals" (in a single-quoted string only `\'` and `\\` are escapes, and nothing is
//! interpolated; `\u{…}` in a double-quoted string is a code point; literals beside each other are
//! one string). <https://docs.ruby-lang.org/en/3.3/syntax/literals_rdoc.html>
//!
//! The double-quoted parts hold nothing but `\u{…}`, so they interpolate nothing either. A raw
//! carriage return would be lost: Ruby reads CR LF in its source as LF.

use super::{Language, escaped, is_plain, runs};

/// Ruby: single-quoted strings.
pub const RUBY: Language = Language {
    name: "ruby",
    list_name: "ruby_list",
    extension: ".rb",
    text,
    none: Some("nil"),
    truth: ["false", "true"],
    list: ["[", ", ", "]"],
};

fn text(text: &str) -> String {
    if text.is_empty() {
        return "''".to_owned();
    }
    let parts = runs(text, is_plain).into_iter().map(|(plain, run)| {
        if plain {
            let form = |c| matches!(c, '\'' | '\\').then(|| format!("\\{c}"));
            format!("'{}'", escaped(run, form))
        } else {
            let form = |c| Some(format!("\\u{{{:x}}}", u32::from(c)));
            format!("\"{}\"", escaped(run, form))
        }
    });
    parts.collect::<Vec<_>>().join(" ")
}
