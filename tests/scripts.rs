//! The bodies of the steps for Linux nodes, run by real bash on files of the test's own.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;

use common::need;
use common::scripted::Node;
use wdev::error::Kind;
use wdev::render::linux::{self, HostEntry, KernelSettings};

fn nodes(names: &[(&str, u8)]) -> String {
    let entry = |(name, last): &(&str, u8)| HostEntry {
        address: [10, 0, 0, *last].into(),
        names: vec![(*name).to_owned()],
    };
    linux::hosts(&names.iter().map(entry).collect::<Vec<_>>()).unwrap()
}

#[test]
fn shellcheck_finds_nothing() {
    let Some(shellcheck) = need("shellcheck") else {
        return;
    };
    for body in [
        linux::facts().unwrap(),
        linux::clock(2000).unwrap(),
        linux::kernel(&KernelSettings::kubernetes().unwrap()).unwrap(),
        linux::swap().unwrap(),
        own_address("00:15:5d:00:00:02"),
        linux::kubeconfig(false).unwrap(),
        linux::kubeconfig(true).unwrap(),
        nodes(&[("cp", 10)]),
        linux::hook("echo \"$HOME\" 'x'\n").unwrap(),
    ] {
        common::run(
            Command::new(&shellcheck).args(["--shell=bash", "-"]),
            body.as_bytes(),
        );
    }
}

#[test]
fn hosts_has_one_block_that_is_replaced_in_place() {
    let Some(bash) = need("bash") else { return };
    let node = Node::new(&[("hosts", "127.0.0.1 localhost\n127.0.1.1 cp\n")]);
    let inode = fs::metadata(node.path("hosts")).unwrap().ino();
    let old = nodes(&[("cp", 10), ("gone", 11)]);
    let new = nodes(&[("cp", 10), ("winw1", 12)]);
    let call = |body: &str, call: &str| node.call(&bash, body, "wdev_hosts=hosts", call).ok();
    assert!(call(&old, "wdev_probe").contains("not in place"));
    assert_ne!(call(&old, "wdev_run"), "");
    assert_eq!(call(&old, "wdev_probe"), "");
    assert!(call(&new, "wdev_probe").contains("not in place"));
    call(&new, "wdev_run");
    let expected = "# begin: nodes (wdev)\n10.0.0.10\tcp\n10.0.0.12\twinw1\n# end: nodes (wdev)\n\
                    127.0.0.1 localhost\n127.0.1.1 cp\n";
    assert_eq!(node.read("hosts"), expected);
    assert_eq!(call(&new, "wdev_run >/dev/null; wdev_probe"), "");
    assert_eq!(node.read("hosts"), expected);
    assert_eq!(fs::metadata(node.path("hosts")).unwrap().ino(), inode);
}

#[test]
fn hosts_loses_no_line_when_a_blocks_end_is_missing() {
    let Some(bash) = need("bash") else { return };
    let node = Node::new(&[("hosts", "# begin: nodes (wdev)\n10.9.9.9 precious")]);
    let body = nodes(&[("cp", 10)]);
    node.call(&bash, &body, "wdev_hosts=hosts", "wdev_run").ok();
    assert!(
        node.read("hosts")
            .ends_with("# end: nodes (wdev)\n10.9.9.9 precious\n")
    );
    assert_eq!(
        node.call(&bash, &body, "wdev_hosts=hosts", "wdev_probe")
            .ok(),
        ""
    );
}

#[test]
fn a_name_that_the_hosts_file_cannot_carry_is_refused() {
    let long = "a".repeat(64);
    for name in ["a b", "a\n1.2.3.4 evil", "#", "", "-a", "a..b", "ü", &long] {
        let entry = HostEntry {
            address: [10, 0, 0, 1].into(),
            names: vec![name.to_owned()],
        };
        let failure = linux::hosts(&[entry]).unwrap_err();
        assert_eq!(failure.kind, Kind::Configuration, "{name:?}");
    }
}

