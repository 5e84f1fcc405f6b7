//! The bodies of the steps for Windows nodes.
//!
//! A body is Windows PowerShell that defines two functions, `Invoke-WdevRun` and `Invoke-WdevProbe`, and
//! `$WdevData`, the data that they work with. The scripts stand in `powershell/`, unchanged; the data goes
//! before them as JSON, through the quoting filter. `channel::wrap_windows` tells what they may call.

use std::net::Ipv4Addr;

use serde::Serialize;

use super::quote::POWERSHELL;
use crate::error::{Failure, Kind, Result};

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
    body(include_str!("../../powershell/ssh-access.ps1"), &data)
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
    let script = include_str!("../../powershell/computer-name.ps1");
    body(script, &Data { name })
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
    body(include_str!("../../powershell/private-address.ps1"), &data)
}

/// Runs the user's own script `text` with PowerShell and fails with its exit code.
///
/// # Errors
/// `Configuration` when the text holds a NUL character.
pub fn hook(text: &str) -> Result<String> {
    // Not by JSON: newer versions of PowerShell make a date of a text that looks like one.
    let script = include_str!("../../powershell/hook.ps1");
    let quoted = POWERSHELL.quote(text)?;
    Ok(format!("$WdevData = @{{ text = {quoted} }}\n{script}"))
}

fn body(script: &str, data: &impl Serialize) -> Result<String> {
    let json = serde_json::to_string(data).map_err(|error| {
        Failure::new(Kind::Bug, "cannot write a script's data")
            .because(error)
            .permanent()
    })?;
    let quoted = POWERSHELL.quote(&json)?;
    Ok(format!(
        "$WdevData = ConvertFrom-Json -InputObject {quoted}\n{script}"
    ))
}
