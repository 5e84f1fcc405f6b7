//! What must hold between values: nodes, builds, hooks, memory. Each check looks only at values that
//! are right in themselves.

use std::collections::HashMap;

use super::Request;
use super::diagnostic::{Diagnostic, Severity, Sink};
use super::item::Item;
use super::keys::NODE_SETS;
use super::model::ProviderName;
use super::source::Place;
use super::suggest::nearest;

/// More is a mistake, and would make the checks slow.
const WORKERS_MAX: usize = 1000;
const HOOKS_MAX: usize = 1000;

/// What kubeadm wants of a control plane, in MiB.
/// <https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/create-cluster-kubeadm/#before-you-begin>
const CONTROL_PLANE_MEMORY: u64 = 1700;

/// What Windows Server wants, in MiB; of it the kubelet keeps 1 GiB for itself and the system.
/// <https://learn.microsoft.com/windows-server/get-started/hardware-requirements>
const WINDOWS_MEMORY: u64 = 2048;

/// Checks the whole configuration.
pub(crate) fn check(root: &Item, request: &Request, sink: &mut Sink) {
    for (name, max) in [("workers", WORKERS_MAX), ("hooks", HOOKS_MAX)] {
        let list = root.at(name);
        if list.items().len() > max {
            let message = format!("there are {} `{name}`", list.items().len());
            sink.push(
                Diagnostic::error(message)
                    .at(&list.place)
                    .allow(format!("at most {max}")),
            );
            return;
        }
    }
    if !request.first_worker {
        a_worker(root, sink);
    }
    names(root, sink);
    taints(root, sink);
    kubernetes(root, sink);
    preflight(root, sink);
    cni(root, sink);
    hooks(root, sink);
    vagrant(root, sink);
    boxes(root, sink);
    memory(root, request.host_memory_mib, sink);
    super::ranges::check(root, sink);
}

fn a_worker(root: &Item, sink: &mut Sink) {
    let workers = root.at("workers");
    // Tests on emulated machines have one machine, which takes minutes to come up and to reboot.
    let testbed = std::env::var_os("WDEV_TESTBED").is_some_and(|value| value == "linux");
    if workers.items().is_empty() && !workers.bad && !testbed {
        sink.push(
            Diagnostic::error("there is no worker")
                .at(&workers.place)
                .allow("at least one worker; leave the key out for one with every default"),
        );
    }
}

fn names(root: &Item, sink: &mut Sink) {
    let mut seen: HashMap<&str, &Place> = HashMap::new();
    for node in super::derive::nodes(root) {
        let name = node.at("name");
        if name.bad || name.is_unset() {
            continue;
        }
        let place = place_of(name, node);
        if let Some(first) = seen.get(name.text()) {
            sink.push(
                Diagnostic::error(format!("two nodes have the name `{}`", name.text()))
                    .at(place)
                    .note(format!("the other: {}", first.origin())),
            );
        } else {
            seen.insert(name.text(), place);
        }
    }
}

/// The API server refuses a node with two taints of the same key and effect.
/// Upstream: `ValidateTaints` in pkg/apis/core/validation/validation.go.
fn taints(root: &Item, sink: &mut Sink) {
    for node in super::derive::nodes(root) {
        let mut seen: HashMap<(&str, &str), &Place> = HashMap::new();
        for taint in node.at("taints").items().iter().filter(|taint| !taint.bad) {
            let (head, effect) = taint.text().rsplit_once(':').unwrap_or_default();
            let key = head.split('=').next().unwrap_or_default();
            if let Some(first) = seen.insert((key, effect), &taint.place) {
                sink.push(
                    Diagnostic::error(format!(
                        "two taints have the key `{key}` and the effect `{effect}`"
                    ))
                    .at(&taint.place)
                    .note(format!(
                        "the other: {}; Kubernetes takes one of each",
                        first.origin()
                    )),
                );
            }
        }
    }
}

/// The value's place, or its node's where nobody wrote the value.
fn place_of<'a>(item: &'a Item, node: &'a Item) -> &'a Place {
    if item.place.is_written() {
        &item.place
    } else {
        &node.place
    }
}

fn kubernetes(root: &Item, sink: &mut Sink) {
    let kubernetes = root.at("kubernetes");
    let source = kubernetes.at("source");
    if !source.is_unset() || source.bad {
        return;
    }
    let build = kubernetes.at("build");
    if !build.items().is_empty() {
        sink.push(
            Diagnostic::error(
                "`kubernetes.build` needs `kubernetes.source`, the checkout to build from",
            )
            .at(&build.place),
        );
    }
    let version = kubernetes.at("version");
    if version.text() == "source" {
        sink.push(
            Diagnostic::error(
                "the version `source` needs `kubernetes.source`, the checkout to read it from",
            )
            .at(&version.place),
        );
    }
}

