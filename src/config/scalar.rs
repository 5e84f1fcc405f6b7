//! One value: from its text to its type, or a complaint that says what is allowed.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipnet::Ipv4Net;

use super::amount::{duration, memory, shown_duration};
use super::keys::{PathRule, Rule, Shape};
use super::suggest::nearest;
use super::text;

/// A typed value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scalar {
    Text(String),
    Int(u64),
    Bool(bool),
    /// MiB.
    Memory(u64),
    Duration(Duration),
    Net(Ipv4Net),
    Ip(IpAddr),
    Path(PathBuf),
}

/// Why a text is not a right value.
#[derive(Debug, Default)]
pub(crate) struct Complaint {
    pub(crate) message: String,
    pub(crate) allowed: Option<String>,
    pub(crate) suggestion: Option<String>,
    pub(crate) note: Option<String>,
}

impl Complaint {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..Self::default()
        }
    }

    pub(crate) fn allow(mut self, allowed: impl Into<String>) -> Self {
        self.allowed = Some(allowed.into());
        self
    }

    pub(crate) fn suggest(mut self, suggestion: Option<impl Into<String>>) -> Self {
        self.suggestion = suggestion.map(Into::into);
        self
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }
}

pub(crate) type Checked<T> = Result<T, Complaint>;

/// Folders that a relative path and `~` start from.
pub(crate) struct Folders<'a> {
    pub(crate) base: &'a Path,
    pub(crate) home: Option<&'a Path>,
}

/// Reads `text` as a `shape`. Shapes that hold other values are not for here.
pub(crate) fn read(shape: &Shape, text: &str, folders: &Folders<'_>) -> Checked<Scalar> {
    if text.contains('\0') {
        return Err(Complaint::new("the value holds a NUL character"));
    }
    match shape {
        Shape::Text(Rule::BoxUrl) => Ok(Scalar::Text(box_url(text, folders))),
        Shape::Text(rule) => text::check(*rule, text).map(Scalar::Text),
        Shape::Choice(what, names) => choice(what, names, text),
        Shape::Integer { min, max } => integer(text, *min, *max),
        Shape::Bool => boolean(text),
        Shape::Memory => memory(text).map(Scalar::Memory),
        Shape::Duration => duration(text).map(Scalar::Duration),
        Shape::Cidr => cidr(text).map(Scalar::Net),
        Shape::Address => address(text).map(|ip| Scalar::Ip(IpAddr::V4(ip))),
        Shape::AnyAddress => text.parse().map(Scalar::Ip).map_err(|_| {
            Complaint::new(format!("`{text}` is not an IP address"))
                .allow("an IPv4 or IPv6 address")
        }),
        Shape::Path(rule) => path(*rule, text, folders).map(Scalar::Path),
        Shape::Components => choice("component", super::keys::COMPONENTS, text),
        Shape::List(_) | Shape::Map(_) | Shape::Named(_) | Shape::Table(..) => {
            Err(Complaint::new("a single value does not fit here"))
        }
    }
}

fn choice(what: &str, names: &[&str], text: &str) -> Checked<Scalar> {
    if names.contains(&text) {
        return Ok(Scalar::Text(text.to_owned()));
    }
    Err(Complaint::new(format!("unknown {what} `{text}`"))
        .allow(names.join(", "))
        .suggest(nearest(text, names.iter().copied())))
}

fn integer(text: &str, min: u64, max: u64) -> Checked<Scalar> {
    let allowed = if min == max {
        min.to_string()
    } else {
        format!("a whole number from {min} to {max}")
    };
    let number = digits(text).ok_or_else(|| {
        Complaint::new(format!("`{text}` is not a whole number")).allow(allowed.clone())
    })?;
    if (min..=max).contains(&number) {
        return Ok(Scalar::Int(number));
    }
    let size = if number < min { "small" } else { "large" };
    Err(Complaint::new(format!("{number} is too {size}")).allow(allowed))
}

/// A number of plain digits; `None` for signs, fractions, other bases and what does not fit.
pub(crate) fn digits(text: &str) -> Option<u64> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

fn boolean(text: &str) -> Checked<Scalar> {
    match text {
        "true" => Ok(Scalar::Bool(true)),
        "false" => Ok(Scalar::Bool(false)),
        _ => {
            let meant = match text.to_ascii_lowercase().as_str() {
                "yes" | "y" | "on" | "1" | "true" => Some("true"),
                "no" | "n" | "off" | "0" | "false" => Some("false"),
                _ => None,
            };
            Err(
                Complaint::new(format!("`{text}` is neither true nor false"))
                    .allow("true, false")
                    .suggest(meant),
            )
        }
    }
}

