//! The flat keys of the predecessor, `sig-windows-dev-tools`, and what they are now.
//! <https://github.com/kubernetes-sigs/sig-windows-dev-tools/blob/master/variables.yaml>

use std::net::Ipv4Addr;

use super::diagnostic::{Diagnostic, Severity, Sink};
use super::layer::merge;
use super::source::Place;
use super::suggest::nearest;
use super::table::TOP;
use super::yaml::{Entry, Node, NodeKind};

/// A flat key and the dotted path that it is now. `workers` stands for the first worker.
pub(crate) const KEYS: &[(&str, &str)] = &[
    ("kubernetes_version", "kubernetes.version"),
    ("build_from_source", "kubernetes.build"),
    ("k8s_linux_kubelet_nodeip", "control_plane.address"),
    ("windows_node_ip", "workers.address"),
    ("pod_cidr", "network.pods"),
    ("calico_version", "cni.version"),
    ("containerd_version", "container_runtime.version"),
    ("linux_ram", "control_plane.memory"),
    ("linux_cpus", "control_plane.cpus"),
    ("windows_ram", "workers.memory"),
    ("windows_cpus", "workers.cpus"),
];

/// The new path of the flat key that `text` probably is.
pub(crate) fn nearest_new(text: &str) -> Option<String> {
    let near = nearest(text, KEYS.iter().map(|(old, _)| *old))?;
    KEYS.iter()
        .find(|(old, _)| *old == near)
        .map(|(_, new)| shown(new))
}

/// A new path as people write it.
pub(crate) fn shown(new: &str) -> String {
    new.replacen("workers.", "workers[0].", 1)
}

/// `root` with every flat key in its new place, and a note for each.
pub(crate) fn convert(root: Node, sink: &mut Sink) -> Node {
    let NodeKind::Map(entries) = root.kind else {
        return root;
    };
    let is_flat = |e: &Entry| KEYS.iter().any(|(old, _)| *old == e.key);
    let (flat, kept): (Vec<Entry>, Vec<Entry>) = entries.into_iter().partition(is_flat);
    let mut out = Node::new(NodeKind::Map(kept), root.place);
    if flat.is_empty() {
        return out;
    }
    let mut made = Node::new(NodeKind::Map(Vec::new()), Place::Default);
    for entry in flat {
        let Some((_, new)) = KEYS.iter().find(|(old, _)| *old == entry.key) else {
            continue;
        };
        let shown = shown(new);
        if let Some(other) = find(&out, new) {
            sink.push(
                Diagnostic::error(format!("`{}` and `{shown}` are both there", entry.key))
                    .at(&entry.place)
                    .note(format!(
                        "`{shown}` is the new form of `{}`; the other is at {}",
                        entry.key,
                        other.origin()
                    )),
            );
            continue;
        }
        sink.push(
            Diagnostic::error(format!("`{}` is now `{shown}`", entry.key))
                .severity(Severity::Note)
                .at(&entry.place)
                .note("`wdev config migrate` writes the new form"),
        );
        for (path, node) in replacement(&entry, new, &out) {
            let built = nest(&path, node, &entry.place);
            made = merge_flat(made, built);
        }
    }
    // What is written in the new form stays as it is; the flat keys fill in around it.
    out = merge(made, out, &TOP);
    out
}

