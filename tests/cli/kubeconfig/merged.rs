//! What is merged into the user's kubeconfig, and what of it is left alone.

use std::fs;
use std::path::Path;

use super::{Host, KEY, STRANGE, access, authority, names, value};
use crate::env::{Env, Ran};

#[test]
fn it_is_printed_once_there_is_a_cluster() {
    let env = Env::new();
    env.run(&["kubeconfig"]).exits(12).says("no sandbox");
    let host = Host::new();
    let text = access("default").render("wdev-default", "x").unwrap();
    assert_eq!(host.run(&["kubeconfig"]).exits(0).out, text);
    let path = host.env.sandbox().join("kubeconfig");
    assert_eq!(
        Path::new(host.run(&["kubeconfig", "--path"]).exits(0).out.trim()),
        fs::canonicalize(&path).unwrap()
    );
    fs::remove_file(&path).unwrap();
    for args in [
        &["kubeconfig"] as &[&str],
        &["kubeconfig", "--path"],
        &["kubeconfig", "--merge"],
    ] {
        host.run(args).exits(7).says("has no cluster yet");
    }
    assert!(!host.file.exists());
    host.run(&["kubeconfig", "--use"]).exits(2);
    host.run(&["kubeconfig", "--merge", "--remove"]).exits(2);
}

#[test]
fn merged_twice_changes_nothing_and_removed_leaves_nothing() {
    let host = Host::new();
    let ran = host.merge();
    ran.exits(0).says("merged into").does_not_say(KEY);
    assert_eq!(ran.out, "wdev-default\n");
    let text = host.text();
    assert!(text.contains(KEY));
    for list in ["clusters", "contexts", "users"] {
        assert_eq!(names(&text, list), ["wdev-default"]);
    }
    assert!(value(&text).get("current-context").is_none());
    host.merge().exits(0).says("has it already");
    assert_eq!(host.text(), text);
    host.is_tidy();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&host.file), 0o600);
        assert_eq!(mode(host.file.parent().unwrap()), 0o700);
        assert_eq!(mode(&host.env.sandbox().join("merged.json")), 0o600);
    }
    let record = fs::read_to_string(host.env.sandbox().join("merged.json")).unwrap();
    assert!(!record.contains(KEY) && !record.contains(&authority("default")));
    host.remove().exits(0).says("was removed");
    assert!(!host.file.exists(), "it was made for nothing else");
    host.remove().exits(0);
    host.merge().exits(0);
    host.run(&["destroy", "--yes", "-q"]).exits(0);
    assert!(!host.file.exists());
}

#[test]
fn all_that_is_not_ours_stays_as_it_is() {
    for before in STRANGE {
        let host = Host::new();
        host.write(before);
        host.merge().exits(0);
        let after = host.text();
        // Line by line, so that what was put in is all that differs.
        let mut rest = after.lines();
        for line in before.lines() {
            let kept = |new: &str| {
                new == line
                    || ["null", "[]"]
                        .iter()
                        .any(|empty| line == format!("{new} {empty}"))
            };
            let json = before.starts_with('{');
            assert!(json || rest.any(kept), "`{line}` is gone in\n{after}");
        }
        assert!(names(&after, "contexts").contains(&"wdev-default".to_owned()));
        let (mut old, mut new) = (value(before), value(&after));
        host.merge().exits(0).says("has it already");
        assert_eq!(host.text(), after);
        host.remove().exits(0);
        for (list, of) in [("clusters", "a"), ("users", "b"), ("contexts", "c")] {
            let list_of = |value: &serde_json::Value| value[list].as_array().map_or(0, Vec::len);
            assert_eq!(list_of(&new), list_of(&old) + 1, "{of}");
            assert_eq!(names(&host.text(), list), names_or_none(&old, list));
        }
        for value in [&mut old, &mut new] {
            if let Some(map) = value.as_object_mut() {
                for ours in ["clusters", "users", "contexts", "apiVersion", "kind"] {
                    map.remove(ours);
                }
            }
        }
        assert!(old == new || old.is_null(), "{old} {new}");
        host.is_tidy();
    }
}

