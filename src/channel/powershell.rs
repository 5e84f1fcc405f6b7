//! Commands and files of a Windows node, as texts for PowerShell that go over as one encoded argument.
//!
//! sshd hands the line of a command to the node's default shell: `cmd`, or PowerShell where the box says
//! so. The lines made here hold letters, digits and `+/=-` only, which every shell takes as they are.
//! PowerShell as the default shell makes 1 of every exit code that is not 0
//! (<https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_powershell_exe>),
//! so the exit code of a command is told on standard error, in a line that [`Ending`] takes out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::wrap::fill;
use crate::error::{Failure, Kind, Result};
use crate::render::quote::POWERSHELL;
use crate::render::windows::PROGRAM;

const EXEC: &str = include_str!("../../templates/windows/exec.ps1.in");
const RUN: &str = include_str!("../../templates/windows/run.ps1.in");
const RECEIVE: &str = include_str!("../../templates/windows/receive.ps1.in");
const SEND: &str = include_str!("../../templates/windows/send.ps1.in");
const BOOT: &str = include_str!("../../templates/windows/boot-identity.ps1.in");
/// The function `Get-WdevBootIdentity`.
pub(super) const BOOT_IDENTITY: &str = include_str!("../../powershell/boot-identity.ps1");

/// The longest line that `cmd` takes, in UTF-16 units:
/// <https://learn.microsoft.com/troubleshoot/windows-client/shell-experience/command-line-string-limitation>.
/// sshd puts `cmd.exe /c` and quotes around ours.
const LONGEST_LINE: usize = 8191 - 191;
/// How PowerShell is started: with no profile, no question, no policy in the way, and without reading
/// standard input for itself, so that a script can.
const START: [&str; 9] = [
    "powershell",
    "-NoProfile",
    "-NonInteractive",
    "-ExecutionPolicy",
    "Bypass",
    "-InputFormat",
    "None",
    "-OutputFormat",
    "Text",
];

/// The words that make PowerShell run `text`.
#[must_use]
pub fn encoded_command(text: &str) -> Vec<String> {
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut words: Vec<String> = START.map(str::to_owned).to_vec();
    words.push("-EncodedCommand".to_owned());
    words.push(BASE64.encode(utf16));
    words
}

/// The line that makes the node run `text`; nothing when it is too long for a line and has to go as a
/// file, which [`file_line`] then runs. Comments and indentation are left out.
#[must_use]
pub fn line(text: &str) -> Option<String> {
    let short: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let line = encoded_command(&short.join("\n")).join(" ");
    (line.len() <= LONGEST_LINE).then_some(line)
}

/// The line that runs the file `path` of the node, a path of plain characters with `/`.
///
/// # Errors
/// `Bug` when the path holds anything that a shell may act on.
pub fn file_line(path: &str) -> Result<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || ":/._-".contains(c);
    if path.is_empty() || !path.chars().all(plain) {
        let message = format!("`{}` cannot be run by its path", path.escape_debug());
        return Err(Box::new(Failure::new(Kind::Bug, message).permanent()));
    }
    Ok(format!("{} -File {path}", START.join(" ")))
}

/// The text that runs a program of the node with exactly these arguments, in the streams of the session.
/// Its exit code comes through [`Ending`].
///
/// # Errors
/// `Arguments` when there is no program, or a word holds a NUL character.
pub fn exec(argv: &[String], nonce: &str) -> Result<String> {
    if argv.is_empty() {
        return Err(Box::new(
            Failure::new(Kind::Arguments, "there is no command to run").permanent(),
        ));
    }
    Ok(fill(
        EXEC,
        &[
            ("program", PROGRAM.to_owned()),
            ("argv", list(argv)?),
            ("nonce", POWERSHELL.quote(nonce)?),
        ],
    ))
}

/// The words as a list of PowerShell.
pub(super) fn list(words: &[String]) -> Result<String> {
    let words = words.iter().map(|word| POWERSHELL.quote(word));
    Ok(format!(
        "@({})",
        words.collect::<Result<Vec<_>>>()?.join(", ")
    ))
}

