//! What makes a Windows node reachable, and what is done on it without SSH.

use std::process::Command;

use serde_json::{Value, json};
use wdev::channel::Mode;
use wdev::channel::Os;
use wdev::channel::guest::{Errand, guest};
use wdev::channel::wrap::End;
use wdev::render::windows;

use crate::common;
use crate::node::Node;
use crate::ways::{Scene, every_way};

const KEY: &str = "ssh-ed25519 AAAAC3Nz wdev";
const KEYS: &str = "c/ProgramData/ssh/administrators_authorized_keys";

fn sshd(status: &str, start: &str) -> Value {
    json!({"sshd": {"Name": "sshd", "Status": status, "StartType": start}})
}

#[test]
fn ssh_is_installed_where_it_is_missing_and_nothing_is_done_twice() {
    let Some(node) = Node::new(&json!({})) else {
        return;
    };
    let body = windows::ssh_access(KEY).unwrap();
    assert_eq!(
        node.probe(&body).as_deref(),
        Some("OpenSSH is not installed")
    );
    let report = node.call(&body, Mode::Run).done();
    assert!(report.in_place && !report.reboot_wanted);
    assert_eq!(
        node.log(),
        [
            "Add-WindowsCapability OpenSSH.Server~~~~0.0.1.0",
            "Set-Service sshd Automatic",
            "Start-Service sshd",
            "New-NetFirewallRule OpenSSH-Server-In-TCP",
        ]
    );
    assert_eq!(node.read(KEYS), format!("{KEY}\n"));
    let only_owners = format!(
        "{} /inheritance:r /grant:r *S-1-5-18:F *S-1-5-32-544:F /q\n",
        node.path(KEYS).display()
    );
    assert!(node.read("bin/icacls.exe.asked").ends_with(&only_owners));

    assert!(node.call(&body, Mode::Run).done().in_place);
    assert_eq!(node.read(KEYS), format!("{KEY}\n"));
    assert!(
        !node.log()[4..]
            .iter()
            .any(|said| said.starts_with("Add-") || said.starts_with("New-"))
    );
    assert_eq!(node.probe(&body), None);
}

#[test]
fn ssh_that_is_there_and_stopped_is_opened_for_every_network_and_other_keys_stay() {
    let world = json!({
        "services": sshd("Stopped", "Disabled"),
        "rules": {"OpenSSH-Server-In-TCP": {"Enabled": "True", "Profile": "Private", "Action": "Allow"}},
    });
    let Some(node) = Node::new(&world) else {
        return;
    };
    std::fs::create_dir_all(node.path("c/ProgramData/ssh")).unwrap();
    std::fs::write(node.path(KEYS), "ssh-rsa AAAA somebody's\r\n").unwrap();
    // A box whose administrators use their own files.
    std::fs::write(
        node.path("c/ProgramData/ssh/sshd_config"),
        "Port 22\r\n#Match Group administrators\r\n",
    )
    .unwrap();
    let body = windows::ssh_access(KEY).unwrap();
    assert!(node.probe(&body).unwrap().contains("does not run"));
    assert!(node.call(&body, Mode::Run).done().in_place);
    assert_eq!(node.read(KEYS), format!("ssh-rsa AAAA somebody's\n{KEY}\n"));
    assert_eq!(
        node.read("c/Users/vagrant/.ssh/authorized_keys"),
        format!("{KEY}\n")
    );
    assert_eq!(
        node.log(),
        [
            "Set-Service sshd Automatic",
            "Start-Service sshd",
            "Set-NetFirewallRule OpenSSH-Server-In-TCP"
        ]
    );
    assert_eq!(
        node.world()["rules"]["OpenSSH-Server-In-TCP"]["Profile"],
        "Any"
    );

    for (change, why) in [
        (
            "Enabled",
            "the firewall does not let SSH in on every network",
        ),
        ("key", "our key is not in C:\\ProgramData\\ssh"),
    ] {
        if change == "key" {
            std::fs::write(node.path(KEYS), "").unwrap();
        } else {
            let mut world = node.world();
            world["rules"]["OpenSSH-Server-In-TCP"][change] = json!("False");
            node.set_world(&world);
        }
        let said = node.probe(&body).unwrap();
        assert!(said.starts_with(why), "{said}");
        assert!(node.call(&body, Mode::Run).done().in_place);
    }
}