fn cidr(text: &str) -> Checked<Ipv4Net> {
    let allowed = "an IPv4 range as in `10.244.0.0/16`";
    let wrong =
        |why: &str| Complaint::new(format!("`{text}` is not an IPv4 range: {why}")).allow(allowed);
    let net: Ipv4Net = match text.parse() {
        Ok(net) => net,
        Err(_) if text.contains(':') => return Err(wrong("IPv6 is not supported")),
        Err(_) if text.parse::<Ipv4Addr>().is_ok() => {
            return Err(wrong("the prefix length is missing"));
        }
        Err(_) => return Err(wrong("it cannot be read")),
    };
    if net.addr() != net.network() {
        return Err(Complaint::new(format!("`{text}` has host bits set"))
            .allow(format!(
                "`{}` for the range that holds this address",
                net.trunc()
            ))
            .suggest(Some(net.trunc().to_string())));
    }
    let first = net.network();
    if first.is_loopback()
        || first.is_multicast()
        || first.is_link_local()
        || first.octets()[0] == 0
    {
        return Err(wrong("nodes, pods and services cannot use it")
            .allow("a private range as in `192.168.56.0/24`, `172.16.0.0/16` or `10.244.0.0/16`"));
    }
    Ok(net)
}

fn address(text: &str) -> Checked<Ipv4Addr> {
    text.parse().map_err(|_| {
        let complaint = Complaint::new(format!("`{text}` is not an IPv4 address"))
            .allow("an IPv4 address as in `192.168.56.10`");
        let bare = text.split('/').next().unwrap_or_default();
        complaint.suggest(bare.parse::<Ipv4Addr>().ok().map(|ip| ip.to_string()))
    })
}

/// `text` as an absolute path; nothing is asked of the file system.
pub(crate) fn absolute(text: &str, folders: &Folders<'_>) -> PathBuf {
    let rest = text.strip_prefix('~');
    let path = match (rest, folders.home) {
        (Some(""), Some(home)) => home.to_path_buf(),
        (Some(rest), Some(home)) if rest.starts_with(['/', std::path::MAIN_SEPARATOR]) => {
            home.join(rest.trim_start_matches(['/', std::path::MAIN_SEPARATOR]))
        }
        _ => folders.base.join(text),
    };
    let tidied = tidy(&path);
    // Behind a symbolic link `..` is another folder than it looks: then the path stays as it is.
    if path.canonicalize().ok() == tidied.canonicalize().ok() {
        tidied
    } else {
        path
    }
}

/// Takes `.` out, and `..` with the name before it.
fn tidy(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(out.components().next_back(), Some(Component::Normal(_))) =>
            {
                out.pop();
            }
            Component::ParentDir
                if matches!(out.components().next_back(), Some(Component::RootDir)) => {}
            part => out.push(part),
        }
    }
    out
}

fn path(rule: PathRule, text: &str, folders: &Folders<'_>) -> Checked<PathBuf> {
    let path = absolute(text, folders);
    let shown = path.display();
    let (what, good) = match rule {
        PathRule::Folder => ("a folder", path.is_dir()),
        PathRule::File => ("a file", path.is_file()),
    };
    if good {
        return Ok(path);
    }
    let message = match path.metadata() {
        Ok(_) => format!("`{shown}` is not {what}"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            format!("`{shown}` does not exist")
        }
        Err(error) => format!("`{shown}` cannot be looked at: {error}"),
    };
    let mut complaint = Complaint::new(message).allow(format!("the path of {what}"));
    if !Path::new(text).is_absolute() && !text.starts_with('~') {
        complaint = complaint.note(format!(
            "a relative path starts from `{}` here",
            folders.base.display()
        ));
    }
    Err(complaint)
}

fn box_url(text: &str, folders: &Folders<'_>) -> String {
    if text.is_empty() || text.contains("://") || text.starts_with("file:") {
        text.to_owned()
    } else {
        absolute(text, folders).display().to_string()
    }
}

impl Scalar {
    /// The value as a user would write it; reading it gives the same value.
    pub(crate) fn canonical(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Int(number) => number.to_string(),
            Self::Bool(value) => value.to_string(),
            Self::Memory(mib) if mib % 1024 == 0 => format!("{}GiB", mib / 1024),
            Self::Memory(mib) => format!("{mib}MiB"),
            Self::Duration(duration) => shown_duration(*duration),
            Self::Net(net) => net.to_string(),
            Self::Ip(ip) => ip.to_string(),
            Self::Path(path) => path.display().to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_and_relative_paths() {
        let folders = Folders {
            base: Path::new("/base/x"),
            home: Some(Path::new("/home/me")),
        };
        for (text, path) in [
            ("~/k8s", "/home/me/k8s"),
            ("~", "/home/me"),
            ("../k8s", "/base/k8s"),
            ("./a/./b", "/base/x/a/b"),
            ("~other", "/base/x/~other"),
        ] {
            assert_eq!(absolute(text, &folders), PathBuf::from(path), "{text}");
        }
    }
}
