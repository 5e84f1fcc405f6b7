//! What a Vagrantfile for a hypervisor asks Vagrant for.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use wdev::config::model::ProviderName;
use wdev::provider::vagrant::hypervisor::Choices;
use wdev::render::vagrantfile::private_mac;

use crate::common;
use crate::sandbox::{HYPERVISORS, render, render_with, text};

/// Every call of a Vagrantfile.
struct Calls(Vec<(String, Value)>);

impl Calls {
    /// Of a sandbox; nothing when there is no Ruby.
    fn of(provider: ProviderName, variables: &str) -> Option<Self> {
        common::calls(&text(provider, variables)).map(Self)
    }

    /// The arguments of every call of one name.
    fn all(&self, name: &str) -> Vec<&Value> {
        let named = self.0.iter().filter(|(call, _)| call == name);
        named.map(|(_, args)| args).collect()
    }

    /// The values that a setting in the machines' blocks gets.
    fn set(&self, name: &str) -> Vec<&Value> {
        let args = self.all(&format!("config.vm.define.{name}="));
        args.into_iter().map(|args| &args[0]).collect()
    }

    /// The values that a setting in the providers' blocks gets.
    fn set_by_provider(&self, name: &str) -> Vec<&Value> {
        self.set(&format!("vm.provider.{name}"))
    }

    fn networks(&self, kind: &str) -> Vec<&Value> {
        let all = self.all("config.vm.define.vm.network");
        all.into_iter()
            .filter(|args| args[0] == kind)
            .map(|args| &args[1])
            .collect()
    }

    fn host_ports(&self) -> Vec<u64> {
        let ports = self.networks("forwarded_port").into_iter();
        ports.map(|port| port["host"].as_u64().unwrap()).collect()
    }
}

#[test]
fn windows_is_reached_as_its_box_needs_it_and_never_renamed_by_vagrant() {
    for provider in HYPERVISORS {
        let variables = "workers: [{}, {communicator: ssh}]";
        let Some(calls) = Calls::of(provider, variables) else {
            return;
        };
        assert_eq!(calls.set("vm.guest"), [&json!("windows"); 2]);
        assert_eq!(
            calls.set("vm.communicator"),
            [&json!("winrm"), &json!("winssh")]
        );
        assert_eq!(calls.set("vm.hostname"), [&json!("cp")]);
        assert_eq!(calls.set("winrm.timeout"), [&json!(300)]);
        assert_eq!(calls.set("winssh.shell"), [&json!("powershell")]);
        // Vagrant would put its key where Windows does not look, and lock itself out.
        assert_eq!(calls.set("winssh.insert_key"), [&json!(false)]);
        assert_eq!(calls.set("vm.boot_timeout"), [&json!(900); 3]);
        assert_eq!(calls.set("vm.graceful_halt_timeout"), [&json!(300); 3]);
        assert_eq!(calls.all("config.vm.synced_folder").len(), 1);
    }
}

#[test]
fn every_step_is_a_provisioner_that_runs_only_by_name_and_a_secret_is_in_none() {
    let Some(calls) = Calls::of(ProviderName::Virtualbox, "") else {
        return;
    };
    let provisions = calls.all("config.vm.define.vm.provision");
    assert!(provisions.len() > 2, "{provisions:?}");
    for args in provisions {
        assert_eq!(args[1], json!({"type": "shell", "run": "never"}), "{args}");
    }
    let paths = calls.set("vm.provision.path");
    assert!(paths.contains(&&json!("steps/cp/kernel.sh")), "{paths:?}");
    assert!(
        paths.contains(&&json!("steps/winw1/probe.ps1")),
        "{paths:?}"
    );
    let uploads = calls.set("vm.provision.upload_path");
    assert!(
        uploads.contains(&&json!("/tmp/wdev-kernel.sh")),
        "{uploads:?}"
    );
    assert!(
        uploads.contains(&&json!("C:/Windows/Temp/wdev-probe.ps1")),
        "{uploads:?}"
    );
    let text = text(ProviderName::Virtualbox, "");
    assert!(
        text.contains("# 'join' needs what is in no file here"),
        "{text}"
    );
    assert!(text.contains("`wdev up` runs it"), "{text}");
}

