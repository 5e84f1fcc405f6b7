//! VirtualBox beside Vagrant: checks of the host, and what Vagrant leaves half-made or behind.
//!
//! A node's first adapter is Vagrant's, behind VirtualBox' address translation: 10.0.2.15 in every
//! machine, reached through a port of the host. The second is the node's own, in a host-only network;
//! nodes, API server and pods use only that one.

mod half_made;
pub mod host;
mod manage;
mod networks;
pub mod output;
mod shared;

use async_trait::async_trait;

use self::half_made::KIND;
use self::host::Places;
use self::manage::Manage;
use super::super::{MachineRef, versions};
use super::vagrant_home::VagrantHome;
use super::{Hypervisor, Site};
use crate::channel::{Io, Os};
use crate::config::model::ProviderName;
use crate::diagnose::Said;
use crate::error::{Failure, Kind, Result};

/// Vagrant's name of the provider.
const PROVIDER: &str = "virtualbox";

/// VirtualBox, for one sandbox.
#[derive(Debug)]
pub struct VirtualBox {
    site: Site,
    places: Places,
    home: Option<VagrantHome>,
}

impl VirtualBox {
    /// For one sandbox on this host.
    #[must_use]
    pub fn new(site: Site) -> Self {
        Self::on(site, Places::of_host(), VagrantHome::of_user())
    }

    /// For one sandbox on a host where things are elsewhere.
    #[must_use]
    pub fn on(site: Site, places: Places, home: Option<VagrantHome>) -> Self {
        Self { site, places, home }
    }

    fn interfaces_only(&self) -> Result<Manage> {
        let program = self.places.manage.clone();
        let program = program.ok_or_else(host::not_installed)?;
        Ok(Manage::new(program, false, self.site.clock))
    }

    async fn manage(&self, io: &Io) -> Result<Manage> {
        let manage = self.interfaces_only()?;
        if !cfg!(target_os = "macos") {
            return Ok(manage);
        }
        let networks = host::has_networks(host::version(&manage, io).await?);
        let program = manage.program().to_owned();
        Ok(Manage::new(program, networks, self.site.clock))
    }

    /// The id of the machine that Vagrant knows.
    fn known(&self, machine: &MachineRef) -> Option<String> {
        let machines = self.site.dir.join(".vagrant").join("machines");
        let file = machines
            .join(machine.lane.as_str())
            .join(PROVIDER)
            .join("id");
        let id = std::fs::read_to_string(file).ok()?;
        Some(id.trim().to_owned()).filter(|id| !id.is_empty())
    }

    /// The MAC address of the adapter in the nodes' subnet.
    async fn private_mac(&self, manage: &Manage, id: &str, io: &Io) -> Result<Option<String>> {
        let interfaces = manage.interfaces(io).await?;
        let info = manage.info(id, io).await?.unwrap_or_default();
        let mut ours = interfaces.iter().filter(|found| self.is_of_subnet(found));
        match ours.find_map(|found| info.mac(&found.name)) {
            Some(mac) => Ok(Some(mac)),
            None => Err(Box::new(
                Failure::new(
                    Kind::Provider,
                    format!("the machine `{id}` has no adapter in the nodes' subnet"),
                )
                .because(format!(
                    "none of its host-only interfaces is in {}",
                    self.site.subnet
                ))
                .advise("see its adapters in VirtualBox, and `list hostonlyifs` of `VBoxManage`"),
            )),
        }
    }

    /// Removes the machine that has our unique name, unless it is `known` to Vagrant, and a folder that
    /// an earlier one of that name has left (`VERR_ALREADY_EXISTS`; hashicorp/vagrant #8961, #13597).
    async fn remove_of_name(
        &self,
        manage: &Manage,
        machine: &MachineRef,
        known: Option<&str>,
        io: &Io,
    ) -> Result<bool> {
        let vms = manage.vms(io).await?;
        let mut removed = false;
        if let Some(vm) = vms.iter().find(|vm| vm.name == machine.unique) {
            if known == Some(vm.id.as_str()) {
                return Ok(false);
            }
            io.note(format!("removing the leftover machine `{}`", vm.name));
            manage.remove(vm, io).await?;
            removed = true;
        }
        let Some(folder) = manage.machine_folder(io).await? else {
            return Ok(removed);
        };
        let folder = folder.join(&machine.unique);
        let is_folder = std::fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir());
        Ok(is_folder && self.remove_folder(manage, &folder, io).await? || removed)
    }
}

