//! A Windows node in little: PowerShell, a folder for the wrapper's files, and doubled programs.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use wdev::channel::powershell;
use wdev::channel::wrap::{End, Layout};
use wdev::channel::wrap_windows::{layout, wrap_windows_in};
use wdev::channel::{Mode, Os, Report, Script};

use crate::common;
use crate::common::wrapped::{self, read};

/// A node: a folder that is its `C:`, and the programs of Windows that scripts of ours call.
pub struct Node {
    dir: tempfile::TempDir,
    pwsh: PathBuf,
}

impl Node {
    /// None without PowerShell, which has been said then.
    pub fn new() -> Option<Self> {
        let node = Self {
            dir: tempfile::tempdir().unwrap(),
            pwsh: common::pwsh()?,
        };
        std::fs::create_dir(node.path("bin")).unwrap();
        node.program("icacls.exe", "echo \"$@\" >>\"$0.asked\"");
        Some(node)
    }

    pub fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    pub fn program(&self, name: &str, text: &str) {
        let path = self.path(&format!("bin/{name}"));
        std::fs::write(&path, format!("#!/bin/bash\n{text}\n")).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn layout(&self) -> Layout {
        Layout {
            lock: self.path("it's wdev/lock"),
            state: self.path("it's wdev/steps"),
            work: self.path("it's wdev/run"),
            ..layout()
        }
    }

    pub fn command(&self) -> Command {
        let mut path = std::ffi::OsString::from(self.path("bin:"));
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut command = Command::new(&self.pwsh);
        command
            .args(["-NoProfile", "-NonInteractive"])
            .env("PATH", path)
            .env("HOME", self.dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts the script as Vagrant would: uploaded under a name, run by it.
    pub fn start(&self, script: &Script, nonce: &str, layout: &Layout) -> Child {
        let uploaded = self.path("uploaded.ps1");
        std::fs::write(&uploaded, wrap_windows_in(script, nonce, layout).unwrap()).unwrap();
        self.command().args(["-File", &uploaded]).spawn().unwrap()
    }

    pub fn run(&self, script: &Script, nonce: &str) -> (Option<(End, Report)>, String, Output) {
        let output = self
            .start(script, nonce, &self.layout())
            .wait_with_output()
            .unwrap();
        let (end, shown) = read(&output, nonce, script.mode);
        (end, shown, output)
    }

    /// Runs the words that wdev sends over SSH, `input` on standard input; a long text goes as a file.
    pub fn line(&self, text: &str, input: &[u8]) -> Output {
        let line = powershell::line(text).unwrap_or_else(|| {
            let uploaded = self.path("long.ps1");
            std::fs::write(&uploaded, text).unwrap();
            powershell::file_line(&uploaded).unwrap()
        });
        // Behind the program's name.
        let words: Vec<_> = line.split(' ').skip(1).collect();
        let mut child = self
            .command()
            .args(words)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let feeder = std::thread::spawn(move || {
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        output
    }
}

pub fn script(mode: Mode, text: &str) -> Script {
    wrapped::script(Os::Windows, mode, text)
}

/// A body whose run does `run` and whose probe asks for the stamp.
pub fn body(run: &str) -> String {
    format!(
        "function Invoke-WdevRun {{\n{run}\n}}\n\
         function Invoke-WdevProbe {{ if (-not (Test-WdevStamp)) {{ Stop-WdevProbe -Reason \"it's not\" }} }}\n"
    )
}

pub fn done(result: (Option<(End, Report)>, String, Output)) -> Report {
    match result.0 {
        Some((End::Done, report)) => report,
        other => panic!("not done: {other:?}\n{}\n{:?}", result.1, result.2),
    }
}
