//! The one list of keys: what the reader accepts, the suggestions, the JSON Schema, the comments of
//! `wdev config show` and the reference in `docs/configuration.md` all come from here.

use super::model::{Builder, CniName, Component, KubeProxy, ProviderName};

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
    Mirror,
    Proxy,
    NoProxy,
    BoxUrl,
    Checksum,
    Taint,
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

use Fallback::{Data, Derived, Required, Unset};
use Shape::{
    Address, AnyAddress, Bool, Choice, Cidr, Components, Duration, Integer, List, Map, Memory,
    Named, Path, Table,
};

const fn key(name: &'static str, shape: Shape, fallback: Fallback, doc: &'static str) -> Key {
    Key {
        name,
        shape,
        fallback,
        doc,
    }
}

const fn text(name: &'static str, rule: Rule, doc: &'static str) -> Key {
    key(name, Shape::Text(rule), Unset, doc)
}

const fn table(name: &'static str, doc: &'static str) -> Key {
    key(
        name,
        Table(KeyRule::Argument, &Shape::Text(Rule::Free)),
        Unset,
        doc,
    )
}

const FREE: Shape = Shape::Text(Rule::Free);

/// The keys at the top.
pub(crate) static ROOT: &[Key] = &[
    key(
        "version",
        Integer { min: 1, max: 1 },
        Fallback::Text("1"),
        "The version of this file's form.",
    ),
    key(
        "sandbox",
        Shape::Text(Rule::Sandbox),
        Fallback::Text("default"),
        "The sandbox's name: a DNS label of at most 30 characters.",
    ),
    key(
        "provider",
        Choice("provider", ProviderName::NAMES),
        Fallback::Text("auto"),
        "What makes the machines; `auto` takes the first usable one and says which and why.",
    ),
    key(
        "kubernetes",
        Map(KUBERNETES),
        Unset,
        "Versions and builds of Kubernetes.",
    ),
    key(
        "cni",
        Named(CNI),
        Unset,
        "The network plugin: its name alone, or name and version.",
    ),
    key(
        "kube_proxy",
        Choice("way to run kube-proxy", KubeProxy::NAMES),
        Fallback::Text("service"),
        "How kube-proxy runs on Windows nodes: as a service, in a HostProcess container, or not at all.",
    ),
    key(
        "container_runtime",
        Named(RUNTIME),
        Unset,
        "The container runtime of every node: its name alone, or name and version.",
    ),
    key(
        "network",
        Map(NETWORK),
        Unset,
        "Address ranges, DNS and the way out.",
    ),
    key(
        "control_plane",
        Map(CONTROL_PLANE),
        Unset,
        "The one Linux control plane.",
    ),
    key(
        "workers",
        List(&Map(WORKER)),
        Derived("one worker"),
        "The Windows workers, at least one.",
    ),
    key(
        "artifacts",
        Map(ARTIFACTS),
        Unset,
        "Where downloads come from.",
    ),
    key(
        "timeouts",
        Map(TIMEOUTS),
        Unset,
        "How long to wait for what: `90s`, `15m`, `1h30m`.",
    ),
    key(
        "hooks",
        List(&Map(HOOK)),
        Unset,
        "Your own step scripts, each at the end of a phase.",
    ),
    key(
        "vagrant",
        Map(VAGRANT),
        Unset,
        "Additions to the Vagrantfile.",
    ),
];

static KUBERNETES: &[Key] = &[
    key(
        "version",
        Shape::Text(Rule::KubernetesVersion),
        Data("kubernetes.version"),
        "A release (`1.36`, `1.36.3`), a pre-release, a marker (`stable-1.36`, `ci/latest-1.37`), a CI build (`ci/v1.37.0-alpha.1.12+0123456789abcd`), or `source`.",
    ),
    key(
        "source",
        Path(PathRule::Folder),
        Unset,
        "A Kubernetes checkout. It is only ever read.",
    ),
    key(
        "build",
        Components,
        Unset,
        "The components to build from `source`: a list, `all` or `none`.",
    ),
    key(
        "builder",
        Choice("builder", Builder::NAMES),
        Fallback::Text("auto"),
        "What builds them; `auto` takes Go where it is installed, else Docker.",
    ),
    key(
        "images",
        List(&Path(PathRule::File)),
        Unset,
        "Tar files of control-plane images to load.",
    ),
    key(
        "feature_gates",
        Table(KeyRule::Gate, &Bool),
        Unset,
        "Feature gates for every component.",
    ),
    key(
        "extra_args",
        Map(EXTRA_ARGS),
        Unset,
        "Extra arguments by component, then by flag without dashes.",
    ),
];

static EXTRA_ARGS: &[Key] = &[
    table("api_server", "Flags of kube-apiserver."),
    table("controller_manager", "Flags of kube-controller-manager."),
    table("scheduler", "Flags of kube-scheduler."),
    table("kubelet", "Flags of every kubelet."),
    table("kube_proxy", "Flags of kube-proxy on Windows nodes."),
];

static CNI: &[Key] = &[
    key(
        "name",
        Choice("CNI", CniName::NAMES),
        Fallback::Text("calico"),
        "Which network plugin; `none` when you bring one.",
    ),
    key(
        "version",
        Shape::Text(Rule::Version),
        Derived("the known version of this CNI"),
        "Its version.",
    ),
];

static RUNTIME: &[Key] = &[
    key(
        "name",
        Choice("container runtime", &["containerd"]),
        Fallback::Text("containerd"),
        "Which container runtime.",
    ),
    key(
        "version",
        Shape::Text(Rule::Version),
        Data("container_runtime.containerd"),
        "Its version.",
    ),
];