/// A node whose clock stands at this many milliseconds after 100 s of uptime, and that hears the host's
/// time at its boot where `base` is given.
fn clock_node(now: u32, base: Option<u32>) -> (Node, String) {
    let node = Node::new(&[("uptime", "100.25 190.00\n"), ("now", &now.to_string())]);
    node.program(
        "date",
        r#"if [[ $1 == +%s%3N ]]; then cat now; else printf '%s\n' "$3" >set; printf '%s' "${3//[@.]/}" >now; fi"#,
    );
    node.program("systemctl", "exit 1");
    let given = base.map_or("return 1".to_owned(), |base| format!("printf '%s' {base}"));
    let changes = format!("wdev_uptime=uptime; wdev_given() {{ {given}; }}");
    (node, changes)
}

#[test]
fn a_clock_that_is_off_is_set_to_the_hosts_time_and_twice_is_as_good() {
    let Some(bash) = need("bash") else { return };
    let body = linux::clock(2000).unwrap();
    // The host's time now is 500 s + 100.25 s; the node is 28 s behind.
    let (node, changes) = clock_node(572_250, Some(500_000));
    let call = |call: &str| node.call(&bash, &body, &changes, call).ok();
    let before = call("wdev_probe");
    assert!(
        before.contains("not in place: the clock is 28.000 s off"),
        "{before}"
    );
    assert!(before.contains("fact clock_ms=572250"), "{before}");
    assert!(before.contains("fact uptime_ms=100250"), "{before}");
    let said = call("wdev_run");
    assert!(said.contains("stood 28.000 s behind"), "{said}");
    assert_eq!(node.read("set"), "@600.250\n");
    assert!(!call("wdev_probe").contains("not in place"));
    fs::remove_file(node.path("set")).unwrap();
    assert!(call("wdev_run").contains("agrees"));
    assert!(!node.path("set").exists());
}

#[test]
fn a_clock_that_is_right_or_cannot_be_compared_is_left_alone() {
    let Some(bash) = need("bash") else { return };
    let body = linux::clock(2000).unwrap();
    for (now, base) in [(601_900, Some(500_000)), (1, None)] {
        let (node, changes) = clock_node(now, base);
        let call = |call: &str| node.call(&bash, &body, &changes, call).ok();
        call("wdev_run");
        assert!(!node.path("set").exists(), "{now} {base:?}");
        assert!(!call("wdev_probe").contains("not in place"));
    }
}

#[test]
fn a_time_service_that_is_there_is_told_to_keep_the_time_unless_another_does() {
    let Some(bash) = need("bash") else { return };
    let body = linux::clock(2000).unwrap();
    let (node, changes) = clock_node(1, None);
    node.program(
        "systemctl",
        "case \"$*\" in\n\
         is-enabled*) cat \"units/$2\" ;;\n\
         '-q enable '*) echo enabled >\"units/$3\" ;;\n\
         start*) echo \"$2\" >>started ;;\n\
         esac",
    );
    let call = |call: &str| node.call(&bash, &body, &changes, call).ok();
    fs::create_dir(node.path("units")).unwrap();
    assert!(
        !call("wdev_probe").contains("not in place"),
        "none is there"
    );
    fs::write(node.path("units/systemd-timesyncd"), "disabled\n").unwrap();
    assert!(call("wdev_probe").contains("systemd-timesyncd is not started at boot"));
    call("wdev_run");
    call("wdev_run");
    assert!(!call("wdev_probe").contains("not in place"));
    assert_eq!(node.read("started"), "systemd-timesyncd\n");
    fs::write(node.path("units/systemd-timesyncd"), "masked\n").unwrap();
    assert!(
        !call("wdev_probe").contains("not in place"),
        "that is wanted"
    );
    fs::write(node.path("units/systemd-timesyncd"), "disabled\n").unwrap();
    fs::write(node.path("units/chrony"), "enabled\n").unwrap();
    assert!(
        !call("wdev_probe").contains("not in place"),
        "another one does"
    );
}

