//! kubectl, through wdev.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use crate::env::{Ran, Running};
use crate::kubeconfig::Host;

/// What a kubectl of any version does first.
const VERSION: &str =
    r#"case "$1" in version) echo '{"clientVersion": {"gitVersion": "v1.36.1"}}'; exit;; esac"#;

struct Kubectl(Host);

impl Kubectl {
    /// A host with a cluster on machines that need not answer, and a kubectl that runs this.
    fn new(body: &str) -> Self {
        let host = Host::new();
        let record = host.env.sandbox().join("sandbox.json");
        let text = fs::read_to_string(&record).unwrap();
        fs::write(&record, text.replacen("\"sim\"", "\"virtualbox\"", 1)).unwrap();
        let bin = host.env.root().join("bin");
        fs::create_dir(&bin).unwrap();
        let program = bin.join("kubectl");
        fs::write(
            &program,
            format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{VERSION}\n{body}\n"),
        )
        .unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self(host)
    }

    fn wdev(&self, args: &[&str]) -> Command {
        let mut command = self.0.env.wdev(args);
        command.env("PATH", self.0.env.root().join("bin"));
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.wdev(args))
    }
}

#[test]
fn all_but_wdevs_own_options_is_kubectls() {
    let host = Kubectl::new(r#"for word; do printf '<%s>' "$word"; done"#);
    for (args, given) in [
        (
            &["kubectl", "get", "nodes", "-o", "wide"] as &[&str],
            "<get><nodes><-o><wide>",
        ),
        (
            &["kubectl", "--", "-n", "kube-system", "get", "pods"],
            "<-n><kube-system><get><pods>",
        ),
        (
            &["kubectl", "exec", "web", "--", "sh", "-c", "a b"],
            "<exec><web><--><sh><-c><a b>",
        ),
        (
            &["kubectl", "-n", "x", "get", "-s", "y", "--help"],
            "<-n><x><get><-s><y><--help>",
        ),
        (&["kubectl", "-s", "default", "get", ""], "<get><>"),
    ] {
        assert_eq!(host.run(args).exits(0).out, given);
    }
    host.run(&["kubectl"]).exits(2);
    host.run(&["kubectl", "--help"]).exits(0).prints("wdev's");
}

#[test]
fn streams_environment_and_exit_code_pass_through() {
    let host = Kubectl::new("cat; echo \"$KUBECONFIG $NO_PROXY\" >&2; exit 42");
    let mut command = host.wdev(&["kubectl", "apply", "-f", "-"]);
    command
        .env("KUBECONFIG", "/nowhere")
        .env("HTTPS_PROXY", "http://proxy:3128")
        .env("no_proxy", "a,b")
        .stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"kind: Pod\n")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(42));
    assert_eq!(output.stdout, b"kind: Pod\n");
    let err = String::from_utf8(output.stderr).unwrap();
    let path = fs::canonicalize(host.0.env.sandbox())
        .unwrap()
        .join("kubeconfig");
    assert_eq!(err, format!("{} a,b,192.168.56.10\n", path.display()));
}

#[test]
fn signals_are_kubectls() {
    let host = Kubectl::new(
        r#"trap 'echo "{\"body\": {\"type\": \"caught\"}}"; exit 7' INT
           echo '{"body": {"type": "begun"}}'
           while :; do sleep 0.05; done"#,
    );
    let running = Running::of(host.wdev(&["kubectl", "get", "pods", "--watch"]));
    running.until("begun", "");
    running.signal("INT");
    running.until("caught", "");
    assert_eq!(running.end().0, Some(7));
}

#[test]
fn what_is_missing_is_named() {
    let host = Kubectl::new("exit 0");
    fs::remove_file(host.0.env.root().join("bin/kubectl")).unwrap();
    host.0
        .env
        .write("variables.yml", "artifacts: {offline: true}\n");
    host.run(&["kubectl", "get", "nodes"])
        .exits(4)
        .says("there is no `kubectl` on your `PATH`")
        .says("install one");
    fs::remove_file(host.0.env.sandbox().join("kubeconfig")).unwrap();
    host.run(&["kubectl", "get", "nodes"])
        .exits(7)
        .says("has no cluster yet");
    host.run(&["kubectl", "-s", "other", "get", "nodes"])
        .exits(12);
    let simulated = Host::new();
    simulated
        .env
        .run(&["kubectl", "get", "nodes"])
        .exits(2)
        .says("a simulated cluster has no API server");
}
