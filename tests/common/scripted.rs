//! A node for the bodies of steps: a folder of the test's own, where real bash runs them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// What the wrapper provides, printing what it is told.
const PROVIDED: &str = r#"set -euo pipefail
wdev_fact() { printf 'fact %s=%s\n' "$1" "$2"; }
wdev_log() { printf 'log %s\n' "$1"; }
wdev_secret() { printf 'secret %s=%s\n' "$1" "$2"; }
wdev_not_in_place() { printf 'not in place: %s\n' "$1"; }
wdev_refuse() { printf '%s\n' "$1" >&2; exit 1; }
wdev_want_reboot() { printf 'reboot\n'; }
wdev_stamped() { [[ -e stamp ]]; }
wdev_given() { cat "given/$1"; }
"#;

/// A node's folder; paths are relative to it.
pub struct Node {
    dir: TempDir,
}

/// What a call has done.
pub struct Ran {
    /// Its exit code; nothing after a signal.
    pub code: Option<i32>,
    /// What it has printed.
    pub out: String,
    /// What it has said on stderr.
    pub err: String,
}

impl Node {
    /// A node with these files.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let node = Self { dir };
        for (path, text) in files {
            fs::create_dir_all(node.path(path).parent().unwrap()).unwrap();
            fs::write(node.path(path), text).unwrap();
        }
        node
    }

    /// The path of a file of the node.
    pub fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    /// The text of a file of the node.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// A program that is found before the machine's own.
    pub fn program(&self, name: &str, script: &str) {
        self.script(&format!("bin/{name}"), script);
    }

    /// A bash script anywhere on the node.
    pub fn script(&self, path: &str, script: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/bash\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs the body's functions in the node's folder, with some of its variables changed.
    pub fn call(&self, bash: &Path, body: &str, changes: &str, call: &str) -> Ran {
        let path = std::env::var("PATH").unwrap();
        let output = Command::new(bash)
            .current_dir(self.dir.path())
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env("SYSTEMCTL_ROOT", self.dir.path())
            .args(["-c", &format!("{PROVIDED}\n{body}\n{changes}\n{call}\n")])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Ran {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    /// What was printed by a call that succeeded.
    pub fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        self.out
    }

    /// What was said on stderr by a call that failed with 1.
    pub fn failed(self) -> String {
        assert_eq!(self.code, Some(1), "{}{}", self.out, self.err);
        self.err
    }
}
