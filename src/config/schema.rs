//! The JSON Schema of `variables.yml`, from the list of keys.
//!
//! An editor reads YAML before it holds it against the schema: `1.30` is a number to it. So the schema
//! takes numbers and booleans where the reader takes their text. What needs other values, the file
//! system or arithmetic is not said here; `wdev validate` says it.

use serde_json::{Map as JsonMap, Value as Json, json};

use super::keys::{COMPONENTS, COMPONENTS_WORDS, Fallback, Key, KeyRule, Rule, Shape};
use super::table::ROOT;
use super::{keys, legacy, text};

/// The JSON Schema (draft 2020-12) of `variables.yml`.
#[must_use]
pub fn schema() -> Json {
    let mut schema = object(ROOT);
    if let Some(properties) = schema.get_mut("properties").and_then(Json::as_object_mut) {
        for (old, new) in legacy::KEYS {
            properties.insert((*old).to_owned(), flat(old, new));
        }
    }
    if let Some(root) = schema.as_object_mut() {
        root.insert(
            "$schema".to_owned(),
            json!("https://json-schema.org/draft/2020-12/schema"),
        );
        root.insert("title".to_owned(), json!("variables.yml of wdev"));
    }
    schema
}

/// A key of the predecessor: the schema of its new form, marked as outdated.
fn flat(old: &str, new: &str) -> Json {
    let mut keys = ROOT;
    let mut found = None;
    for name in new.split('.') {
        let Some(key) = keys.iter().find(|key| key.name == name) else {
            break;
        };
        keys = match &key.shape {
            Shape::List(Shape::Map(inner)) => inner,
            shape => shape.keys().unwrap_or_default(),
        };
        found = Some(key);
    }
    // Text at the time: everything was handed on to shell scripts.
    let shape = found.map_or(&Shape::Text(Rule::Free), |key| &key.shape);
    let mut schema = if old == "build_from_source" {
        of(&Shape::Bool)
    } else {
        of(shape)
    };
    if let Some(schema) = schema.as_object_mut() {
        let shown = legacy::shown(new);
        schema.insert("deprecated".to_owned(), json!(true));
        schema.insert(
            "description".to_owned(),
            json!(format!("The predecessor's key for `{shown}`.")),
        );
    }
    schema
}

