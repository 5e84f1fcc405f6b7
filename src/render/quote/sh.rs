//! bash.
//!
//! Rule: bash manual, "Single Quotes" (nothing inside is special and a single quote cannot occur)
//! and "ANSI-C Quoting" (`$'\ooo'` is the byte with that octal value).
//! <https://www.gnu.org/software/bash/manual/bash.html#Quoting>
//!
//! Line feeds and tabs stay as they are, so that a script inside a script can be read. A carriage
//! return does not: Vagrant's shell provisioner removes those at line ends from what it uploads.

use std::fmt::Write as _;

use super::{Language, is_plain, runs};

/// bash: words in single quotes; a list is words with spaces between.
pub const SH: Language = Language {
    name: "sh",
    list_name: "sh_words",
    extension: ".sh",
    text,
    none: None,
    truth: ["false", "true"],
    list: ["", " ", ""],
};

fn text(text: &str) -> String {
    let mut quoted = String::new();
    for (plain, run) in runs(text, |c| is_plain(c) || matches!(c, '\n' | '\t')) {
        if plain {
            quoted.push('\'');
            quoted.push_str(&run.replace('\'', r"'\''"));
            quoted.push('\'');
        } else {
            quoted.push_str("$'");
            for byte in run.bytes() {
                // Writing to a string cannot fail.
                let _ = write!(quoted, "\\{byte:03o}");
            }
            quoted.push('\'');
        }
    }
    if quoted.is_empty() {
        quoted.push_str("''");
    }
    quoted
}
