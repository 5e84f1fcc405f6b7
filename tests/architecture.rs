//! Which module may know which: `docs/architecture.md`, held.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};

struct File {
    /// From `src/`, with `/`.
    path: String,
    /// Without comments.
    code: String,
}

/// The sources, without their test modules.
fn sources() -> Vec<File> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    walk(&src, &mut paths);
    paths.sort();
    assert!(paths.len() > 50, "where are the sources?");
    paths
        .iter()
        .map(|path| {
            let parts: Vec<_> = path.strip_prefix(&src).unwrap().iter().collect();
            let parts: Vec<&str> = parts.iter().map(|part| part.to_str().unwrap()).collect();
            let text = fs::read_to_string(path).unwrap();
            let product = text.split("#[cfg(test)]\nmod ").next().unwrap();
            let code = product
                .lines()
                .map(|line| line.split("//").next().unwrap())
                .collect::<Vec<_>>()
                .join("\n");
            File {
                path: parts.join("/"),
                code,
            }
        })
        .collect()
}

/// The top-level modules that the code names as `crate::MODULE` or in `use crate::{…}`.
fn imports(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let names: Vec<&str> = match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap().split(',').collect(),
            None => vec![rest],
        };
        for name in names {
            let name: String = name
                .trim()
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                .collect();
            found.push(name);
        }
    }
    found
}

#[test]
fn imports_run_downwards() {
    const UPPER: &[&str] = &[
        "cli", "plan", "engine", "provider", "channel", "event", "ui", "home",
    ];
    for (module, forbidden) in [
        ("plan", &["cli", "ui"] as &[&str]),
        (
            "engine",
            &["cli", "plan", "config", "render", "release", "ui"],
        ),
        ("provider", &["cli", "plan", "engine"]),
        ("channel", &["cli", "plan", "engine"]),
        ("process", &["cli", "plan", "engine", "provider", "config"]),
        ("event", &["cli", "plan", "engine", "provider", "config"]),
        ("config", UPPER),
        (
            "kubeconfig",
            &["cli", "plan", "engine", "provider", "config", "ui"],
        ),
        ("boxes", UPPER),
        ("diagnose", UPPER),
        ("release", UPPER),
        (
            "render",
            &[
                "cli", "plan", "engine", "provider", "channel", "event", "ui", "home",
            ],
        ),
    ] {
        for file in sources() {
            let inside = file.path.split('/').next() == Some(module);
            if !inside && file.path != format!("{module}.rs") {
                continue;
            }
            for name in imports(&file.code) {
                assert!(
                    !forbidden.contains(&name.as_str()),
                    "src/{}: `{module}` must not know `{name}`",
                    file.path
                );
            }
        }
    }
}

#[test]
fn the_engine_knows_no_vagrant_and_no_kubernetes() {
    for file in sources() {
        // The one place that names all providers.
        let code = file.code.to_lowercase().replace("pub mod vagrant;", "");
        let outside_vagrant = file.path.starts_with("engine/") || file.path.starts_with("event/");
        let words: &[&str] = if outside_vagrant {
            &["vagrant", "kubeadm", "kubelet", "containerd", "calico"]
        } else if file.path == "provider/mod.rs" || file.path == "channel/mod.rs" {
            &["vagrant", "kubeadm", "kubelet"]
        } else {
            continue;
        };
        for word in words {
            assert!(!code.contains(word), "src/{} says `{word}`", file.path);
        }
    }
}

#[test]
fn only_the_ui_writes_and_only_platform_modules_are_unsafe() {
    for File { path, code } in sources() {
        for word in ["println!", "print!(", "eprint!(", "process::exit", "dbg!"] {
            assert!(!code.contains(word), "src/{path} has `{word}`");
        }
        let platform = path.ends_with("/windows.rs") || path.ends_with("/unix.rs");
        assert!(
            platform || !code.contains("unsafe {"),
            "src/{path} has `unsafe`"
        );
    }
}

#[test]
fn what_comes_from_outside_is_never_unwrapped() {
    for File { path, code } in sources() {
        for word in [
            ".unwrap()",
            ".expect(",
            "panic!(",
            "unreachable!(",
            "todo!(",
            "unimplemented!(",
        ] {
            assert!(!code.contains(word), "src/{path} has `{word}`");
        }
    }
}

/// A file has one subject. Whoever makes a larger one splits it, or names it here with the reason.
#[test]
fn files_stay_readable() {
    const LIMIT: usize = 450;
    const ALLOWED: &[&str] = &[];
    for File { path, code } in sources() {
        let lines = code.lines().count();
        assert!(
            lines <= LIMIT || ALLOWED.contains(&path.as_str()),
            "src/{path} has {lines} lines"
        );
    }
}
