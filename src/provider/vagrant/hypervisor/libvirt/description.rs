//! What libvirt's descriptions of machines, networks and volumes say
//! (<https://libvirt.org/format.html>).

use std::collections::BTreeSet;

use ipnet::Ipv4Net;
use roxmltree::{Document, Node};

/// A virtual network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// Its name.
    pub name: String,
    /// The subnets that the host has an address in.
    pub subnets: Vec<Ipv4Net>,
    /// Whether a running machine is connected to it.
    pub connected: bool,
}

/// A volume of a storage pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// Its name.
    pub name: String,
    /// The file.
    pub path: String,
    /// How many bytes the file has.
    pub bytes: u64,
    /// The file that it is a layer on.
    pub backing: Option<String>,
    /// The pool that it is in.
    pub pool: String,
}

/// A disk that a machine is defined to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// Its file or device; none where it is something else, such as a volume by its name.
    pub path: Option<String>,
    /// The files and devices below it, as far as libvirt tells them.
    pub below: Vec<String>,
    /// Whether these are all that there are.
    pub whole: bool,
}

/// `NAME   PATH`, in columns.
pub fn path_of_row(row: &str) -> Option<&str> {
    let (_, path) = row.trim().rsplit_once("  ")?;
    Some(path.trim()).filter(|path| !path.is_empty())
}

fn parsed<T>(xml: &str, read: impl FnOnce(Node) -> T) -> Option<T> {
    Document::parse(xml)
        .ok()
        .map(|document| read(document.root_element()))
}

fn all<'a>(root: Node<'a, 'a>, name: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    root.descendants()
        .filter(move |node| node.has_tag_name(name))
}

pub fn disks_in(xml: &str) -> Vec<Disk> {
    parsed(xml, |root| all(root, "disk").filter_map(disk_in).collect()).unwrap_or_default()
}

fn child<'a>(node: Node<'a, 'a>, name: &str) -> Option<Node<'a, 'a>> {
    node.children().find(|child| child.has_tag_name(name))
}

/// A disk; none for a drive with nothing in it.
fn disk_in<'a>(disk: Node<'a, 'a>) -> Option<Disk> {
    let path = |node| {
        let source = child(node, "source")?;
        let path = source.attribute("file").or_else(|| source.attribute("dev"));
        path.map(str::to_owned)
    };
    child(disk, "source")?;
    let format = child(disk, "driver").and_then(|driver| driver.attribute("type"));
    let mut below = Vec::new();
    let mut at = child(disk, "backingStore");
    let mut whole = format == Some("raw");
    // The last layer has an empty one below it.
    while let Some(layer) = at {
        if !layer.has_children() {
            whole = true;
            break;
        }
        below.extend(path(layer));
        at = child(layer, "backingStore");
    }
    let path = path(disk);
    Some(Disk { path, below, whole })
}

pub fn networks_in(xml: &str) -> BTreeSet<String> {
    parsed(xml, |root| {
        all(root, "interface")
            .flat_map(|interface| interface.children())
            .filter(|node| node.has_tag_name("source"))
            .filter_map(|source| source.attribute("network").map(str::to_owned))
            .collect()
    })
    .unwrap_or_default()
}

pub fn mac_in(xml: &str, network: &str) -> Option<String> {
    let child = |interface: Node, name: &str, attribute: &str| {
        let node = interface.children().find(|node| node.has_tag_name(name))?;
        node.attribute(attribute).map(str::to_owned)
    };
    parsed(xml, |root| {
        all(root, "interface")
            .find(|interface| child(*interface, "source", "network").as_deref() == Some(network))
            .and_then(|interface| child(interface, "mac", "address"))
    })?
}

pub fn network_in(name: &str, xml: &str) -> Network {
    let read = |root: Node| {
        let subnets = all(root, "ip").filter_map(|ip| {
            let address = ip.attribute("address")?.parse().ok()?;
            let subnet = match (ip.attribute("netmask"), ip.attribute("prefix")) {
                (Some(mask), _) => Ipv4Net::with_netmask(address, mask.parse().ok()?).ok()?,
                (None, Some(bits)) => Ipv4Net::new(address, bits.parse().ok()?).ok()?,
                (None, None) => return None,
            };
            Some(subnet.trunc())
        });
        (subnets.collect(), root.has_attribute("connections"))
    };
    let (subnets, connected) = parsed(xml, read).unwrap_or_default();
    Network {
        name: name.to_owned(),
        subnets,
        connected,
    }
}

