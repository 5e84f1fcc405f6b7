//! Puts a script for a Windows node into the wrapper that proves its end. What the wrapper prints is
//! read by [`super::wrap::Reader`], as for Linux.
//!
//! The script's text is Windows PowerShell 5.1 that defines `Invoke-WdevRun` and `Invoke-WdevProbe`. It
//! may use the functions of `powershell/wdev.ps1`, and:
//!
//! | function | does |
//! | --- | --- |
//! | `Add-WdevFact KEY VALUE` | reports something learnt, without secrets |
//! | `Add-WdevSecret NAME VALUE` | reports a secret that was made; it is shown nowhere |
//! | `Get-WdevSecret NAME` | a secret that was given to this run |
//! | `Request-WdevReboot` | asks for a reboot; in a probe, before `Stop-WdevProbe`: one is still pending |
//! | `Stop-WdevProbe REASON` | ends a probe with "not in place" |
//! | `Test-WdevStamp` | true when a run with the same fingerprint has ended well on this node |
//! | `Write-WdevLog TEXT` | says something, with its time and a level (`-Level warning`) |
//!
//! Both run in strict mode, where every error ends them; a probe that comes to its end says "in place".
//! They never `exit`. Help at the text's beginning (`<# .SYNOPSIS … #>`) stays at the beginning of the whole.
//! All streams but the error stream go to standard output, as UTF-8; a native program
//! that is not called through `Invoke-WdevNative` has standard error for itself.
//!
//! On the node everything lies under `C:\ProgramData\wdev`, readable by SYSTEM and the administrators
//! only: the lock, the stamps in `steps` and the last reports in `run`.
//!
//! Unlike on Linux, nothing is known of a script whose connection is cut: sshd on Windows may let it go
//! on (<https://github.com/PowerShell/Win32-OpenSSH/issues/1751>) or end it, and what it has started
//! ends with it (<https://github.com/PowerShell/Win32-OpenSSH/issues/2452>); under Vagrant and `WinRM` it is
//! a scheduled task that goes on. So the stamp is written at a good end and nowhere else, and the open
//! file that is the lock goes with its process, however that ends. The next run of the same script waits
//! for a living one and takes over what it has proven, and does a killed one again.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::wrap::{BY_HAND, Layout, checked, fill};
use super::{Mode, Os, Script};
use crate::error::{Failure, Kind, Result};
use crate::render::quote::POWERSHELL;
use crate::render::windows::split_help;

const TEMPLATE: &str = include_str!("../../templates/windows/wrapper.ps1.in");
/// The functions that every script may use.
pub(super) const LIBRARY: &str = include_str!("../../powershell/wdev.ps1");

/// The folder of a Windows node in which everything of wdev lies.
pub const ROOT: &str = r"C:\ProgramData\wdev";

/// Where the wrapper keeps its things on a Windows node, and how long it waits.
#[must_use]
pub fn layout() -> Layout {
    Layout {
        lock: format!(r"{ROOT}\lock"),
        state: format!(r"{ROOT}\steps"),
        work: format!(r"{ROOT}\run"),
        ..Layout::default()
    }
}

/// The script with its wrapper, ready to be run by PowerShell from a file as an administrator. It is
/// ASCII: Windows PowerShell reads a file without a byte order mark in the system's code page. `nonce`
/// must be new for every run.
///
/// # Errors
/// As [`super::wrap::wrap_linux`]; `Bug` as well when the script is not ASCII.
pub fn wrap_windows(script: &Script, nonce: &str) -> Result<String> {
    wrap_windows_in(script, nonce, &layout())
}

/// As [`wrap_windows`], with other places and times.
pub fn wrap_windows_in(script: &Script, nonce: &str, layout: &Layout) -> Result<String> {
    let text = checked(script, Os::Windows, nonce)?;
    let quote = |text: &str| POWERSHELL.quote(text);
    let (help, body) = split_help(text);
    let mut secrets = String::new();
    for (name, secret) in &script.secrets {
        secrets.push_str("        ");
        secrets.push_str(&quote(name)?);
        secrets.push_str(" { ");
        secrets.push_str(&quote(&BASE64.encode(secret.reveal()))?);
        secrets.push_str(" }\n");
    }
    let unseen = layout.unseen.iter().map(|nonce| quote(nonce));
    let unseen = unseen.collect::<Result<Vec<_>>>()?.join(", ");
    let mode = match script.mode {
        Mode::Run => "run",
        Mode::Probe => "probe",
    };
    let values = [
        ("name", quote(&script.name)?),
        ("nonce", quote(nonce)?),
        ("by_hand", quote(BY_HAND)?),
        ("fingerprint", quote(&script.fingerprint)?),
        ("mode", quote(mode)?),
        ("unseen", format!("@({unseen})")),
        ("lock", quote(&layout.lock)?),
        ("state", quote(&layout.state)?),
        ("work", quote(&layout.work)?),
        ("wait_limit", layout.wait_limit.as_secs().max(1).to_string()),
        ("wait_note", layout.wait_note.as_secs().max(1).to_string()),
        ("secrets", secrets),
        ("library", LIBRARY.to_owned()),
        ("body", body.to_owned()),
    ];
    let wrapped = format!("{help}\n{}", fill(TEMPLATE, &values));
    if wrapped.is_ascii() {
        return Ok(wrapped);
    }
    Err(Box::new(
        Failure::new(
            Kind::Bug,
            format!("the script `{}` for Windows is not ASCII", script.name),
        )
        .permanent(),
    ))
}
