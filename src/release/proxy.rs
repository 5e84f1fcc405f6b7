//! What must not go through a proxy.

use ipnet::Ipv4Net;

use crate::config::model::Network;

/// Names of services, which kube-apiserver calls webhooks by.
const SERVICES: &str = ".svc";

/// What is missing in a list of hosts that are reached without the proxy: ranges of the cluster, and the
/// names of its services. A larger range covers a smaller one.
/// Upstream: `HTTPProxyCIDRCheck` in cmd/kubeadm/app/preflight/checks.go.
#[must_use]
pub fn missing(no_proxy: &[String], network: &Network) -> Vec<String> {
    if no_proxy.iter().any(|entry| entry == "*") {
        return Vec::new();
    }
    let listed: Vec<Ipv4Net> = no_proxy
        .iter()
        .filter_map(|entry| entry.parse().ok())
        .collect();
    let ranges = [network.nodes, network.pods, network.services];
    let ranges = ranges.into_iter().filter(|range| {
        let covered = listed.iter().any(|listed| listed.contains(range));
        !covered
    });
    let mut missing: Vec<String> = ranges.map(|range| range.to_string()).collect();
    let names = no_proxy
        .iter()
        .map(|entry| entry.trim_start_matches(['*', '.']));
    if !names
        .into_iter()
        .any(|name| name == SERVICES.trim_start_matches('.'))
    {
        missing.push(SERVICES.to_owned());
    }
    missing
}
