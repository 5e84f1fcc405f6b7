//! Calls of `VBoxManage`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::tool;
use super::output::{self, Disk, Info, Interface, Vm};
use crate::channel::Io;
use crate::clock::Clock;
use crate::diagnose::{Said, failure};
use crate::error::{Failure, Result};
use crate::process::Command;

/// How long a question may take: a busy VirtualBox has answered after a minute.
const ASK: Duration = Duration::from_mins(5);
/// How long a change may take, such as removing a machine with its disks.
const CHANGE: Duration = Duration::from_mins(15);
/// The pauses before a change is tried again that met a lock, in milliseconds. VirtualBox keeps a machine
/// locked for a moment after it was switched off.
const PAUSES: [u64; 5] = [500, 1000, 2000, 4000, 8000];
/// The words of a lock.
const LOCKED: [&str; 2] = [
    "VBOX_E_INVALID_OBJECT_STATE",
    "already locked for a session",
];
/// The word for what is not there.
const MISSING: &str = "VBOX_E_OBJECT_NOT_FOUND";

/// Where else than on `PATH` the program is looked for, as Vagrant does
/// (`plugins/providers/virtualbox/driver/base.rb`).
const WINDOWS_VARIABLES: [&str; 2] = ["VBOX_INSTALL_PATH", "VBOX_MSI_INSTALL_PATH"];
const MACOS_FOLDER: &str = "/Applications/VirtualBox.app/Contents/MacOS";

/// Finds `VBoxManage`.
#[must_use]
pub fn find() -> Option<PathBuf> {
    if let Ok(found) = which::which("VBoxManage") {
        return Some(found);
    }
    let mut folders: Vec<PathBuf> = Vec::new();
    if cfg!(windows) {
        for variable in WINDOWS_VARIABLES {
            let value = std::env::var_os(variable).unwrap_or_default();
            folders.extend(std::env::split_paths(&value));
        }
        let programs = std::env::var_os("ProgramFiles").map(PathBuf::from);
        folders.extend(programs.map(|programs| programs.join("Oracle").join("VirtualBox")));
    } else if cfg!(target_os = "macos") {
        folders.push(PathBuf::from(MACOS_FOLDER));
    }
    let name = format!("VBoxManage{}", std::env::consts::EXE_SUFFIX);
    folders
        .into_iter()
        .map(|folder| folder.join(&name))
        .find(|program| program.is_file())
}

/// `VBoxManage`.
#[derive(Debug, Clone)]
pub struct Manage {
    program: PathBuf,
    /// Whether the host has host-only networks in place of interfaces: macOS since VirtualBox 7
    /// (`driver/version_7_0.rb`, `use_host_only_nets?`).
    networks: bool,
    clock: Clock,
}

/// How one call ended.
#[derive(Debug)]
pub struct Answer(tool::Answer);

impl Answer {
    /// What it printed on its standard output.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        &self.0.lines
    }

    /// Whether it did what it was asked. It may print an error and end with 0.
    #[must_use]
    pub fn good(&self) -> bool {
        let error =
            |line: &str| line.trim_start().starts_with("VBoxManage") && line.contains(": error:");
        self.0.finished.ok() && !self.0.errors.lines().any(error)
    }

    /// All that it printed, on both streams, without empty lines.
    #[must_use]
    pub fn printed(&self) -> Vec<String> {
        let errors = self.0.errors.lines();
        let lines = errors.chain(self.0.lines.iter().map(String::as_str));
        let lines = lines.map(str::trim).filter(|line| !line.is_empty());
        lines.map(str::to_owned).collect()
    }

    /// The failure that it means.
    #[must_use]
    pub fn failure(self, doing: &str) -> Failure {
        let said = Said {
            class: String::new(),
            text: self.0.errors,
        };
        failure(doing, &said, &self.0.finished.ending())
            .command(self.0.command)
            .output(self.0.finished.tail)
    }

    fn has(&self, words: &[&str]) -> bool {
        !self.good() && words.iter().any(|word| self.0.errors.contains(word))
    }
}

