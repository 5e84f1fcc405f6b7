//! Whether this host can be used.

use serde_json::{Value, json};

use crate::host::{Host, SUBNET, SWITCH, address};

fn wanted(first: &str) -> Value {
    json!({"first_switch": first, "switch": SWITCH, "subnet": SUBNET, "address": "192.168.56.1"})
}

#[test]
fn the_default_switch_is_found_by_its_id_in_any_language() {
    let Some(host) = Host::new() else { return };
    let before = host.state();
    let ran = host.run("check.ps1", &wanted(""));
    assert_eq!(ran.done()["first_switch"], "Standardswitch");
    assert_eq!(
        ran.done()["first_switch_id"],
        "C08CB7B8-9B3C-408E-8E30-5E16A3AEB444"
    );
    assert_eq!(ran.done()["network"], false);
    assert_eq!(host.state(), before);
}

#[test]
fn a_switch_can_be_named_in_any_case_or_by_its_id() {
    let Some(host) = Host::new() else { return };
    host.add(
        "switches",
        json!({"Name": "Büro", "Id": "ab-1", "SwitchType": "External", "Notes": ""}),
    );
    for name in ["BÜRO", "AB-1"] {
        assert_eq!(
            host.run("check.ps1", &wanted(name)).done()["first_switch"],
            "Büro"
        );
    }
    let text = host
        .run("check.ps1", &wanted("gone"))
        .failed("no-first-switch", 4);
    assert!(
        text.contains("there are: `Standardswitch`, `Büro`"),
        "{text}"
    );
}

#[test]
fn a_switch_without_addresses_for_machines_is_refused() {
    let Some(host) = Host::new() else { return };
    host.add(
        "switches",
        json!({"Name": "closed", "Id": "p", "SwitchType": "Private", "Notes": ""}),
    );
    host.run("check.ps1", &wanted("closed"))
        .failed("no-first-switch", 4);
    let network = json!({"switch": SWITCH, "subnet": SUBNET, "address": "192.168.56.1"});
    host.run("network.ps1", &network).done();
    let text = host
        .run("check.ps1", &wanted(SWITCH))
        .failed("no-first-switch", 4);
    assert!(text.contains("gives machines no addresses"), "{text}");
}

#[test]
fn a_server_without_a_default_switch_is_told_the_exact_commands() {
    let Some(host) = Host::new() else { return };
    host.set("/switches", json!([]));
    let text = host
        .run("check.ps1", &wanted(""))
        .failed("no-first-switch", 4);
    for words in [
        "New-VMSwitch -Name 'wdev-external' -NetAdapterName 'Ethernet Ü' -AllowManagementOS $true",
        "New-NetNat -Name 'wdev-nat' -InternalIPInterfaceAddressPrefix 172.30.0.0/24",
        "Add-DhcpServerv4Scope",
        "`vagrant: {hyperv: {switch: wdev-nat}}`",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
}

#[test]
fn who_may_use_it_is_decided_by_sid_and_elevation() {
    let Some(host) = Host::new() else { return };
    // An administrator without elevation: the group is there for denials only.
    host.set("/groups", json!(["S-1-5-32-544", "S-1-16-8192"]));
    let text = host.run("check.ps1", &wanted("")).failed("access", 4);
    assert!(
        text.contains("Add-LocalGroupMember -SID S-1-5-32-578"),
        "{text}"
    );
    // A Hyper-V administrator may do all but give this host an address.
    host.set("/groups", json!(["S-1-5-32-578", "S-1-16-8192"]));
    let text = host
        .run("check.ps1", &wanted(""))
        .failed("access-network", 4);
    let command = "New-NetIPAddress -InterfaceAlias 'vEthernet (wdev-192.168.56.0-24)' \
                   -IPAddress 192.168.56.1 -PrefixLength 24";
    assert!(text.contains(command), "{text}");
    let network = json!({"switch": SWITCH, "subnet": SUBNET, "address": "192.168.56.1"});
    host.run("network.ps1", &network).done();
    let ran = host.run("check.ps1", &wanted(""));
    assert_eq!(ran.done()["network"], true);
    assert_eq!(ran.done()["elevated"], false);
}

#[test]
fn a_host_without_a_running_hypervisor_is_told_what_to_do() {
    let Some(host) = Host::new() else { return };
    host.set("/hypervisor", json!(false));
    let text = host
        .run("check.ps1", &wanted(""))
        .failed("no-hypervisor", 4);
    assert!(
        text.contains("bcdedit /set hypervisorlaunchtype auto"),
        "{text}"
    );
    host.set("/hypervisor", json!(true));
    host.set("/service", json!("Stopped"));
    let text = host.run("check.ps1", &wanted("")).failed("no-service", 4);
    assert!(text.contains("Start-Service -Name vmms"), "{text}");
}

#[test]
fn a_host_without_hyper_v_is_told_how_to_get_it() {
    let Some(host) = Host::new() else { return };
    let text = host
        .start("check.ps1", &wanted(""), "$env:PSModulePath = ''")
        .failed("no-module", 4);
    assert!(text.contains("Enable-WindowsOptionalFeature"), "{text}");
}

#[test]
fn a_locked_down_powershell_is_told_before_anything_is_tried() {
    let Some(host) = Host::new() else { return };
    let first = "$ExecutionContext.SessionState.LanguageMode = 'ConstrainedLanguage'";
    for script in ["check.ps1", "network.ps1"] {
        let text = host
            .start(script, &wanted(""), first)
            .failed("language-mode", 4);
        assert!(text.contains("`ConstrainedLanguage`"), "{text}");
    }
}

#[test]
fn a_range_that_is_in_use_is_found_before_anything_is_made() {
    let Some(host) = Host::new() else { return };
    host.add("addresses", address("192.168.56.9", 32, 12, "VPN"));
    let text = host.run("check.ps1", &wanted("")).failed("overlap", 4);
    assert!(
        text.contains("the adapter `VPN` has the address 192.168.56.9/32"),
        "{text}"
    );
}