#[test]
fn without_windows_update_ssh_comes_from_the_hosts_archive() {
    let refused = json!({"fail": {"Add-WindowsCapability": "Add-WindowsCapability failed. Error code = 0x800f0954"}});
    let Some(node) = Node::new(&refused) else {
        return;
    };
    let body = windows::ssh_access(KEY).unwrap();
    let why = node.call(&body, Mode::Run).why();
    assert!(
        why.starts_with("OpenSSH cannot be installed from Windows Update: Add-WindowsCapability failed. Error code = 0x800f0954"),
        "{why}"
    );
    // What the archive's own script does here: a service appears.
    let installed = json!({"sshd": {"Name": "sshd", "Status": "Stopped", "StartType": "Manual"}});
    let install = format!(
        "$w = Get-Content -Raw '{0}' | ConvertFrom-Json -AsHashtable; \
         $w.services = '{installed}' | ConvertFrom-Json -AsHashtable; \
         $w | ConvertTo-Json -Depth 9 | Set-Content '{0}'",
        node.path("world.json").display()
    );
    let folder = node.path("zip/OpenSSH-Win64");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("install-sshd.ps1"), install).unwrap();
    std::fs::write(folder.join("sshd.exe"), "MZ").unwrap();
    let archive = node.path("c/Windows/Temp/wdev-openssh.zip");
    let mut zip = Command::new(&node.pwsh);
    zip.args(["-NoProfile", "-Command"]).arg(format!(
        "[IO.Compression.ZipFile]::CreateFromDirectory('{}', '{}')",
        node.path("zip").display(),
        archive.display()
    ));
    common::run(&mut zip, b"");
    assert!(node.call(&body, Mode::Run).done().in_place);
    assert_eq!(node.read("c/Program Files/OpenSSH/sshd.exe"), "MZ");
    assert!(!archive.exists());
    assert!(!node.path("c/ProgramData/wdev/openssh").exists());
}

#[test]
fn ssh_is_opened_however_its_step_is_killed() {
    let firewall = json!({"OpenSSH-Server-In-TCP": {"Enabled": "True", "Profile": "Private", "Action": "Allow"}});
    let stopped = json!({"services": sshd("Stopped", "Disabled"), "rules": firewall});
    let body = windows::ssh_access(KEY).unwrap();
    for (name, world) in [
        ("ssh-access: not installed", json!({})),
        ("ssh-access: stopped", stopped),
    ] {
        every_way(&Scene {
            name,
            body: &body,
            secrets: &[],
            node: &|| Node::new(&world),
            boot: &Node::boot,
            state: &|node| {
                json!([
                    node.world()["services"],
                    node.world()["rules"],
                    node.read(KEYS)
                ])
            },
        });
    }
}

#[test]
fn ssh_access_that_failed_half_way_is_finished_by_the_next_run() {
    let world = json!({
        "services": sshd("Stopped", "Manual"),
        "fail": {"Start-Service": "Service 'sshd' cannot be started"},
    });
    let Some(node) = Node::new(&world) else {
        return;
    };
    let body = windows::ssh_access(KEY).unwrap();
    let why = node.call(&body, Mode::Run).why();
    assert!(why.starts_with("Service 'sshd' cannot be started"), "{why}");
    assert!(!node.path(KEYS).exists());
    let mut world = node.world();
    world["fail"] = json!({});
    node.set_world(&world);
    assert!(node.call(&body, Mode::Run).done().in_place);
    assert_eq!(node.read(KEYS), format!("{KEY}\n"));
}

#[test]
fn the_computer_gets_its_name_which_counts_after_a_reboot() {
    let names = |active: &str, next: &str| json!({"names": {"ActiveComputerName": active, "ComputerName": next}});
    let Some(node) = Node::new(&names("WIN-ABC", "WIN-ABC")) else {
        return;
    };
    let body = windows::computer_name("winw1").unwrap();
    assert_eq!(
        node.probe(&body).as_deref(),
        Some("the computer is called WIN-ABC")
    );
    let report = node.call(&body, Mode::Run).done();
    assert!(report.reboot_wanted && !report.in_place);
    assert_eq!(node.log(), ["Rename-Computer winw1"]);

    // Cut off before the reboot: that is still wanted, and nothing is renamed twice.
    assert!(node.probe(&body).is_some());
    assert!(node.call(&body, Mode::Run).done().reboot_wanted);
    assert_eq!(node.log().len(), 1);

    // Windows writes the name in capitals.
    let mut world = node.world();
    world["names"] = names("WINW1", "winw1")["names"].clone();
    node.set_world(&world);
    let report = node.call(&body, Mode::Run).done();
    assert!(report.in_place && !report.reboot_wanted);
    assert_eq!(node.log().len(), 1);
    assert_eq!(node.probe(&body), None);
}

