//! Machine-readable output is versioned and described.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::env::Env;

/// The names of all members of a document but for those whose names are data.
fn members(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                found.insert(name.clone());
                if !["values", "origins", "lanes"].contains(&name.as_str()) {
                    members(value, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| members(item, found)),
        _ => {}
    }
}

#[test]
fn every_document_has_a_version_and_is_described() {
    let docs = include_str!("../../docs/output.md");
    let env = Env::new();
    env.run(&["up", "--provider", "sim"]).exits(0);
    for command in [
        &["status"] as &[&str],
        &["plan"],
        &["list"],
        &["render"],
        &["validate"],
        &["config", "show"],
    ] {
        let ran = env.run(&[command, &["-o", "json"]].concat());
        let document: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(document["version"], 1, "{command:?}");
        let mut names = BTreeSet::new();
        members(&document, &mut names);
        for name in names {
            assert!(
                docs.contains(&format!("`{name}`")),
                "{command:?}: docs/output.md lacks `{name}`"
            );
        }
    }
}

#[test]
fn a_folder_that_was_removed_by_hand_is_forgotten_by_destroy() {
    let env = Env::new();
    env.run(&["up", "--provider", "sim"]).exits(0);
    std::fs::remove_dir_all(env.project.join(".wdev")).unwrap();
    env.run(&["list"]).exits(0).prints("folder gone");
    env.run(&["destroy", "--yes"]).exits(0);
    env.run(&["list"])
        .exits(0)
        .prints("no sandbox on this host");
}
