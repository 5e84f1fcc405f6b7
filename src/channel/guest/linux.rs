//! Linux: a POSIX shell, `sudo` without a password, coreutils.

use super::{Errand, Guest};
use crate::channel::Script;
use crate::channel::wrap::{Layout, wrap_linux_in};
use crate::error::Result;
use crate::process::quote;

/// Keeps what comes on standard input where only root reads it, and runs it when it is whole: a cut
/// connection must not run half a script. The wrapper removes the file before it does anything else.
/// Arguments: the folder, the size in bytes.
const RUN: &str = "\
set -eu; umask 077; mkdir -p -- \"$1\"; t=$(mktemp \"$1/sent.XXXXXXXXXX\"); \
trap 'rm -f -- \"$t\"' EXIT; cat >\"$t\"; \
if [ \"$(wc -c <\"$t\")\" -ne \"$2\" ]; then echo 'the script did not arrive whole' >&2; exit 1; fi; \
trap - EXIT; exec /bin/bash \"$t\" </dev/null";

/// One shell does it all: a cut connection leaves a temporary file at most. Arguments: the path, the hash.
const RECEIVE: &str = "\
set -eu; umask 022; t=\"$1.wdev-$$\"; mkdir -p -- \"$(dirname -- \"$1\")\"; \
trap 'rm -f -- \"$t\"' EXIT; cat >\"$t\"; \
h=$(sha256sum <\"$t\"); \
if [ \"${h%% *}\" != \"$2\" ]; then echo 'it did not arrive whole' >&2; exit 1; fi; \
sync -- \"$t\"; mv -fT -- \"$t\" \"$1\"; trap - EXIT";

/// Argument: the path. The size and the hash come first, so that the reader knows how long to wait.
const SEND: &str = "\
set -eu; exec 3<\"$1\"; s=$(stat -Lc %s -- \"$1\"); h=$(sha256sum -- \"$1\"); h=${h#\\\\}; \
printf '%s %s\\n' \"$s\" \"${h%% *}\" >&2; exec cat <&3";

/// Arguments: the path, where the piece begins, its longest length, the size of the largest file.
const FETCH: &str = r#"local size hash content
size=$(stat -Lc %s -- "$1")
wdev_fact size "$size"
if [ "$size" -gt "$4" ]; then return 0; fi
hash=$(sha256sum <"$1")
content=$(dd if="$1" bs=64K iflag=fullblock,skip_bytes,count_bytes skip="$2" count="$3" status=none | base64 -w 0)
wdev_fact hash "${hash%% *}"
wdev_fact content "$content""#;

/// A machine with Linux.
#[derive(Debug)]
pub struct Linux;

impl Guest for Linux {
    fn wrap(&self, script: &Script, nonce: &str, unseen: &[String]) -> Result<String> {
        let layout = Layout {
            unseen: unseen.to_vec(),
            ..Layout::default()
        };
        wrap_linux_in(script, nonce, &layout)
    }

    fn run(&self, size: u64) -> Result<String> {
        Ok(as_root(RUN, &[&Layout::default().work, &size.to_string()]))
    }

    fn exec(&self, argv: &[String], _nonce: &str) -> Result<String> {
        Ok(argv.iter().map(quote).collect::<Vec<_>>().join(" "))
    }

    fn receive(&self, to: &str, hash: &str) -> Result<String> {
        Ok(as_root(RECEIVE, &[to, hash]))
    }

    fn send(&self, from: &str) -> Result<String> {
        Ok(as_root(SEND, &[from]))
    }

    fn boot_identity(&self) -> Result<String> {
        Ok("cat /proc/sys/kernel/random/boot_id".to_owned())
    }

    fn errand(&self, errand: Errand<'_>) -> Result<String> {
        let body = match errand {
            Errand::Exec(argv) => {
                let line = self.exec(argv, "")?;
                format!(
                    "local code=0\n\
                     sudo -n -H -u \"${{SUDO_USER:-root}}\" -- sh -c {} || code=$?\n\
                     wdev_fact code \"$code\"",
                    quote(format!("cd; {line}"))
                )
            }
            Errand::Place { landed, to, hash } => {
                let words = ["sh", "-c", RECEIVE, "sh", to, hash].map(quote).join(" ");
                let landed = quote(landed);
                format!(
                    "local code=0\n{words} <{landed} || code=$?\nrm -f -- {landed}\nreturn \"$code\""
                )
            }
            Errand::Fetch {
                from,
                at,
                piece,
                largest,
            } => {
                let words = [&at, &piece, &largest].map(u64::to_string);
                format!("set -- {} {}\n{FETCH}", quote(from), words.join(" "))
            }
            Errand::BootIdentity => {
                format!("wdev_fact identity \"$({})\"", self.boot_identity()?)
            }
        };
        Ok(format!(
            "wdev_run() {{ :; }}\nwdev_probe() {{\n{body}\n}}\n"
        ))
    }

    fn landing(&self, nonce: &str) -> String {
        format!("/tmp/wdev-{nonce}")
    }
}

/// The shell script `script` with arguments, as root.
fn as_root(script: &str, args: &[&str]) -> String {
    let words = ["sudo", "-n", "-H", "sh", "-c", script, "sh"];
    let words = words.iter().chain(args).map(quote);
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_the_other_sides_shell() {
        let argv = ["echo", "a b", "$(id)'\"", ""].map(str::to_owned);
        let line = Linux.exec(&argv, "n").unwrap();
        assert_eq!(shlex::split(&line).unwrap(), argv);
        let line = Linux.receive("/opt/it's", "00").unwrap();
        let words = shlex::split(&line).unwrap();
        assert_eq!(words[words.len() - 2..], ["/opt/it's", "00"]);
    }
}
