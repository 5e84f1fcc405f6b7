//! The first contact with a Windows machine: through Vagrant's communicator, whatever that is, a script
//! makes OpenSSH usable and lets our key in. From then on the machine is reached over SSH.
//!
//! The key is the sandbox's own: `.driver/key`, made with `ssh-keygen` before the first contact. Which
//! machine knows it is kept in `.driver/NODE.contact`. Where SSH cannot be had, `.driver/NODE.no-ssh` says
//! so until the machine's next start, and everything goes through Vagrant.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::lock::Held;
use super::node::{Node, read, write};
use super::provision::provision_held;
use super::through;
use crate::channel::{Io, Mode, Os, Script};
use crate::error::{Failure, Kind, Result, io_failure};
use crate::home::remove_file;
use crate::process::{Command, run};
use crate::render::vagrantfile::SSH_ACCESS;
use crate::render::windows::{SSH_ARCHIVE, ssh_access};

/// How long `ssh-keygen` may take.
const KEYGEN: Duration = Duration::from_secs(30);
/// The archive's name, as <https://github.com/PowerShell/Win32-OpenSSH/releases> has it.
const ARCHIVE: &str = "OpenSSH-Win64.zip";
/// What the script says when Windows Update does not give OpenSSH; see `powershell/ssh-access.ps1`.
const NO_UPDATE: &str = "OpenSSH cannot be installed from Windows Update";

impl Node {
    /// Makes the machine reachable over SSH, once in its life; nothing to do for Linux.
    ///
    /// # Errors
    /// When Vagrant cannot reach the machine. That SSH cannot be had is none: it is said and kept.
    pub(super) async fn first_contact(&self, held: &Held, io: &Io) -> Result<()> {
        if self.machine.os != Os::Windows {
            return Ok(());
        }
        self.forget_without_ssh()?;
        let key = match self.make_key(io).await {
            Ok(key) => key,
            Err(failure) if failure.kind == Kind::Host => return self.go_without(&failure, io),
            Err(failure) => return Err(failure),
        };
        let contact = format!("{} {key}", self.id()?.unwrap_or_default());
        if read(&self.own("contact"))?.as_ref() == Some(&contact) {
            return Ok(());
        }
        io.note("making the machine reachable over SSH");
        let text = ssh_access(&key)?;
        let script = Script {
            name: SSH_ACCESS.to_owned(),
            os: Os::Windows,
            mode: Mode::Run,
            fingerprint: blake3::hash(text.as_bytes()).to_hex().to_string(),
            text: Some(text),
            effects: Vec::new(),
            secrets: BTreeMap::new(),
        };
        let mut done = provision_held(self, held, &script, io).await;
        if let Err(failure) = &done
            && failure.kind == Kind::Step
            && (!is_about_update(failure) || self.upload_archive(held, io).await?)
        {
            // Also after a cut connection, or a refusal that Windows gives now and then.
            io.note(format!("trying again: {failure}"));
            done = provision_held(self, held, &script, io).await;
        }
        match done {
            Ok(_) => write(&self.own("contact"), &contact),
            // The machine was reached, and has no SSH for us.
            Err(failure) if failure.kind == Kind::Step => self.go_without(&failure, io),
            Err(failure) => Err(failure),
        }
    }

    /// The private key that the machine lets in; nothing before the first contact.
    pub(super) fn our_key(&self) -> Option<PathBuf> {
        let known = self.own("contact").is_file();
        (known && self.machine.os == Os::Windows).then(|| self.key())
    }

    /// Whether the machine has no SSH for us.
    pub(super) fn is_without_ssh(&self) -> bool {
        self.machine.os == Os::Windows && self.own("no-ssh").is_file()
    }

    pub(super) fn forget_without_ssh(&self) -> Result<()> {
        remove_file(&self.own("no-ssh"))
    }

    fn go_without(&self, failure: &Failure, io: &Io) -> Result<()> {
        let why = failure.to_string();
        io.note(format!(
            "no SSH on `{}`, so everything goes through Vagrant, which is slower: {why}",
            self.name()
        ));
        if is_about_update(failure) {
            io.note(format!(
                "to have SSH without Windows Update, put `{ARCHIVE}` of \
                 https://github.com/PowerShell/Win32-OpenSSH/releases at `{}`, then restart the machine",
                self.archive().display()
            ));
        }
        write(&self.own("no-ssh"), &why)
    }

    fn key(&self) -> PathBuf {
        self.caller.dir.join(".driver").join("key")
    }

    /// Where the user may lay the archive of OpenSSH: beside the rendered files' folder.
    fn archive(&self) -> PathBuf {
        let folder = self.caller.dir.parent().unwrap_or(&self.caller.dir);
        folder.join(ARCHIVE)
    }

    /// Copies the archive of OpenSSH to the machine, where the user has one.
    async fn upload_archive(&self, held: &Held, io: &Io) -> Result<bool> {
        let archive = self.archive();
        if !archive.is_file() {
            return Ok(false);
        }
        through::send(self, held, &archive, SSH_ARCHIVE, io).await?;
        Ok(true)
    }

    /// The public half of the sandbox's key, which is made where it is missing.
    async fn make_key(&self, io: &Io) -> Result<String> {
        let (key, public) = (self.key(), self.key().with_extension("pub"));
        // The machines of a sandbox come up at once.
        let _one_at_a_time = self.shared.lock().await;
        if !key.is_file() || !public.is_file() {
            let new = key.with_extension("new");
            let new_public = key.with_extension("new.pub");
            remove_file(&new)?;
            remove_file(&new_public)?;
            generate(&new, &self.caller.clock, io).await?;
            // The private half last: with it the pair is whole.
            for (from, to) in [(&new_public, &public), (&new, &key)] {
                std::fs::rename(from, to).map_err(|error| io_failure("write", to, &error))?;
            }
        }
        read(&public)?.ok_or_else(|| {
            let message = format!("there is no public key in `{}`", public.display());
            Box::new(Failure::new(Kind::Host, message))
        })
    }
}

fn is_about_update(failure: &Failure) -> bool {
    failure.causes.iter().any(|cause| cause.contains(NO_UPDATE))
}

/// Makes a pair of keys, the private one readable by the owner only.
async fn generate(path: &Path, clock: &crate::clock::Clock, io: &Io) -> Result<()> {
    let program = which::which("ssh-keygen").map_err(|_| {
        Failure::new(Kind::Host, "cannot make a key for SSH")
            .because("there is no `ssh-keygen` on your `PATH`")
            .advise("install OpenSSH's client")
    })?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| io_failure("create the folder", folder, &error))?;
    }
    let command = Command::new(program)
        // No passphrase: whoever reads the owner's files has the machines anyway.
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "wdev", "-f"])
        .arg(path);
    let line = command.line();
    let finished = clock
        .timeout(KEYGEN, run(command, &io.stop, &mut |_, _| {}))
        .await;
    match finished {
        Some(Ok(finished)) if finished.ok() => Ok(()),
        Some(Err(failure)) => Err(failure),
        Some(Ok(finished)) => Err(Box::new(
            Failure::new(
                Kind::Host,
                format!("cannot make a key for SSH: {}", finished.ending()),
            )
            .command(line)
            .output(finished.tail),
        )),
        None => Err(Box::new(
            Failure::new(Kind::Host, "cannot make a key for SSH")
                .because(format!(
                    "`ssh-keygen` did not end within {} s",
                    KEYGEN.as_secs()
                ))
                .command(line),
        )),
    }
}