#[async_trait]
impl Hypervisor for VirtualBox {
    async fn check(&self, vagrant: (u32, u32, u32), io: &Io) -> Result<()> {
        let manage = self.interfaces_only()?;
        let version = host::version(&manage, io).await?;
        for remark in versions::rules(ProviderName::Virtualbox, vagrant, Some(version))? {
            io.note(remark);
        }
        host::subnet(&self.places, version, self.site.subnet)?;
        if let Some(warning) = host::kvm(&self.places, version) {
            io.note(warning);
        }
        Ok(())
    }

    async fn before_start(&self, machine: &MachineRef, io: &Io) -> Result<()> {
        let manage = self.manage(io).await?;
        let known = self.known(machine);
        let making = self.making(machine).await?;
        let begun = making.is_some();
        self.claim_masters(&manage, making.as_ref(), io).await?;
        if known.is_none() {
            if let Some(making) = making {
                // What it leaves is looked for again when the machine is up, and when it goes.
                self.sweep(&manage, &making, None, io).await?;
                self.remove_of_name(&manage, machine, None, io).await?;
            }
            self.note_making(&manage, machine, io).await?;
        }
        self.claim_interface(&manage, begun, io).await
    }

    async fn after_start(&self, machine: &MachineRef, id: &str, io: &Io) -> Result<Option<String>> {
        let manage = self.manage(io).await?;
        let making = self.making(machine).await?;
        self.claim_masters(&manage, making.as_ref(), io).await?;
        if let Some(making) = making {
            // An import that outlived its Vagrant may have ended only now.
            let left = making.again && self.sweep(&manage, &making, Some(id), io).await?.left;
            if !left {
                let mut ledger = self.site.ledger.open(self.site.clock).await?;
                ledger.forget(KIND, &machine.unique)?;
            }
        }
        match machine.os {
            // Vagrant sets the address.
            Os::Linux => Ok(None),
            Os::Windows => self.private_mac(&manage, id, io).await,
        }
    }

    async fn reclaim(
        &self,
        machine: &MachineRef,
        known: Option<&str>,
        _said: &Said,
        io: &Io,
    ) -> Result<bool> {
        let manage = self.manage(io).await?;
        if let Some(making) = self.making(machine).await? {
            self.claim_masters(&manage, Some(&making), io).await?;
            if known.is_none() {
                self.sweep(&manage, &making, None, io).await?;
            }
        }
        self.remove_of_name(&manage, machine, known, io).await
    }

    fn removes_machines(&self) -> bool {
        true
    }

    async fn remove_rest(&self, machine: &MachineRef, io: &Io) -> Result<bool> {
        if self.places.manage.is_none() {
            // Nothing can be asked for, and a sandbox must go also where VirtualBox has gone.
            return Ok(false);
        }
        let manage = self.manage(io).await?;
        let mut removed = self.remove_of_name(&manage, machine, None, io).await?;
        if let Some(making) = self.making(machine).await? {
            self.claim_masters(&manage, Some(&making), io).await?;
            let swept = self.sweep(&manage, &making, None, io).await?;
            let swept = swept.and(self.forget_unfinished(&manage, io).await?);
            removed |= swept.removed;
            if swept.left {
                io.note("something half-made stays: a Vagrant that runs may be making it");
            } else {
                let mut ledger = self.site.ledger.open(self.site.clock).await?;
                ledger.forget(KIND, &machine.unique)?;
            }
        }
        Ok(removed)
    }

    async fn after_last(&self, io: &Io) -> Result<()> {
        if self.places.manage.is_none() {
            return Ok(());
        }
        let manage = self.manage(io).await?;
        self.release_shared(&manage, io).await
    }
}
