//! Whether the nodes' subnet is free on this host.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use super::description::Network;
use crate::error::{Failure, Kind};

/// Where the kernel lists its IPv4 routes: `Documentation/filesystems/proc.rst`; the columns are those of
/// `net/ipv4/fib_trie.c`, numbers in the byte order of the host.
const ROUTES: &str = "/proc/net/route";

/// A route of the host, or an adapter's own subnet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The adapter.
    pub adapter: String,
    /// The addresses that it leads to.
    pub subnet: Ipv4Net,
}

/// The routes of this host; none where it does not tell.
pub fn routes() -> Vec<Route> {
    parse(&std::fs::read_to_string(ROUTES).unwrap_or_default())
}

fn parse(text: &str) -> Vec<Route> {
    let route = |line: &str| {
        let mut columns = line.split_whitespace();
        let adapter = columns.next()?.to_owned();
        let number = |text: &str| u32::from_str_radix(text, 16).ok();
        let address = |text: &str| number(text).map(|it| Ipv4Addr::from(it.to_ne_bytes()));
        let destination = address(columns.next()?)?;
        let mask = address(columns.nth(5)?)?;
        let subnet = Ipv4Net::with_netmask(destination, mask).ok()?;
        // The way to everywhere takes nothing away.
        (subnet.prefix_len() > 0).then_some(Route { adapter, subnet })
    };
    text.lines().skip(1).filter_map(route).collect()
}

/// What has addresses of `wanted`, in words; nothing when they are free. `own` is the name of the
/// sandbox's own network.
///
/// A wider route, such as a VPN's to all of 10.0.0.0/8, is no obstacle: the narrower one wins.
pub fn taken(wanted: Ipv4Net, own: &str, networks: &[Network], routes: &[Route]) -> Option<String> {
    let overlap = |other: &Ipv4Net| wanted.contains(other) || other.contains(&wanted);
    let network = networks
        .iter()
        .filter(|network| network.name != own)
        .find_map(|network| {
            let subnet = network.subnets.iter().find(|subnet| overlap(subnet))?;
            Some(format!("libvirt's network `{}` has {subnet}", network.name))
        });
    network.or_else(|| {
        let route = routes.iter().find(|route| wanted.contains(&route.subnet))?;
        Some(format!(
            "this host has a route to {} through `{}`",
            route.subnet, route.adapter
        ))
    })
}

/// The failure of a subnet that is taken.
pub fn refused(wanted: Ipv4Net, why: String) -> Box<Failure> {
    Box::new(
        Failure::new(
            Kind::Host,
            format!("the addresses {wanted} for the nodes are in use on this host"),
        )
        .because(why)
        .advise("choose another range: `network.nodes` in `variables.yml`")
        .permanent(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
tun0\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0
virbr1\t0038A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
";

    fn net(text: &str) -> Ipv4Net {
        text.parse().unwrap()
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn an_adapter_in_the_range_is_named_and_a_wider_route_is_no_obstacle() {
        let routes = parse(TEXT);
        assert_eq!(routes.len(), 2, "{routes:?}");
        let why = taken(net("192.168.56.0/24"), "wdev-a", &[], &routes).unwrap();
        assert!(why.contains("`virbr1`"), "{why}");
        assert_eq!(taken(net("10.1.2.0/24"), "wdev-a", &[], &routes), None);
        assert_eq!(taken(net("192.168.57.0/24"), "wdev-a", &[], &routes), None);
    }

    #[test]
    fn another_network_of_libvirt_is_named_and_ones_own_is_none() {
        let network = |name: &str| Network {
            name: name.to_owned(),
            subnets: vec![net("192.168.0.0/16")],
            connected: false,
        };
        let networks = [network("wdev-a"), network("office")];
        let why = taken(net("192.168.56.0/24"), "wdev-a", &networks, &[]).unwrap();
        assert!(why.contains("`office`"), "{why}");
        assert_eq!(
            taken(net("192.168.56.0/24"), "wdev-a", &networks[..1], &[]),
            None
        );
    }
}
