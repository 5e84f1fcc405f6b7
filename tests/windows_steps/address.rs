//! The static address on the private adapter.

use serde_json::{Value, json};
use wdev::channel::Mode;
use wdev::render::windows;

use crate::node::Node;
use crate::ways::{Scene, every_way};

fn body() -> String {
    windows::private_address("00155d0a0b0c", [192, 168, 56, 11].into(), 24).unwrap()
}

/// The way out, and the private adapter with an address of DHCP's, one that it gave itself, and no static one.
fn two_adapters() -> Value {
    json!({
        "adapters": [
            {"Name": "Ethernet", "MacAddress": "00-15-5D-00-00-01", "ifIndex": 4, "Status": "Up"},
            {"Name": "Ethernet 2", "MacAddress": "00-15-5D-0A-0B-0C", "ifIndex": 7, "Status": "Up"},
        ],
        "addresses": [
            {"ifIndex": 4, "IPAddress": "172.29.0.9", "PrefixLength": 20},
            {"ifIndex": 7, "IPAddress": "169.254.1.1", "PrefixLength": 16},
            {"ifIndex": 7, "IPAddress": "10.9.9.9", "PrefixLength": 24},
        ],
        "dhcp": [4, 7],
    })
}

#[test]
fn the_private_adapter_gets_its_address_and_loses_others() {
    let Some(node) = Node::new(&two_adapters()) else {
        return;
    };
    let body = body();
    assert_eq!(
        node.probe(&body).as_deref(),
        Some("Ethernet 2 asks for addresses by DHCP")
    );
    let report = node.call(&body, Mode::Run).done();
    assert!(report.in_place);
    assert_eq!(report.facts["adapter"], "Ethernet 2");
    let expected = [
        "Set-NetIPInterface 7 Disabled",
        "Remove-NetIPAddress 7 10.9.9.9",
        "New-NetIPAddress 7 192.168.56.11/24",
    ];
    assert_eq!(node.log(), expected);
    assert!(node.call(&body, Mode::Run).done().in_place);
    assert_eq!(node.log(), expected, "the second time changes something");
    let other =
        windows::private_address("00:15:5d:ff:ff:ff", [192, 168, 56, 11].into(), 24).unwrap();
    assert!(node.probe(&other).unwrap().contains("no network adapter"));
    assert!(
        node.call(&other, Mode::Run)
            .why()
            .contains("00:15:5d:ff:ff:ff")
    );
    let wider = windows::private_address("00155d0a0b0c", [192, 168, 56, 11].into(), 16).unwrap();
    assert!(
        node.probe(&wider)
            .unwrap()
            .contains("does not have the address")
    );
}

/// As after a virtual switch took the adapter and its address with it.
#[test]
fn an_address_that_windows_only_remembers_can_be_set_again() {
    let Some(node) = Node::new(&two_adapters()) else {
        return;
    };
    node.change(|world| {
        world["remembered"] = json!([{"ifIndex": 7, "IPAddress": "192.168.56.11"}]);
    });
    assert!(node.call(&body(), Mode::Run).done().in_place);
    assert_eq!(node.world()["remembered"], json!([]));
}

#[test]
fn without_a_hardware_address_the_address_step_says_who_knows_it() {
    let Some(node) = Node::new(&json!({})) else {
        return;
    };
    let body = windows::private_address("", [192, 168, 56, 11].into(), 24).unwrap();
    assert!(node.call(&body, Mode::Run).why().contains("`wdev up`"));
    assert!(node.log().is_empty());
}

#[test]
fn the_address_is_set_however_its_step_is_killed() {
    every_way(&Scene {
        name: "private-address",
        body: &body(),
        secrets: &[],
        node: &|| Node::new(&two_adapters()),
        boot: &Node::boot,
        state: &|node| json!([node.world()["addresses"], node.world()["dhcp"]]),
    });
}
