//! A Windows node in little: PowerShell with a folder that is its `C:`, doubled commands, doubled programs.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use wdev::channel::wrap::{End, Reader, Said};
use wdev::channel::wrap_windows::wrap_windows;
use wdev::channel::{Mode, Os, Report, Script, Secret};

use crate::common;

/// A Windows node: a folder that is its `C:`, doubled commands, doubled programs.
pub struct Node {
    dir: tempfile::TempDir,
    pub pwsh: PathBuf,
}

/// A script's end, and all that it said.
pub struct Ended(pub Option<(End, Report)>, pub String);

impl Ended {
    pub fn done(self) -> Report {
        match self.0 {
            Some((End::Done, report)) => report,
            other => panic!("not done: {other:?}\n{}", self.1),
        }
    }

    pub fn why(self) -> String {
        match self.0 {
            Some((End::Failed(_, why) | End::Refused(why), _)) => why,
            other => panic!("did not fail: {other:?}\n{}", self.1),
        }
    }
}

impl Node {
    /// None without PowerShell, which has been said then.
    pub fn new(world: &Value) -> Option<Self> {
        let node = Self {
            dir: tempfile::tempdir().unwrap(),
            pwsh: common::pwsh()?,
        };
        for folder in ["bin", "c/ProgramData", "c/Windows/Temp", "c/Users/vagrant"] {
            std::fs::create_dir_all(node.path(folder)).unwrap();
        }
        let mut all = json!({
            "services": {}, "rules": {}, "adapters": [], "addresses": [], "dhcp": [], "fail": {}, "log": [],
            "boot": "2026-03-01T08:00:01Z",
        });
        for (key, value) in world.as_object().unwrap() {
            all[key] = value.clone();
        }
        node.set_world(&all);
        node.program("icacls.exe", "echo \"$@\" >>\"$0.asked\"");
        let double = format!("cd / && exec '{}' \"$@\"", node.pwsh.to_str().unwrap());
        node.program("powershell", &double);
        Some(node)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn program(&self, name: &str, text: &str) {
        let path = self.path("bin").join(name);
        std::fs::write(&path, format!("#!/bin/bash\n{text}\n")).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn world(&self) -> Value {
        serde_json::from_str(&self.read("world.json")).unwrap()
    }

    pub fn set_world(&self, world: &Value) {
        std::fs::write(self.path("world.json"), world.to_string()).unwrap();
    }

    /// Changes the world.
    pub fn change(&self, change: impl FnOnce(&mut Value)) {
        let mut world = self.world();
        change(&mut world);
        self.set_world(&world);
    }

    /// Boots: names, features and services take effect, as `boot.ps1` of the doubles has it.
    pub fn boot(&self) {
        self.change(|world| world["boot_wanted"] = json!(true));
    }

    /// The user as whom scripts run.
    pub fn user(&self) -> String {
        let mut command = Command::new(&self.pwsh);
        command.args(["-NoProfile", "-NonInteractive", "-Command"]);
        command.arg("[Environment]::UserName");
        let printed = String::from_utf8(common::run(&mut command, b"")).unwrap();
        printed.trim().to_owned()
    }

    pub fn log(&self) -> Vec<String> {
        let log = self.world()["log"].clone();
        serde_json::from_value(log).unwrap()
    }

    pub fn call(&self, body: &str, mode: Mode) -> Ended {
        self.call_with(body, mode, &[], None)
    }

    /// Runs a script with these secrets; `kill` is `before N` or `after N`, see the doubles.
    pub fn call_with(
        &self,
        body: &str,
        mode: Mode,
        secrets: &[(&str, &str)],
        kill: Option<&str>,
    ) -> Ended {
        let given = |(name, value): &(&str, &str)| ((*name).to_owned(), Secret::new(*value));
        let script = Script {
            name: "a-step".to_owned(),
            os: Os::Windows,
            mode,
            text: Some(body.to_owned()),
            effects: Vec::new(),
            fingerprint: "f1".to_owned(),
            secrets: secrets.iter().map(given).collect(),
        };
        let text = wrap_windows(&script, "n1").unwrap();
        std::fs::write(self.path("c/Windows/Temp/step.ps1"), text).unwrap();
        let doubles = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/powershell/doubles/doubles.psd1"
        );
        let command = format!(
            "Import-Module '{doubles}'; \
             [void](New-PSDrive -Name C -PSProvider FileSystem -Root '{}' -Scope Global); \
             $env:USERPROFILE = 'C:\\Users\\vagrant'; & 'C:\\Windows\\Temp\\step.ps1'",
            self.path("c").display()
        );
        let mut path = std::ffi::OsString::from(self.path("bin"));
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let output = Command::new(&self.pwsh)
            .args(["-NoProfile", "-NonInteractive", "-Command", &command])
            .env("PATH", path)
            .env("HOME", self.dir.path())
            .env("WDEV_DOUBLES", self.path("world.json"))
            .env("WDEV_DOUBLES_KILL", kill.unwrap_or_default())
            .output()
            .unwrap();
        let mut reader = Reader::new("n1");
        let mut shown = String::from_utf8_lossy(&output.stderr).into_owned();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            for said in reader.line(line) {
                if let Said::Output(text) = said {
                    shown.push_str(&text);
                    shown.push('\n');
                }
            }
        }
        Ended(reader.finish(mode), shown)
    }

    pub fn probe(&self, body: &str) -> Option<String> {
        let report = self.call(body, Mode::Probe).done();
        assert_eq!(report.in_place, report.why.is_none());
        report.why
    }
}
