//! PowerShell, Windows PowerShell 5.1 included.
//!
//! Rule: "About Quoting Rules" (a single-quoted string is taken as it is; a doubled quote is a quote)
//! and the language specification, 2.3.5.2: the typographic quotes U+2018, U+2019, U+201A and U+201B
//! end such a string as well.
//! <https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_quoting_rules>
//! <https://learn.microsoft.com/powershell/scripting/lang-spec/chapter-02>
//!
//! Only printable ASCII is written inside quotes. Everything else, those quotes included, becomes the
//! number of a UTF-16 unit, because Windows PowerShell reads a file without a byte order mark in the
//! system's code page and scripts are stored with CR LF. The parts stand in one flat list: a chain of
//! `+` would nest as deep as the text is long. Behind a comma the list goes on in the next line.

use super::{Language, runs};
use crate::error::Result;

/// PowerShell: single-quoted strings, valid as an expression and as a command's argument.
pub const POWERSHELL: Language = Language {
    name: "powershell",
    list_name: "powershell_list",
    extension: ".ps1",
    text,
    none: Some("$null"),
    truth: ["$false", "$true"],
    list: ["@(", ", ", ")"],
};

fn text(text: &str) -> String {
    let parts = parts(text);
    match parts.as_slice() {
        [] => "''".to_owned(),
        [part] if part.starts_with('\'') => part.clone(),
        _ => format!("(-join({}))", parts.join(",")),
    }
}

/// As [`Language::quote`]; a text of several lines has them in as many lines of the script, each behind `margin`.
///
/// # Errors
/// `Configuration` when the text holds a NUL character.
pub fn powershell_lines(text: &str, margin: &str) -> Result<String> {
    let quoted = POWERSHELL.quote(text)?;
    if !text.trim_end_matches('\n').contains('\n') {
        return Ok(quoted);
    }
    let mut lines = String::from("(-join(");
    let mut is_new_line = true;
    for (at, part) in parts(text).iter().enumerate() {
        if at > 0 {
            lines.push(',');
        }
        if is_new_line {
            lines.push('\n');
            lines.push_str(margin);
        }
        lines.push_str(part);
        is_new_line = part == "[char]10";
    }
    lines.push_str("))");
    Ok(lines)
}

fn parts(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for (plain, run) in runs(text, |c| matches!(c, ' '..='~')) {
        if plain {
            parts.push(format!("'{}'", run.replace('\'', "''")));
        } else {
            parts.extend(run.encode_utf16().map(|unit| format!("[char]{unit}")));
        }
    }
    parts
}