/// The script that a step of `winw1` runs by hand.
fn by_hand(provider: ProviderName, step: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    render(provider, "", folder.path());
    std::fs::read_to_string(folder.path().join(format!("steps/winw1/{step}.ps1"))).unwrap()
}

#[test]
fn by_hand_a_windows_machine_finds_its_adapter_or_says_who_knows_it() {
    for provider in HYPERVISORS {
        let script = by_hand(provider, "address");
        let mac = private_mac(provider, "wdev-default-1a2b3c-winw1").unwrap_or_default();
        assert!(
            script.contains(&format!("'mac' = '{mac}'")),
            "{provider}: {script}"
        );
        let access = by_hand(provider, "ssh-access");
        assert!(access.contains("throw ") && access.contains("`wdev up`"));
    }
}

#[test]
fn no_two_machines_want_the_same_name_port_or_hardware_address() {
    for provider in [ProviderName::Virtualbox, ProviderName::VmwareDesktop] {
        let Some(calls) = Calls::of(provider, "workers: [{}, {}, {communicator: ssh}]") else {
            return;
        };
        let ports = calls.host_ports();
        // SSH of four machines, WinRM with and without TLS of two.
        assert_eq!(ports.len(), 8);
        assert_eq!(ports.iter().collect::<BTreeSet<_>>().len(), 8, "{ports:?}");
        for port in calls.networks("forwarded_port") {
            assert_eq!(port["auto_correct"], json!(true));
            assert_eq!(port["host_ip"], json!("127.0.0.1"));
        }
        let private = calls.networks("private_network");
        assert_eq!(private.len(), 4);
        assert_eq!(
            private[0],
            &json!({"ip": "192.168.56.10", "netmask": "255.255.255.0"})
        );
        for (number, network) in private[1..].iter().enumerate() {
            // The guest finds its adapter by this address and configures it itself.
            let unique = format!("wdev-default-1a2b3c-winw{}", number + 1);
            assert_eq!(
                network["mac"],
                json!(private_mac(provider, &unique).unwrap())
            );
            assert_eq!(network["auto_config"], json!(false));
        }
    }
}

#[test]
fn a_box_from_a_file_is_checked_by_its_checksum() {
    let sum = "ABCD".repeat(16);
    let variables = format!(
        "control_plane: {{box_url: 'https://mirror.example/a%20b.box', box_checksum: 'sha256:{sum}'}}"
    );
    let Some(calls) = Calls::of(ProviderName::Hyperv, &variables) else {
        return;
    };
    assert_eq!(
        calls.set("vm.box_url"),
        [&json!("https://mirror.example/a%20b.box")]
    );
    // Vagrant before 2.4.2 takes the type in lower case only.
    assert_eq!(
        calls.set("vm.box_download_checksum_type"),
        [&json!("sha256")]
    );
    assert_eq!(
        calls.set("vm.box_download_checksum"),
        [&json!(sum.to_lowercase())]
    );
    // The worker's is the default, at its exact version.
    assert_eq!(calls.set("vm.box_version").len(), 1);
}

#[test]
fn a_path_with_a_percent_sign_stays_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("100%25.box");
    std::fs::write(&file, "x").unwrap();
    let variables = format!("control_plane: {{box_url: '{}'}}", file.display());
    let Some(calls) = Calls::of(ProviderName::Libvirt, &variables) else {
        return;
    };
    let url = calls.set("vm.box_url")[0].as_str().unwrap().to_owned();
    assert!(url.ends_with("/100%2525.box"), "{url}");
}

#[test]
fn nested_virtualization_comes_only_when_asked_for() {
    let with = "workers: [{nested_virtualization: true}]";
    for (provider, setting) in [
        (ProviderName::Hyperv, "enable_virtualization_extensions"),
        (ProviderName::Libvirt, "nested"),
    ] {
        let Some(calls) = Calls::of(provider, with) else {
            return;
        };
        assert_eq!(
            calls.set_by_provider(setting),
            [&json!(false), &json!(true)]
        );
    }
    for (provider, words) in [
        (ProviderName::Virtualbox, "\"--nested-hw-virt\", \"on\""),
        (ProviderName::VmwareDesktop, "[\"vhv.enable\"] = \"TRUE\""),
    ] {
        assert_eq!(text(provider, with).matches(words).count(), 1, "{provider}");
        assert!(!text(provider, "").contains(words), "{provider}");
    }
}

