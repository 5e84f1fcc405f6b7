//! Promise 6: no value reaches another language except through that language's filter. The templates
//! themselves are read; `tests/quoting.rs` tries what the filters write.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};

use wdev::render::TEMPLATES;
use wdev::render::quote::{LANGUAGES, Language, RUBY};

#[test]
fn every_template_is_embedded_as_it_is_in_the_repository() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut on_disk = Vec::new();
    for folder in ["templates", "vagrant"] {
        find_templates(&root.join(folder), &mut on_disk);
    }
    on_disk.sort();
    let mut embedded: Vec<_> = TEMPLATES.iter().map(|(name, _)| root.join(name)).collect();
    embedded.sort();
    assert_eq!(embedded, on_disk);
}

fn find_templates(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find_templates(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "tera") {
            found.push(path);
        }
    }
}

#[test]
fn every_expression_ends_in_the_filter_of_its_language() {
    let mut expressions = 0;
    for (name, text) in TEMPLATES {
        let faults = faults_of(name, text);
        assert!(faults.is_empty(), "{name}:\n{}", faults.join("\n"));
        expressions += text.matches("{{").count();
    }
    assert!(expressions > 20, "the templates were not read");
}

#[test]
fn the_check_of_the_templates_finds_what_it_is_for() {
    for (name, text) in [
        ("a.sh.tera", "x={{ value }}"),
        ("a.sh.tera", "x={{ value | ruby }}"),
        ("a.sh.tera", "x={{ value | sh | upper }}"),
        ("a.sh.tera", "x={{ value | safe }}"),
        ("a.sh.tera", "x={{ value | sh if value else other }}"),
        ("a.sh.tera", "x=\"{{ value | sh }}\""),
        ("a.sh.tera", "x='{{ value | sh }}'"),
        ("a.sh.tera", "x=a{{ value | sh }}"),
        ("a.sh.tera", "# about {{ value | sh }}"),
        ("a.sh.tera", "x={{ value | users_own_ruby }}"),
        ("a.sh.tera", "{% set x = value %}"),
        ("a.sh.tera", "{% filter upper %}x{% endfilter %}"),
        ("a.rb.tera", "x = {{ value | users_own_ruby }}"),
        ("a.unknown.tera", "{{ value | sh }}"),
    ] {
        assert!(!faults_of(name, text).is_empty(), "{name}: {text}");
    }
    for (name, text) in [
        (
            "a.sh.tera",
            "x={{ value | sh }}\nfor y in {{ a.b | sh_words }}; do",
        ),
        (
            "Vagrantfile.tera",
            "# of {{ value | ruby }}\n{{ node.extra | users_own_ruby }}",
        ),
    ] {
        assert_eq!(faults_of(name, text), Vec::<String>::new());
    }
}

/// What is wrong with a template, by line.
fn faults_of(name: &str, text: &str) -> Vec<String> {
    let Some(language) = language_of(name) else {
        return vec!["its language is not known".to_owned()];
    };
    let mut faults = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut fault = |what: &str| faults.push(format!("line {}: {what}: {line}", number + 1));
        for word in ["set", "filter", "macro", "component", "block", "extends"] {
            if line.contains(&format!("{{% {word} ")) || line.contains(&format!("{{%- {word} ")) {
                fault("only if, for and include are allowed");
            }
        }
        let mut rest = line;
        let mut before = String::new();
        while let Some((text, after)) = rest.split_once("{{") {
            before.push_str(text);
            let Some((expression, after)) = after.split_once("}}") else {
                fault("an expression over several lines");
                break;
            };
            if let Err(what) = check_expression(expression, &before, after, language) {
                fault(what);
            }
            rest = after;
        }
    }
    faults
}

fn check_expression(
    expression: &str,
    before: &str,
    after: &str,
    language: &Language,
) -> Result<(), &'static str> {
    let parts: Vec<_> = expression.split('|').map(str::trim).collect();
    let is_path = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let [value, filter] = parts.as_slice() else {
        return Err("an expression is a value and one filter");
    };
    if value.is_empty() || !value.chars().all(is_path) {
        return Err("the value is not a plain name");
    }
    if *filter == "users_own_ruby" {
        let own_line = before.trim().is_empty() && after.trim().is_empty();
        let allowed = language.name == "ruby" && own_line && value.ends_with("extra");
        return if allowed {
            Ok(())
        } else {
            Err("only the user's own `extra`, on a line of its own")
        };
    }
    if *filter != language.name && *filter != language.list_name {
        return Err("not the filter of this language");
    }
    if ['\'', '"', '`']
        .iter()
        .any(|quote| before.matches(*quote).count() % 2 != 0)
    {
        return Err("inside quotes");
    }
    if !before.is_empty() && !before.ends_with([' ', '=', '(', '[', ',', '\t']) {
        return Err("glued to what is before it");
    }
    // Other filters may put a line feed into their literal; Ruby's never does.
    if before.trim_start().starts_with('#') && language.name != "ruby" {
        return Err("inside a comment");
    }
    Ok(())
}

fn language_of(name: &str) -> Option<&'static Language> {
    let target = name.strip_suffix(".tera")?;
    if target.ends_with("Vagrantfile") {
        return Some(&RUBY);
    }
    LANGUAGES
        .into_iter()
        .find(|language| target.ends_with(language.extension))
}
