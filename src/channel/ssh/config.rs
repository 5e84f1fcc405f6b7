//! The configuration file for one host: ours first, then what somebody else, such as Vagrant, says of
//! the way there. The first value of an option counts (`ssh_config(5)`).

use std::path::Path;

/// How long a silent connection is taken for alive: three times this many seconds.
const ALIVE: u32 = 5;

/// The file's text. `alias` is the name under which the host's keys are kept in `keys`, whatever its
/// address; `asked` describes `host` in OpenSSH's own format and without checking its key.
#[must_use]
pub fn config(host: &str, alias: &str, keys: &Path, asked: &str) -> String {
    let keys = path(keys);
    format!(
        "# Made by wdev, anew with every boot of the machine. By hand: ssh -F THIS_FILE {host}\n\
         Host {host}\n  \
           HostKeyAlias {alias}\n  \
           UserKnownHostsFile {keys}\n  \
           CheckHostIP no\n  \
           LogLevel ERROR\n  \
           ServerAliveInterval {ALIVE}\n  \
           ServerAliveCountMax 3\n\n\
         {asked}\n"
    )
}

/// A path as OpenSSH reads it in its configuration.
fn path(path: &Path) -> String {
    let mut text = path.to_string_lossy().into_owned();
    if cfg!(windows) {
        text = text.replace('\\', "/");
    }
    // A percent sign begins a token; inside quotes, a backslash and a quote are escaped.
    let text = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('%', "%%");
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_we_say_comes_first() {
        let asked = "Host cp\n  Port 2222\n  UserKnownHostsFile /dev/null\n";
        let text = config("cp", "wdev-1-cp", Path::new("/a b/100%/é"), asked);
        let ours = text.find("UserKnownHostsFile \"/a b/100%%/é\"\n").unwrap();
        assert!(ours < text.find("/dev/null").unwrap(), "{text}");
    }
}
