//! What differs between operating systems when a node is talked to over SSH: the lines for its shell.
//!
//! Whoever holds the connection sends a line and, where the line says so, bytes on its standard input.
//! A line never holds a secret: argument lists are visible to every user of the node.

mod linux;
mod windows;

use super::powershell::Ending;
use super::{Os, Script};
use crate::error::Result;

/// How one operating system is talked to. Every line is for the shell that its SSH server starts.
pub trait Guest: Send + Sync + std::fmt::Debug {
    /// The script in the wrapper that proves its end, as it is sent to the node. `unseen` are the nonces
    /// of earlier runs with the same inputs whose end nobody saw.
    ///
    /// # Errors
    /// `Step` when the script has no text or is for another system.
    fn wrap(&self, script: &Script, nonce: &str, unseen: &[String]) -> Result<String>;

    /// Takes a wrapped script of `size` bytes from standard input into a private file and, when all of
    /// it has come, runs it as administrator. What the wrapper prints goes to standard output. Its end
    /// does not depend on the connection.
    fn run(&self, size: u64) -> Result<String>;

    /// Runs a command, as the user that logs in, with its own exit code. `nonce` is new for every run.
    fn exec(&self, argv: &[String], nonce: &str) -> Result<String>;

    /// What finds the exit code of such a command on standard error, where the shell in between may
    /// change it.
    fn ending(&self, _nonce: &str) -> Option<Ending> {
        None
    }

    /// Takes a file from standard input, as administrator, and puts it in the place of `to` in one move
    /// once its SHA-256 is `hash` (lower-case hexadecimal digits). Exit code 0 means that it is there.
    fn receive(&self, to: &str, hash: &str) -> Result<String>;

    /// Prints, as administrator, one line `SIZE HASH` about the file `from` on standard error, then its
    /// content on standard output.
    fn send(&self, from: &str) -> Result<String>;

    /// Prints, as the first line of standard output, what changes with every boot and with nothing else.
    fn boot_identity(&self) -> Result<String>;

    /// The text of a script that does an errand in its probe, for [`Guest::wrap`].
    fn errand(&self, errand: Errand<'_>) -> Result<String>;

    /// A path for an uploaded file that is not in its place yet, where whoever logs in may write.
    fn landing(&self, nonce: &str) -> String;
}

/// What is done by a script where there is no SSH client.
#[derive(Debug, Clone, Copy)]
pub enum Errand<'a> {
    /// Runs a command as the user that logs in; reports its exit code as the fact `code`.
    Exec(&'a [String]),
    /// Puts an uploaded file into its place as [`Guest::receive`] does; fails where it is not whole.
    Place {
        /// Where it is.
        landed: &'a str,
        /// Where it belongs.
        to: &'a str,
        /// Its SHA-256.
        hash: &'a str,
    },
    /// Reports one piece of a file in Base64 as the fact `content`, with the file's `size` in bytes and
    /// its `hash` (SHA-256); of a file that is larger than `largest` only the size.
    Fetch {
        /// The file.
        from: &'a str,
        /// Where the piece begins.
        at: u64,
        /// How many bytes it has at most.
        piece: u64,
        /// The largest file that is fetched, in bytes.
        largest: u64,
    },
    /// Reports the fact `identity`; see [`Guest::boot_identity`].
    BootIdentity,
}

/// How nodes with this operating system are talked to.
#[must_use]
pub fn guest(os: Os) -> &'static dyn Guest {
    match os {
        Os::Linux => &linux::Linux,
        Os::Windows => &windows::Windows,
    }
}
