//! The one list of keys: what the reader accepts, the suggestions, the JSON Schema, the comments of
//! `wdev config show` and the reference in `docs/configuration.md` all come from here.

use super::model::Component;
use super::table::ROOT;

/// One key of a map.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) fallback: Fallback,
    /// One sentence for people.
    pub(crate) doc: &'static str,
}

/// What a value looks like.
#[derive(Debug)]
pub(crate) enum Shape {
    Text(Rule),
    /// One of some words; the first field says of what.
    Choice(&'static str, &'static [&'static str]),
    Integer {
        min: u64,
        max: u64,
    },
    Bool,
    /// MiB, or a number with a unit.
    Memory,
    /// A number with a unit of time.
    Duration,
    /// An IPv4 range.
    Cidr,
    /// An IPv4 address.
    Address,
    /// An IPv4 or IPv6 address.
    AnyAddress,
    Path(PathRule),
    List(&'static Shape),
    /// `all`, `none`, or a list of components.
    Components,
    /// A map of known keys.
    Map(&'static [Key]),
    /// A map of known keys, or its `name` alone.
    Named(&'static [Key]),
    /// A map of free keys.
    Table(KeyRule, &'static Shape),
}

/// What a text must look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    Free,
    Sandbox,
    NodeName,
    WindowsName,
    KubernetesVersion,
    /// Three numbers and perhaps a pre-release.
    Version,
    /// As [`Rule::Version`], or `distribution`.
    RuntimeVersion,
    Mirror,
    Proxy,
    NoProxy,
    /// A name or an address in a certificate.
    CertName,
    BoxUrl,
    Checksum,
    Taint,
    WindowsFeature,
    LabelValue,
    /// Whom a hook runs for.
    HookNode,
}

/// What must be at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathRule {
    Folder,
    File,
}

/// What the free keys of a table must look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyRule {
    /// A Kubernetes label's key.
    Label,
    /// A feature gate's name.
    Gate,
    /// A flag of a component, without dashes.
    Argument,
    /// A provider or a node.
    ProviderOrNode,
}

/// What a value is when nobody wrote one.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fallback {
    /// This, as a user would write it.
    Text(&'static str),
    /// What `defaults.json` says under this name.
    Data(&'static str),
    /// Made from other values, with how.
    Derived(&'static str),
    /// Nothing: an empty text, list or map, or no value.
    Unset,
    /// There must be one.
    Required,
}

/// The words that stand for a set of nodes in a hook.
pub(crate) const NODE_SETS: [&str; 3] = ["all", "control-plane", "workers"];

/// The components, and what `all` stands for.
pub(crate) const COMPONENTS: &[&str] = Component::NAMES;
/// The words that stand for a set of components.
pub(crate) const COMPONENTS_WORDS: [&str; 2] = ["all", "none"];

impl Shape {
    /// The keys of a map with known keys.
    pub(crate) fn keys(&self) -> Option<&'static [Key]> {
        match self {
            Self::Map(keys) | Self::Named(keys) => Some(keys),
            _ => None,
        }
    }
}

/// Every key that a variable or a flag can set, as its dotted path.
pub(crate) fn dotted() -> Vec<(String, &'static Shape)> {
    fn walk(keys: &'static [Key], prefix: &str, out: &mut Vec<(String, &'static Shape)>) {
        for key in keys {
            let path = join(prefix, key.name);
            match &key.shape {
                Shape::Map(inner) => walk(inner, &path, out),
                Shape::Named(inner) => {
                    out.push((path.clone(), &key.shape));
                    walk(inner, &path, out);
                }
                shape => out.push((path, shape)),
            }
        }
    }
    let mut out = Vec::new();
    walk(ROOT, "", &mut out);
    // The version of the file's form makes sense in a file only.
    out.retain(|(path, _)| path != "version");
    out
}

/// The environment variable that sets the key at a dotted path.
pub(crate) fn variable(dotted: &str) -> String {
    format!("WDEV_{}", dotted.replace('.', "_").to_uppercase())
}

/// A dotted path one key longer.
pub(crate) fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() {
        name.to_owned()
    } else {
        format!("{prefix}.{name}")
    }
}

/// What `defaults.json` says under `name`.
pub(crate) fn data(name: &str) -> Option<String> {
    static FACTS: std::sync::LazyLock<serde_json::Value> = std::sync::LazyLock::new(|| {
        serde_json::from_str(include_str!("defaults.json")).unwrap_or_default()
    });
    Some(FACTS.get(name)?.get("value")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_keys_share_a_variable() {
        let mut names: Vec<String> = dotted().iter().map(|(path, _)| variable(path)).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn every_default_that_is_data_exists() {
        for (path, shape) in dotted() {
            let Shape::Choice("CNI", names) = shape else {
                continue;
            };
            for name in names.iter().filter(|n| **n != "none") {
                assert!(data(&format!("cni.{name}")).is_some(), "{path}: {name}");
            }
        }
        assert!(data("kubernetes.version").is_some());
        assert!(data("container_runtime.containerd").is_some());
    }
}
