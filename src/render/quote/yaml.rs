//! YAML 1.1 and 1.2.
//!
//! Rule: YAML 1.2.2 sections 7.3.1 (double-quoted style) and 5.7 (escaped characters), limited to the
//! escapes that YAML 1.1 section 5.6 has too; `\/` is not one of them.
//! <https://yaml.org/spec/1.2.2/#731-double-quoted-style>
//! <https://yaml.org/spec/1.1/#id872840>

use super::{Language, escaped, is_plain};

/// YAML: double-quoted scalars on one line; a list is a flow sequence.
pub const YAML: Language = Language {
    name: "yaml",
    list_name: "yaml_list",
    extension: ".yaml",
    text,
    none: Some("null"),
    truth: ["false", "true"],
    list: ["[", ", ", "]"],
};

fn text(text: &str) -> String {
    let form = |c: char| match c {
        '"' | '\\' => Some(format!("\\{c}")),
        '\n' => Some("\\n".to_owned()),
        '\t' => Some("\\t".to_owned()),
        _ if is_plain(c) => None,
        '\0'..='\u{ff}' => Some(format!("\\x{:02x}", u32::from(c))),
        '\u{100}'..='\u{ffff}' => Some(format!("\\u{:04x}", u32::from(c))),
        _ => Some(format!("\\U{:08x}", u32::from(c))),
    };
    format!("\"{}\"", escaped(text, form))
}