const NO_SWAP: &str = "Filename Type Size Used Priority\n";
const SWAP_PATHS: &str = "wdev_swaps=swaps wdev_fstab=fstab wdev_systemd=no-systemd";

#[test]
fn swap_is_taken_out_of_fstab_once_and_nothing_else_is() {
    let Some(bash) = need("bash") else { return };
    let fstab = "UUID=1 / ext4 defaults 0 1\n# /dev/sdb none swap sw 0 0\n/swap.img\tnone\tswap\tsw 0 0\n\
                 \x20 /dev/sdc none swap sw 0 0\nswap /mnt/swap tmpfs size=1M 0 0\n";
    let node = Node::new(&[("fstab", fstab), ("swaps", NO_SWAP)]);
    fs::set_permissions(node.path("fstab"), fs::Permissions::from_mode(0o640)).unwrap();
    let body = linux::swap().unwrap();
    let call = |call: &str| node.call(&bash, &body, SWAP_PATHS, call).ok();
    assert!(call("wdev_probe").contains("turns swap on"));
    call("wdev_run");
    let expected = "UUID=1 / ext4 defaults 0 1\n# /dev/sdb none swap sw 0 0\n\
                    # off for Kubernetes (wdev): /swap.img\tnone\tswap\tsw 0 0\n\
                    # off for Kubernetes (wdev):   /dev/sdc none swap sw 0 0\nswap /mnt/swap tmpfs size=1M 0 0\n";
    assert_eq!(node.read("fstab"), expected);
    assert_eq!(call("wdev_run >/dev/null; wdev_probe"), "");
    assert_eq!(node.read("fstab"), expected);
    let mode = fs::metadata(node.path("fstab"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn active_swap_is_turned_off_or_the_reason_is_told() {
    let Some(bash) = need("bash") else { return };
    let active = format!("{NO_SWAP}/swap.img file 100 0 -2\n");
    let node = Node::new(&[("swaps", &active)]);
    let body = linux::swap().unwrap();
    let call = |call: &str| node.call(&bash, &body, SWAP_PATHS, call);
    assert!(call("wdev_probe").ok().contains("swap is on: /swap.img"));
    node.program(
        "swapoff",
        "echo 'swapoff: Operation not permitted' >&2; exit 4",
    );
    let said = call("wdev_run").failed();
    assert!(
        said.contains("/swap.img") && said.contains("not permitted"),
        "{said}"
    );
    node.program(
        "swapoff",
        &format!("[[ $1 == -a ]] && printf '{NO_SWAP}' >swaps"),
    );
    call("wdev_run").ok();
    assert_eq!(call("wdev_run >/dev/null; wdev_probe").ok(), "");
}

#[test]
fn swap_units_are_masked_where_systemd_runs() {
    let Some(bash) = need("bash") else { return };
    let node = Node::new(&[("swaps", NO_SWAP), ("systemd/x", "")]);
    node.program(
        "systemctl",
        "if [[ $1 == list-units ]]; then echo 'dev-zram0.swap loaded active active zram'; else echo \"$@\" >>asked; fi",
    );
    let paths = "wdev_swaps=swaps wdev_fstab=fstab wdev_systemd=systemd";
    node.call(&bash, &linux::swap().unwrap(), paths, "wdev_run")
        .ok();
    assert_eq!(
        node.read("asked"),
        "mask -- dev-zram0.swap\ndaemon-reload\n"
    );
}

const KERNEL_PATHS: &str = "wdev_proc_sys=sys wdev_sys_module=module wdev_lib_modules=lib \
     wdev_modules_file=etc/modules-load.d/wdev.conf wdev_sysctls_file=etc/sysctl.d/99-wdev.conf\n\
     wdev_proofs=('' sys/net/bridge/bridge-nf-call-iptables)";

#[test]
fn kernel_modules_and_sysctls_are_set_and_kept() {
    let Some(bash) = need("bash") else { return };
    let node = Node::new(&[("sys/net/ipv4/ip_forward", "0\n"), ("module/overlay/x", "")]);
    let body = linux::kernel(&KernelSettings::kubernetes().unwrap()).unwrap();
    let call = |call: &str| node.call(&bash, &body, KERNEL_PATHS, call);
    node.program(
        "modprobe",
        "mkdir -p sys/net/bridge module/br_netfilter; cd sys/net/bridge\n\
         echo 1 >bridge-nf-call-iptables; echo 0 >bridge-nf-call-ip6tables; echo \"$@\" >>../../../asked",
    );
    assert!(
        call("wdev_probe")
            .ok()
            .contains("br_netfilter is not loaded")
    );
    call("wdev_run").ok();
    assert_eq!(node.read("asked"), "-- br_netfilter\n");
    assert_eq!(node.read("sys/net/ipv4/ip_forward"), "1\n");
    assert_eq!(node.read("sys/net/bridge/bridge-nf-call-ip6tables"), "1\n");
    assert_eq!(
        node.read("etc/modules-load.d/wdev.conf"),
        "# Written by wdev.\noverlay\nbr_netfilter\n"
    );
    assert_eq!(
        node.read("etc/sysctl.d/99-wdev.conf"),
        "# Written by wdev.\nnet.bridge.bridge-nf-call-ip6tables = 1\n\
         net.bridge.bridge-nf-call-iptables = 1\nnet.ipv4.ip_forward = 1\n"
    );
    assert_eq!(call("wdev_run >/dev/null; wdev_probe").ok(), "");
    fs::write(node.path("sys/net/ipv4/ip_forward"), "0\n").unwrap();
    let said = call("wdev_probe").ok();
    assert!(
        said.contains("net.ipv4.ip_forward is '0', not '1'"),
        "{said}"
    );
    fs::write(node.path("sys/net/ipv4/ip_forward"), "1\n").unwrap();
    fs::remove_file(node.path("etc/sysctl.d/99-wdev.conf")).unwrap();
    assert!(call("wdev_probe").ok().contains("99-wdev.conf differs"));
}

#[test]
fn a_kernel_without_a_module_fails_with_its_name_the_reason_and_advice() {
    let Some(bash) = need("bash") else { return };
    let node = Node::new(&[("sys/net/ipv4/ip_forward", "1\n"), ("module/overlay/x", "")]);
    let body = linux::kernel(&KernelSettings::kubernetes().unwrap()).unwrap();
    node.program(
        "modprobe",
        "echo 'modprobe: FATAL: Module not found' >&2; exit 1",
    );
    let said = node.call(&bash, &body, KERNEL_PATHS, "wdev_run").failed();
    for words in [
        "the kernel module br_netfilter cannot be loaded: modprobe: FATAL: Module not found",
        "sudo modprobe br_netfilter",
        "the kernel has no setting net.bridge.bridge-nf-call-iptables",
    ] {
        assert!(said.contains(words), "{words} in:\n{said}");
    }
    assert!(
        !node.path("etc").exists(),
        "nothing is kept that does not work"
    );
}

#[test]
fn a_sysctl_that_does_not_take_its_value_is_told() {
    let Some(bash) = need("bash") else { return };
    let node = Node::new(&[]);
    let mut settings = KernelSettings::kubernetes().unwrap();
    settings.modules.clear();
    settings.sysctls = [("kernel.nothing".to_owned(), "1".to_owned())].into();
    // What takes a value and does not keep it, as a read-only /proc/sys does for root.
    fs::create_dir_all(node.path("sys/kernel")).unwrap();
    std::os::unix::fs::symlink("/dev/null", node.path("sys/kernel/nothing")).unwrap();
    let body = linux::kernel(&settings).unwrap();
    let said = node.call(&bash, &body, KERNEL_PATHS, "wdev_run").failed();
    assert!(
        said.contains("kernel.nothing cannot be set to '1', it stays ''"),
        "{said}"
    );
}

#[test]
fn a_kubeconfig_is_told_by_the_hashes_of_its_certificates_and_given_as_a_secret() {
    let Some(bash) = need("bash") else { return };
    let conf = "clusters:\n- cluster:\n    certificate-authority-data: QUFB\nusers:\n- user:\n    \
                client-certificate-data: Q0ND\n    client-key-data: S0VZ\n";
    let node = Node::new(&[("admin.conf", conf), ("empty", "")]);
    let call = |fetch, file: &str| {
        let body = linux::kubeconfig(fetch).unwrap();
        node.call(
            &bash,
            &body,
            &format!("wdev_admin_conf={file}"),
            "wdev_probe",
        )
    };
    let told = call(false, "admin.conf").ok();
    for (name, value) in [("authority", "QUFB"), ("certificate", "Q0ND")] {
        let hash = common::sha256(value.as_bytes());
        assert!(told.contains(&format!("fact {name}={hash}\n")), "{told}");
    }
    assert!(!told.contains("S0VZ"), "{told}");
    let given = call(true, "admin.conf").ok();
    assert!(given.contains("secret kubeconfig=clusters:"), "{given}");
    assert!(!given.contains("fact "), "{given}");
    for file in ["empty", "none"] {
        let said = call(true, file).ok();
        assert!(
            said.contains("there is no ") && !said.contains("secret"),
            "{said}"
        );
    }
}

#[test]
fn facts_are_told_and_an_unknown_system_is_refused() {
    let Some(bash) = need("bash") else { return };
    let node = Node::new(&[
        (
            "ubuntu",
            "ID=ubuntu\nVERSION_ID=\"24.04\"\nPRETTY_NAME='a $(b)'\n",
        ),
        ("alpine", "ID=alpine\nVERSION_ID=3\n"),
    ]);
    node.program("uname", "[[ $1 == -m ]] && echo x86_64 || echo 6.1.0");
    let body = linux::facts().unwrap();
    let call =
        |file: &str, call: &str| node.call(&bash, &body, &format!("wdev_os_release={file}"), call);
    if Path::new("/proc/sys/kernel/random/boot_id").exists() {
        let told = call("ubuntu", "wdev_run").ok();
        for fact in [
            "os_id=ubuntu\n",
            "os_version=24.04\n",
            "arch=x86_64\n",
            "kernel=6.1.0\n",
        ] {
            assert!(told.contains(&format!("fact {fact}")), "{told}");
        }
        let facts = |text: &str| -> Vec<String> {
            let facts = text.lines().filter(|line| line.starts_with("fact "));
            facts.map(str::to_owned).collect()
        };
        assert_eq!(facts(&call("ubuntu", "wdev_probe").ok()), facts(&told));
    } else {
        common::allowed_skip("Linux, for the facts that come from /proc");
    }
    let said = call("alpine", "wdev_run").failed();
    assert!(
        said.contains("'alpine', not one of: debian ubuntu"),
        "{said}"
    );
    assert!(
        call("none", "wdev_run")
            .failed()
            .contains("neither Debian nor Ubuntu")
    );
    assert!(
        call("alpine", "wdev_probe")
            .ok()
            .starts_with("not in place: ")
    );
    node.program("uname", "echo riscv64");
    assert!(call("ubuntu", "wdev_run").failed().contains("riscv64"));
}

#[test]
fn a_hook_asks_for_a_reboot_by_a_file_and_only_when_it_ends_well() {
    let Some(bash) = need("bash") else { return };
    let node = Node::new(&[]);
    let call = |text: &str| {
        let body = linux::hook(text).unwrap();
        node.call(&bash, &body, "", "wdev_run")
    };
    assert!(call("touch \"$WDEV_REBOOT\"").ok().contains("reboot"));
    assert_eq!(call("true").ok(), "");
    let failed = call("touch \"$WDEV_REBOOT\"; exit 1");
    assert!(!failed.out.contains("reboot"), "{}", failed.out);
    failed.failed();
}

#[test]
fn a_hook_runs_as_it_was_written_and_its_exit_code_is_kept() {
    let Some(bash) = need("bash") else { return };
    let node = Node::new(&[]);
    let body = linux::hook("#!/bin/bash\r\nif true; then\r\n  printf '%s' \"it's $((1 + 1))\" >out\r\nfi\r\nexit 7\r\n")
        .unwrap();
    assert_eq!(
        node.call(&bash, &body, "TMPDIR=.", "wdev_run").code,
        Some(7)
    );
    assert_eq!(node.read("out"), "it's 2");
    let left: Vec<_> = fs::read_dir(node.path("."))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left, ["out"], "its file is taken away");
    assert!(
        node.call(&bash, &body, "", "wdev_probe")
            .ok()
            .contains("has not run yet")
    );
    fs::write(node.path("stamp"), "").unwrap();
    assert_eq!(node.call(&bash, &body, "", "wdev_probe").ok(), "");
}

fn own_address(mac: &str) -> String {
    linux::address([192, 168, 56, 11].into(), 24, mac).unwrap()
}

const ADDRESS_PATHS: &str = "wdev_sys_net=sys wdev_networkd=networkd wdev_interfaces=etc/interfaces \
     wdev_netplan=netplan wdev_patience=0";

/// A node with a first adapter that leads out and a second one with an address by DHCP of another network.
fn two_adapters(extra: &[(&str, &str)]) -> Node {
    let mut files = vec![
        ("sys/lo/address", "00:00:00:00:00:00\n"),
        ("sys/eth0/address", "00:15:5d:00:00:01\n"),
        ("sys/eth0/device", ""),
        ("sys/eth1/address", "00:15:5d:00:00:02\n"),
        ("sys/eth1/device", ""),
        // A bridge has the address of its part.
        ("sys/br0/address", "00:15:5d:00:00:02\n"),
        ("held/eth0", "172.29.0.9/24\n"),
        ("held/eth1", "172.29.0.77/24\n"),
    ];
    files.extend(extra);
    let node = Node::new(&files);
    node.program(
        "ip",
        r#"case "$*" in
          '-4 route show default') echo 'default via 172.29.0.1 dev eth0 proto dhcp' ;;
          '-4 -o address show dev '*) sed "s/^/2: ${*: -1} inet /" "held/${*: -1}" ;;
          'link set dev '*' up') echo "$4" >>up ;;
          'address replace '*) grep -Fxq "$3" "held/$5" || echo "$3" >>"held/$5" ;;
          'address del '*) sed -i "\\|^$3\$|d" "held/$5" ;;
          *) echo "ip $*: not doubled" >&2; exit 2 ;;
        esac"#,
    );
    node.program("systemctl", "[[ -e networkd-runs ]]");
    node.program("networkctl", "echo \"$@\" >>asked");
    node
}