/// Upstream: `ValidateIgnorePreflightErrors` in cmd/kubeadm/app/apis/kubeadm/validation/validation.go.
fn preflight(root: &Item, sink: &mut Sink) {
    let ignored = root.at("kubernetes").at("ignore_preflight_errors");
    let all = |item: &&Item| item.text().eq_ignore_ascii_case("all");
    for item in ignored.items().iter().filter(all) {
        sink.push(
            Diagnostic::error("kubeadm does not take `all` from a configuration")
                .at(&item.place)
                .allow("the names of checks, as in its message `[ERROR NumCPU]`"),
        );
    }
}

fn cni(root: &Item, sink: &mut Sink) {
    let cni = root.at("cni");
    let version = cni.at("version");
    if cni.at("name").text() == "none" && version.place.is_written() && !version.text().is_empty() {
        sink.push(Diagnostic::error("the CNI `none` has no version").at(&version.place));
    }
}

fn node_names(root: &Item) -> Vec<&str> {
    super::derive::nodes(root)
        .map(|node| node.at("name").text())
        .collect()
}

fn hooks(root: &Item, sink: &mut Sink) {
    let mut known = node_names(root);
    known.extend(NODE_SETS);
    for hook in root.at("hooks").items() {
        let node = hook.at("node");
        if node.bad || known.contains(&node.text()) {
            continue;
        }
        sink.push(
            Diagnostic::error(format!("there is no node `{}`", node.text()))
                .at(&node.place)
                .allow(known.join(", "))
                .suggest(nearest(node.text(), known.iter().copied()).map(str::to_owned)),
        );
    }
}

fn vagrant(root: &Item, sink: &mut Sink) {
    let mut known = node_names(root);
    let vagrants = [ProviderName::Auto, ProviderName::Sim];
    let providers = ProviderName::NAMES
        .iter()
        .filter(|name| vagrants.iter().all(|other| other.as_str() != **name));
    known.extend(providers);
    for (key, place, _) in root.at("vagrant").at("extra").entries() {
        if !known.contains(&key.as_str()) {
            sink.push(
                Diagnostic::error(format!(
                    "`{key}` is neither a node nor a provider of Vagrant"
                ))
                .at(place)
                .allow(known.join(", "))
                .suggest(nearest(key, known.iter().copied()).map(str::to_owned)),
            );
        }
    }
}

/// A box that comes over a network should be the one that was meant. A catalogue has its own checksums.
fn boxes(root: &Item, sink: &mut Sink) {
    for node in super::derive::nodes(root) {
        let (url, checksum) = (node.at("box_url"), node.at("box_checksum"));
        let text = url.text().to_ascii_lowercase();
        let path = text.split(['?', '#']).next().unwrap_or_default();
        let remote = path.starts_with("http://") || path.starts_with("https://");
        if url.bad || checksum.bad || !checksum.text().is_empty() || !remote {
            continue;
        }
        if path.rsplit('.').next() != Some("json") {
            sink.push(
                Diagnostic::error("nobody checks what this `box_url` gives")
                    .severity(Severity::Warning)
                    .at(&url.place)
                    .note("add `box_checksum: sha256:...` of the `.box` file"),
            );
        }
    }
}

/// Warns of less memory than `wanted`, in MiB, where `whom` says who wants it.
fn little(memory: &Item, wanted: u64, whom: &str, sink: &mut Sink) {
    let is = memory.number();
    if memory.bad || is >= wanted {
        return;
    }
    sink.push(
        Diagnostic::error(format!("{is} MiB is little for {whom} {wanted}"))
            .severity(Severity::Warning)
            .at(&memory.place),
    );
}

fn memory(root: &Item, host_memory_mib: Option<u64>, sink: &mut Sink) {
    if root.at("provider").text() == ProviderName::Sim.as_str() {
        return;
    }
    little(
        root.at("control_plane").at("memory"),
        CONTROL_PLANE_MEMORY,
        "a control plane: kubeadm wants",
        sink,
    );
    // Docker's machines are Linux.
    let windows = root.at("provider").text() != ProviderName::Docker.as_str();
    for worker in root.at("workers").items().iter().filter(|_| windows) {
        let whom = "a Windows node: Windows Server and the kubelet want";
        little(worker.at("memory"), WINDOWS_MEMORY, whom, sink);
    }
    let Some(host) = host_memory_mib else {
        return;
    };
    let all: Vec<&Item> = super::derive::nodes(root)
        .map(|node| node.at("memory"))
        .collect();
    let total = all
        .iter()
        .map(|item| item.number())
        .fold(0u64, u64::saturating_add);
    if all.iter().any(|item| item.bad) || total <= host {
        return;
    }
    // The largest that somebody wrote is the first to look at.
    let largest = all
        .iter()
        .filter(|m| m.place.is_written())
        .max_by_key(|m| m.number());
    let place = largest.map_or(Place::Default, |item| item.place.clone());
    sink.push(
        Diagnostic::error(format!(
            "the {} nodes want {total} MiB of memory, and the host has {host}",
            all.len()
        ))
        .severity(Severity::Warning)
        .at(&place)
        .note("lower `control_plane.memory` or the workers' `memory`, or use fewer workers"),
    );
}
