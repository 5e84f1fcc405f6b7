//! The way from the host to the cluster: the sandbox's kubeconfig, and its entries in the user's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use wdev::channel::Secret;
use wdev::kubeconfig::Access;

use crate::common;
use crate::env::{Env, Ran};

const KEY: &str = "VEhFIEtFWQ==";

fn encoded(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

fn authority(cluster: &str) -> String {
    encoded(&format!("authority of {cluster}"))
}

/// What leads to the cluster of this name.
fn access(cluster: &str) -> Access {
    Access {
        server: "https://192.168.56.10:6443".to_owned(),
        authority: authority(cluster),
        certificate: encoded(&format!("certificate of {cluster}")),
        key: Some(Secret::new(KEY)),
    }
}

/// A host with sandboxes that have a cluster.
pub struct Host {
    pub env: Env,
    /// The user's kubeconfig.
    file: PathBuf,
}

impl Host {
    pub fn new() -> Self {
        let env = Env::new();
        let file = env.root().join(".kube/config");
        let host = Self { env, file };
        host.sandbox(&host.env.project, "default");
        host
    }

    /// A sandbox of a project, with a cluster.
    fn sandbox(&self, project: &Path, name: &str) {
        fs::create_dir_all(project).unwrap();
        self.run_in(
            project,
            &["up", "-q", "--provider", "sim", "--sandbox", name],
        )
        .exits(0);
        Self::cluster(project, name, name);
    }

    /// The sandbox's cluster is made, or made anew.
    fn cluster(project: &Path, name: &str, cluster: &str) {
        let text = access(cluster)
            .render(&format!("wdev-{name}"), "x")
            .unwrap();
        fs::write(project.join(".wdev").join(name).join("kubeconfig"), text).unwrap();
    }

    fn wdev(&self, args: &[&str]) -> Command {
        let mut command = self.env.wdev(args);
        command.env("USERPROFILE", self.env.root());
        command
    }

    fn run_in(&self, project: &Path, args: &[&str]) -> Ran {
        Ran::of(self.wdev(args).current_dir(project))
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.run_in(&self.env.project, args)
    }

    fn merge(&self) -> Ran {
        self.run(&["kubeconfig", "--merge"])
    }

    fn remove(&self) -> Ran {
        self.run(&["kubeconfig", "--remove"])
    }

    fn write(&self, text: &str) {
        fs::create_dir_all(self.file.parent().unwrap()).unwrap();
        fs::write(&self.file, text).unwrap();
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.file).unwrap()
    }

    /// Nothing but the kubeconfig is left beside it: no lock, no temporary file.
    #[track_caller]
    fn is_tidy(&self) {
        let entries = fs::read_dir(self.file.parent().unwrap()).unwrap();
        for entry in entries {
            let name = entry.unwrap().file_name();
            let ours = name == "config" || name == "other";
            assert!(ours, "{}", name.display());
        }
    }
}

/// The value of `yaml` as JSON.
fn value(yaml: &str) -> serde_json::Value {
    wdev_yaml(yaml).unwrap_or_else(|error| panic!("{error} in {yaml}"))
}

fn wdev_yaml(yaml: &str) -> Result<serde_json::Value, String> {
    serde_saphyr::from_str(yaml).map_err(|error| error.to_string())
}

fn names(yaml: &str, list: &str) -> Vec<String> {
    let value = value(yaml);
    let items = value[list].as_array().cloned().unwrap_or_default();
    items
        .iter()
        .map(|item| item["name"].as_str().unwrap().to_owned())
        .collect()
}

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

/// Kubeconfigs as people, tools and accidents write them.
const STRANGE: &[&str] = &[
    "apiVersion: v1\nkind: Config\nclusters:\n- cluster: {server: x}\n  name: a # mine\n# here\ncontexts: []\nusers: null\ncurrent-context: a\npreferences: {}\n",
    "apiVersion: v1\r\nkind: Config\r\nclusters:\r\n- name: \"it's \\\"\\u00e9\"\r\n  cluster:\r\n    server: 'x'\r\nusers:\r\ncontexts:\r\n",
    "\u{feff}apiVersion: v1\nusers:\n  - user: {token: \"t\"}\n    name: 漢字 🦀\n",
    "{\"kind\": \"Config\", \"clusters\": [{\"name\": \"a\", \"cluster\": {}}], \"users\": [], \"contexts\": null}\n",
    "# only a remark",
    "---\nx-base: &base\n  server: https://y\nclusters:\n- name: a\n  cluster: *base\nextensions:\n- name: ext\n  extension: |+\n    text\n\n\n",
    "users:\n- name: long\n  user:\n    client-key-data: |-\n      AAAA\n      BBBB\n",
    "kind: Config # a\ttab\nclusters:\n- name: \"a\ttab\"\n  cluster: {}\n",
];

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

#[test]
fn a_lock_that_another_program_holds_is_waited_for_and_left_alone() {
    let host = Host::new();
    host.write("users: []\n");
    let lock = host.file.with_file_name("config.lock");
    fs::write(&lock, "").unwrap();
    host.merge()
        .exits(11)
        .says("another program is changing")
        .says("config.lock");
    assert!(lock.exists());
    assert_eq!(host.text(), "users: []\n");
    let mut waiting = host.wdev(&["kubeconfig", "--merge"]).spawn().unwrap();
    fs::remove_file(&lock).unwrap();
    assert!(waiting.wait().unwrap().success());
    host.is_tidy();
    // A killed wdev leaves its own, and the next one knows it.
    fs::write(
        &lock,
        format!("wdev {}\n", host.env.home.join("state").display()),
    )
    .unwrap();
    host.remove().exits(0).says("was removed");
    host.is_tidy();
}

