//! Texts with a rule: names, versions, URLs, taints, labels.

use std::net::IpAddr;

use super::keys::{NODE_SETS, Rule};
use super::model::{DISTRIBUTION, ProviderName};
use super::scalar::{Checked, Complaint};
use super::version;
use crate::names::LaneName;

/// The longest sandbox name: it is part of machine names, which some hypervisors cut.
pub(crate) const SANDBOX_MAX: usize = 30;
/// The longest Windows computer name (`NetBIOS`).
/// <https://learn.microsoft.com/troubleshoot/windows-server/active-directory/naming-conventions-for-computer-domain-site-ou>
pub(crate) const WINDOWS_MAX: usize = 15;
/// The longest DNS label, RFC 1123.
pub(crate) const LABEL_MAX: usize = 63;

/// Checks `text` against `rule`; gives it back in its canonical form.
pub(crate) fn check(rule: Rule, text: &str) -> Checked<String> {
    match rule {
        Rule::Free | Rule::BoxUrl | Rule::HookNode => Ok(text.to_owned()),
        Rule::Sandbox => sandbox_name(text),
        Rule::NodeName => node_name(text, LABEL_MAX),
        Rule::WindowsName => windows_name(text),
        Rule::KubernetesVersion => version::kubernetes(text),
        Rule::RuntimeVersion if text == DISTRIBUTION => Ok(text.to_owned()),
        Rule::Version | Rule::RuntimeVersion => version::exact(text),
        Rule::CertName => cert_name(text),
        Rule::Mirror => url("mirror", text, &["http", "https", "file"]),
        Rule::Proxy => url("proxy", text, &["http", "https"]),
        Rule::NoProxy => no_proxy(text),
        Rule::Checksum => checksum(text),
        Rule::Taint => taint(text),
        Rule::WindowsFeature => windows_feature(text),
        Rule::LabelValue => label_value(text),
    }
}

/// What can stand in a certificate: an address, or a host's name, which may begin with `*.`.
fn cert_name(text: &str) -> Checked<String> {
    let name = text.strip_prefix("*.").unwrap_or(text);
    if text.parse::<IpAddr>().is_ok() || (text.len() <= 253 && name.split('.').all(is_dns_label)) {
        return Ok(text.to_owned());
    }
    Err(
        Complaint::new(format!("`{text}` is no name for a certificate"))
            .allow("an address, or a host's name in lower case: `10.0.0.5`, `api.example`"),
    )
}

/// Whether `text` can be the name of a sandbox, which is also the name of its folder.
#[must_use]
pub fn is_sandbox_name(text: &str) -> bool {
    text.len() <= SANDBOX_MAX && is_dns_label(text)
}

fn dns_label(what: &str, text: &str, max: usize) -> Checked<String> {
    let allowed = format!(
        "lower-case letters, digits and `-`, with a letter or digit at both ends, at most {max} characters"
    );
    let length = text.chars().count();
    let message = if text.is_empty() {
        format!("the {what} is empty")
    } else if length > max {
        format!("the {what} `{text}` has {length} characters")
    } else if is_dns_label(text) {
        return Ok(text.to_owned());
    } else {
        format!("the {what} `{text}` is not a lower-case DNS label")
    };
    let repaired: String = text
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(max)
        .collect();
    let repaired = repaired.trim_matches('-');
    let suggestion = (is_dns_label(repaired) && text.is_ascii()).then_some(repaired);
    Err(Complaint::new(message).allow(allowed).suggest(suggestion))
}

fn is_dns_label(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    !text.is_empty()
        && text.len() <= LABEL_MAX
        && text.bytes().all(|b| inner(b) || b == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Names that mean something else where a node's name can stand: the host's lane, sets of nodes in
/// hooks, providers in `vagrant.extra`.
pub(crate) fn reserved() -> impl Iterator<Item = &'static str> {
    [LaneName::HOST]
        .into_iter()
        .chain(NODE_SETS)
        .chain(ProviderName::NAMES.iter().copied())
}

/// Words that no folder or file can have as its name on Windows, with any ending, and no computer either.
/// <https://learn.microsoft.com/windows/win32/fileio/naming-a-file#naming-conventions>
pub(crate) const DEVICES: [&str; 22] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8",
    "com9", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];