/// The text that prints what changes with every boot of the node.
#[must_use]
pub fn boot_identity() -> String {
    fill(BOOT, &[("function", BOOT_IDENTITY.to_owned())])
}

/// The text that takes a script of `size` bytes from standard input into a file of its own in the folder
/// `root`, and runs it when all of it has come.
///
/// # Errors
/// `Configuration` when the path holds a NUL character.
pub fn run(root: &str, size: u64) -> Result<String> {
    let values = [
        ("root", POWERSHELL.quote(root)?),
        ("size", size.to_string()),
    ];
    Ok(fill(RUN, &values))
}

/// The text that puts standard input, bytes as they come, in the place of the file `to` in one move once
/// its SHA-256 is `hash` (hexadecimal). A cut connection leaves a file `….wdev-NUMBER` and nothing else.
///
/// # Errors
/// `Configuration` when the path holds a NUL character.
pub fn receive(to: &str, hash: &str) -> Result<String> {
    let values = [
        ("to", POWERSHELL.quote(to)?),
        ("hash", POWERSHELL.quote(hash)?),
    ];
    Ok(fill(RECEIVE, &values))
}

/// The text that puts the size of the file `from` and its SHA-256, hexadecimal in lower case, on standard
/// error, then its bytes on standard output.
///
/// # Errors
/// `Configuration` when the path holds a NUL character.
pub fn send(from: &str) -> Result<String> {
    Ok(fill(SEND, &[("from", POWERSHELL.quote(from)?)]))
}

/// What the text of [`exec`] tells at its end, on standard error.
#[derive(Debug, Clone)]
pub struct Ending {
    tag: String,
    code: Option<i32>,
}

impl Ending {
    /// Looks for what the text with this nonce tells.
    #[must_use]
    pub fn new(nonce: &str) -> Self {
        Self {
            tag: format!("::wdev {nonce} exit "),
            code: None,
        }
    }

    /// Takes a line of standard error; what is to be shown of it comes back.
    pub fn line<'a>(&mut self, line: &'a str) -> Option<&'a str> {
        let Some((before, record)) = line.split_once(&self.tag) else {
            return Some(line);
        };
        self.code = record.trim().parse().ok();
        (!before.is_empty()).then_some(before)
    }

    /// The exit code of the program; nothing when its end was not seen.
    #[must_use]
    pub fn exit_code(&self) -> Option<i32> {
        self.code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_over_the_wire_fits_every_shell_and_cmds_limit() {
        let long = "a".repeat(200);
        let hash = "0".repeat(64);
        for text in [
            boot_identity(),
            run(&long, u64::MAX).unwrap(),
            receive(&long, &hash).unwrap(),
            send(&long).unwrap(),
            exec(&["$(x) \"&% é'".to_owned(), long.clone()], &hash).unwrap(),
        ] {
            let line = line(&text).unwrap();
            let plain = |c: char| c.is_ascii_alphanumeric() || "+/=- ".contains(c);
            assert!(line.chars().all(plain), "{line}");
            assert!(line.len() < 8000, "{}", line.len());
        }
        assert_eq!(line(&"x".repeat(4000)), None);
    }

    #[test]
    fn only_a_plain_path_is_run_by_name() {
        assert!(
            file_line("C:/ProgramData/wdev/run/x-1.ps1")
                .unwrap()
                .ends_with(" -File C:/ProgramData/wdev/run/x-1.ps1")
        );
        for path in ["", "C:/a b.ps1", "C:/a&b", "C:\\a'b", "%TEMP%"] {
            assert!(file_line(path).is_err(), "{path}");
        }
    }

    #[test]
    fn the_end_is_told_behind_whatever_stands_before_it() {
        let mut ending = Ending::new("n1");
        assert_eq!(ending.line("::wdev n0 exit 0"), Some("::wdev n0 exit 0"));
        assert_eq!(ending.exit_code(), None);
        assert_eq!(
            ending.line("no end::wdev n1 exit -1073741515\r"),
            Some("no end")
        );
        assert_eq!(ending.exit_code(), Some(-1_073_741_515));
    }
}
