//! How much memory nodes may have.

use wdev::config::{Request, Severity, load};

use crate::{folder, mistake, read, request};

#[test]
fn memory_that_makes_no_sense() {
    for text in ["0", "-1", "4096.5", "6 bananas", "''", "64k", "1e3", "[1]"] {
        let problem = mistake(&format!("control_plane: {{memory: {text}}}"));
        assert_eq!(problem.col, Some(25), "{text}");
    }
}

#[test]
fn problems_of_both_files_are_shown() {
    let dir = folder(&[
        ("variables.yml", "cni: x\n"),
        ("variables.local.yml", "a: [\n"),
    ]);
    let problems = load(&request(&dir)).unwrap_err();
    let files: Vec<_> = problems.0.iter().map(|p| p.file.clone().unwrap()).collect();
    assert_eq!(files, ["variables.yml", "variables.local.yml"]);
}

#[test]
fn a_flood_of_mistakes_is_cut() {
    let text: String = (0..5000).map(|n| format!("key{n}: 1\n")).collect();
    let problems = read(&text).unwrap_err();
    assert_eq!(problems.0.len(), 1001);
    assert!(
        problems.0[1000].message.contains("4000 more"),
        "{}",
        problems.0[1000]
    );
    let shown = problems.render(false);
    assert!(shown.lines().count() < 500 && shown.contains("… and 951 more"));
}

#[test]
fn little_memory_is_a_warning_at_each_node_that_has_it() {
    let text = "control_plane: {memory: 1GiB}\nworkers: [{memory: 1}, {memory: 2GiB}]\n";
    let said = |text: &str| -> Vec<String> {
        let warnings = read(text).unwrap().warnings;
        warnings.iter().map(ToString::to_string).collect()
    };
    let all = said(text);
    let [control_plane, worker] = all.as_slice() else {
        panic!("{all:?}");
    };
    assert!(
        control_plane.contains("1024 MiB is little for a control plane"),
        "{all:?}"
    );
    assert!(
        worker.contains("1 MiB is little for a Windows node"),
        "{all:?}"
    );
    assert_eq!(said(&format!("provider: docker\n{text}")).len(), 1);
    assert_eq!(said(&format!("provider: sim\n{text}")).len(), 0);
}

#[test]
fn more_memory_than_the_host_has_is_a_warning() {
    let dir = folder(&[("variables.yml", "workers: [{memory: 12GiB}, {}]\n")]);
    let warnings = |host: Option<u64>| {
        load(&Request {
            host_memory_mib: host,
            ..request(&dir)
        })
        .unwrap()
        .warnings
    };
    assert_eq!(warnings(None), []);
    assert_eq!(warnings(Some(22 * 1024)), []);
    let found = warnings(Some(22 * 1024 - 1));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Warning);
    assert_eq!((found[0].line, found[0].col), (Some(1), Some(20)));
    assert!(found[0].message.contains("22528 MiB"), "{}", found[0]);
    let dir = folder(&[(
        "variables.yml",
        "provider: sim\nworkers: [{memory: 12GiB}]\n",
    )]);
    let simulated = load(&Request {
        host_memory_mib: Some(1),
        ..request(&dir)
    })
    .unwrap();
    assert_eq!(simulated.warnings, []);
}
