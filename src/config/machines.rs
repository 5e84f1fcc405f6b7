//! The keys of machines, of their boxes, and of Vagrant's providers.

use super::keys::Fallback::{self, Derived, Unset};
use super::keys::Shape::{self, Address, Bool, Choice, Integer, List, Map, Memory, Table};
use super::keys::{Key, KeyRule, Rule};
use super::model::{Communicator, LibvirtDriver};
use super::table::{FREE, key, text};

pub(super) static CONTROL_PLANE: &[Key] = &[
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
    key(
        "taints",
        List(&Shape::Text(Rule::Taint)),
        Derived("kubeadm's own, which keeps ordinary pods away"),
        "Taints that the node registers with, each `key=value:Effect`; `[]` for none at all.",
    ),
];

pub(super) static WORKER: &[Key] = &[
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
        "communicator",
        Choice("communicator", Communicator::NAMES),
        Fallback::Text("auto"),
        "How Vagrant reaches the new machine, until SSH with a key of its own does; `auto` as the box needs it.",
    ),
    key(
        "nested_virtualization",
        Bool,
        Fallback::Text("false"),
        "Let the node run virtual machines itself; only Hyper-V isolated containers need it.",
    ),
    key(
        "features",
        List(&Shape::Text(Rule::WindowsFeature)),
        Unset,
        "Windows features that the node shall have beside those that it needs, as `Get-WindowsFeature` names them: `[Hyper-V]`.",
    ),
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
    "The version of the box. When empty: of a box that wdev knows its tried version, of a catalogue on this host the newest in it, else what Vagrant takes.",
);
const BOX_URL: Key = text(
    "box_url",
    Rule::BoxUrl,
    "Where the box comes from: a URL or a path, of a `.box` file, of a catalogue (`metadata.json`), or of a folder with one.",
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

pub(super) static VAGRANT: &[Key] = &[
    key("hyperv", Map(HYPERV), Unset, "What concerns Hyper-V."),
    key("libvirt", Map(LIBVIRT), Unset, "What concerns libvirt."),
    key(
        "extra",
        Table(KeyRule::ProviderOrNode, &FREE),
        Unset,
        "Ruby text for the Vagrantfile, by provider (variable `p`) or by node (variable `node`).",
    ),
];

static HYPERV: &[Key] = &[text(
    "switch",
    Rule::Free,
    "The switch of every machine's first adapter, which must hand out addresses; `Default Switch` when empty.",
)];

static LIBVIRT: &[Key] = &[
    key(
        "driver",
        Choice("driver of libvirt", LibvirtDriver::NAMES),
        Fallback::Text("auto"),
        "What runs the machines; `auto` takes KVM where it works, else emulation, which is for Linux machines and tests.",
    ),
    text(
        "cpu_model",
        Rule::Free,
        "The processor that the machines see; when empty the host's own, or a plain one under emulation.",
    ),
];
