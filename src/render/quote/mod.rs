//! The quoting filter of every target language, one file per language.
//!
//! Each is a template filter named like its module, for text, whole numbers and booleans, and a
//! second one for lists. Their output never holds anything that the language would act on, and next
//! to nothing that an editor, a terminal or a file transfer would change on the way: what is not a
//! plain character is written as an escape of its code.

mod powershell;
mod ruby;
mod sh;
mod toml;
mod yaml;

use tera::value::ValueKind;
use tera::{TeraResult, Value};

pub use self::powershell::{POWERSHELL, powershell_lines};
pub use self::ruby::RUBY;
pub use self::sh::SH;
pub use self::toml::TOML;
pub use self::yaml::YAML;
use crate::error::{Failure, Kind, Result};

/// All of them.
pub const LANGUAGES: [&Language; 5] = [&SH, &RUBY, &YAML, &POWERSHELL, &TOML];

/// How literals of one target language are written.
pub struct Language {
    /// The name of the filter for one value.
    pub name: &'static str,
    /// The name of the filter for a list.
    pub list_name: &'static str,
    /// What the target files' names end in, before `.tera`.
    pub extension: &'static str,
    text: fn(&str) -> String,
    none: Option<&'static str>,
    truth: [&'static str; 2],
    list: [&'static str; 3],
}

impl Language {
    /// The literal for `text`.
    ///
    /// # Errors
    /// `Configuration` when the text holds a NUL character.
    pub fn quote(&self, text: &str) -> Result<String> {
        self.text_literal(text).map_err(|cause| {
            let failure = Failure::new(Kind::Configuration, "a value cannot be quoted");
            Box::new(failure.because(cause).permanent())
        })
    }

    fn text_literal(&self, text: &str) -> Result<String, String> {
        if text.contains('\0') {
            return Err(format!(
                "a NUL character cannot be part of a {} value",
                self.name
            ));
        }
        Ok((self.text)(text))
    }

    /// The filter for one value.
    pub(super) fn literal(&self, value: &Value) -> TeraResult<Value> {
        Ok(Value::safe_string(&self.scalar(value)?))
    }

    /// The filter for a list of values.
    pub(super) fn list(&self, value: &Value) -> TeraResult<Value> {
        let items = value.as_array().ok_or_else(|| self.refuse(value))?;
        let items = items
            .iter()
            .map(|item| self.scalar(item))
            .collect::<TeraResult<Vec<_>>>()?;
        let [open, separator, close] = self.list;
        Ok(Value::safe_string(&format!(
            "{open}{}{close}",
            items.join(separator)
        )))
    }

    fn scalar(&self, value: &Value) -> TeraResult<String> {
        if let Some(text) = value.as_str() {
            return self.text_literal(text).map_err(tera::Error::message);
        }
        if let Some(truth) = value.as_bool() {
            return Ok(self.truth[usize::from(truth)].to_owned());
        }
        if let Some(number) = value.as_i128() {
            return Ok(number.to_string());
        }
        match (value.kind(), self.none) {
            (ValueKind::None, Some(none)) => Ok(none.to_owned()),
            _ => Err(self.refuse(value)),
        }
    }

    fn refuse(&self, value: &Value) -> tera::Error {
        tera::Error::message(format!(
            "the filters of {} cannot write a value of type {}",
            self.name,
            value.name()
        ))
    }
}

/// Whether a character stands for itself wherever text is edited, shown and transferred: printable
/// ASCII, and letters and digits of any script. Line and paragraph separators, byte order marks,
/// direction marks, control characters and symbols do not.
fn is_plain(c: char) -> bool {
    matches!(c, ' '..='~') || (!c.is_ascii() && c.is_alphanumeric())
}

/// Splits `text` into runs whose characters `plain` answers alike for, with that answer.
fn runs(text: &str, plain: fn(char) -> bool) -> Vec<(bool, &str)> {
    let mut runs = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = plain(first);
        let end = rest.find(|c| plain(c) != kind).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        runs.push((kind, run));
        rest = after;
    }
    runs
}

/// `text` with every character that `escape` has a form for replaced by it.
fn escaped(text: &str, escape: impl Fn(char) -> Option<String>) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    for c in text.chars() {
        match escape(c) {
            Some(form) => quoted.push_str(&form),
            None => quoted.push(c),
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> [String; 5] {
        LANGUAGES.map(|language| language.quote(text).unwrap())
    }

    #[test]
    fn each_language_has_its_own_form() {
        assert_eq!(all(""), ["''", "''", "\"\"", "''", "\"\""]);
        assert_eq!(
            all(r#"a'b"c\d#{e}$f`"#),
            [
                r#"'a'\''b"c\d#{e}$f`'"#,
                r#"'a\'b"c\\d#{e}$f`'"#,
                r#""a'b\"c\\d#{e}$f`""#,
                r#"'a''b"c\d#{e}$f`'"#,
                r#""a'b\"c\\d#{e}$f`""#,
            ]
        );
        assert_eq!(
            all("é\r\n\u{2028}"),
            [
                "'é'$'\\015''\n'$'\\342\\200\\250'",
                r#"'é' "\u{d}\u{a}\u{2028}""#,
                r#""é\x0d\n\u2028""#,
                "(-join([char]233,[char]13,[char]10,[char]8232))",
                r#""é\u000D\n\u2028""#,
            ]
        );
    }

    #[test]
    fn typed_values_keep_their_type() {
        let values = Value::from_serializable(&serde_json::json!([2, true, "2", "yes"]));
        let list = |language: &Language| language.list(&values).unwrap().to_string();
        assert_eq!(list(&SH), "2 true '2' 'yes'");
        assert_eq!(list(&RUBY), "[2, true, '2', 'yes']");
        assert_eq!(list(&YAML), r#"[2, true, "2", "yes"]"#);
        assert_eq!(list(&POWERSHELL), "@(2, $true, '2', 'yes')");
        assert_eq!(list(&TOML), r#"[2, true, "2", "yes"]"#);
    }

    #[test]
    fn what_has_no_literal_is_refused() {
        let map = Value::from_serializable(&serde_json::json!({"a": 1}));
        let float = Value::from_serializable(&serde_json::json!(1.5));
        for language in LANGUAGES {
            assert!(language.literal(&map).is_err());
            assert!(language.literal(&float).is_err());
            assert!(language.literal(&Value::undefined()).is_err());
            assert!(language.list(&map).is_err());
            let failure = language.quote("a\0b").unwrap_err();
            assert_eq!(failure.kind, Kind::Configuration);
        }
        assert!(SH.literal(&Value::none()).is_err());
        assert!(TOML.literal(&Value::none()).is_err());
    }
}
