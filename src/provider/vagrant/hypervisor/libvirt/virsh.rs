//! libvirt's system instance, asked through `virsh`.

use std::collections::BTreeSet;
use std::time::Duration;

use ipnet::Ipv4Net;
use roxmltree::{Document, Node};

use super::super::tool::ask;
use crate::channel::Io;
use crate::clock::Clock;
use crate::error::{Failure, Kind, Result};
use crate::process::{Command, Finished};

/// Where Vagrant's provider makes its machines, unless `qemu_use_session` is on
/// (vagrant-libvirt, lib/vagrant-libvirt/config.rb).
const SYSTEM: &str = "qemu:///system";
/// How long libvirt may take to answer.
const LIMIT: Duration = Duration::from_mins(1);

/// `virsh`, connected to the system instance.
#[derive(Debug, Clone, Copy)]
pub struct Virsh {
    clock: Clock,
}

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
}

impl Virsh {
    /// With the clock for its limits.
    pub fn new(clock: Clock) -> Self {
        Self { clock }
    }

    /// Asks anything; the exit code is the caller's to judge.
    pub async fn ask(&self, args: &[&str], io: &Io) -> Result<(Finished, Vec<String>)> {
        let command = Command::new("virsh")
            .args(["--quiet", "--connect", SYSTEM])
            .args(args.iter().copied());
        ask("libvirt", command, LIMIT, self.clock, io).await
    }

    /// Asks for lines, without empty ones.
    async fn lines(&self, args: &[&str], io: &Io) -> Result<Vec<String>> {
        let (finished, lines) = self.ask(args, io).await?;
        if !finished.ok() {
            return Err(failed(args, finished));
        }
        let lines = lines.iter().map(|line| line.trim().to_owned());
        Ok(lines.filter(|line| !line.is_empty()).collect())
    }

    /// Asks for a description. None when the thing is gone.
    async fn xml(&self, args: &[&str], io: &Io) -> Result<Option<String>> {
        let (finished, lines) = self.ask(args, io).await?;
        Ok(finished.ok().then(|| lines.join("\n")))
    }

    /// Does something; that it was done already is the caller's to ask.
    pub async fn run(&self, args: &[&str], io: &Io) -> Result<()> {
        self.lines(args, io).await.map(|_| ())
    }

    /// The names of all machines.
    pub async fn domains(&self, io: &Io) -> Result<Vec<String>> {
        self.lines(&["list", "--all", "--name"], io).await
    }

    /// The id of the machine with this name, when there is one.
    pub async fn domain_id(&self, name: &str, io: &Io) -> Result<Option<String>> {
        if !self.domains(io).await?.iter().any(|known| known == name) {
            return Ok(None);
        }
        let ids = self.lines(&["domuuid", name], io).await?;
        Ok(ids.into_iter().next())
    }

    /// Turns a machine off at once; one that is off already stays so.
    pub async fn power_off(&self, name: &str, io: &Io) -> Result<()> {
        let args = ["destroy", name];
        let (finished, _) = self.ask(&args, io).await?;
        if !finished.ok()
            && self
                .lines(&["list", "--name"], io)
                .await?
                .contains(&name.to_owned())
        {
            return Err(failed(&args, finished));
        }
        Ok(())
    }

    /// The files of a machine's disks, without the layers below them; none when it is gone.
    pub async fn disks(&self, domain: &str, io: &Io) -> Result<BTreeSet<String>> {
        let xml = self.xml(&["dumpxml", domain], io).await?;
        Ok(xml.as_deref().map(disks_in).unwrap_or_default())
    }

    /// The networks that a machine is defined to be in; none when it is gone.
    pub async fn networks_of(&self, domain: &str, io: &Io) -> Result<BTreeSet<String>> {
        let xml = self.xml(&["dumpxml", domain], io).await?;
        Ok(xml.as_deref().map(networks_in).unwrap_or_default())
    }

