//! The address on an adapter that the guest itself must set up.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use wdev::render::linux;

use crate::common::need;
use crate::common::scripted::Node;

pub fn own_address(mac: &str) -> String {
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
