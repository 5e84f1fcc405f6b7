//! The switch with the host's address, and its removal.

use serde_json::{Value, json};

use crate::host::{Host, SUBNET, SWITCH, address, route};

fn wanted() -> Value {
    json!({"switch": SWITCH, "subnet": SUBNET, "address": "192.168.56.1"})
}

fn gone() -> Value {
    json!({"switch": SWITCH})
}

#[test]
fn the_first_run_makes_it_and_the_second_changes_nothing() {
    let Some(host) = Host::new() else { return };
    // Windows makes the adapter a moment after the switch.
    host.set("/unseen", json!(2));
    assert_eq!(host.run("network.ps1", &wanted()).done()["made"], true);
    assert_eq!(host.get("/switches/1/Name"), SWITCH);
    assert_eq!(host.get("/switches/1/SwitchType"), "Internal");
    assert_eq!(host.addresses(), ["10.1.2.3/24", "192.168.56.1/24"]);
    let before = host.state();
    let again = host.run("network.ps1", &wanted());
    assert_eq!(again.done()["made"], false);
    assert_eq!(again.changes(), 0);
    assert_eq!(host.state(), before);
}

#[test]
fn what_has_the_range_already_is_named_and_nothing_is_made() {
    let Some(host) = Host::new() else { return };
    host.add(
        "addresses",
        address("192.168.56.17", 25, 9, "VirtualBox Host-Only Ü"),
    );
    host.add(
        "routes",
        route("192.168.56.0/25", 9, "VirtualBox Host-Only Ü"),
    );
    host.add("routes", route("192.168.0.0/16", 12, "VPN"));
    host.add(
        "nats",
        json!({"Name": "wsl", "InternalIPInterfaceAddressPrefix": "192.168.56.128/26"}),
    );
    // These are no reason: neighbours, the halves of a default route, and a NAT without a range.
    host.add("addresses", address("192.168.57.1", 24, 10, "other"));
    host.add("routes", route("128.0.0.0/1", 12, "VPN"));
    host.add(
        "nats",
        json!({"Name": "external", "InternalIPInterfaceAddressPrefix": null}),
    );
    let before = host.state();
    let text = host.run("network.ps1", &wanted()).failed("overlap", 4);
    for words in [
        "the adapter `VirtualBox Host-Only Ü` has the address 192.168.56.17/25; \
         the route 192.168.0.0/16 goes through `VPN`; \
         the address translation (NetNat) `wsl` serves 192.168.56.128/26\"",
        "`network.nodes`",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    assert_eq!(host.state(), before);
}

#[test]
fn a_host_without_address_translation_is_fine() {
    let Some(host) = Host::new() else { return };
    host.plant("Get-NetNat", 1, "Invalid class");
    assert_eq!(host.run("network.ps1", &wanted()).done()["made"], true);
}

#[test]
fn a_switch_of_somebody_else_is_neither_taken_nor_removed() {
    let Some(host) = Host::new() else { return };
    let foreign = json!({"Name": SWITCH, "Id": "x", "SwitchType": "Internal", "Notes": "mine"});
    host.add("switches", foreign);
    let before = host.state();
    let text = host
        .run("network.ps1", &wanted())
        .failed("foreign-switch", 4);
    assert!(
        text.contains(&format!("Rename-VMSwitch -Name '{SWITCH}'")),
        "{text}"
    );
    let removal = host.run("network-remove.ps1", &gone());
    assert_eq!(removal.done()["removed"], false);
    assert!(removal.err.contains("left alone"), "{}", removal.err);
    assert_eq!(host.state(), before);
}

#[test]
fn a_switch_of_ours_with_another_address_is_mended() {
    let Some(host) = Host::new() else { return };
    host.run("network.ps1", &wanted()).done();
    host.set("/addresses/1/IPAddress", json!("192.168.56.77"));
    host.add("addresses", address("172.31.0.1", 16, 41, "vEthernet"));
    let ran = host.run("network.ps1", &wanted());
    assert_eq!(ran.done()["made"], true);
    assert_eq!(ran.changes(), 3, "two addresses removed, one given");
    assert_eq!(host.addresses(), ["10.1.2.3/24", "192.168.56.1/24"]);
    // The right address with a wrong length is a wrong address.
    host.set("/addresses/1/PrefixLength", json!(16));
    host.run("network.ps1", &wanted()).done();
    assert_eq!(host.addresses(), ["10.1.2.3/24", "192.168.56.1/24"]);
}

#[test]
fn a_failure_half_way_is_told_and_the_next_run_goes_on() {
    let Some(host) = Host::new() else { return };
    for (cmdlet, switches) in [
        ("New-VMSwitch", 1),
        ("Set-NetIPInterface", 2),
        ("New-NetIPAddress", 2),
    ] {
        host.plant(cmdlet, 1, "Zugriff verweigert Ü");
        let text = host.run("network.ps1", &wanted()).failed("cmdlet", 5);
        assert!(text.contains("Zugriff verweigert Ü"), "{text}");
        let made = host.get("/switches");
        assert_eq!(made.as_array().unwrap().len(), switches, "{cmdlet}");
    }
    assert_eq!(host.run("network.ps1", &wanted()).done()["made"], true);
    assert_eq!(host.addresses(), ["10.1.2.3/24", "192.168.56.1/24"]);
    assert_eq!(host.get("/switches").as_array().unwrap().len(), 2);
}

#[test]
fn missing_rights_are_recognised_by_class_not_by_words() {
    let Some(host) = Host::new() else { return };
    host.set(
        "/fail",
        json!({"New-NetIPAddress": {"times": 1, "text": "Zugriff verweigert", "category": "PermissionDenied"}}),
    );
    let text = host
        .run("network.ps1", &wanted())
        .failed("access-denied", 5);
    assert!(text.contains("`Run as administrator`"), "{text}");
}

#[test]
fn removal_takes_back_all_that_was_made_and_may_be_repeated() {
    let Some(host) = Host::new() else { return };
    let before = host.state();
    host.run("network.ps1", &wanted()).done();
    // Half-way as well.
    host.plant("Remove-VMSwitch", 1, "busy");
    host.run("network-remove.ps1", &gone()).failed("cmdlet", 5);
    assert_eq!(
        host.run("network-remove.ps1", &gone()).done()["removed"],
        true
    );
    assert_eq!(host.state(), before);
    assert_eq!(
        host.run("network-remove.ps1", &gone()).done()["removed"],
        false
    );
    assert_eq!(host.state(), before);
}

#[test]
fn a_switch_that_a_machine_is_connected_to_stays() {
    let Some(host) = Host::new() else { return };
    host.run("network.ps1", &wanted()).done();
    host.add(
        "vms",
        crate::machine::machine(2, "Off", &[("wdev", SWITCH)]),
    );
    let before = host.state();
    let text = host
        .run("network-remove.ps1", &gone())
        .failed("switch-in-use", 4);
    assert!(text.contains("sandbox-1a2b-winw1"), "{text}");
    assert_eq!(host.state(), before);
}

#[test]
fn parameters_that_cannot_be_used_are_told() {
    let Some(host) = Host::new() else { return };
    let mut parameters = wanted();
    parameters["switch"] = json!("Default Switch");
    parameters["more"] = json!(1);
    parameters.as_object_mut().unwrap().remove("address");
    let text = host.run("network.ps1", &parameters).failed("parameters", 1);
    for words in [
        "`switch` cannot be `Default Switch`",
        "`address` is missing",
        "`more` is unknown",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    host.run("network.ps1", &json!("no object"))
        .failed("parameters", 1);
}