    /// The MAC address of a machine's adapter in a network.
    pub async fn mac(&self, domain: &str, network: &str, io: &Io) -> Result<Option<String>> {
        let xml = self.xml(&["dumpxml", domain], io).await?;
        Ok(xml.as_deref().and_then(|xml| mac_in(xml, network)))
    }

    /// All networks, running or not.
    pub async fn networks(&self, io: &Io) -> Result<Vec<Network>> {
        let mut networks = Vec::new();
        for name in self.lines(&["net-list", "--all", "--name"], io).await? {
            if let Some(xml) = self.xml(&["net-dumpxml", &name], io).await? {
                networks.push(network_in(&name, &xml));
            }
        }
        Ok(networks)
    }

    /// Stops a network and forgets it.
    pub async fn remove_network(&self, name: &str, io: &Io) -> Result<()> {
        // Fails where it does not run.
        self.ask(&["net-destroy", name], io).await?;
        self.run(&["net-undefine", name], io).await
    }

    /// The volumes of all running pools.
    pub async fn volumes(&self, io: &Io) -> Result<Vec<Volume>> {
        let mut volumes = Vec::new();
        for pool in self.lines(&["pool-list", "--name"], io).await? {
            // Files that came or went without libvirt's knowledge; a pool that cannot be read is empty.
            self.ask(&["pool-refresh", &pool], io).await?;
            let (_, rows) = self.ask(&["vol-list", &pool], io).await?;
            for path in rows.iter().filter_map(|row| path_of_row(row)) {
                if let Some(xml) = self.xml(&["vol-dumpxml", path], io).await? {
                    volumes.extend(volume_in(&xml));
                }
            }
        }
        Ok(volumes)
    }

    /// Removes the volume with this file.
    pub async fn remove_volume(&self, path: &str, io: &Io) -> Result<()> {
        self.run(&["vol-delete", path], io).await
    }
}

/// `NAME   PATH`, in columns.
fn path_of_row(row: &str) -> Option<&str> {
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

fn disks_in(xml: &str) -> BTreeSet<String> {
    parsed(xml, |root| {
        all(root, "disk")
            .filter_map(|disk| disk.children().find(|node| node.has_tag_name("source")))
            .filter_map(|source| source.attribute("file").map(str::to_owned))
            .collect()
    })
    .unwrap_or_default()
}

fn networks_in(xml: &str) -> BTreeSet<String> {
    parsed(xml, |root| {
        all(root, "interface")
            .flat_map(|interface| interface.children())
            .filter(|node| node.has_tag_name("source"))
            .filter_map(|source| source.attribute("network").map(str::to_owned))
            .collect()
    })
    .unwrap_or_default()
}

fn mac_in(xml: &str, network: &str) -> Option<String> {
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

fn network_in(name: &str, xml: &str) -> Network {
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

fn volume_in(xml: &str) -> Option<Volume> {
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
        })
    })?
}

fn failed(args: &[&str], finished: Finished) -> Box<Failure> {
    Box::new(
        Failure::new(
            Kind::Provider,
            format!(
                "libvirt refuses `virsh {}`: {}",
                args.join(" "),
                finished.ending()
            ),
        )
        .output(finished.tail),
    )
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
            BTreeSet::from(["/var/lib/libvirt/images/wdev-a-cp.img".to_owned()])
        );
        assert_eq!(
            networks_in(DOMAIN),
            BTreeSet::from(["vagrant-libvirt".to_owned(), "wdev-a".to_owned()])
        );
        let mac = mac_in(DOMAIN, "wdev-a");
        assert_eq!(mac.as_deref(), Some("52:54:00:00:00:02"));
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
            volume_in(xml),
            Some(Volume {
                name: "wdev-a-cp.img".to_owned(),
                path: "/pool/wdev-a-cp.img".to_owned(),
                bytes: 197_120,
                backing: Some("/pool/base.img".to_owned()),
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
