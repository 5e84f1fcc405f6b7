//! Windows Server: PowerShell by encoded commands, whatever the default shell of sshd.

use super::{Errand, Guest};
use crate::channel::Script;
use crate::channel::powershell;
use crate::channel::wrap::Layout;
use crate::channel::wrap_windows::{ROOT, layout, wrap_windows_in};
use crate::error::{Failure, Kind, Result};
use crate::render::quote::POWERSHELL;
use crate::render::windows::PROGRAM;

const ERRANDS: &str = include_str!("../../../powershell/errands.ps1");

/// A machine with Windows Server.
#[derive(Debug)]
pub struct Windows;

impl Guest for Windows {
    fn wrap(&self, script: &Script, nonce: &str, unseen: &[String]) -> Result<String> {
        let layout = Layout {
            unseen: unseen.to_vec(),
            ..layout()
        };
        wrap_windows_in(script, nonce, &layout)
    }

    fn run(&self, size: u64) -> Result<String> {
        line(&powershell::run(ROOT, size)?)
    }

    fn exec(&self, argv: &[String], nonce: &str) -> Result<String> {
        line(&powershell::exec(argv, nonce)?)
    }

    fn ending(&self, nonce: &str) -> Option<powershell::Ending> {
        Some(powershell::Ending::new(nonce))
    }

    fn receive(&self, to: &str, hash: &str) -> Result<String> {
        line(&powershell::receive(to, hash)?)
    }

    fn send(&self, from: &str) -> Result<String> {
        line(&powershell::send(from)?)
    }

    fn boot_identity(&self) -> Result<String> {
        line(&powershell::boot_identity())
    }

    fn errand(&self, errand: Errand<'_>) -> Result<String> {
        let quote = |text: &str| POWERSHELL.quote(text);
        let (function, data) = match errand {
            Errand::Exec(argv) => ("Exec", format!("words = {}", powershell::list(argv)?)),
            Errand::Place { landed, to, hash } => (
                "Place",
                format!(
                    "landed = {}; to = {}; hash = {}",
                    quote(landed)?,
                    quote(to)?,
                    quote(hash)?
                ),
            ),
            Errand::Fetch {
                from,
                at,
                piece,
                largest,
            } => (
                "Fetch",
                format!(
                    "from = {}; at = {at}; piece = {piece}; largest = {largest}",
                    quote(from)?
                ),
            ),
            Errand::BootIdentity => ("BootIdentity", String::new()),
        };
        Ok(format!(
            "$WdevData = @{{ {data} }}\n$WdevErrand = 'Invoke-Wdev{function}'\n{}\n{}\n{ERRANDS}",
            PROGRAM,
            powershell::BOOT_IDENTITY
        ))
    }

    fn landing(&self, nonce: &str) -> String {
        // Users may write there, and only administrators read what others have written.
        format!("C:/Windows/Temp/wdev-{nonce}")
    }
}

fn line(text: &str) -> Result<String> {
    powershell::line(text).ok_or_else(|| {
        Box::new(
            Failure::new(Kind::Arguments, "this is too long for a command on Windows")
                .because(
                    "Windows takes lines of up to 8191 characters, and this one becomes longer",
                )
                .advise("put it into a script and copy that to the node")
                .permanent(),
        )
    })
}
