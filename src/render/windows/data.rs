//! The data of a script as a literal of PowerShell, to be read by people too: a key, and each line of a text, has
//! a line of its own.
//!
//! Not as JSON: the JSON readers of Windows PowerShell 5.1 and of PowerShell 7 each make a date of texts that
//! look like one to them, and then a user's text does not come back as it was.

use serde_json::Value;

use crate::error::Result;
use crate::render::quote::{POWERSHELL, powershell_lines};

/// What a list or an object inside may take of a line before it gets several.
const SHORT: usize = 100;

/// An expression with this value. An object becomes a `[pscustomobject]`, whose members keep their case.
///
/// # Errors
/// `Configuration` when a text holds a NUL character.
pub fn literal(value: &Value) -> Result<String> {
    written(value, 0)
}

fn written(value: &Value, depth: usize) -> Result<String> {
    Ok(match value {
        Value::Null => "$null".to_owned(),
        Value::Bool(true) => "$true".to_owned(),
        Value::Bool(false) => "$false".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => powershell_lines(text, &margin(depth + 1))?,
        Value::Array(items) => {
            let items = items.iter().map(|item| written(item, depth + 1));
            let items = items.collect::<Result<Vec<_>>>()?;
            if is_short(&items) {
                return Ok(format!("@({})", items.join(", ")));
            }
            block("@(", &items, ",", ")", depth)
        }
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| {
                let name = POWERSHELL.quote(name)?;
                Ok(format!("{name} = {}", written(value, depth + 1)?))
            });
            let members = members.collect::<Result<Vec<_>>>()?;
            if members.is_empty() {
                return Ok("[pscustomobject]@{}".to_owned());
            }
            if depth > 0 && is_short(&members) {
                return Ok(format!("[pscustomobject]@{{ {} }}", members.join("; ")));
            }
            block("[pscustomobject]@{", &members, "", "}", depth)
        }
    })
}

fn is_short(pieces: &[String]) -> bool {
    let length: usize = pieces.iter().map(|piece| piece.len() + 2).sum();
    length <= SHORT && !pieces.iter().any(|piece| piece.contains('\n'))
}

/// Each piece in a line of its own, or in several.
fn block(open: &str, pieces: &[String], separator: &str, close: &str, depth: usize) -> String {
    let (outer, inner) = (margin(depth), margin(depth + 1));
    let pieces = pieces.join(&format!("{separator}\n{inner}"));
    format!("{open}\n{inner}{pieces}\n{outer}{close}")
}

fn margin(depth: usize) -> String {
    "    ".repeat(depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_has_a_literal() {
        let value = serde_json::json!([{"a b": [1, true, null, "it's"], "none": []}, {}]);
        assert_eq!(
            literal(&value).unwrap(),
            "@([pscustomobject]@{ 'a b' = @(1, $true, $null, 'it''s'); 'none' = @() }, [pscustomobject]@{})"
        );
    }

    #[test]
    fn a_key_and_each_line_of_a_text_has_a_line_of_its_own() {
        let value = serde_json::json!({
            "list": [{"name": "a", "text": "x\ny"}, 2],
            "one": "with its end\n",
            "text": "a: ',[char]10,'\r\n\n  b\n",
        });
        let wanted = "\
[pscustomobject]@{
    'list' = @(
        [pscustomobject]@{
            'name' = 'a'
            'text' = (-join(
                'x',[char]10,
                'y'))
        },
        2
    )
    'one' = (-join('with its end',[char]10))
    'text' = (-join(
        'a: '',[char]10,''',[char]13,[char]10,
        [char]10,
        '  b',[char]10))
}";
        assert_eq!(literal(&value).unwrap(), wanted);
    }
}