/// In every hosts file already, and another machine there.
pub(crate) const LOCALHOST: &str = "localhost";

fn sandbox_name(text: &str) -> Checked<String> {
    let name = dns_label("sandbox name", text, SANDBOX_MAX)?;
    if DEVICES.contains(&name.as_str()) {
        return Err(
            Complaint::new(format!("no sandbox can be named `{name}`")).note(
                "the word is a device on Windows, and the sandbox's folder has the sandbox's name",
            ),
        );
    }
    Ok(name)
}

fn node_name(text: &str, max: usize) -> Checked<String> {
    let name = dns_label("node name", text, max)?;
    if DEVICES.contains(&name.as_str()) || name == LOCALHOST {
        return Err(
            Complaint::new(format!("no node can be named `{name}`")).note(if name == LOCALHOST {
                "the word means every machine itself"
            } else {
                "the word is a device on Windows, where no file can have it as its name"
            }),
        );
    }
    if reserved().any(|word| word == name) {
        return Err(Complaint::new(format!("no node can be named `{name}`"))
            .note("the word is reserved: `host` for work on the host, `all`, `workers` and `control-plane` for sets of nodes, and the providers' names"));
    }
    Ok(name)
}

fn windows_name(text: &str) -> Checked<String> {
    let name = node_name(text, WINDOWS_MAX)?;
    if name.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Complaint::new(format!(
            "the node name `{name}` is a number, which Windows refuses"
        ))
        .allow("at least one letter")
        .suggest(Some(format!("win{name}")).filter(|n| n.len() <= WINDOWS_MAX)));
    }
    Ok(name)
}

/// A URL of one of `schemes`, or nothing. The text is not repeated: it may hold a password.
fn url(what: &str, text: &str, schemes: &[&str]) -> Checked<String> {
    let allowed = format!("a URL that starts with `{}://`", schemes.join("://` or `"));
    let wrong = |why: &str| {
        Complaint::new(format!("the {what} is not a URL: {why}")).allow(allowed.clone())
    };
    if text.is_empty() {
        return Ok(String::new());
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err(wrong("it does not say how to reach it"));
    };
    if !schemes.contains(&scheme) {
        return Err(wrong("the part before `://` is not known"));
    }
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(wrong("it holds white space or control characters"));
    }
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    if host.is_empty() || (scheme != "file" && host.starts_with(['/', ':'])) {
        return Err(wrong("the host is missing"));
    }
    Ok(text.to_owned())
}

fn no_proxy(text: &str) -> Checked<String> {
    if !text.is_empty()
        && !text
            .chars()
            .any(|c| c == ',' || c.is_whitespace() || c.is_control())
    {
        return Ok(text.to_owned());
    }
    Err(Complaint::new(format!("`{text}` is not a host or a range"))
        .allow("one name, address or range for each item of the list"))
}

fn checksum(text: &str) -> Checked<String> {
    if text.is_empty() {
        return Ok(String::new());
    }
    let lower = text.to_ascii_lowercase();
    let is_hash = |hex: &str| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit());
    if lower.strip_prefix("sha256:").is_some_and(is_hash) {
        return Ok(lower);
    }
    let bare = is_hash(&lower).then(|| format!("sha256:{lower}"));
    Err(Complaint::new(format!("`{text}` is not a checksum"))
        .allow("`sha256:` and 64 hexadecimal digits")
        .suggest(bare))
}

/// A feature as `Get-WindowsFeature` names it.
fn windows_feature(text: &str) -> Checked<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.';
    if !text.is_empty() && text.chars().all(plain) {
        return Ok(text.to_owned());
    }
    Err(Complaint::new(format!("`{text}` is no name of a Windows feature"))
        .allow("letters, digits, `-`, `_` and `.`, as in `Hyper-V-PowerShell`; `Get-WindowsFeature` lists all"))
}

/// The syntax of label keys and values.
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set>
fn is_qualified_part(text: &str) -> bool {
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.len() <= LABEL_MAX
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        && ends(text.chars().next())
        && ends(text.chars().next_back())
}

