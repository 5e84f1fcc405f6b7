//! The bodies of the steps for Windows nodes.
//!
//! A body is Windows PowerShell that defines two functions, `Invoke-WdevRun` and `Invoke-WdevProbe`, and
//! `$WdevData`, the data that they work with. The scripts stand in `powershell/`, unchanged; the data goes
//! before them as a literal, through the quoting filter, and functions that several scripts share
//! (`powershell/parts/`) between the two. A script begins with its help, which stays at the very beginning of
//! what is written, where `Get-Help` looks for it. `channel::wrap_windows` tells what a body may call.

mod cluster;
mod data;
pub mod prepare;
mod software;

pub use cluster::{Join, Patience, Ready, join, node_ready};
pub use data::literal;

use std::net::Ipv4Addr;

use serde::Serialize;

use crate::error::{Failure, Kind, Result};

pub use software::{CACHE, Programs, container_runtime, fetch, kubernetes};

/// Rules of the firewall that let something in.
const FIREWALL: &str = include_str!("../../../powershell/parts/firewall.ps1");

/// Runs a program with exactly the words that it is given: `Invoke-WdevProgram`, `ConvertTo-WdevArgument`.
pub(crate) const PROGRAM: &str = include_str!("../../../powershell/program.ps1");

/// Where [`ssh_access`] looks for the archive of Win32-OpenSSH, with `/`.
pub const SSH_ARCHIVE: &str = "C:/Windows/Temp/wdev-openssh.zip";

/// Makes the node reachable over SSH with the key `public_key`, a line for `authorized_keys`.
///
/// # Errors
/// `Bug` when the data has no JSON form.
pub fn ssh_access(public_key: &str) -> Result<String> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Data<'a> {
        public_key: &'a str,
        archive: &'a str,
    }
    let data = Data {
        public_key,
        archive: SSH_ARCHIVE,
    };
    body(
        include_str!("../../../powershell/ssh-access.ps1"),
        &[FIREWALL],
        &data,
    )
}

/// Gives the computer the name `name`, of at most 15 characters, which counts after a reboot.
///
/// # Errors
/// `Bug` when the data has no JSON form.
pub fn computer_name(name: &str) -> Result<String> {
    #[derive(Serialize)]
    struct Data<'a> {
        name: &'a str,
    }
    let script = include_str!("../../../powershell/computer-name.ps1");
    body(script, &[], &Data { name })
}

/// Gives the adapter with the hardware address `mac` (twelve hexadecimal digits, in any notation) the
/// static address, without a gateway and without DHCP. With an empty `mac` it fails and says who knows it.
///
/// # Errors
/// `Bug` when the data has no JSON form.
pub fn private_address(mac: &str, address: Ipv4Addr, prefix_length: u8) -> Result<String> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Data<'a> {
        mac: &'a str,
        address: Ipv4Addr,
        prefix_length: u8,
    }
    let data = Data {
        mac,
        address,
        prefix_length,
    };
    let script = include_str!("../../../powershell/private-address.ps1");
    body(script, &[], &data)
}

/// Runs the user's own script `text` with PowerShell and fails with its exit code.
///
/// # Errors
/// `Configuration` when the text holds a NUL character.
pub fn hook(text: &str) -> Result<String> {
    #[derive(Serialize)]
    struct Data<'a> {
        text: &'a str,
    }
    let script = include_str!("../../../powershell/hook.ps1");
    body(script, &[], &Data { text })
}

/// The script with its data, and with the functions of `parts` that it uses.
///
/// # Errors
/// `Configuration` when a text holds a NUL character; `Bug` when the data has no JSON form.
fn body(script: &str, parts: &[&str], data: &impl Serialize) -> Result<String> {
    let value = serde_json::to_value(data).map_err(|error| {
        Failure::new(Kind::Bug, "cannot write a script's data")
            .because(error)
            .permanent()
    })?;
    let (help, script) = split_help(script);
    let data = literal(&value)?;
    let parts = parts.concat();
    Ok(format!("{help}$WdevData = {data}\n{parts}{script}"))
}

/// The help at the beginning of a script, with the line end behind it, and the rest.
pub(crate) fn split_help(text: &str) -> (&str, &str) {
    const END: &str = "#>\n";
    match text.find(END) {
        Some(at) if text.starts_with("<#") => text.split_at(at + END.len()),
        _ => ("", text),
    }
}