impl Manage {
    /// For the program; `networks` where the host has host-only networks in place of interfaces.
    #[must_use]
    pub fn new(program: PathBuf, networks: bool, clock: Clock) -> Self {
        Self {
            program,
            networks,
            clock,
        }
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Calls it once.
    ///
    /// # Errors
    /// When it cannot be started, takes longer than `limit`, or is interrupted.
    pub async fn call(&self, args: &[&str], limit: Duration, io: &Io) -> Result<Answer> {
        let command = Command::new(&self.program)
            .args(args.iter().copied())
            // The first call starts VirtualBox' own service.
            .keep_leftovers();
        let virtualbox = ("VirtualBox", "end `VBoxSVC` once no machine runs");
        let english = [("LANG", "C"), ("LC_ALL", "C")];
        let within = (limit, self.clock);
        let answer = tool::call(virtualbox, command, &english, within, io).await?;
        Ok(Answer(answer))
    }

    async fn ask(&self, doing: &str, args: &[&str], io: &Io) -> Result<Vec<String>> {
        let answer = self.call(args, ASK, io).await?;
        if answer.good() {
            return Ok(answer.0.lines);
        }
        Err(Box::new(answer.failure(doing)))
    }

    /// Changes something; what is locked is tried again, with growing pauses. What is not there any more
    /// is fine.
    async fn change(&self, doing: &str, args: &[&str], io: &Io) -> Result<()> {
        let mut pauses = PAUSES.into_iter();
        loop {
            let answer = self.call(args, CHANGE, io).await?;
            if answer.good() || answer.has(&[MISSING]) {
                return Ok(());
            }
            let Some(pause) = pauses.next().filter(|_| answer.has(&LOCKED)) else {
                return Err(Box::new(answer.failure(doing)));
            };
            self.clock.sleep(Duration::from_millis(pause)).await;
        }
    }

    /// All registered machines.
    pub async fn vms(&self, io: &Io) -> Result<Vec<Vm>> {
        let lines = self.ask("listing machines", &["list", "vms"], io).await?;
        Ok(output::vms(&lines))
    }

    /// What is known of a machine; none when it is gone.
    pub async fn info(&self, id: &str, io: &Io) -> Result<Option<Info>> {
        let args = ["showvminfo", id, "--machinereadable"];
        let answer = self.call(&args, ASK, io).await?;
        if answer.good() {
            return Ok(Some(Info::parse(answer.lines())));
        }
        if answer.has(&[MISSING]) {
            return Ok(None);
        }
        Err(Box::new(answer.failure("asking for a machine")))
    }

    /// All registered disks.
    pub async fn disks(&self, io: &Io) -> Result<Vec<Disk>> {
        let lines = self.ask("listing disks", &["list", "hdds"], io).await?;
        Ok(output::disks(&lines))
    }

    /// The folder that new machines are made in.
    pub async fn machine_folder(&self, io: &Io) -> Result<Option<PathBuf>> {
        let args = ["list", "systemproperties"];
        let lines = self.ask("listing settings", &args, io).await?;
        Ok(output::machine_folder(&lines))
    }

    /// The name that the machine of a box would get; none when VirtualBox cannot read it.
    pub async fn suggested_name(&self, ovf: &Path, io: &Io) -> Result<Option<String>> {
        let ovf = ovf.to_string_lossy();
        let answer = self.call(&["import", "-n", &ovf], ASK, io).await?;
        Ok(output::suggested_name(answer.lines()))
    }

    /// All host-only interfaces, or networks.
    pub async fn interfaces(&self, io: &Io) -> Result<Vec<Interface>> {
        let what = if self.networks {
            "hostonlynets"
        } else {
            "hostonlyifs"
        };
        let lines = self
            .ask("listing host-only interfaces", &["list", what], io)
            .await?;
        Ok(output::interfaces(&lines))
    }

    /// The arguments that remove a host-only interface, or network.
    #[must_use]
    pub fn removal<'a>(&self, interface: &'a str) -> Vec<&'a str> {
        if self.networks {
            vec!["hostonlynet", "remove", "--name", interface]
        } else {
            vec!["hostonlyif", "remove", interface]
        }
    }

    /// Removes a host-only interface, or network, and an address server on it.
    pub async fn remove_interface(&self, name: &str, io: &Io) -> Result<()> {
        if !self.networks {
            // It fails where there is none, as is usual.
            let args = ["dhcpserver", "remove", "--ifname", name];
            let _ = self.call(&args, ASK, io).await?;
        }
        let doing = format!("removing the host-only interface `{name}`");
        self.change(&doing, &self.removal(name), io).await
    }

    /// Switches a machine off and removes it with its disks. One that is gone is fine.
    pub async fn remove(&self, vm: &Vm, io: &Io) -> Result<()> {
        let Some(info) = self.info(&vm.id, io).await? else {
            return Ok(());
        };
        let doing = format!("removing the machine `{}`", vm.name);
        let off = [
            "poweroff",
            "aborted",
            "aborted-saved",
            "saved",
            "inaccessible",
        ];
        if !off.contains(&info.state()) {
            // It may have ended by itself in between; what follows tells.
            let _ = self
                .call(&["controlvm", &vm.id, "poweroff"], CHANGE, io)
                .await?;
        }
        let args = ["unregistervm", &vm.id, "--delete"];
        self.change(&doing, &args, io).await
    }

    /// Forgets a disk and removes its file.
    pub async fn remove_disk(&self, disk: &Disk, io: &Io) -> Result<()> {
        let args = ["closemedium", "disk", &disk.id, "--delete"];
        self.change("removing a disk", &args, io).await
    }
}