fn object(keys: &'static [Key]) -> Json {
    let mut properties = JsonMap::new();
    let mut required = Vec::new();
    for key in keys {
        let mut schema = of(&key.shape);
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".to_owned(), json!(key.doc));
            if let Some(default) = default_of(key) {
                schema.insert("default".to_owned(), default);
            }
            if let (Shape::List(_), Fallback::Derived(_)) = (&key.shape, key.fallback) {
                schema.insert("minItems".to_owned(), json!(1));
            }
        }
        if matches!(key.fallback, Fallback::Required) {
            required.push(key.name);
        }
        properties.insert(key.name.to_owned(), schema);
    }
    let mut schema = json!({
        "type": ["object", "null"],
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn default_of(key: &Key) -> Option<Json> {
    let text = match key.fallback {
        Fallback::Text(text) => text.to_owned(),
        Fallback::Data(name) => keys::data(name)?,
        Fallback::Derived(_) | Fallback::Unset | Fallback::Required => return None,
    };
    Some(match key.shape {
        Shape::Integer { .. } => json!(text.parse::<u64>().ok()?),
        Shape::Bool => json!(text == "true"),
        _ => json!(text),
    })
}

/// A text with a pattern, or nothing.
fn pattern(pattern: &str) -> Json {
    json!({"type": ["string", "null"], "pattern": pattern})
}

const OCTET: &str = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";

fn of(shape: &'static Shape) -> Json {
    match shape {
        Shape::Text(rule) => rule_schema(*rule),
        Shape::Choice(_, names) => one_of_words(names.iter().copied()),
        Shape::Integer { min, max } => json!({
            "type": ["integer", "string", "null"],
            "minimum": min,
            "maximum": max,
            "pattern": "^[0-9]+$",
        }),
        Shape::Bool => json!({"enum": [true, false, "true", "false", null]}),
        Shape::Memory => json!({
            "type": ["integer", "string", "null"],
            "minimum": 1,
            "pattern": "^\\s*0*[1-9][0-9]*\\s*([MmGgTt]([Ii]?[Bb]|[Ii])?)?\\s*$",
        }),
        Shape::Duration => pattern("^[0-9][0-9.dhms ]*[dhms]$"),
        Shape::Cidr => pattern(&format!("^({OCTET}\\.){{3}}{OCTET}/(3[0-2]|[12]?[0-9])$")),
        Shape::Address => pattern(&format!("^(({OCTET}\\.){{3}}{OCTET})?$")),
        Shape::AnyAddress => json!({"type": "string", "pattern": "^[0-9A-Fa-f:.]+$"}),
        Shape::Path(_) => json!({"type": ["string", "null"]}),
        Shape::List(inner) => json!({"type": ["array", "null"], "items": of(inner)}),
        Shape::Components => json!({
            "anyOf": [
                one_of_words(COMPONENTS_WORDS.into_iter().chain([""])),
                {"type": "array", "items": {"enum": COMPONENTS}},
            ],
        }),
        Shape::Map(keys) => object(keys),
        Shape::Named(keys) => {
            let name = keys
                .iter()
                .find(|key| key.name == "name")
                .map(|key| of(&key.shape));
            json!({"anyOf": [name, object(keys)]})
        }
        Shape::Table(rule, inner) => {
            let mut value = of(inner);
            if let Some(types) = value.get_mut("type").and_then(Json::as_array_mut) {
                types.retain(|t| t != "null");
            }
            let mut schema = json!({"type": ["object", "null"], "additionalProperties": value});
            let names = match rule {
                KeyRule::Label => {
                    Some("^([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$")
                }
                KeyRule::Gate => Some("^[A-Za-z0-9]+$"),
                KeyRule::Argument => Some("^[A-Za-z0-9.][A-Za-z0-9.-]*$"),
                KeyRule::ProviderOrNode => None,
            };
            if let Some(names) = names {
                schema["propertyNames"] = json!({"pattern": names});
            }
            schema
        }
    }
}

fn one_of_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Json {
    let words: Vec<Json> = words.into_iter().map(Json::from).collect();
    // `null` counts as not written; a Windows Server version may come as a number.
    let numbers = words
        .iter()
        .filter_map(|word| word.as_str()?.parse::<u64>().ok())
        .map(Json::from);
    let numbers: Vec<Json> = numbers.collect();
    json!({"enum": words.into_iter().chain(numbers).chain([Json::Null]).collect::<Vec<_>>()})
}

fn rule_schema(rule: Rule) -> Json {
    let label = |max: usize| format!("^[a-z0-9]([a-z0-9-]{{0,{}}}[a-z0-9])?$", max - 2);
    let node = |max: usize| {
        json!({
            "type": ["string", "null"],
            "pattern": label(max),
            "not": {"enum": text::reserved()
                .chain(text::DEVICES)
                .chain([text::LOCALHOST])
                .collect::<Vec<_>>()},
        })
    };
    match rule {
        Rule::Free | Rule::HookNode | Rule::BoxUrl => {
            json!({"type": ["string", "number", "boolean", "null"]})
        }
        Rule::LabelValue => json!({
            "type": ["string", "number", "boolean", "null"],
            "pattern": "^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$",
        }),
        Rule::Sandbox => json!({
            "type": ["string", "null"],
            "pattern": label(text::SANDBOX_MAX),
            "not": {"enum": text::DEVICES},
        }),
        Rule::NodeName => node(text::LABEL_MAX),
        Rule::WindowsName => {
            let mut schema = node(text::WINDOWS_MAX);
            schema["allOf"] = json!([{"pattern": "[a-z-]"}]);
            schema
        }
        Rule::KubernetesVersion => json!({
            "type": ["string", "number", "null"],
            "pattern": "^(source|(stable|latest|ci/latest)(-1(\\.(0|[1-9][0-9]*))?)?|v?1\\.(0|[1-9][0-9]*)(\\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?(\\+[0-9A-Za-z.-]+)?)?|ci/v1\\.[0-9]+\\.[0-9]+(-[0-9A-Za-z.-]+)?(\\+[0-9A-Za-z.-]+)?)$",
            "minimum": 1,
            "exclusiveMaximum": 2,
            "not": {"const": 1},
        }),
        Rule::Version => pattern("^v?[0-9]+\\.[0-9]+\\.[0-9]+(-[0-9A-Za-z.-]+)?$"),
        Rule::RuntimeVersion => {
            pattern("^(distribution|v?[0-9]+\\.[0-9]+\\.[0-9]+(-[0-9A-Za-z.-]+)?)$")
        }
        // Addresses have more forms than a pattern should hold.
        Rule::CertName => pattern("^(\\*\\.)?[0-9a-z.:-]+$"),
        Rule::Mirror => pattern("^((https?|file)://\\S+)?$"),
        Rule::Proxy => pattern("^(https?://\\S+)?$"),
        Rule::NoProxy => json!({"type": ["string", "number"], "pattern": "^[^,\\s]+$"}),
        Rule::Checksum => pattern("^([Ss][Hh][Aa]256:[0-9A-Fa-f]{64})?$"),
        Rule::WindowsFeature => pattern("^[A-Za-z0-9_.-]+$"),
        Rule::Taint => json!({
            "type": "string",
            "pattern": "^[^=:\\s]+(=[^=:\\s]*)?:(NoSchedule|PreferNoSchedule|NoExecute)$",
        }),
    }
}
