//! What is written down about the configuration is what the code says. `WDEV_TEST_BLESS=1` writes it
//! anew.

use std::path::PathBuf;

use wdev::config::{reference, schema};

const START: &str = "<!-- keys: written by the tests from the list of keys -->\n";
const END: &str = "<!-- end of keys -->\n";

fn document(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join(name)
}

#[track_caller]
fn is_written(name: &str, wanted: impl Fn(&str) -> String) {
    let path = document(name);
    let there = std::fs::read_to_string(&path)
        .unwrap_or_default()
        .replace("\r\n", "\n");
    let wanted = wanted(&there);
    if there != wanted && std::env::var_os("WDEV_TEST_BLESS").is_some() {
        std::fs::write(&path, wanted).unwrap();
        return;
    }
    assert!(
        there == wanted,
        "docs/{name} is out of step: run the tests with WDEV_TEST_BLESS=1"
    );
}

#[test]
fn the_schema_for_editors() {
    is_written("variables.schema.json", |_| format!("{:#}\n", schema()));
}

#[test]
fn the_reference_of_keys() {
    is_written("configuration.md", |there| {
        let (before, rest) = there.split_once(START).expect("the start of the keys");
        let (_, after) = rest.split_once(END).expect("the end of the keys");
        format!("{before}{START}\n{}\n{END}{after}", reference())
    });
}
