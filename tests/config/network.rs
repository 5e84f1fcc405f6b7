//! Ranges and addresses.

use crate::{mistake, mistakes, read};

#[test]
fn host_bits_are_named_with_the_range_that_was_meant() {
    let problem = mistake("network: {pods: 10.244.0.5/16}");
    assert_eq!(problem.suggestion.as_deref(), Some("10.244.0.0/16"));
}

#[test]
fn overlapping_ranges_name_both() {
    for (text, one, other) in [
        (
            "{pods: 192.168.0.0/16}",
            "192.168.56.0/24",
            "192.168.0.0/16",
        ),
        (
            "{services: 10.244.0.0/20}",
            "10.244.0.0/16",
            "10.244.0.0/20",
        ),
        ("{nodes: 10.97.0.0/24}", "10.97.0.0/24", "10.96.0.0/12"),
        (
            "{pods: 10.85.0.0/16, services: 10.85.0.0/16}",
            "10.85.0.0/16",
            "services",
        ),
    ] {
        let problem = mistake(&format!("network: {text}"));
        assert!(
            problem.message.contains(one) && problem.message.contains(other),
            "{problem}"
        );
        assert!(problem.message.contains("overlap"), "{problem}");
        assert_eq!(problem.line, Some(1), "{problem:?}");
    }
}

#[test]
fn a_pod_range_that_is_too_small_says_what_is_needed() {
    let two = mistake("network: {pods: 10.244.0.0/30}");
    assert!(two.allowed.as_deref().unwrap().contains("/23"), "{two:?}");
    let workers = "{},".repeat(200);
    let many = format!("workers: [{workers}]\nnetwork: {{pods: 10.244.0.0/17}}");
    assert!(mistake(&many).allowed.unwrap().contains("/16"));
    assert!(read(&many.replace("/17", "/16")).is_ok());
}

#[test]
fn a_node_subnet_that_is_too_small_says_what_is_needed() {
    let problem = mistake("network: {nodes: 192.168.56.0/30}");
    assert!(
        problem.allowed.as_deref().unwrap().contains("/29"),
        "{problem:?}"
    );
    assert!(read("network: {nodes: 192.168.56.0/29}").is_ok());
}

#[test]
fn services_have_bounds() {
    assert!(
        mistake("network: {services: 10.96.0.0/30}")
            .message
            .contains("too small")
    );
    assert!(
        mistake("network: {services: 172.0.0.0/8}")
            .message
            .contains("too large")
    );
}

#[test]
fn addresses_that_no_node_can_have() {
    for (address, why) in [
        ("10.20.30.10", "is not in the node subnet `192.168.56.0/24`"),
        ("192.168.56.0", "itself"),
        ("192.168.56.255", "broadcast"),
        ("192.168.56.1", "the host's own"),
    ] {
        let problem = mistake(&format!("workers: [{{address: {address}}}]"));
        assert!(problem.message.contains(why), "{problem}");
        assert_eq!(problem.col, Some(21));
    }
    let twice =
        mistake("control_plane: {address: 192.168.56.20}\nworkers: [{address: 192.168.56.20}]");
    assert!(
        twice.message.contains("already the address of `cp`"),
        "{twice}"
    );
    assert_eq!(twice.line, Some(2));
}

#[test]
fn derived_addresses_go_around_those_in_use() {
    let config = read("control_plane: {address: 192.168.56.11}\nworkers: [{}, {address: 192.168.56.12}, {address: ''}]").unwrap().config;
    let addresses: Vec<String> = config
        .workers
        .iter()
        .map(|w| w.address.to_string())
        .collect();
    assert_eq!(
        addresses,
        ["192.168.56.10", "192.168.56.12", "192.168.56.13"]
    );
}

#[test]
fn derived_names_go_around_those_in_use() {
    let config = read("workers: [{}, {name: winw1}, {}]").unwrap().config;
    let names: Vec<&str> = config.workers.iter().map(|w| w.name.as_str()).collect();
    assert_eq!(names, ["winw2", "winw1", "winw3"]);
}

#[test]
fn two_hundred_nodes_have_their_own_addresses_and_names() {
    let config = read(&format!("workers: [{}]", "{},".repeat(199)))
        .unwrap()
        .config;
    let mut addresses: Vec<_> = config.workers.iter().map(|w| w.address).collect();
    addresses.push(config.control_plane.address);
    addresses.sort();
    addresses.dedup();
    assert_eq!(addresses.len(), 200);
}

#[test]
fn ranges_that_are_none() {
    for text in [
        "10.0.0.0",
        "10.0.0.0/33",
        "fd00::/64",
        "127.0.0.0/8",
        "224.0.0.0/8",
        "0.0.0.0/0",
        "any",
        "''",
    ] {
        assert_eq!(
            mistakes(&format!("network: {{pods: {text}}}"))[0].line,
            Some(1),
            "{text}"
        );
    }
}
