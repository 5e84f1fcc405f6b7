//! Scripted fakes: real executables that do what a script file says; see `fake_child.rs`.

#![allow(
    dead_code,
    reason = "each test file is a crate of its own that uses a part of this"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use sysinfo::{Pid, ProcessStatus, ProcessesToUpdate, System};

/// A fake in a folder of its own.
pub struct Fake {
    /// The executable.
    pub program: PathBuf,
    _dir: tempfile::TempDir,
}

impl Fake {
    /// A fake called `name`, with a script.
    pub fn new(name: &str, script: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join(name);
        link(executable(), &program);
        let fake = Self { program, _dir: dir };
        fake.script(script);
        fake
    }

    /// Replaces the script; its first block is for the next call.
    pub fn script(&self, script: &str) {
        std::fs::write(self.beside(".script"), script).unwrap();
        std::fs::write(self.beside(".calls"), "0").unwrap();
    }

    /// What the fake logged, line by line.
    pub fn log(&self) -> Vec<String> {
        std::fs::read_to_string(self.beside(".log"))
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// The arguments of each call.
    pub fn calls(&self) -> Vec<String> {
        let calls = |line: String| line.strip_prefix("call ").map(str::to_owned);
        self.log().into_iter().filter_map(calls).collect()
    }

    /// The process that the fake logged as `what`.
    pub fn pid(&self, what: &str) -> Pid {
        let find = || {
            self.log()
                .iter()
                .find_map(|line| line.strip_prefix(what)?.trim().parse::<usize>().ok())
        };
        within(find).map_or_else(|| panic!("no {what} in {:?}", self.log()), Pid::from)
    }

    /// A path beside the program.
    pub fn beside(&self, what: &str) -> PathBuf {
        let name = self.program.file_name().unwrap().to_str().unwrap();
        self.program.with_file_name(format!("{name}{what}"))
    }
}

/// The compiled fake. `cargo test --test NAME` does not build examples, so this does.
fn executable() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo
            .args(["build", "--example", "fake_child", "--message-format=json"])
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        if !cfg!(debug_assertions) {
            cargo.arg("--release");
        }
        let built = cargo.output().unwrap();
        let messages = String::from_utf8_lossy(&built.stdout);
        let find = |line: &str| {
            let message: serde_json::Value = serde_json::from_str(line).ok()?;
            let named = message.get("target")?.get("name")? == "fake_child";
            let path = message.get("executable")?.as_str()?;
            named.then(|| PathBuf::from(path))
        };
        messages.lines().find_map(find).unwrap_or_else(|| {
            panic!(
                "the fake was not built: {}",
                String::from_utf8_lossy(&built.stderr)
            )
        })
    })
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) {
    // A copy could not be started while another thread's child still holds it open for writing.
    std::os::unix::fs::symlink(from, to).unwrap();
}

#[cfg(not(unix))]
fn link(from: &Path, to: &Path) {
    std::fs::hard_link(from, to).unwrap();
}

/// Whether the process has ended; gives it a little time to do so.
pub fn ended(pid: Pid) -> bool {
    let mut system = System::new();
    within(|| {
        system.refresh_processes(ProcessesToUpdate::Some(&[pid]), true);
        let status = system.process(pid).map(sysinfo::Process::status);
        matches!(
            status,
            None | Some(ProcessStatus::Zombie | ProcessStatus::Dead)
        )
        .then_some(())
    })
    .is_some()
}

/// Asks again and again, for at most ten seconds.
pub fn within<T>(mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if Instant::now() > end {
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
