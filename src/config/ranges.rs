//! What must hold between address ranges and addresses.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use super::derive::{address, net, nodes, room};
use super::diagnostic::{Diagnostic, Sink};
use super::item::Item;
use super::source::Place;

/// The prefix length of the block of pod addresses that each node gets: kube-controller-manager's
/// `--node-cidr-mask-size`.
const NODE_BLOCK: u8 = 24;
/// The controller manager refuses a pod CIDR of more than 2^16 node blocks.
const PODS_MIN_PREFIX: u8 = NODE_BLOCK - 16;
/// kube-apiserver takes at most 20 bits of service addresses, kubeadm at least ten addresses.
/// <https://github.com/kubernetes/kubernetes/blob/master/cmd/kubeadm/app/constants/constants.go>
const SERVICES_PREFIX: std::ops::RangeInclusive<u8> = 12..=28;

const NAMES: [&str; 3] = ["nodes", "pods", "services"];

/// Checks the ranges of `network` and the addresses of nodes.
pub(crate) fn check(root: &Item, sink: &mut Sink) {
    let network = root.at("network");
    let range = |name: &str| {
        let item = network.at(name);
        if item.bad {
            None
        } else {
            net(item).map(|net| (net, &item.place))
        }
    };
    overlaps(&NAMES.map(|name| (name, range(name))), sink);
    let count = nodes(root).count() as u64;
    if let Some((pods, place)) = range("pods") {
        pods_fit(pods, count, place, sink);
    }
    if let Some((services, place)) = range("services") {
        services_fit(services, place, sink);
    }
    if let Some((subnet, place)) = range("nodes") {
        if room(subnet) < count {
            sink.push(
                Diagnostic::error(format!(
                    "the node subnet `{subnet}` has room for {} nodes, and there are {count}",
                    room(subnet)
                ))
                .at(place)
                .allow(format!("a /{} or larger", prefix_for(count + 3, 32))),
            );
        } else {
            addresses(root, subnet, sink);
        }
    }
}

fn overlaps(ranges: &[(&str, Option<(Ipv4Net, &Place)>)], sink: &mut Sink) {
    for (index, (name, range)) in ranges.iter().enumerate() {
        for (other, second) in ranges.iter().skip(index + 1) {
            let (Some((a, first)), Some((b, second))) = (range, second) else {
                continue;
            };
            if !a.contains(b) && !b.contains(a) {
                continue;
            }
            let message =
                format!("the ranges of `network.{name}` ({a}) and `network.{other}` ({b}) overlap");
            // At the one that somebody wrote; the other one is named with its place.
            let (here, there, far) = if second.is_written() {
                (*second, *first, name)
            } else {
                (*first, *second, other)
            };
            sink.push(Diagnostic::error(message).at(here).note(match there {
                Place::Default => format!("`network.{far}` is the default"),
                there => format!("`network.{far}` is from {}", there.origin()),
            }));
        }
    }
}

/// The longest prefix whose range holds `count` blocks of prefix length `block`.
fn prefix_for(count: u64, block: u8) -> u8 {
    let bits = count.max(1).next_power_of_two().trailing_zeros();
    block.saturating_sub(u8::try_from(bits).unwrap_or(block))
}

fn pods_fit(pods: Ipv4Net, count: u64, place: &Place, sink: &mut Sink) {
    let needed = prefix_for(count, NODE_BLOCK);
    if pods.prefix_len() > needed {
        sink.push(
            Diagnostic::error(format!(
                "the pod CIDR `{pods}` is too small for {count} nodes"
            ))
            .at(place)
            .allow(format!(
                "a /{needed} or larger: each node gets a /{NODE_BLOCK} of it"
            )),
        );
    } else if pods.prefix_len() < PODS_MIN_PREFIX {
        sink.push(
            Diagnostic::error(format!("the pod CIDR `{pods}` is too large"))
                .at(place)
                .allow(format!("a /{PODS_MIN_PREFIX} or smaller")),
        );
    }
}

fn services_fit(services: Ipv4Net, place: &Place, sink: &mut Sink) {
    let prefix = services.prefix_len();
    if !SERVICES_PREFIX.contains(&prefix) {
        let size = if prefix < *SERVICES_PREFIX.start() {
            "large"
        } else {
            "small"
        };
        sink.push(
            Diagnostic::error(format!("the service CIDR `{services}` is too {size}"))
                .at(place)
                .allow(format!(
                    "from /{} to /{}",
                    SERVICES_PREFIX.start(),
                    SERVICES_PREFIX.end()
                )),
        );
    }
}

fn addresses(root: &Item, subnet: Ipv4Net, sink: &mut Sink) {
    let own = Ipv4Addr::from(u32::from(subnet.network()).saturating_add(1));
    let mut seen: HashMap<Ipv4Addr, &Item> = HashMap::new();
    for node in nodes(root) {
        let item = node.at("address");
        let Some(ip) = address(item).filter(|_| !item.bad) else {
            continue;
        };
        let wrong = if !subnet.contains(&ip) {
            format!("is not in the node subnet `{subnet}`")
        } else if ip == subnet.network() {
            format!("is the node subnet `{subnet}` itself")
        } else if ip == subnet.broadcast() {
            format!("is the broadcast address of the node subnet `{subnet}`")
        } else if ip == own {
            "is the host's own address in the node subnet".to_owned()
        } else if let Some(other) = seen.get(&ip) {
            format!("is already the address of `{}`", other.at("name").text())
        } else {
            seen.insert(ip, node);
            continue;
        };
        let first = u32::from(own).saturating_add(1);
        let last = u32::from(subnet.broadcast()).saturating_sub(1);
        sink.push(
            Diagnostic::error(format!("the address {ip} {wrong}"))
                .at(&item.place)
                .allow(format!(
                    "an address from {} to {}",
                    Ipv4Addr::from(first),
                    Ipv4Addr::from(last)
                )),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::prefix_for;

    #[test]
    fn the_smallest_range_that_holds_every_node() {
        for (nodes, prefix) in [(1, 24), (2, 23), (3, 22), (4, 22), (5, 21), (200, 16)] {
            assert_eq!(prefix_for(nodes, 24), prefix, "{nodes}");
        }
    }
}
