//! Every package that wdev is built from has a licence that `deny.toml` allows.

mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use spdx::{Expression, ParseMode};

#[test]
fn every_package_has_an_allowed_licence() {
    let allowed = allowed();
    let mut refused = Vec::new();
    let packages = packages();
    for package in &packages {
        let name = &package["name"];
        let Some(licence) = package["license"].as_str() else {
            refused.push(format!("{name} names no licence"));
            continue;
        };
        let is_allowed = |expression: Expression| {
            expression.evaluate(|one| {
                let id = one.license.id().map(|id| id.name);
                one.addition.is_none() && id.is_some_and(|id| allowed.contains(id))
            })
        };
        if !Expression::parse_mode(licence, ParseMode::LAX).is_ok_and(is_allowed) {
            refused.push(format!("{name} has {licence}"));
        }
    }
    assert!(packages.len() > 1, "cargo lists no dependencies");
    assert!(refused.is_empty(), "not allowed by deny.toml: {refused:#?}");
}

/// The licences that `deny.toml` allows.
fn allowed() -> BTreeSet<String> {
    let text = include_str!("../deny.toml");
    let deny: toml::Table = toml::from_str(text).expect("deny.toml is TOML");
    let allow = deny["licenses"]["allow"].as_array().expect("an allow list");
    let names = allow
        .iter()
        .map(|name| name.as_str().expect("a name").to_owned());
    names.collect()
}

/// What cargo knows of the packages of all platforms, or of this one where the others were never
/// downloaded.
fn packages() -> Vec<serde_json::Value> {
    metadata(&[])
        .or_else(|| {
            common::skip("the packages of other platforms; run `cargo fetch --locked`");
            metadata(&["--filter-platform", &host()])
        })
        .expect("cargo knows the packages that this test was built from")
}

fn metadata(more: &[&str]) -> Option<Vec<serde_json::Value>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--offline", "--locked"])
        .args(more)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .output()
        .expect("cargo can be run");
    if !output.status.success() {
        return None;
    }
    let mut metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    match metadata["packages"].take() {
        serde_json::Value::Array(packages) => Some(packages),
        _ => None,
    }
}

/// The platform that this test was built on, as rustc names it.
fn host() -> String {
    let about = common::run(Command::new("rustc").arg("-vV"), b"");
    let about = String::from_utf8(about).expect("rustc prints text");
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc names its host").to_owned()
}
