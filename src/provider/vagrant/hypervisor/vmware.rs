//! VMware beside Vagrant: its plugin, and the service that the plugin talks to.
//!
//! Even `vagrant status` needs both. Everything else is the plugin's own: it makes the networks, and removes
//! a machine with all its files.

use std::path::{Path, PathBuf};

use async_trait::async_trait;

use super::vagrant_home::VagrantHome;
use super::{Hypervisor, Site};
use crate::channel::{Io, Os};
use crate::error::{Failure, Kind, Result, io_failure};
use crate::provider::vagrant::MachineRef;

/// Vagrant's plugin.
const PLUGIN: &str = "vagrant-vmware-desktop";
/// What the plugin shows to the service (its `lib/vagrant-vmware-desktop/helper/vagrant_utility.rb`).
const CERTIFICATES: [&str; 2] = ["vagrant-utility.client.crt", "vagrant-utility.client.key"];
/// Where the service is told about.
const SERVICE_PAGE: &str =
    "https://developer.hashicorp.com/vagrant/docs/providers/vmware/vagrant-vmware-utility";

/// VMware, for one sandbox.
#[derive(Debug)]
pub struct VmWare {
    home: Option<VagrantHome>,
    certificates: PathBuf,
}

impl VmWare {
    /// For one sandbox on this host.
    pub fn new(_site: Site) -> Self {
        Self {
            home: VagrantHome::of_user(),
            certificates: certificates(),
        }
    }

    fn installed(&self) -> Result<()> {
        let has_plugin = self
            .home
            .as_ref()
            .is_none_or(|home| home.plugins().iter().any(|name| name == PLUGIN));
        if !has_plugin {
            return Err(Box::new(
                Failure::new(
                    Kind::Host,
                    format!("Vagrant's plugin `{PLUGIN}` is not installed"),
                )
                .because("without it Vagrant cannot drive VMware")
                .advise(format!("`vagrant plugin install {PLUGIN}`"))
                .advise(format!("it needs a service beside it: {SERVICE_PAGE}"))
                .permanent(),
            ));
        }
        let folder = &self.certificates;
        if !folder.is_dir() {
            let failure = Failure::new(Kind::Host, "the Vagrant VMware Utility is not installed");
            return Err(Box::new(
                failure
                    .because(format!("there is no folder `{}`", folder.display()))
                    .advise(format!("install it: {SERVICE_PAGE}"))
                    .permanent(),
            ));
        }
        let lacks = |name: &&&str| !is_readable(&folder.join(name));
        let Some(missing) = CERTIFICATES.iter().find(lacks) else {
            return Ok(());
        };
        Err(Box::new(
            Failure::new(Kind::Host, "the Vagrant VMware Utility cannot be talked to")
                .because(format!(
                    "`{}` is missing or cannot be read",
                    folder.join(missing).display()
                ))
                .advise(
                    "make the certificates anew, as an administrator: \
                 `vagrant-vmware-utility certificate generate`",
                )
                .advise(restart())
                .advise(format!("or reinstall it: {SERVICE_PAGE}"))
                .permanent(),
        ))
    }
}

fn is_readable(path: &Path) -> bool {
    std::fs::File::open(path).is_ok()
}

/// The MAC address of the second adapter, which the file with the machine's settings tells. Its path is
/// the machine's id (the plugin's `lib/vagrant-vmware-desktop/driver/base.rb`).
fn private_mac(vmx: &Path) -> Result<String> {
    let text = std::fs::read_to_string(vmx).map_err(|error| io_failure("read", vmx, &error))?;
    // Set by hand, or else made by VMware.
    let keys = ["ethernet1.address", "ethernet1.generatedAddress"];
    let of_line = |wanted: &str, line: &str| {
        let (key, value) = line.split_once('=')?;
        let value = value.trim().trim_matches('"');
        let found = key.trim().eq_ignore_ascii_case(wanted) && !value.is_empty();
        found.then(|| value.to_lowercase())
    };
    let found = keys
        .iter()
        .find_map(|key| text.lines().find_map(|line| of_line(key, line)));
    found.ok_or_else(|| {
        Box::new(
            Failure::new(
                Kind::Provider,
                "the machine has no second adapter with an address",
            )
            .because(format!("`{}` names none", vmx.display()))
            .advise("see the machine's adapters in VMware, then run the same again"),
        )
    })
}