#[test]
fn two_at_once_both_come_through() {
    let host = Host::new();
    let other = host.env.root().join("elsewhere");
    host.sandbox(&other, "default");
    host.sandbox(&host.env.project, "second");
    let merges = [
        (&host.env.project, "default"),
        (&other, "default"),
        (&host.env.project, "second"),
    ];
    // The certificates tell them apart.
    Host::cluster(&other, "default", "elsewhere");
    let running: Vec<_> = merges
        .iter()
        .map(|(project, name)| {
            let mut command = host.wdev(&["kubeconfig", "--merge", "--sandbox", name]);
            command.current_dir(project).spawn().unwrap()
        })
        .collect();
    for child in running {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let text = host.text();
    assert_eq!(names(&text, "contexts").len(), 3, "{text}");
    assert!(text.contains(&authority("elsewhere")) && text.contains(&authority("default")));
    host.run_in(&other, &["kubeconfig", "--remove"]).exits(0);
    assert!(!host.text().contains(&authority("elsewhere")));
    assert!(host.text().contains(&authority("default")));
    host.is_tidy();
}

#[test]
fn killed_at_any_moment_the_file_is_whole_and_all_of_it_can_be_removed() {
    let host = Host::new();
    let old = "clusters:\n- name: mine\n  cluster: {server: s}\nusers: []\ncontexts: []\n";
    host.write(old);
    host.merge().exits(0);
    let new = host.text();
    for pause in 0..40_u64 {
        host.write(old);
        let _ = fs::remove_file(host.env.sandbox().join("merged.json"));
        let mut child = host.wdev(&["kubeconfig", "--merge"]).spawn().unwrap();
        // Any moment will do; the test asks nothing of it.
        std::thread::sleep(std::time::Duration::from_micros(pause * 400));
        let _ = child.kill();
        child.wait().unwrap();
        let text = host.text();
        assert!(text == old || text == new, "{text}");
        host.remove().exits(0);
        assert_eq!(host.text(), old, "after {pause}");
        assert!(!host.file.with_file_name("config.lock").exists());
    }
    // Between the record and the file.
    host.merge().exits(0);
    host.write(old);
    host.remove().exits(0);
    assert_eq!(host.text(), old);
}

#[cfg(unix)]
#[test]
fn links_and_permissions_are_kept() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let host = Host::new();
    let real = host.env.root().join("dotfiles");
    fs::create_dir(&real).unwrap();
    let real = real.join("kubeconfig");
    fs::create_dir(host.file.parent().unwrap()).unwrap();
    symlink("../dotfiles/kubeconfig", &host.file).unwrap();
    // A link to nothing yet is the user's wish too.
    host.merge().exits(0).does_not_say("warning");
    assert!(host.file.is_symlink() && real.is_file());
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    Host::cluster(&host.env.project, "default", "again");
    host.merge().exits(0).says("warning: others may read");
    assert!(host.file.is_symlink());
    assert_eq!(
        fs::metadata(&real).unwrap().permissions().mode() & 0o777,
        0o640
    );
    assert!(
        fs::read_to_string(&real)
            .unwrap()
            .contains(&authority("again"))
    );
    host.is_tidy();
}

#[test]
fn a_damaged_record_stops_no_destroy() {
    let host = Host::new();
    host.merge().exits(0);
    fs::write(host.env.sandbox().join("merged.json"), "{").unwrap();
    host.merge().exits(4).says("merged.json` is damaged");
    host.run(&["destroy", "--yes", "-q"])
        .exits(0)
        .says("damaged");
    assert!(!host.env.project.join(".wdev").exists());
}

/// What the real kubectl reads, of every file that is written.
#[cfg(unix)]
#[test]
fn the_real_kubectl_reads_what_was_merged() {
    let name = "testbed/kubernetes/kubernetes-1.20.2-linux-amd64.tar.xz";
    let Some(archive) = common::shared(name) else {
        return;
    };
    let host = Host::new();
    let folder = host.env.root().to_owned();
    let mut unpack = Command::new("tar");
    unpack
        .arg("-xJf")
        .arg(archive)
        .arg("-C")
        .arg(&folder)
        .arg("kubectl");
    common::run(&mut unpack, b"");
    let mut programs = vec![folder.join("kubectl")];
    programs.extend(which::which("kubectl").ok());
    for before in STRANGE.iter().chain(&[""]) {
        host.write(before);
        host.merge().exits(0);
        for program in &programs {
            let view = |args: &[&str]| {
                let mut command = host.env.program(program);
                command
                    .arg("config")
                    .args(args)
                    .arg("--kubeconfig")
                    .arg(&host.file);
                String::from_utf8(common::run(&mut command, b"")).unwrap()
            };
            let shown = value(&view(&["view", "--raw", "-o", "json"]));
            let shown = shown["users"].as_array().unwrap();
            let ours = shown
                .iter()
                .find(|user| user["name"] == "wdev-default")
                .unwrap();
            assert_eq!(ours["user"]["client-key-data"], KEY, "{before}");
            assert!(view(&["get-contexts", "-o", "name"]).contains("wdev-default"));
        }
        host.remove().exits(0);
    }
    // kubectl writes the file anew, and what is ours is still known.
    host.write(STRANGE[0]);
    host.merge().exits(0);
    for program in &programs {
        let mut command = host.env.program(program);
        command
            .args([
                "config",
                "set-context",
                "wdev-default",
                "--namespace",
                "n",
                "--kubeconfig",
            ])
            .arg(&host.file);
        common::run(&mut command, b"");
        host.merge().exits(0).says("has it already");
    }
    host.remove().exits(0);
    assert!(!host.text().contains("wdev"), "{}", host.text());
    assert_eq!(names(&host.text(), "clusters"), ["a"]);
}
