//! Changes one entry of a kubeconfig's text and leaves every other byte as it is.

use crate::render::quote::YAML;
use crate::yaml::edit::{self, Edited, Item, proven};
use crate::yaml::text::Text;
use crate::yaml::tree::parse;

/// An entry of one of the lists of a kubeconfig: a cluster, a user or a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The list: `clusters`, `users` or `contexts`.
    pub list: &'static str,
    /// The key of its value: `cluster`, `user` or `context`.
    pub key: &'static str,
    /// Its name.
    pub name: String,
    /// Its value, in order.
    pub fields: Vec<(&'static str, String)>,
}

impl Entry {
    /// In block style, each line after `indent`; the last without its end.
    pub(super) fn block(&self, indent: &str, newline: &str) -> crate::error::Result<String> {
        let quote = |text: &str| YAML.quote(text);
        let mut lines = vec![format!("{indent}- {}:", self.key)];
        for (key, value) in &self.fields {
            lines.push(format!("{indent}    {key}: {}", quote(value)?));
        }
        lines.push(format!("{indent}  name: {}", quote(&self.name)?));
        Ok(lines.join(newline))
    }

    /// On one line, as JSON.
    fn flow(&self) -> Edited {
        // Written by hand, since the order counts for whoever compares.
        let quote = |text: &str| serde_json::to_string(text).map_err(|error| error.to_string());
        let mut fields = Vec::new();
        for (key, value) in &self.fields {
            fields.push(format!("\"{key}\": {}", quote(value)?));
        }
        Ok(format!(
            "{{\"{}\": {{{}}}, \"name\": {}}}",
            self.key,
            fields.join(", "),
            quote(&self.name)?
        ))
    }
}

/// Adds an entry at the end of its list.
///
/// # Errors
/// Why that cannot be done in this text.
pub fn insert(text: &str, entry: &Entry) -> Edited {
    // Quoted once, so that nothing can go wrong in the middle.
    entry.block("", "").map_err(|failure| failure.to_string())?;
    let item = Item {
        list: entry.list,
        flow: entry.flow()?,
        block: &|indent, newline| entry.block(indent, newline).unwrap_or_default(),
        indent: "",
    };
    edit::insert(&with_document(text)?, &item)
}

/// Takes out the entry at this place of a list.
///
/// # Errors
/// Why that cannot be done in this text.
pub fn remove(text: &str, list: &str, at: usize) -> Edited {
    edit::remove(text, list, at)
}

/// Makes this the current context.
///
/// # Errors
/// Why that cannot be done in this text.
pub fn set_current(text: &str, name: &str) -> Edited {
    let quoted = YAML.quote(name).map_err(|failure| failure.to_string())?;
    edit::set(&with_document(text)?, "current-context", &quoted)
}