/// Where the service's certificates are (the plugin's `lib/vagrant-vmware-desktop/config.rb`,
/// `detect_certificate_path`).
fn certificates() -> PathBuf {
    if cfg!(windows) {
        let drive = std::env::var("SYSTEMDRIVE").unwrap_or_else(|_| "C:".to_owned());
        return PathBuf::from(format!(
            "{drive}\\ProgramData\\HashiCorp\\vagrant-vmware-desktop\\certificates"
        ));
    }
    PathBuf::from("/opt/vagrant-vmware-desktop/certificates")
}

/// How the service is started anew.
fn restart() -> &'static str {
    if cfg!(windows) {
        "then start its service, as an administrator: `Restart-Service vagrant-vmware-utility`"
    } else if cfg!(target_os = "macos") {
        "then start its service: `sudo launchctl kickstart -k \
         system/com.vagrant.vagrant-vmware-utility`"
    } else {
        "then start its service: `sudo systemctl restart vagrant-vmware-utility`"
    }
}

#[async_trait]
impl Hypervisor for VmWare {
    async fn check(&self, _vagrant: (u32, u32, u32), _io: &Io) -> Result<()> {
        self.installed()
    }

    async fn after_start(
        &self,
        machine: &MachineRef,
        id: &str,
        _io: &Io,
    ) -> Result<Option<String>> {
        match machine.os {
            // Vagrant sets the address.
            Os::Linux => Ok(None),
            // The plugin does not: `configure_networks` of its guests is for others than Windows.
            Os::Windows => private_mac(Path::new(id)).map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is missing on a host with these files.
    fn missing(files: &[&str]) -> Option<Failure> {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let text = r#"{"version":"1","installed":{"vagrant-vmware-desktop":{}}}"#;
            std::fs::write(path, text).unwrap();
        }
        let vmware = VmWare {
            home: Some(VagrantHome::at(dir.path().to_owned())),
            certificates: dir.path().join("certificates"),
        };
        vmware.installed().err().map(|failure| *failure)
    }

    #[test]
    fn each_part_that_is_missing_has_its_own_advice() {
        let key = "certificates/vagrant-utility.client.key";
        let certificate = "certificates/vagrant-utility.client.crt";
        for (files, message, advice) in [
            (&[][..], "plugin", "vagrant plugin install"),
            (&["plugins.json"], "Utility is not installed", "install it"),
            (
                &["plugins.json", key],
                "cannot be talked to",
                "certificate generate",
            ),
        ] {
            let failure = missing(files).unwrap();
            assert_eq!(failure.kind, Kind::Host);
            assert!(failure.message.contains(message), "{failure:?}");
            assert!(
                failure.advice.iter().any(|line| line.contains(advice)),
                "{failure:?}"
            );
        }
        assert!(missing(&["plugins.json", key, certificate]).is_none());
    }

    #[test]
    fn the_second_adapters_address_is_found_however_it_was_set() {
        let dir = tempfile::tempdir().unwrap();
        let vmx = dir.path().join("x.vmx");
        let read = |text: &str| {
            std::fs::write(&vmx, text).unwrap();
            private_mac(&vmx)
        };
        let first = "ethernet0.address = \"00:0c:29:00:00:01\"\n";
        let made = "ethernet1.generatedAddress = \"00:0C:29:AA:00:02\"\n";
        assert_eq!(
            read(&format!("{first}{made}")).unwrap(),
            "00:0c:29:aa:00:02"
        );
        let set = "Ethernet1.Address = \"00:50:56:00:00:03\"\n";
        assert_eq!(read(&format!("{made}{set}")).unwrap(), "00:50:56:00:00:03");
        assert_eq!(read(first).unwrap_err().kind, Kind::Provider);
    }
}
