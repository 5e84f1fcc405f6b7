//! Values that are made from others: names and addresses of nodes, the version of a CNI.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr};

use ipnet::Ipv4Net;

use super::item::{Item, Value};
use super::keys;
use super::scalar::Scalar;
use super::source::Place;

/// Where the addresses of nodes start in the subnet, where it is large enough.
const FIRST_OFFSET: u32 = 10;

/// Fills in what nobody wrote and no default says.
pub(crate) fn derive(root: &mut Item) {
    names(root);
    cni_version(root);
    addresses(root);
}

fn set(item: &mut Item, scalar: Scalar) {
    if item.is_unset() {
        item.value = Value::Scalar(scalar);
        if item.place.is_written() {
            // An empty text asks for what is derived.
            item.place = Place::Default;
        }
    }
}

fn names(root: &mut Item) {
    let mut taken: HashSet<String> = root
        .at("workers")
        .items()
        .iter()
        .map(|w| w.at("name").text().to_owned())
        .collect();
    taken.insert(root.at("control_plane").at("name").text().to_owned());
    let Some(workers) = root.at_mut("workers") else {
        return;
    };
    for (index, worker) in workers.items_mut().iter_mut().enumerate() {
        let Some(name) = worker.at_mut("name").filter(|name| name.is_unset()) else {
            continue;
        };
        let mut number = index + 1;
        while !taken.insert(format!("winw{number}")) {
            number += 1;
        }
        set(name, Scalar::Text(format!("winw{number}")));
    }
}

fn cni_version(root: &mut Item) {
    let name = root.at("cni").at("name").text().to_owned();
    let version = keys::data(&format!("cni.{name}")).unwrap_or_default();
    if let Some(item) = root.at_mut("cni").and_then(|cni| cni.at_mut("version")) {
        set(item, Scalar::Text(version));
    }
}

/// Gives every node without an address the next free one of the node subnet. When the subnet is too
/// small the rest stays without; the check reports it.
fn addresses(root: &mut Item) {
    let Some(subnet) = net(root.at("network").at("nodes")) else {
        return;
    };
    let used: HashSet<Ipv4Addr> = nodes(root)
        .filter_map(|n| address(n.at("address")))
        .collect();
    let mut free = hosts(subnet).filter(|ip| !used.contains(ip));
    let mut give = |node: &mut Item| {
        if let Some(item) = node.at_mut("address").filter(|item| item.is_unset())
            && let Some(ip) = free.next()
        {
            set(item, Scalar::Ip(IpAddr::V4(ip)));
        }
    };
    if let Some(node) = root.at_mut("control_plane") {
        give(node);
    }
    if let Some(workers) = root.at_mut("workers") {
        workers.items_mut().iter_mut().for_each(give);
    }
}

/// The control plane, then the workers.
pub(crate) fn nodes(root: &Item) -> impl Iterator<Item = &Item> {
    std::iter::once(root.at("control_plane")).chain(root.at("workers").items())
}

/// The addresses of `subnet` that a node can have, in the order of their use: from the tenth on,
/// then those before it. The first address is the host's own.
fn hosts(subnet: Ipv4Net) -> impl Iterator<Item = Ipv4Addr> {
    let network = u32::from(subnet.network());
    let last = u32::from(subnet.broadcast()).saturating_sub(1);
    let tenth = network.saturating_add(FIRST_OFFSET);
    let from_tenth = tenth..=last;
    let before = network.saturating_add(2)..=last.min(tenth.saturating_sub(1));
    from_tenth.chain(before).map(Ipv4Addr::from)
}

/// How many nodes fit into `subnet`.
pub(crate) fn room(subnet: Ipv4Net) -> u64 {
    (1u64 << (32 - u32::from(subnet.prefix_len()))).saturating_sub(3)
}

pub(crate) fn net(item: &Item) -> Option<Ipv4Net> {
    match item.scalar() {
        Some(Scalar::Net(net)) => Some(*net),
        _ => None,
    }
}

pub(crate) fn address(item: &Item) -> Option<Ipv4Addr> {
    match item.scalar() {
        Some(Scalar::Ip(IpAddr::V4(ip))) => Some(*ip),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_start_at_ten_and_wrap_around() {
        let all = |net: &str| {
            hosts(net.parse().unwrap())
                .map(|ip| ip.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(all("10.0.0.0/30"), ["10.0.0.2"]);
        assert_eq!(
            all("10.0.0.0/28"),
            [
                "10.0.0.10",
                "10.0.0.11",
                "10.0.0.12",
                "10.0.0.13",
                "10.0.0.14",
                "10.0.0.2",
                "10.0.0.3",
                "10.0.0.4",
                "10.0.0.5",
                "10.0.0.6",
                "10.0.0.7",
                "10.0.0.8",
                "10.0.0.9",
            ]
        );
        for net in [
            "10.0.0.0/30",
            "10.0.0.0/29",
            "10.0.0.0/28",
            "192.168.56.0/24",
            "10.0.0.0/31",
            "10.0.0.0/32",
        ] {
            assert_eq!(room(net.parse().unwrap()), all(net).len() as u64, "{net}");
        }
        assert_eq!(hosts("255.255.255.0/24".parse().unwrap()).count(), 253);
    }
}
