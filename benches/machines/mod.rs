//! A sandbox of docker machines for measurements.

use std::path::Path;
use std::process::{Command, Stdio};

use wdev::home::SandboxFolder;

/// The image of the machines; nothing, and said why, where no machine can be made.
pub fn image(what: &str) -> Option<String> {
    let Ok(image) = std::env::var("WDEV_TEST_IMAGE") else {
        println!("skipped: {what}: needs WDEV_TEST_IMAGE, which `tests/real/prepare` prints");
        return None;
    };
    let docker = Command::new("docker").arg("info").output();
    if !docker.is_ok_and(|output| output.status.success()) {
        println!("skipped: {what}: needs a running Docker daemon");
        return None;
    }
    Some(image)
}

/// Lines of `variables.yml` for machines alone: `up` ends where it needs the first download.
pub const MACHINES_ONLY: &str = "kubernetes: {version: v1.36.3}\nartifacts: {offline: true}\n";

/// A sandbox in a folder of its own; its machines are removed at the end.
pub struct Sandbox<'a> {
    pub folder: &'a Path,
    name: &'a str,
}

impl<'a> Sandbox<'a> {
    /// The sandbox `name` with this `variables.yml`, without a machine yet.
    pub fn new(folder: &'a Path, name: &'a str, variables: &str) -> Self {
        std::fs::write(folder.join("variables.yml"), variables).expect("variables.yml");
        Self { folder, name }
    }

    pub fn wdev(&self, args: &[&str]) -> Command {
        self.at_home(super::wdev(), args, self.folder)
    }

    /// Plain Vagrant in the rendered folder.
    pub fn vagrant(&self, args: &[&str]) -> Command {
        self.at_home(Command::new("vagrant"), args, &self.state().rendered())
    }

    pub fn state(&self) -> SandboxFolder {
        SandboxFolder::new(self.folder, self.name)
    }

    fn at_home(&self, mut command: Command, args: &[&str], dir: &Path) -> Command {
        command
            .args(args)
            .current_dir(dir)
            .stdin(Stdio::null())
            .env("WDEV_HOME", self.folder.join("home"))
            .env("VAGRANT_HOME", self.folder.join("vagrant-home"));
        command
    }
}

impl Drop for Sandbox<'_> {
    fn drop(&mut self) {
        let _ = self
            .wdev(&["destroy", "--yes"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
}
