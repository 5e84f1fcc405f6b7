//! The configuration file for one host: ours first, then what somebody else, such as Vagrant, says of
//! the way there. The first value of an option counts (`ssh_config(5)`).

use std::net::Ipv4Addr;
use std::path::Path;

/// How long a silent connection is taken for alive: three times this many seconds.
const ALIVE: u32 = 5;
/// How our part begins.
const FIRST: &str = "  HostKeyAlias";

/// The file's text. `alias` is the name under which the host's keys are kept in `keys`, whatever its
/// address; `identity` is a private key of ours that is tried before those that `asked` names; `asked`
/// describes `host` in OpenSSH's own format and without checking its key.
#[must_use]
pub fn config(
    host: &str,
    alias: &str,
    keys: &Path,
    identity: Option<&Path>,
    asked: &str,
) -> String {
    let keys = path(keys);
    let identity = identity.map_or_else(String::new, |identity| {
        format!("  IdentityFile {}\n  IdentitiesOnly yes\n", path(identity))
    });
    format!(
        "# Made by wdev, anew with every boot of the machine. By hand: ssh -F THIS_FILE {host}\n\
         Host {host}\n\
         {FIRST} {alias}\n  \
           UserKnownHostsFile {keys}\n  \
           CheckHostIP no\n  \
           LogLevel ERROR\n  \
           ServerAliveInterval {ALIVE}\n  \
           ServerAliveCountMax 3\n{identity}\n\
         {asked}\n"
    )
}

/// The same file, but with the host at `address`, whatever somebody else says.
#[must_use]
pub fn at_address(config: &str, address: Ipv4Addr) -> String {
    let ours = format!("  HostName {address}\n{FIRST}");
    if config.contains(&ours) {
        return config.to_owned();
    }
    config.replacen(FIRST, &ours, 1)
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
        let text = config(
            "cp",
            "wdev-1-cp",
            Path::new("/a b/100%/é"),
            Some(Path::new("/our key")),
            asked,
        );
        let ours = text.find("UserKnownHostsFile \"/a b/100%%/é\"\n").unwrap();
        assert!(ours < text.find("/dev/null").unwrap(), "{text}");
        assert!(text.contains("  IdentityFile \"/our key\"\n"), "{text}");
    }

    #[test]
    fn an_address_of_ours_comes_before_another_one() {
        let asked = "Host cp\n  HostName 172.29.0.7\n";
        let text = config("cp", "wdev-1-cp", Path::new("/k"), None, asked);
        let own = at_address(&text, Ipv4Addr::new(192, 168, 56, 10));
        let ours = own.find("\n  HostName 192.168.56.10\n").unwrap();
        assert!(ours < own.find("172.29.0.7").unwrap(), "{own}");
        assert_eq!(at_address(&own, Ipv4Addr::new(192, 168, 56, 10)), own);
    }
}