/// The new values that stand for one flat key, by path.
pub(crate) fn replacement(entry: &Entry, new: &str, root: &Node) -> Vec<(String, Node)> {
    let text = match &entry.node.kind {
        NodeKind::Scalar(text) => text.as_str(),
        _ => return vec![(new.to_owned(), entry.node.clone())],
    };
    let place = &entry.node.place;
    let scalar = |text: &str| Node::new(NodeKind::Scalar(text.to_owned()), place.clone());
    match entry.key.as_str() {
        // The predecessor built everything from a clone in the folder `kubernetes` beside the file.
        "build_from_source" => match text {
            "true" => vec![
                ("kubernetes.source".to_owned(), scalar("kubernetes")),
                ("kubernetes.build".to_owned(), scalar("all")),
            ],
            "false" => Vec::new(),
            _ => vec![("kubernetes.build".to_owned(), scalar(text))],
        },
        // Its node network was the /24 around the addresses.
        "k8s_linux_kubelet_nodeip" | "windows_node_ip" => {
            let mut made = vec![(new.to_owned(), scalar(text))];
            if let Ok(address) = text.parse::<Ipv4Addr>()
                && find(root, "network.nodes").is_none()
            {
                let [a, b, c, _] = address.octets();
                made.push((
                    "network.nodes".to_owned(),
                    scalar(&format!("{a}.{b}.{c}.0/24")),
                ));
            }
            made
        }
        // It was there whatever the CNI was, and counted for Calico only.
        "calico_version" if cni_name(root).is_some_and(|name| name != "calico") => Vec::new(),
        "calico_version" => vec![
            ("cni.name".to_owned(), scalar("calico")),
            ("cni.version".to_owned(), scalar(text)),
        ],
        "containerd_version" => vec![
            ("container_runtime.name".to_owned(), scalar("containerd")),
            ("container_runtime.version".to_owned(), scalar(text)),
        ],
        _ => vec![(new.to_owned(), entry.node.clone())],
    }
}

fn cni_name(root: &Node) -> Option<&str> {
    let node = child(root, "cni")?;
    match &node.kind {
        NodeKind::Scalar(text) => Some(text),
        NodeKind::Map(_) => match &child(node, "name")?.kind {
            NodeKind::Scalar(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

pub(crate) fn child<'a>(node: &'a Node, key: &str) -> Option<&'a Node> {
    match &node.kind {
        NodeKind::Map(entries) => entries
            .iter()
            .find(|e| e.key == key && !e.node.is_null())
            .map(|e| &e.node),
        _ => None,
    }
}

/// Where the new form of a flat key is already written. Any list of workers counts for a worker.
fn find<'a>(root: &'a Node, new: &str) -> Option<&'a Place> {
    if new.starts_with("workers.") {
        return child(root, "workers").map(|node| &node.place);
    }
    let found = new
        .split('.')
        .try_fold(root, |node, key| child(node, key))?;
    Some(&found.place)
}

/// `node` at a dotted path; below `workers` in the first item of a list.
fn nest(path: &str, node: Node, key: &Place) -> Node {
    path.rsplit('.').fold(node, |inner, name| {
        let place = inner.place.clone();
        let inner = if name == "workers" {
            Node::new(NodeKind::List(vec![inner]), place.clone())
        } else {
            inner
        };
        let entry = Entry {
            key: name.to_owned(),
            place: key.clone(),
            node: inner,
        };
        Node::new(NodeKind::Map(vec![entry]), place)
    })
}

/// Merges two trees made of flat keys: here the one worker of both is the same.
fn merge_flat(under: Node, over: Node) -> Node {
    let place = over.place.clone();
    match (under.kind, over.kind) {
        (NodeKind::Map(mut base), NodeKind::Map(top)) => {
            for entry in top {
                if let Some(at) = base.iter().position(|e| e.key == entry.key) {
                    let old = base.remove(at);
                    let node = merge_flat(old.node, entry.node);
                    base.insert(
                        at,
                        Entry {
                            key: old.key,
                            place: old.place,
                            node,
                        },
                    );
                } else {
                    base.push(entry);
                }
            }
            Node::new(NodeKind::Map(base), place)
        }
        (NodeKind::List(mut base), NodeKind::List(mut top)) => match (base.pop(), top.pop()) {
            (Some(base), Some(top)) => {
                Node::new(NodeKind::List(vec![merge_flat(base, top)]), place)
            }
            (one, other) => Node::new(NodeKind::List(one.or(other).into_iter().collect()), place),
        },
        // The first one stays: two addresses both speak of the node subnet.
        (kind, _) => Node::new(kind, under.place),
    }
}