static NETWORK: &[Key] = &[
    key(
        "nodes",
        Cidr,
        Fallback::Text("192.168.56.0/24"),
        "The subnet that the nodes' addresses lie in; its first address is the host's own.",
    ),
    key(
        "pods",
        Cidr,
        Fallback::Text("10.244.0.0/16"),
        "The pod CIDR; each node gets a /24 of it.",
    ),
    key(
        "services",
        Cidr,
        Fallback::Text("10.96.0.0/12"),
        "The service CIDR.",
    ),
    key(
        "dns",
        List(&AnyAddress),
        Unset,
        "DNS servers for the nodes; the provider's own when empty.",
    ),
    key("proxy", Map(PROXY), Unset, "The proxy for the nodes."),
];

static PROXY: &[Key] = &[
    text("http", Rule::Proxy, "The URL of the proxy for http."),
    text("https", Rule::Proxy, "The URL of the proxy for https."),
    key(
        "no_proxy",
        List(&Shape::Text(Rule::NoProxy)),
        Unset,
        "Hosts and ranges that are reached directly; the cluster's own ranges are added.",
    ),
];

static CONTROL_PLANE: &[Key] = &[
    key(
        "name",
        Shape::Text(Rule::NodeName),
        Fallback::Text("cp"),
        "The node's name: a DNS label.",
    ),
    BOX,
    BOX_VERSION,
    BOX_URL,
    BOX_CHECKSUM,
    key(
        "cpus",
        Integer { min: 2, max: 512 },
        Fallback::Text("2"),
        "Virtual processors; kubeadm wants two.",
    ),
    key(
        "memory",
        Memory,
        Fallback::Text("4GiB"),
        "Memory: MiB, or with a unit as in `4GiB`.",
    ),
    ADDRESS,
    TAINTS,
];

static WORKER: &[Key] = &[
    key(
        "name",
        Shape::Text(Rule::WindowsName),
        Derived("the worker's number"),
        "The node's name: a DNS label of at most 15 characters, as Windows asks for.",
    ),
    key(
        "windows",
        Choice("Windows Server version", &["2019", "2022", "2025"]),
        Fallback::Text("2022"),
        "The Windows Server version.",
    ),
    BOX,
    BOX_VERSION,
    BOX_URL,
    BOX_CHECKSUM,
    key(
        "cpus",
        Integer { min: 1, max: 512 },
        Fallback::Text("2"),
        "Virtual processors.",
    ),
    key(
        "memory",
        Memory,
        Fallback::Text("6GiB"),
        "Memory: MiB, or with a unit as in `6GiB`.",
    ),
    ADDRESS,
    key(
        "labels",
        Table(KeyRule::Label, &Shape::Text(Rule::LabelValue)),
        Unset,
        "Labels that the node registers with.",
    ),
    TAINTS,
];

const BOX: Key = text(
    "box",
    Rule::Free,
    "The Vagrant box; the provider's default when empty. For `docker` an image.",
);
const BOX_VERSION: Key = text(
    "box_version",
    Rule::Free,
    "The version of the box; the newest one on the host when empty.",
);
const BOX_URL: Key = text(
    "box_url",
    Rule::BoxUrl,
    "A URL or a file to take the box from.",
);
const BOX_CHECKSUM: Key = text(
    "box_checksum",
    Rule::Checksum,
    "The box file's checksum, as `sha256:` and 64 hexadecimal digits.",
);
const ADDRESS: Key = key(
    "address",
    Address,
    Derived("the next free address of network.nodes"),
    "The node's address in the node subnet.",
);
const TAINTS: Key = key(
    "taints",
    List(&Shape::Text(Rule::Taint)),
    Unset,
    "Taints that the node registers with, each `key=value:Effect`.",
);

static ARTIFACTS: &[Key] = &[
    text(
        "mirror",
        Rule::Mirror,
        "A URL that stands for every download site.",
    ),
    key(
        "offline",
        Bool,
        Fallback::Text("false"),
        "Use what is in the cache and nothing else.",
    ),
    key(
        "guest_download",
        Bool,
        Fallback::Text("false"),
        "Let the nodes download by themselves.",
    ),
];

static TIMEOUTS: &[Key] = &[
    key(
        "boot",
        Duration,
        Fallback::Text("15m"),
        "From the start of a machine until it answers.",
    ),
    key(
        "reboot",
        Duration,
        Fallback::Text("10m"),
        "From a reboot until it is proven.",
    ),
    key("step", Duration, Fallback::Text("15m"), "One step."),
    key(
        "ready",
        Duration,
        Fallback::Text("10m"),
        "Until a node or the cluster is Ready.",
    ),
];

static HOOK: &[Key] = &[
    key(
        "node",
        Shape::Text(Rule::HookNode),
        Fallback::Text("all"),
        "A node's name, `control-plane`, `workers` or `all`.",
    ),
    key(
        "phase",
        Choice("phase", &super::model::PHASES),
        Required,
        "The phase at whose end it runs.",
    ),
    key(
        "script",
        Path(PathRule::File),
        Required,
        "The script: bash for the control plane, PowerShell for Windows nodes.",
    ),
];

static VAGRANT: &[Key] = &[key(
    "extra",
    Table(KeyRule::ProviderOrNode, &FREE),
    Unset,
    "Ruby text for the Vagrantfile, by provider (variable `p`) or by node (variable `node`).",
)];

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
            Map(keys) | Named(keys) => Some(keys),
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
                Map(inner) => walk(inner, &path, out),
                Named(inner) => {
                    out.push((path.clone(), &key.shape));
                    walk(inner, &path, out);
                }
                shape => out.push((path, shape)),
            }
        }
    }
    let mut out = Vec::new();
    walk(ROOT, "", &mut out);
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