fn names_or_none(value: &serde_json::Value, list: &str) -> Vec<String> {
    let items = value[list].as_array().cloned().unwrap_or_default();
    items
        .iter()
        .map(|item| item["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_file_that_is_not_understood_is_left_alone() {
    let host = Host::new();
    for (text, why) in [
        (
            "clusters:\n  - a\n b: [",
            "cannot be understood as a kubeconfig",
        ),
        ("clusters: []\nclusters: []\n", "`clusters` is there twice"),
        ("a: 1\n---\nb: 2\n", "more than one document"),
        ("kind: Pod\n", "its `kind` is not `Config`"),
        ("- a\n", "it is no map of keys"),
        ("clusters: [a, b]\n", "no list of things with a name"),
        ("a: &a {clusters: []}\n<<: *a\n", "merge key"),
        ("contexts: &c []\nclusters: *c\n", "cannot change"),
        ("\tclusters: []\n", "cannot change"),
    ] {
        host.write(text);
        host.merge()
            .exits(4)
            .says(why)
            .says("nothing in it was touched");
        assert_eq!(host.text(), text);
        host.is_tidy();
    }
    fs::write(&host.file, b"a: \xff\n").unwrap();
    host.merge().exits(4).says("not UTF-8");
    // A sandbox goes, whatever its user's kubeconfig is like.
    host.write("");
    host.merge().exits(0);
    host.write("clusters: {");
    host.remove().exits(4).says("is called `wdev-default`");
    host.run(&["destroy", "--yes", "-q"])
        .exits(0)
        .says("warning: `")
        .says("cannot be understood");
    assert_eq!(host.text(), "clusters: {");
    assert!(!host.env.project.join(".wdev").exists());
}

#[test]
fn what_is_not_ours_is_never_taken_for_ours() {
    let host = Host::new();
    let foreign = "clusters:\n- name: wdev-default\n  cluster: {server: mine}\n";
    host.write(foreign);
    let ran = host.merge();
    let name = ran.exits(0).out.trim().to_owned();
    assert!(name.starts_with("wdev-default-"), "{name}");
    assert_eq!(names(&host.text(), "clusters"), ["wdev-default", &name]);
    // What the user adds to ours stays; what he puts in its place is his.
    let changed = host
        .text()
        .replace("- context:\n", "- context:\n    namespace: mine\n")
        .replace(&access("default").certificate, "b3RoZXI=");
    host.write(&changed);
    let second = host.merge().exits(0).out.trim().to_owned();
    assert_ne!(second, name);
    let text = host.text();
    assert!(text.contains("namespace: mine") || !text.contains(&format!("user: \"{name}\"")));
    assert!(names(&text, "users").contains(&name), "{text}");
    host.remove().exits(0);
    let text = host.text();
    assert!(
        text.starts_with(foreign) && text.contains("b3RoZXI="),
        "{text}"
    );
    assert!(!text.contains(KEY) || names(&text, "users") == [name]);
}

#[test]
fn what_the_user_adds_to_ours_stays() {
    let host = Host::new();
    host.merge().exits(0);
    let added = host
        .text()
        .replace("- context:\n", "- context:\n    namespace: mine\n");
    host.write(&added);
    host.merge().exits(0).says("has it already");
    assert_eq!(host.text(), added);
    // The cluster is another one: its entries follow, and the context is what it was.
    Host::cluster(&host.env.project, "default", "again");
    host.merge().exits(0).says("merged into");
    let text = host.text();
    assert!(text.contains("namespace: mine") && text.contains(&authority("again")));
    assert!(!text.contains(&authority("default")), "{text}");
    host.remove().exits(0);
    assert!(!host.file.exists());
}

#[test]
fn the_current_context_is_changed_only_when_asked_and_comes_back() {
    let host = Host::new();
    let before =
        "contexts:\n- name: work\n  context: {cluster: w, user: w}\ncurrent-context: work # why\n";
    host.write(before);
    host.merge().exits(0);
    assert_eq!(value(&host.text())["current-context"], "work");
    host.run(&["kubeconfig", "--merge", "--use"]).exits(0);
    assert_eq!(value(&host.text())["current-context"], "wdev-default");
    // Again, and the one before is still known.
    host.run(&["kubeconfig", "--merge", "--use"]).exits(0);
    host.run(&["destroy", "--yes", "-q"]).exits(0);
    let text = host.text();
    assert_eq!(value(&text)["current-context"], "work");
    assert!(text.contains("# why"));
}

#[test]
fn kubeconfig_names_the_file_and_a_name_in_any_of_them_is_taken() {
    let host = Host::new();
    let (first, second) = (host.env.root().join("one"), host.env.root().join("two"));
    fs::write(
        &second,
        "users:\n- name: wdev-default\n  user: {token: t}\n",
    )
    .unwrap();
    let both = std::env::join_paths([Path::new(""), &first, &second]).unwrap();
    let ran = Ran::of(
        host.wdev(&["kubeconfig", "--merge"])
            .env("KUBECONFIG", &both),
    );
    assert!(ran.exits(0).out.starts_with("wdev-default-"), "{ran}");
    assert!(first.exists() && !host.file.exists());
    // It is recorded where it was merged to.
    host.remove().exits(0);
    assert!(!first.exists());
    assert!(fs::read_to_string(second).unwrap().contains("token: t"));
    let folder = host.env.root().to_owned();
    Ran::of(
        host.wdev(&["kubeconfig", "--merge"])
            .env("KUBECONFIG", folder),
    )
    .exits(4)
    .says("is no file");
}
