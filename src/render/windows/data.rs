//! The data of a script as a literal of PowerShell.
//!
//! Not as JSON: the JSON readers of Windows PowerShell 5.1 and of PowerShell 7 each make a date of texts that
//! look like one to them, and then a user's text does not come back as it was.

use serde_json::Value;

use crate::error::Result;
use crate::render::quote::POWERSHELL;

/// An expression with this value. An object becomes a `[pscustomobject]`, whose members keep their case.
///
/// # Errors
/// `Configuration` when a text holds a NUL character.
pub fn literal(value: &Value) -> Result<String> {
    Ok(match value {
        Value::Null => "$null".to_owned(),
        Value::Bool(true) => "$true".to_owned(),
        Value::Bool(false) => "$false".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => POWERSHELL.quote(text)?,
        Value::Array(items) => {
            let items = items.iter().map(literal).collect::<Result<Vec<_>>>()?;
            format!("@({})", items.join(", "))
        }
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, value)| {
                    Ok(format!("{} = {}", POWERSHELL.quote(name)?, literal(value)?))
                })
                .collect::<Result<Vec<_>>>()?;
            format!("[pscustomobject]@{{ {} }}", members.join("; "))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_has_a_literal() {
        let value = serde_json::json!({"a b": [1, true, null, "it's"], "none": []});
        assert_eq!(
            literal(&value).unwrap(),
            "[pscustomobject]@{ 'a b' = @(1, $true, $null, 'it''s'); 'none' = @() }"
        );
    }
}
