//! The list of keys as data: name, shape, default, and a sentence for people.

use super::keys::Fallback::{self, Data, Derived, Required, Unset};
use super::keys::Shape::{
    self, AnyAddress, Bool, Choice, Cidr, Components, Duration, Integer, List, Map, Named, Path,
    Table,
};
use super::keys::{Key, KeyRule, PathRule, Rule};
use super::machines::{CONTROL_PLANE, VAGRANT, WORKER};
use super::model::{Audit, Builder, CniName, KubeProxy, PHASES, ProviderName};

pub(super) const fn key(
    name: &'static str,
    shape: Shape,
    fallback: Fallback,
    doc: &'static str,
) -> Key {
    Key {
        name,
        shape,
        fallback,
        doc,
    }
}

pub(super) const fn text(name: &'static str, rule: Rule, doc: &'static str) -> Key {
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

pub(super) const FREE: Shape = Shape::Text(Rule::Free);

/// The whole file.
pub(crate) static TOP: Shape = Map(ROOT);

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
        "What concerns Vagrant and its providers.",
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
    key(
        "audit",
        Choice("audit level", Audit::NAMES),
        Fallback::Text("none"),
        "How much kube-apiserver writes into its audit log.",
    ),
    key(
        "log_levels",
        Map(LOG_LEVELS),
        Unset,
        "How much each component logs, from 0 to 10; its own default when left out.",
    ),
    key(
        "ignore_preflight_errors",
        List(&FREE),
        Unset,
        "Checks of kubeadm that only warn, by their names, such as `NumCPU`.",
    ),
    key(
        "cert_names",
        List(&Shape::Text(Rule::CertName)),
        Unset,
        "Further names and addresses in the certificate of kube-apiserver.",
    ),
];

const fn log_level(name: &'static str, doc: &'static str) -> Key {
    key(name, Shape::Integer { min: 0, max: 10 }, Unset, doc)
}

static LOG_LEVELS: &[Key] = &[
    log_level("api_server", "Of kube-apiserver."),
    log_level("controller_manager", "Of kube-controller-manager."),
    log_level("scheduler", "Of kube-scheduler."),
    log_level("kubelet", "Of every kubelet."),
    log_level("kube_proxy", "Of every kube-proxy."),
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
        Shape::Text(Rule::RuntimeVersion),
        Data("container_runtime.containerd"),
        "Its version; `distribution` takes the package of the Linux distribution on Linux nodes.",
    ),
    key(
        "archive",
        Path(PathRule::File),
        Unset,
        "A containerd of your own for Windows nodes: a `.tar.gz` like that of the release `version`.",
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
        Choice("phase", &PHASES),
        Required,
        "The phase at whose end it runs.",
    ),
    key(
        "script",
        Path(PathRule::File),
        Required,
        "The script: bash for Linux nodes, PowerShell for Windows nodes. It asks for a reboot by making the file `$WDEV_REBOOT` (Linux).",
    ),
];
