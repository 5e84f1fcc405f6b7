//! What `VBoxManage` prints, read.
//!
//! Its forms are those that Vagrant's own driver reads (`plugins/providers/virtualbox/driver/version_5_0.rb`,
//! `version_7_0.rb`); the language is English because `LANG=C` is set.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use ipnet::Ipv4Net;

/// A version, such as 7.0.20.
pub type Version = (u32, u32, u32);

/// A registered machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vm {
    /// Its name; `<inaccessible>` where VirtualBox cannot read it.
    pub name: String,
    /// Its UUID.
    pub id: String,
}

/// A host-only interface, or a host-only network where the host has those instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// The network that the host's own address is in; none before it has an address.
    pub subnet: Option<Ipv4Net>,
}

/// A registered disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// Its UUID.
    pub id: String,
    /// The disk that it holds the differences to.
    pub parent: Option<String>,
    /// Its file.
    pub location: PathBuf,
}

/// What `showvminfo --machinereadable` tells of a machine.
#[derive(Debug, Clone, Default)]
pub struct Info(BTreeMap<String, String>);

impl Info {
    /// Reads it.
    #[must_use]
    pub fn parse(lines: &[String]) -> Self {
        let pair = |line: &String| {
            let (key, value) = line.split_once('=')?;
            Some((bare(key).to_owned(), bare(value).to_owned()))
        };
        Self(lines.iter().filter_map(pair).collect())
    }

    /// The state, such as `poweroff`.
    #[must_use]
    pub fn state(&self) -> &str {
        self.0.get("VMState").map_or("", String::as_str)
    }

    /// The folder that its settings lie in.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        Path::new(self.0.get("CfgFile")?).parent()
    }

    /// Whether an adapter is set to the host-only interface or network `name`, also one that is off.
    #[must_use]
    pub fn uses(&self, name: &str) -> bool {
        self.adapter(name).is_some()
    }

    /// The MAC address of the adapter that is set to the host-only interface or network `name`, as
    /// `08:00:27:0a:0b:0c`.
    #[must_use]
    pub fn mac(&self, name: &str) -> Option<String> {
        let number = self.adapter(name)?;
        let digits = self.0.get(&format!("macaddress{number}"))?.to_lowercase();
        let pairs: Vec<_> = digits.as_bytes().chunks(2).collect();
        let text = pairs.iter().map(|pair| String::from_utf8_lossy(pair));
        Some(text.collect::<Vec<_>>().join(":"))
    }

    fn adapter(&self, name: &str) -> Option<&str> {
        self.0.iter().find_map(|(key, value)| {
            let number = key
                .strip_prefix("hostonlyadapter")
                .or_else(|| key.strip_prefix("hostonly-network"))?;
            (value == name).then_some(number)
        })
    }
}

fn bare(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(text)
}

/// `list vms`.
#[must_use]
pub fn vms(lines: &[String]) -> Vec<Vm> {
    let vm = |line: &String| {
        let (name, id) = line.trim().rsplit_once(" {")?;
        Some(Vm {
            name: bare(name).to_owned(),
            id: id.strip_suffix('}')?.to_owned(),
        })
    };
    lines.iter().filter_map(vm).collect()
}

/// Lists of `Key: value` lines, of which each begins with the key `first`.
fn blocks<'a>(lines: &'a [String], first: &str) -> Vec<BTreeMap<&'a str, &'a str>> {
    let mut blocks: Vec<BTreeMap<&str, &str>> = Vec::new();
    for line in lines {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        if key == first {
            blocks.push(BTreeMap::new());
        }
        if let Some(block) = blocks.last_mut() {
            block.insert(key, value.trim());
        }
    }
    blocks
}

/// `list hostonlyifs`, or `list hostonlynets`, where the lower address stands for the host's.
#[must_use]
pub fn interfaces(lines: &[String]) -> Vec<Interface> {
    let interface = |block: BTreeMap<&str, &str>| {
        let address = block.get("IPAddress").or_else(|| block.get("LowerIP"));
        let mask = block.get("NetworkMask");
        let subnet = address.zip(mask).and_then(|(address, mask)| {
            let address: Ipv4Addr = address.parse().ok()?;
            let net = Ipv4Net::with_netmask(address, mask.parse().ok()?).ok()?;
            (!address.is_unspecified()).then(|| net.trunc())
        });
        Some(Interface {
            name: (*block.get("Name")?).to_owned(),
            subnet,
        })
    };
    blocks(lines, "Name")
        .into_iter()
        .filter_map(interface)
        .collect()
}

/// `list hdds`.
#[must_use]
pub fn disks(lines: &[String]) -> Vec<Disk> {
    let disk = |block: BTreeMap<&str, &str>| {
        Some(Disk {
            id: (*block.get("UUID")?).to_owned(),
            parent: block
                .get("Parent UUID")
                .filter(|parent| **parent != "base")
                .map(|parent| (*parent).to_owned()),
            location: PathBuf::from(block.get("Location")?),
        })
    };
    blocks(lines, "UUID").into_iter().filter_map(disk).collect()
}