#[test]
fn hyperv_takes_the_default_switch_or_the_one_that_is_named() {
    let Some(calls) = Calls::of(ProviderName::Hyperv, "") else {
        return;
    };
    let switches = calls.networks("public_network");
    // By the id first: the name is another one in other languages.
    assert_eq!(
        switches[0]["bridge"],
        json!("C08CB7B8-9B3C-408E-8E30-5E16A3AEB444")
    );
    assert_eq!(switches[1], &json!({"bridge": "Default Switch"}));
    assert_eq!(
        calls.set_by_provider("enable_automatic_checkpoints"),
        [&json!(false); 2]
    );
    assert_eq!(
        calls.set_by_provider("ip_address_timeout"),
        [&json!(900); 2]
    );
    assert!(calls.networks("private_network").is_empty());

    let choices = Choices {
        hyperv_switch: "it's \"mine\"".to_owned(),
        ..Choices::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let text = render_with(ProviderName::Hyperv, "", &choices, folder.path());
    let calls = Calls(common::calls(&text).unwrap());
    let named = json!({"bridge": "it's \"mine\""});
    assert_eq!(calls.networks("public_network"), [&named, &named]);
}

#[test]
fn libvirt_gives_windows_what_it_has_drivers_for_and_each_sandbox_its_network() {
    let Some(calls) = Calls::of(ProviderName::Libvirt, "workers: [{}, {box: me/own}]") else {
        return;
    };
    // A box of one's own says itself what it needs.
    assert_eq!(
        calls.set_by_provider("disk_bus"),
        [&json!("virtio"), &json!("sata")]
    );
    assert_eq!(
        calls.set_by_provider("nic_model_type"),
        [&json!("virtio"), &json!("e1000e")]
    );
    assert_eq!(calls.set_by_provider("machine_type"), [&json!("q35"); 3]);
    assert_eq!(
        calls.set_by_provider("cpu_mode"),
        [&json!("host-passthrough"); 3]
    );
    assert_eq!(
        calls.set_by_provider("default_prefix"),
        [&json!("wdev-default-1a2b3c-"); 3]
    );
    assert_eq!(
        calls.set_by_provider("qemu_use_session"),
        [&json!(false); 3]
    );
    for network in calls.networks("private_network") {
        assert_eq!(
            network["libvirt__network_name"],
            json!("wdev-default-1a2b3c")
        );
        assert_eq!(network["libvirt__host_ip"], json!("192.168.56.1"));
        assert_eq!(network["libvirt__dhcp_enabled"], json!(false));
    }
    for port in calls.networks("forwarded_port") {
        assert_eq!(port["disabled"], json!(true), "{port}");
    }
}

#[test]
fn emulated_machines_get_a_processor_that_every_qemu_has() {
    let choices = Choices {
        emulated: true,
        ..Choices::default()
    };
    let render = |variables: &str| {
        let folder = tempfile::tempdir().unwrap();
        render_with(ProviderName::Libvirt, variables, &choices, folder.path())
    };
    let Some(calls) = common::calls(&render("")).map(Calls) else {
        return;
    };
    assert_eq!(calls.set_by_provider("driver"), [&json!("qemu"); 2]);
    assert_eq!(calls.set_by_provider("cpu_mode"), [&json!("custom"); 2]);
    assert_eq!(calls.set_by_provider("cpu_model"), [&json!("qemu64"); 2]);
    let chosen = render("vagrant: {libvirt: {cpu_model: Haswell}}");
    let calls = Calls(common::calls(&chosen).unwrap());
    assert_eq!(calls.set_by_provider("cpu_model"), [&json!("Haswell"); 2]);
}

#[test]
fn secure_boot_is_off_where_the_network_plugin_needs_it() {
    let line = "p.vmx[\"uefi.secureBoot.enabled\"] = \"FALSE\"";
    let windows_only = text(ProviderName::VmwareDesktop, "cni: antrea");
    assert_eq!(windows_only.matches(line).count(), 1);
    assert!(!text(ProviderName::VmwareDesktop, "cni: calico").contains(line));
}