/// Whether `text` is a label's key: a name, perhaps with a DNS name and `/` before it.
pub(crate) fn is_label_key(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => {
            prefix.len() <= 253 && prefix.split('.').all(is_dns_label) && is_qualified_part(name)
        }
        None => is_qualified_part(text),
    }
}

fn label_value(text: &str) -> Checked<String> {
    if text.is_empty() || is_qualified_part(text) {
        return Ok(text.to_owned());
    }
    Err(Complaint::new(format!("`{text}` is not a label value"))
        .allow("letters, digits, `-`, `_` and `.`, with a letter or digit at both ends, at most 63 characters"))
}

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// `key=value:Effect` or `key:Effect`.
/// <https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/>
fn taint(text: &str) -> Checked<String> {
    let wrong = |why: String| {
        Complaint::new(format!("`{text}` is not a taint: {why}")).allow(format!(
            "`key=value:Effect` or `key:Effect`, with {} as effect",
            EFFECTS.join(", ")
        ))
    };
    let Some((head, effect)) = text.rsplit_once(':') else {
        return Err(wrong("the effect is missing".to_owned()));
    };
    if !EFFECTS.contains(&effect) {
        let near = super::suggest::nearest(effect, EFFECTS);
        return Err(wrong(format!("unknown effect `{effect}`"))
            .suggest(near.map(|near| format!("{head}:{near}"))));
    }
    let (key, value) = head.split_once('=').unwrap_or((head, ""));
    if !is_label_key(key) {
        return Err(wrong(format!("`{key}` is not a key")));
    }
    if !value.is_empty() && !is_qualified_part(value) {
        return Err(wrong(format!("`{value}` is not a value")));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_names() {
        for text in [
            "winw1",
            "a",
            "w-1",
            "123456789012345".replace('1', "a").as_str(),
        ] {
            assert!(check(Rule::WindowsName, text).is_ok(), "{text}");
        }
        for text in [
            "",
            "WinW1",
            "abcdefghijklmnop",
            "win_1",
            "-a",
            "a-",
            "win.1",
            "12",
            "host",
            "all",
            "docker",
            "wörker",
        ] {
            assert!(check(Rule::WindowsName, text).is_err(), "{text}");
        }
        let long = check(Rule::WindowsName, "my_Windows_worker_1").err();
        assert_eq!(
            long.and_then(|c| c.suggestion).as_deref(),
            Some("my-windows-work")
        );
    }

    #[test]
    fn taints_and_labels() {
        for text in [
            "os=windows:NoSchedule",
            "a.b/c:NoExecute",
            "k=:PreferNoSchedule",
        ] {
            assert!(check(Rule::Taint, text).is_ok(), "{text}");
        }
        for text in [
            "os=windows",
            "os:Never",
            ":NoSchedule",
            "a b=c:NoSchedule",
            "k=-:NoSchedule",
            "",
        ] {
            assert!(check(Rule::Taint, text).is_err(), "{text}");
        }
        assert_eq!(
            check(Rule::Taint, "os=windows:noschedule")
                .err()
                .and_then(|c| c.suggestion)
                .as_deref(),
            Some("os=windows:NoSchedule")
        );
        assert!(is_label_key("node.kubernetes.io/windows-build") && is_label_key("disk"));
        assert!(
            !is_label_key("/x")
                && !is_label_key("a/b/c")
                && !is_label_key("")
                && !is_label_key("A.b/")
        );
        assert!(check(Rule::LabelValue, "").is_ok() && check(Rule::LabelValue, "-").is_err());
    }

    #[test]
    fn a_refused_proxy_is_not_repeated() {
        for text in [
            "me:secret@proxy:3128",
            "socks5://me:secret@proxy",
            "http://me:secret@",
            "http://me:sec ret@p",
        ] {
            let complaint = check(Rule::Proxy, text).unwrap_err();
            assert!(!format!("{complaint:?}").contains("sec"), "{complaint:?}");
        }
        assert!(check(Rule::Proxy, "http://me:secret@proxy:3128").is_ok());
    }
}