/// Runs the body twice; the second run and the probe find nothing to do.
fn set_address(bash: &Path, node: &Node, mac: &str) {
    let body = own_address(mac);
    let call = |call: &str| node.call(bash, &body, ADDRESS_PATHS, call).ok();
    assert!(call("wdev_probe").contains("not in place"));
    for _ in 0..2 {
        assert!(call("wdev_run").contains("fact adapter=eth1\n"));
        assert_eq!(call("wdev_probe"), "");
        assert_eq!(node.read("held/eth1"), "192.168.56.11/24\n");
    }
    assert_eq!(node.read("held/eth0"), "172.29.0.9/24\n");
    fs::write(node.path("held/eth1"), "192.168.56.11/24\n172.29.0.5/24\n").unwrap();
    assert!(call("wdev_probe").contains("eth1 does not have the address 192.168.56.11/24 alone"));
    fs::write(node.path("held/eth1"), "192.168.56.11/24\n").unwrap();
}

#[test]
fn an_address_is_kept_by_networkd_before_what_netplan_says() {
    let Some(bash) = need("bash") else { return };
    let node = two_adapters(&[("networkd-runs", ""), ("netplan/50-cloud-init.yaml", "")]);
    set_address(&bash, &node, "00:15:5D:00:00:02");
    let file = node.read("networkd/05-wdev.network");
    assert!(
        file.contains("[Match]\nMACAddress=00:15:5d:00:00:02\n"),
        "{file}"
    );
    assert!(file.contains("[Network]\nDHCP=no\n"), "{file}");
    assert!(file.contains("\nAddress=192.168.56.11/24\n"), "{file}");
    assert_eq!(node.read("asked"), "reload\nreload\n");
}