/// The text, with the head of a kubeconfig where it has nothing at all.
fn with_document(text: &str) -> Edited {
    let root = parse(text)?;
    if !root.is_null() {
        return Ok(text.to_owned());
    }
    let newline = Text::new(text).newline;
    let head = ["apiVersion: v1", "kind: Config", ""].join(newline);
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let between = if rest.is_empty() || text.ends_with('\n') {
        ""
    } else {
        newline
    };
    let wanted = parse(&head)?;
    proven(format!("{text}{between}{head}"), &wanted)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::yaml::tree::Kind;

    fn entry() -> Entry {
        Entry {
            list: "clusters",
            key: "cluster",
            name: "wdev-default".to_owned(),
            fields: vec![("server", "https://192.168.56.10:6443".to_owned())],
        }
    }

    const LINES: &str =
        "- cluster:\n    server: \"https://192.168.56.10:6443\"\n  name: \"wdev-default\"\n";

    #[test]
    fn an_entry_comes_after_the_others_and_all_else_stays() {
        for (before, wanted) in [
            (
                "a: 1\nclusters:\n- name: x # mine\n\n# end\nb: 2\n",
                format!("a: 1\nclusters:\n- name: x # mine\n{LINES}\n# end\nb: 2\n"),
            ),
            (
                "clusters:\n- name: x",
                format!("clusters:\n- name: x\n{}", LINES.trim_end()),
            ),
            (
                "clusters: null # none\nb: 2\n",
                format!("clusters: # none\n{LINES}b: 2\n"),
            ),
            ("clusters: []\nb: 2\n", format!("clusters:\n{LINES}b: 2\n")),
            ("clusters:\nb: 2\n", format!("clusters:\n{LINES}b: 2\n")),
            ("clusters:", format!("clusters:\n{}", LINES.trim_end())),
            (
                "b: |+\n  text\n\n",
                format!("b: |+\n  text\n\nclusters:\n{LINES}"),
            ),
            (
                "---\nb: >-\n  x\n  y\n...\n",
                format!("---\nb: >-\n  x\n  y\nclusters:\n{LINES}...\n"),
            ),
            (
                "# nothing",
                format!("# nothing\napiVersion: v1\nkind: Config\nclusters:\n{LINES}"),
            ),
            (
                "",
                format!("apiVersion: v1\nkind: Config\nclusters:\n{LINES}"),
            ),
            (
                "\u{feff}b: 1\n",
                format!("\u{feff}b: 1\nclusters:\n{LINES}"),
            ),
            (
                "b: 1\r\nclusters:\r\n- name: x\r\n",
                format!(
                    "b: 1\r\nclusters:\r\n- name: x\r\n{}",
                    LINES.replace('\n', "\r\n")
                ),
            ),
        ] {
            assert_eq!(insert(before, &entry()).as_ref(), Ok(&wanted), "{before:?}");
            let at = usize::from(before.contains("name: x"));
            let after = remove(&wanted, "clusters", at).unwrap();
            if at == 1 {
                assert_eq!(after.trim_end(), before.trim_end());
            } else {
                assert!(parse(&after).unwrap().get("clusters").is_some());
            }
        }
        let nested = "clusters:\n    - name: x\n      cluster: {}\n";
        let new = insert(nested, &entry()).unwrap();
        assert!(new.contains("\n    - cluster:\n        server: "), "{new}");
    }

    #[test]
    fn json_stays_json() {
        for (before, count) in [
            ("{}", 1),
            ("{\"clusters\":[]}", 1),
            ("{\"clusters\": null, \"b\": 1}", 1),
            ("{\n  \"clusters\": [\n    {\"name\": \"x\"}\n  ]\n}\n", 2),
        ] {
            let new = insert(before, &entry()).unwrap();
            let json: serde_json::Value = serde_json::from_str(&new).unwrap();
            assert_eq!(json["clusters"].as_array().unwrap().len(), count, "{new}");
            let old = remove(&new, "clusters", count - 1).unwrap();
            serde_json::from_str::<serde_json::Value>(&old).unwrap();
            if before.contains('x') {
                assert_eq!(old, before);
            }
        }
    }

    #[test]
    fn what_stands_in_two_places_is_not_changed() {
        for text in [
            "contexts: &c []\nclusters: *c\n",
            "clusters: &c\n- name: x\nother: *c\n",
            "clusters: text\n",
            "- a\n",
            "a: 1\n---\nb: 2\n",
            "clusters: {a: b}\n",
        ] {
            assert!(insert(text, &entry()).is_err(), "{text}");
        }
    }

    #[test]
    fn the_current_context_is_one_value() {
        for (before, wanted) in [
            (
                "current-context: old # why\n",
                "current-context: \"new\" # why\n",
            ),
            (
                "current-context: \"\"\na: 1\n",
                "current-context: \"new\"\na: 1\n",
            ),
            (
                "current-context:\na: 1\n",
                "current-context: \"new\"\na: 1\n",
            ),
            ("a: 1\n", "a: 1\ncurrent-context: \"new\"\n"),
            ("{\"a\": 1}", "{\"a\": 1, \"current-context\": \"new\"}"),
        ] {
            assert_eq!(set_current(before, "new").unwrap(), wanted);
        }
    }

    proptest! {
        /// Whatever the text: what comes back means the old one and the entry, or there is an error.
        #[test]
        fn nothing_else_is_ever_changed(pieces in proptest::collection::vec(proptest::sample::select(&[
            "clusters:", "\n", "\r\n", "- ", "  ", "name: x", "cluster:", " ", "#c", "[", "]", "{", "}", ",",
            "\"q\"", "'q'", "|\n", "&a ", "*a", "null", "---\n", "...\n", "\t", "\u{feff}", "users", ":", "? ",
        ][..]), 0..14)) {
            let text = pieces.concat();
            if let (Ok(new), Ok(old)) = (insert(&text, &entry()), parse(&text)) {
                let root = parse(&new).unwrap();
                let Kind::List { items, .. } = &root.get("clusters").unwrap().kind else { panic!("{new}") };
                prop_assert!(items.last().unwrap().get("name").unwrap().is("wdev-default"));
                let back = remove(&new, "clusters", items.len() - 1);
                if let (Ok(back), Some(list)) = (back, old.get("clusters")) {
                    let back = parse(&back).unwrap();
                    let now = back.get("clusters").unwrap();
                    prop_assert!(now.means(list) || list.is_null());
                }
            }
        }
    }
}
