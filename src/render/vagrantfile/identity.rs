//! Ports of the host and hardware addresses, made from a machine's unique name, so that neither two
//! machines nor two sandboxes ever want the same.

use crate::config::model::ProviderName;

/// A machine's ports on the host. They lie below those that systems give out by themselves.
pub(super) struct Ports {
    pub(super) ssh: u16,
    pub(super) winrm: u16,
    pub(super) winrm_ssl: u16,
}

/// The ports of the host that lead to a machine.
///
/// Machines that come up at the same time all find Vagrant's one default port free, and all but one of
/// them fail. With ports of their own that is rare; then Vagrant's repair and our next attempt help.
pub(super) fn ports(unique_name: &str) -> Ports {
    let [a, b, c, d, ..] = hash(unique_name);
    let winrm = u16::from_le_bytes([c, d]) % 5_000;
    Ports {
        ssh: 20_000 + u16::from_le_bytes([a, b]) % 10_000,
        winrm: 10_000 + winrm,
        winrm_ssl: 15_000 + winrm,
    }
}

/// The hardware address of a Windows machine's adapter in the nodes' subnet, as 12 hexadecimal digits:
/// the guest finds by it which adapter gets the node's address. None where it is not in the Vagrantfile:
/// Linux guests are configured by Vagrant, and Hyper-V's second adapter is not Vagrant's.
#[must_use]
pub fn private_mac(provider: ProviderName, unique_name: &str) -> Option<String> {
    // Each vendor's own prefix; VMware takes nothing above 3F behind it for an address of one's own.
    let (prefix, first_max) = match provider {
        ProviderName::Virtualbox => ("080027", 0xff),
        ProviderName::Libvirt => ("525400", 0xff),
        ProviderName::VmwareDesktop => ("005056", 0x3f),
        _ => return None,
    };
    let [.., a, b, c] = hash(unique_name);
    Some(format!("{prefix}{:02X}{b:02X}{c:02X}", a & first_max))
}

fn hash(unique_name: &str) -> [u8; 32] {
    *blake3::hash(unique_name.as_bytes()).as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vmware_takes_the_address() {
        for number in 0..200 {
            let mac = private_mac(ProviderName::VmwareDesktop, &format!("m{number}")).unwrap();
            assert_eq!(mac.len(), 12);
            assert!(u8::from_str_radix(&mac[6..8], 16).unwrap() <= 0x3f, "{mac}");
        }
        assert_eq!(private_mac(ProviderName::Hyperv, "m"), None);
    }

    #[test]
    fn no_port_is_one_that_systems_give_out() {
        for number in 0..2_000 {
            let ports = ports(&format!("m{number}"));
            for port in [ports.ssh, ports.winrm, ports.winrm_ssl] {
                assert!((10_000..30_000).contains(&port));
            }
        }
    }
}
