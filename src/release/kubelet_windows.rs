//! What the kubelet of a Windows node is started with, by minor. The facts are in `data/kubelet-windows.json`.

use std::sync::LazyLock;

use serde::Deserialize;

use super::by_minor;

/// Whether Windows would put something else into the line of a service for a piece of this text: it puts in the
/// variables of its environment, and knows no way to write a percent sign that does not begin one
/// (`CreateServiceW`, `lpBinaryPathName`; the value is a `REG_EXPAND_SZ`).
#[must_use]
pub fn has_variable(text: &str) -> bool {
    let mut between: Vec<&str> = text.split('%').skip(1).collect();
    between.pop();
    between.iter().any(|piece| !piece.is_empty())
}

/// An argument that every Windows node needs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Needed {
    /// Without dashes.
    pub name: String,
    /// What it is set to.
    pub value: String,
    /// The first minor that does not need it, or does not know it.
    #[serde(default)]
    below: Option<u32>,
    /// Where this is known from.
    pub source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LogRunner {
    from: u32,
    arguments: Vec<String>,
    #[expect(dead_code, reason = "for who reads the file")]
    source: String,
}

/// The memory that is kept for Windows and for the node's own programs, in the kubelet's notation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reserved {
    memory_mib: u64,
    /// For Windows.
    pub system: String,
    /// For the kubelet and the container runtime.
    pub kube: String,
    /// Where this is known from.
    pub source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PkiLink {
    below: u32,
    #[expect(dead_code, reason = "for who reads the file")]
    source: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    arguments: Vec<Needed>,
    pki_link: Option<PkiLink>,
    log_runner: Vec<LogRunner>,
    reserved: Vec<Reserved>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    serde_json::from_str(include_str!("data/kubelet-windows.json")).unwrap_or_default()
});

/// The arguments that the kubelet of `minor` needs on Windows.
pub fn needed(minor: u32) -> impl Iterator<Item = &'static Needed> {
    let rows = TABLE.arguments.iter();
    rows.filter(move |row| row.below.is_none_or(|below| minor < below))
}

/// The arguments of kube-log-runner, which writes the kubelet's log; nothing for a minor that has none, whose
/// kubelet writes it by itself.
#[must_use]
pub fn log_runner(minor: u32) -> Option<&'static [String]> {
    by_minor(&TABLE.log_runner, minor, |row| row.from).map(|row| row.arguments.as_slice())
}

/// Whether `kubeadm join` of this minor looks for certificates below the kubelet's folder.
#[must_use]
pub fn links_pki(minor: u32) -> bool {
    TABLE.pki_link.as_ref().is_some_and(|row| minor < row.below)
}

/// What is kept on a machine with this much memory.
#[must_use]
pub fn reserved(memory_mib: u64) -> Option<&'static Reserved> {
    let mut rows = TABLE.reserved.iter();
    rows.rfind(|row| row.memory_mib <= memory_mib)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_minor_is_asked_for_what_it_knows() {
        let names = |minor| -> Vec<&str> { needed(minor).map(|row| row.name.as_str()).collect() };
        for (flag, below) in [
            ("network-plugin", 24),
            ("container-runtime", 27),
            ("log-file", 23),
        ] {
            assert!(names(below - 1).contains(&flag), "{flag}");
            assert!(!names(below).contains(&flag), "{flag}");
        }
        assert!(names(40).contains(&"cgroups-per-qos"));
        assert!(log_runner(22).is_none());
        assert_eq!(log_runner(33).map(<[String]>::len), Some(1));
        assert_eq!(log_runner(34).map(<[String]>::len), Some(4));
    }

    #[test]
    fn a_small_machine_keeps_less() {
        let of = |memory| reserved(memory).map(|row| row.system.as_str());
        assert_eq!(of(2048), Some("768Mi"));
        assert_eq!(of(6144), Some("1536Mi"));
    }
}
