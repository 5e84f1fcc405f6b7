//! What a machine gets beside what Vagrant does, and the removal of half-made ones.

use serde_json::{Value, json};

use crate::host::{Host, Ran, SWITCH};

const ID: &str = "1b6a8a1e-33b1-4b1c-9d9e-0f6f2e7a1c11";

/// A machine as Vagrant leaves it: all adapters on the first one's switch.
pub(crate) fn machine(generation: u8, state: &str, adapters: &[(&str, &str)]) -> Value {
    let adapter = |(n, (name, switch)): (usize, &(&str, &str))| {
        json!({"Name": name, "SwitchName": switch, "MacAddress": format!("00155D0000{n:02X}"),
               "MacAddressSpoofing": "Off"})
    };
    json!({"Id": ID, "Name": "sandbox-1a2b-winw1", "State": state, "Generation": generation,
           "Path": "C:\\s\\.vagrant\\machines\\winw1\\hyperv", "AutomaticCheckpointsEnabled": true,
           "SecureBoot": "On",
           "adapters": adapters.iter().enumerate().map(adapter).collect::<Vec<_>>()})
}

fn wanted(secure_boot: &str) -> Value {
    json!({"machine": ID, "switch": SWITCH, "adapter": "wdev", "mac_spoofing": true,
           "secure_boot": secure_boot})
}

const FIRST: (&str, &str) = ("Netzwerkkarte", "Standardswitch");

/// Runs it and checks what every run leaves.
fn run(host: &Host, secure_boot: &str) -> Ran {
    let ran = host.run("machine.ps1", &wanted(secure_boot));
    ran.done();
    assert_eq!(host.get("/vms/0/State"), "Running");
    assert_eq!(host.get("/vms/0/AutomaticCheckpointsEnabled"), false);
    assert_eq!(host.get("/vms/0/adapters/0/SwitchName"), "Standardswitch");
    assert_eq!(host.get("/vms/0/adapters/1/SwitchName"), SWITCH);
    for n in 0..2 {
        let pointer = format!("/vms/0/adapters/{n}/MacAddressSpoofing");
        assert_eq!(host.get(&pointer), "On");
    }
    ran
}

#[test]
fn generation_2_gets_its_second_adapter_while_it_runs() {
    let Some(host) = Host::new() else { return };
    host.add("vms", machine(2, "Running", &[FIRST]));
    let ran = run(&host, "keep");
    assert_eq!(ran.done()["mac"], "00:15:5d:0a:0b:0c");
    assert_eq!(ran.done()["restarted"], false);
    assert_eq!(host.get("/stops"), 0);
    assert_eq!(host.get("/vms/0/SecureBoot"), "On");
    let before = host.state();
    let again = run(&host, "keep");
    assert_eq!(
        (again.changes(), &again.done()["mac"]),
        (0, &json!("00:15:5d:0a:0b:0c"))
    );
    assert_eq!(host.state(), before);
}

#[test]
fn generation_1_is_stopped_for_it_once() {
    let Some(host) = Host::new() else { return };
    host.add("vms", machine(1, "Running", &[FIRST]));
    let ran = run(&host, "off");
    assert_eq!(ran.done()["restarted"], true);
    assert_eq!(
        ran.done()["mac"],
        "00:15:5d:0a:0b:0c",
        "known after the start"
    );
    assert_eq!(run(&host, "off").done()["restarted"], false);
    assert_eq!(host.get("/stops"), 1);
}

#[test]
fn an_adapter_that_vagrant_moved_is_connected_again() {
    let Some(host) = Host::new() else { return };
    host.add(
        "vms",
        machine(2, "Running", &[FIRST, ("wdev", "Standardswitch")]),
    );
    assert_eq!(run(&host, "keep").done()["mac"], "00:15:5d:00:00:01");
    assert_eq!(host.get("/vms/0/adapters").as_array().unwrap().len(), 2);
}

#[test]
fn secure_boot_is_changed_while_the_machine_is_off() {
    let Some(host) = Host::new() else { return };
    host.add("vms", machine(2, "Running", &[FIRST]));
    assert_eq!(run(&host, "off").done()["restarted"], true);
    assert_eq!(host.get("/vms/0/SecureBoot"), "off");
    assert_eq!(host.get("/stops"), 1);
}

#[test]
fn a_failure_between_stop_and_start_is_mended_by_the_next_run() {
    let Some(host) = Host::new() else { return };
    host.add("vms", machine(1, "Running", &[FIRST]));
    host.plant("Add-VMNetworkAdapter", 1, "out of memory");
    let text = host.run("machine.ps1", &wanted("keep")).failed("cmdlet", 5);
    assert!(
        text.contains(
            "could not add an adapter on `wdev-192.168.56.0-24` to the machine `sandbox-1a2b-winw1`"
        ),
        "{text}"
    );
    assert_eq!(host.get("/vms/0/State"), "Off");
    run(&host, "keep");
}

#[test]
fn a_guest_that_does_not_shut_down_is_turned_off() {
    let Some(host) = Host::new() else { return };
    host.add("vms", machine(1, "Running", &[FIRST]));
    host.plant("Stop-VM", 1, "the shutdown service does not answer");
    let ran = run(&host, "keep");
    assert!(
        ran.err.contains("the shutdown service does not answer"),
        "{}",
        ran.err
    );
}

#[test]
fn a_machine_that_is_not_there_is_told() {
    let Some(host) = Host::new() else { return };
    let text = host.run("machine.ps1", &wanted("keep")).failed("cmdlet", 5);
    assert!(text.contains(ID), "{text}");
}

#[test]
fn half_made_machines_of_one_node_are_removed_and_no_other() {
    let Some(host) = Host::new() else { return };
    let with = |id: &str, path: &str, state: &str| {
        let mut machine = machine(2, state, &[]);
        machine["Id"] = json!(id);
        machine["Path"] = json!(path);
        host.add("vms", machine);
    };
    with(
        "known",
        "C:\\S\\.vagrant\\machines\\winw1\\hyperv",
        "Running",
    );
    with(
        "lost",
        "c:\\s\\.vagrant\\machines\\WINW1\\hyperv\\",
        "Running",
    );
    with("other", "C:\\s\\.vagrant\\machines\\winw10\\hyperv", "Off");
    let wanted = json!({"folder": "C:/s/.vagrant/machines/winw1", "keep": "known"});
    assert_eq!(host.run("machine-remove.ps1", &wanted).done()["removed"], 1);
    let left = host.get("/vms");
    let ids: Vec<_> = left
        .as_array()
        .unwrap()
        .iter()
        .map(|vm| vm["Id"].clone())
        .collect();
    assert_eq!(ids, ["known", "other"]);
    assert_eq!(host.run("machine-remove.ps1", &wanted).done()["removed"], 0);
}