#[test]
fn an_address_is_kept_by_ifupdown_also_where_it_reads_no_folder() {
    let Some(bash) = need("bash") else { return };
    let plain = "auto lo\niface lo inet loopback\n";
    let node = two_adapters(&[("etc/interfaces", plain)]);
    node.program("ifup", "exit 1");
    set_address(&bash, &node, "00:15:5d:00:00:02");
    assert_eq!(
        node.read("etc/interfaces"),
        format!("{plain}# Written by wdev.\nsource etc/interfaces.d/*\n")
    );
    assert_eq!(
        node.read("etc/interfaces.d/wdev"),
        "# Written by wdev.\nauto eth1\niface eth1 inet static\n    address 192.168.56.11/24\n"
    );
}

#[test]
fn an_address_is_kept_by_netplan_where_only_that_is() {
    let Some(bash) = need("bash") else { return };
    let node = two_adapters(&[("netplan/01.yaml", "")]);
    node.program("netplan", "echo \"$@\" >>asked");
    set_address(&bash, &node, "00:15:5d:00:00:02");
    let file = node.read("netplan/90-wdev.yaml");
    assert!(
        file.contains("match: {macaddress: \"00:15:5d:00:00:02\"}"),
        "{file}"
    );
    assert!(file.contains("addresses: [\"192.168.56.11/24\"]"), "{file}");
    let mode = fs::metadata(node.path("netplan/90-wdev.yaml"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(node.read("asked"), "generate\ngenerate\n");
}

#[test]
fn by_hand_the_adapter_without_a_way_out_is_taken() {
    let Some(bash) = need("bash") else { return };
    let node = two_adapters(&[("networkd-runs", "")]);
    set_address(&bash, &node, "");
    for file in ["sys/eth2/address", "sys/eth2/device"] {
        fs::create_dir_all(node.path("sys/eth2")).unwrap();
        fs::write(node.path(file), "00:15:5d:00:00:03\n").unwrap();
    }
    let ran = node.call(&bash, &own_address(""), ADDRESS_PATHS, "wdev_run");
    assert!(
        ran.failed()
            .contains("there is no adapter with the MAC address (none given)")
    );
}

#[test]
fn an_adapter_that_is_not_there_and_a_network_that_nobody_manages_are_told() {
    let Some(bash) = need("bash") else { return };
    let node = two_adapters(&[]);
    let call = |mac: &str| {
        node.call(&bash, &own_address(mac), ADDRESS_PATHS, "wdev_run")
            .failed()
    };
    assert!(
        call("00:15:5d:00:00:09").contains("no adapter with the MAC address 00:15:5d:00:00:09")
    );
    assert!(
        call("00:15:5d:00:00:02").contains("neither systemd-networkd nor ifupdown nor netplan")
    );
    assert_eq!(
        node.read("held/eth1"),
        "172.29.0.77/24\n",
        "nothing is set that is not kept"
    );
}