/// The folder that new machines are made in, of `list systemproperties`.
#[must_use]
pub fn machine_folder(lines: &[String]) -> Option<PathBuf> {
    let folder = |line: &String| {
        let value = line.strip_prefix("Default machine folder:")?.trim();
        (!value.is_empty()).then(|| PathBuf::from(value))
    };
    lines.iter().find_map(folder)
}

/// `--version`: the line with the number, such as `7.0.20r163906` or `7.0.20_Debianr163906`, which
/// warnings may precede.
#[must_use]
pub fn version(lines: &[String]) -> Option<Version> {
    lines.iter().find_map(|line| {
        let mut parts = line.trim().splitn(3, '.');
        let (major, minor) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let patch = parts.next()?;
        let end = patch
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(patch.len());
        Some((major, minor, patch.get(..end)?.parse().ok()?))
    })
}

/// The name that the machine of a box would get, of `import -n`.
#[must_use]
pub fn suggested_name(lines: &[String]) -> Option<String> {
    let name = |line: &String| {
        let (_, rest) = line.split_once("Suggested VM name \"")?;
        Some(rest.rsplit_once('"')?.0.to_owned())
    };
    lines.iter().find_map(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn machines_have_any_name() {
        let list = lines(
            "\"a \"quoted\" {name}\" {11111111-2222-3333-4444-555555555555}\n\
             \"<inaccessible>\" {66666666-2222-3333-4444-555555555555}\nno machine\n",
        );
        let names: Vec<_> = vms(&list).into_iter().map(|vm| vm.name).collect();
        assert_eq!(names, ["a \"quoted\" {name}", "<inaccessible>"]);
    }

    #[test]
    fn interfaces_are_known_by_their_subnet() {
        let list = lines(
            "Name:            vboxnet0\nGUID:            786f6276-656e-4074-8000-0a0027000000\n\
             DHCP:            Disabled\nIPAddress:       192.168.56.1\n\
             NetworkMask:     255.255.255.0\nIPV6Address:     fe80::800:27ff:fe00:0\n\
             Status:          Up\nVBoxNetworkName: HostInterfaceNetworking-vboxnet0\n\n\
             Name:            VirtualBox Host-Only Ethernet Adapter #2\nIPAddress:       \n\
             NetworkMask:     255.255.255.0\n",
        );
        let found = interfaces(&list);
        assert_eq!(found[0].subnet, "192.168.56.0/24".parse().ok());
        assert_eq!(found[1].name, "VirtualBox Host-Only Ethernet Adapter #2");
        assert_eq!(found[1].subnet, None);
        // On macOS since VirtualBox 7.
        let list = lines(
            "Name:            vagrantnet-vbox1\nState:           Enabled\n\
             NetworkMask:     255.255.255.0\nLowerIP:         192.168.57.0\n\
             UpperIP:         192.168.57.0\n",
        );
        assert_eq!(interfaces(&list)[0].subnet, "192.168.57.0/24".parse().ok());
    }

    #[test]
    fn a_machine_tells_its_state_folder_and_networks() {
        let info = Info::parse(&lines(
            "name=\"x\"\nCfgFile=\"/home/dev/VirtualBox VMs/x/x.vbox\"\nVMState=\"poweroff\"\n\
             hostonlyadapter2=\"vboxnet3\"\nmacaddress2=\"0800270A0B0C\"\nnic2=\"hostonly\"\nForwarding(0)=\"ssh,tcp,,1,,22\"\n",
        ));
        assert_eq!(info.state(), "poweroff");
        assert_eq!(info.folder(), Some(Path::new("/home/dev/VirtualBox VMs/x")));
        assert!(info.uses("vboxnet3") && !info.uses("vboxnet0"));
        assert_eq!(info.mac("vboxnet3").as_deref(), Some("08:00:27:0a:0b:0c"));
    }

    #[test]
    fn disks_know_what_they_descend_from() {
        let list = lines(
            "UUID:           a\nParent UUID:    base\nState:          locked read\n\
             Location:       /v/m/m.vmdk\n\nUUID:           b\nParent UUID:    a\n\
             Location:       C:\\Users\\dev\\VirtualBox VMs\\n\\b.vmdk\n",
        );
        let found = disks(&list);
        assert_eq!(found[0].parent, None);
        assert_eq!(found[1].parent.as_deref(), Some("a"));
        assert!(found[1].location.to_string_lossy().starts_with("C:\\"));
    }

    #[test]
    fn the_version_is_found_after_warnings() {
        let said = lines(
            "WARNING: The character device /dev/vboxdrv does not exist.\n\
             \t Please install the virtualbox-dkms package\n7.0.20_Debianr163906\n",
        );
        assert_eq!(version(&said), Some((7, 0, 20)));
        assert_eq!(version(&lines("7.2.10r175432")), Some((7, 2, 10)));
        assert_eq!(version(&lines("nothing\n1.2")), None);
    }

    #[test]
    fn the_name_of_a_boxs_machine_may_hold_anything() {
        let said = lines(" 1: Suggested VM name \"packer-debian \"12\"\"\n");
        assert_eq!(
            suggested_name(&said).as_deref(),
            Some("packer-debian \"12\"")
        );
    }
}
