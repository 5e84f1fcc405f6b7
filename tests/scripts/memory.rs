//! Swap, and the settings of the kernel.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use wdev::render::linux::{self, KernelSettings};

use crate::common::need;
use crate::common::scripted::Node;

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