#[test]
fn a_computer_that_somebody_is_renaming_is_rebooted_before_it_can_get_its_name_back() {
    let names = json!({"names": {"ActiveComputerName": "WINW1", "ComputerName": "OTHER"}});
    let Some(node) = Node::new(&names) else {
        return;
    };
    let body = windows::computer_name("winw1").unwrap();
    assert_eq!(
        node.probe(&body).as_deref(),
        Some("the computer will be called OTHER after its next boot")
    );
    assert!(node.call(&body, Mode::Run).done().reboot_wanted);
    assert!(node.log().is_empty());
}

#[test]
fn a_hook_runs_as_it_was_written_and_its_exit_code_is_kept() {
    let Some(node) = Node::new(&json!({})) else {
        return;
    };
    let out = node.path("out");
    let text = format!(
        "param([int]$Code = 7)\r\n[IO.File]::WriteAllText('{}', \"it's é $(1 + 1)\")\r\n'seen'\r\nexit $Code\r\n",
        out.display()
    );
    let body = windows::hook(&text).unwrap();
    assert!(node.probe(&body).unwrap().contains("has not run yet"));
    let ended = node.call(&body, Mode::Run);
    assert!(ended.1.contains("seen\n"), "{}", ended.1);
    assert!(
        matches!(ended.0, Some((End::Failed(7, _), _))),
        "{:?}",
        ended.0
    );
    assert_eq!(node.read("out"), "it's é 2");
    let left = std::fs::read_dir(node.path("c/ProgramData/wdev/run")).unwrap();
    assert_eq!(left.count(), 0, "its file is taken away");
    assert!(
        node.call(&windows::hook("exit 0").unwrap(), Mode::Run)
            .done()
            .in_place
    );
}

#[test]
fn errands_do_without_ssh_what_lines_do_with_it() {
    let Some(node) = Node::new(&json!({})) else {
        return;
    };
    let windows = guest(Os::Windows);
    let run = |errand: Errand<'_>| node.call(&windows.errand(errand).unwrap(), Mode::Probe);
    node.program("show", "printf '[%s]' \"$@\"; exit 200");
    let argv = ["show", "a \"b\"", ""].map(str::to_owned);
    let ended = run(Errand::Exec(&argv));
    assert!(ended.1.contains("[a \"b\"][]"), "{}", ended.1);
    assert_eq!(ended.done().facts["code"], "200");

    let landed = windows.landing("n1");
    let file = node.path("c").join(landed.strip_prefix("C:/").unwrap());
    let place = |hash: &str| {
        std::fs::write(&file, b"\xff\0x").unwrap();
        let (landed, to) = (landed.as_str(), r"C:\a b\it's.bin");
        run(Errand::Place { landed, to, hash })
    };
    let hash = "1f95bd4aaf3a87ff1fdfe8a7ca1fb5f4bd5ba3e9d1c4a3b3cf9b4ef0a6c24d38";
    assert!(place(hash).why().contains("another hash"));
    assert!(!file.exists() && !node.path("c/a b/it's.bin").exists());
    let right = common::sha256(b"\xff\0x");
    for _ in 0..2 {
        place(&right).done();
    }
    assert_eq!(
        std::fs::read(node.path("c/a b/it's.bin")).unwrap(),
        b"\xff\0x"
    );
    let fetch = |at: u64, largest: u64| {
        let from = r"C:\a b\it's.bin";
        let piece = 2;
        let errand = Errand::Fetch {
            from,
            at,
            piece,
            largest,
        };
        run(errand).done().facts
    };
    for (at, piece) in [(0, "/wA="), (2, "eA=="), (3, "")] {
        let facts = fetch(at, 3);
        assert_eq!((&*facts["size"], &*facts["content"]), ("3", piece));
        assert_eq!(facts["hash"], right);
    }
    assert!(!fetch(0, 2).contains_key("content"));
    let identity = run(Errand::BootIdentity).done().facts["identity"].clone();
    assert_eq!(identity, "20260301080001.000000-620");
}

#[test]
fn the_computer_gets_its_name_however_its_step_is_killed() {
    let world = json!({"names": {"ActiveComputerName": "WIN-1", "ComputerName": "WIN-1"}});
    every_way(&Scene {
        name: "computer-name",
        body: &windows::computer_name("winw1").unwrap(),
        secrets: &[],
        node: &|| Node::new(&world),
        boot: &|node| {
            let mut world = node.world();
            world["names"]["ActiveComputerName"] = world["names"]["ComputerName"].clone();
            node.set_world(&world);
        },
        state: &|node| node.world()["names"].clone(),
    });
}
