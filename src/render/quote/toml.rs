//! TOML 1.0.
//!
//! Rule: TOML 1.0.0, "String", basic strings. <https://toml.io/en/v1.0.0#string>

use super::{Language, escaped, is_plain};

/// TOML: basic strings on one line. TOML has no null.
pub const TOML: Language = Language {
    name: "toml",
    list_name: "toml_list",
    extension: ".toml",
    text,
    none: None,
    truth: ["false", "true"],
    list: ["[", ", ", "]"],
};

fn text(text: &str) -> String {
    let form = |c: char| match c {
        '"' | '\\' => Some(format!("\\{c}")),
        '\n' => Some("\\n".to_owned()),
        '\t' => Some("\\t".to_owned()),
        _ if is_plain(c) => None,
        '\0'..='\u{ffff}' => Some(format!("\\u{:04X}", u32::from(c))),
        _ => Some(format!("\\U{:08X}", u32::from(c))),
    };
    format!("\"{}\"", escaped(text, form))
}
