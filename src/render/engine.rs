//! The template engine, set up so that a value without a quoting filter is an error.

use std::error::Error as _;
use std::io;
use std::sync::OnceLock;

use serde::Serialize;
use serde_json::Value as Json;
use tera::{Context, Kwargs, State, Tera, TeraResult, Value};

use super::quote::LANGUAGES;
use super::templates::TEMPLATES;
use crate::error::{Failure, Kind, Result};

/// Renders the template `name` (its path in the repository) with the fields of `context`.
///
/// # Errors
/// `Configuration` when a value holds a NUL character, which no target language can carry; `Bug`
/// when the template is not there, misses a value, or lets one through without a quoting filter.
pub fn render(name: &str, context: &impl Serialize) -> Result<String> {
    let bug = |cause: String| {
        let failure = Failure::new(Kind::Bug, format!("cannot render the template `{name}`"));
        Box::new(failure.because(cause).permanent())
    };
    let values = serde_json::to_value(context).map_err(|error| bug(error.to_string()))?;
    refuse_nul(&values, "")?;
    let context = Context::from_serialize(context).map_err(|error| bug(describe(&error)))?;
    engine()
        .and_then(|engine| {
            engine
                .render(name, &context)
                .map_err(|error| describe(&error))
        })
        .map_err(bug)
}

fn engine() -> Result<&'static Tera, String> {
    static ENGINE: OnceLock<Result<Tera, String>> = OnceLock::new();
    ENGINE
        .get_or_init(|| build(TEMPLATES.iter().copied()).map_err(|error| describe(&error)))
        .as_ref()
        .map_err(Clone::clone)
}

/// An engine in which everything that is printed must come from a quoting filter: those alone mark
/// their result as safe, and the "escaping" of any other text is an error. (A bare number or boolean gets
/// past that; it is the test over the templates that wants a filter there too.)
fn build<'a>(templates: impl Iterator<Item = (&'a str, &'a str)>) -> TeraResult<Tera> {
    let mut tera = Tera::new();
    tera.autoescape_on([".tera"]);
    tera.set_escape_fn(|_, _| Err(io::Error::other("a value has no quoting filter")));
    tera.register_filter(
        "safe",
        |_: Value, _: Kwargs, _: &State| -> TeraResult<Value> {
            Err(tera::Error::message("the filter `safe` is not allowed"))
        },
    );
    for language in LANGUAGES {
        tera.register_filter(
            language.name,
            |value: Value, _: Kwargs, _: &State| -> TeraResult<Value> { language.literal(&value) },
        );
        tera.register_filter(
            language.list_name,
            |value: Value, _: Kwargs, _: &State| -> TeraResult<Value> { language.list(&value) },
        );
    }
    tera.register_filter("users_own_ruby", users_own_ruby);
    tera.add_raw_templates(templates)?;
    Ok(tera)
}

/// The one exception: the user's own text for the Vagrantfile, Ruby by intent, goes in as it is.
/// Only line ends are made uniform.
fn users_own_ruby(text: &str, _: Kwargs, _: &State) -> Value {
    Value::safe_string(text.replace("\r\n", "\n").trim_end())
}

/// The whole chain of causes: the outer message alone often says only where.
fn describe(error: &tera::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// Finds a NUL character anywhere in the values and says where.
fn refuse_nul(value: &Json, path: &str) -> Result<()> {
    match value {
        Json::String(text) => refuse_nul_in(text, path),
        Json::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, item)| refuse_nul(item, &format!("{path}[{index}]"))),
        Json::Object(fields) => fields.iter().try_for_each(|(key, item)| {
            let path = if path.is_empty() {
                key.clone()
            } else {
                format!("{path}.{key}")
            };
            refuse_nul_in(key, &path)?;
            refuse_nul(item, &path)
        }),
        Json::Null | Json::Bool(_) | Json::Number(_) => Ok(()),
    }
}

fn refuse_nul_in(text: &str, path: &str) -> Result<()> {
    if !text.contains('\0') {
        return Ok(());
    }
    Err(Box::new(
        Failure::new(
            Kind::Configuration,
            format!(
                "the value of `{}` holds a NUL character",
                path.escape_debug()
            ),
        )
        .because("no script and no configuration file can carry one")
        .advise("remove it from the value, or from the file that it was read from")
        .permanent(),
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn try_render(template: &str, value: &str) -> Result<String, String> {
        let tera = build([("t.sh.tera", template)].into_iter()).map_err(|e| describe(&e))?;
        let mut context = Context::new();
        context.insert("value", value);
        tera.render("t.sh.tera", &context).map_err(|e| describe(&e))
    }

    #[test]
    fn a_value_without_a_filter_is_refused_at_run_time() {
        assert_eq!(try_render("{{ value | sh }}", "a'b").unwrap(), r"'a'\''b'");
        for template in [
            "{{ value }}",
            "{{ value | upper }}",
            "{{ value | escape }}",
            "{{ value | safe }}",
            "{{ missing | sh }}",
            "{% if value %}{{ value }}{% endif %}",
        ] {
            let error = try_render(template, "x").unwrap_err();
            assert!(!error.is_empty(), "{template}");
        }
        let error = try_render("{{ value }}", "x").unwrap_err();
        assert!(error.contains("no quoting filter"), "{error}");
    }

    #[test]
    fn every_embedded_template_parses() {
        engine().unwrap();
    }

    #[test]
    fn nul_is_refused_with_the_place_of_the_value() {
        let nodes = BTreeMap::from([("nodes", vec![BTreeMap::from([("name", "a\0b")])])]);
        let failure = render("templates/linux/hosts.sh.tera", &nodes).unwrap_err();
        assert_eq!(failure.kind, Kind::Configuration);
        assert!(failure.message.contains("nodes[0].name"), "{failure}");
    }

    #[test]
    fn a_missing_value_is_a_bug_that_names_the_template() {
        let failure = render(
            "templates/linux/hosts.sh.tera",
            &BTreeMap::<String, String>::new(),
        )
        .unwrap_err();
        assert_eq!(failure.kind, Kind::Bug);
        assert!(failure.message.contains("hosts.sh.tera"), "{failure}");
    }
}