pub fn volume_in(xml: &str, pool: &str) -> Option<Volume> {
    let text = |root: Node, within: &str, name: &str| {
        let parent = root.children().find(|node| node.has_tag_name(within))?;
        let node = parent.children().find(|node| node.has_tag_name(name))?;
        node.text().map(|text| text.trim().to_owned())
    };
    parsed(xml, |root| {
        let name = root.children().find(|node| node.has_tag_name("name"))?;
        let bytes = root
            .children()
            .find(|node| node.has_tag_name("physical"))
            .and_then(|node| node.text()?.trim().parse().ok());
        Some(Volume {
            name: name.text()?.trim().to_owned(),
            path: text(root, "target", "path")?,
            bytes: bytes.unwrap_or_default(),
            backing: text(root, "backingStore", "path"),
            pool: pool.to_owned(),
        })
    })?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As printed by libvirt 9.0, shortened.
    const DOMAIN: &str = "<domain type='qemu' id='3'><name>wdev-a-cp</name><devices>
        <disk type='file' device='disk'><driver name='qemu' type='qcow2'/>
          <source file='/var/lib/libvirt/images/wdev-a-cp.img' index='1'/>
          <backingStore type='file' index='2'><format type='qcow2'/>
            <source file='/var/lib/libvirt/images/b_vagrant_box_image_0_1_box.img'/>
            <backingStore/></backingStore>
          <target dev='vda' bus='virtio'/></disk>
        <disk type='file' device='cdrom'><target dev='sda'/></disk>
        <interface type='network'><mac address='52:54:00:00:00:01'/>
          <source network='vagrant-libvirt' portid='x' bridge='virbr1'/></interface>
        <interface type='network'><mac address='52:54:00:00:00:02'/>
          <source network='wdev-a'/></interface>
        </devices></domain>";

    #[test]
    fn a_machines_own_disks_and_networks_are_told_from_the_layers_below() {
        assert_eq!(
            disks_in(DOMAIN),
            [Disk {
                path: Some("/var/lib/libvirt/images/wdev-a-cp.img".to_owned()),
                below: vec!["/var/lib/libvirt/images/b_vagrant_box_image_0_1_box.img".to_owned()],
                whole: true,
            }]
        );
        assert_eq!(
            networks_in(DOMAIN),
            BTreeSet::from(["vagrant-libvirt".to_owned(), "wdev-a".to_owned()])
        );
        let mac = mac_in(DOMAIN, "wdev-a");
        assert_eq!(mac.as_deref(), Some("52:54:00:00:00:02"));
    }

    #[test]
    fn a_machine_that_is_off_does_not_tell_what_its_disk_is_a_layer_on() {
        let disk = |driver: &str| {
            let xml = format!(
                "<domain><devices><disk type='file' device='disk'><driver name='qemu' type='{driver}'/>\
                 <source file='/d.img'/><target dev='vda'/></disk></devices></domain>"
            );
            disks_in(&xml).remove(0)
        };
        assert!(!disk("qcow2").whole);
        assert!(disk("raw").whole);
    }

    #[test]
    fn a_network_tells_its_subnet_and_whether_it_is_in_use() {
        let xml = "<network connections='2'><name>wdev-a</name><bridge name='virbr2'/>
            <ip address='192.168.56.1' netmask='255.255.255.0'/>
            <ip family='ipv6' address='fd00::1' prefix='64'/></network>";
        let network = network_in("wdev-a", xml);
        assert_eq!(network.subnets, ["192.168.56.0/24".parse().unwrap()]);
        assert!(network.connected);
        let idle =
            "<network><name>n</name><ip family='ipv4' address='10.0.0.1' prefix='16'/></network>";
        let network = network_in("n", idle);
        assert_eq!(network.subnets, ["10.0.0.0/16".parse().unwrap()]);
        assert!(!network.connected);
    }

    #[test]
    fn a_volume_tells_its_file_its_size_and_what_it_is_a_layer_on() {
        let xml = "<volume type='file'><name>wdev-a-cp.img</name><key>k</key>
            <capacity unit='bytes'>3221225472</capacity><allocation unit='bytes'>1</allocation>
            <physical unit='bytes'>197120</physical>
            <target><path>/pool/wdev-a-cp.img</path><format type='qcow2'/></target>
            <backingStore><path>/pool/base.img</path></backingStore></volume>";
        assert_eq!(
            volume_in(xml, "default"),
            Some(Volume {
                name: "wdev-a-cp.img".to_owned(),
                path: "/pool/wdev-a-cp.img".to_owned(),
                bytes: 197_120,
                backing: Some("/pool/base.img".to_owned()),
                pool: "default".to_owned(),
            })
        );
    }

    #[test]
    fn a_row_of_a_list_ends_with_the_path() {
        assert_eq!(
            path_of_row(" a b.img   /pool/a b.img"),
            Some("/pool/a b.img")
        );
        assert_eq!(path_of_row("-----"), None);
    }
}
