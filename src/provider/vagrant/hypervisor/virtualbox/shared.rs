//! What the machines share on the host, and Vagrant leaves behind: the host-only interface and the
//! masters of linked clones.
//!
//! Both are Vagrant's to make. The ledger is told beforehand which there were, so that what was there
//! before is never taken for ours, and which sandboxes use what Vagrant made for us.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::half_made::{KIND, Making, Swept};
use super::manage::Manage;
use super::output::{Disk, Interface, Vm};
use super::{PROVIDER, VirtualBox};
use crate::channel::Io;
use crate::error::Result;
use crate::home::remove_file;
use crate::ledger::{Entry, Open};
use crate::process::quote;
use crate::provider::vagrant::hypervisor::vagrant_home::LocalBox;

/// The ledger's kind for a host-only interface; its name is the subnet.
const INTERFACE: &str = "virtualbox-interface";
/// A fact: the names of the interfaces that there were before, one a line.
const OTHERS: &str = "others";
/// The ledger's kind for a master; its name is the machine's id.
const MASTER: &str = "virtualbox-master";
/// A fact: the file in which Vagrant keeps that id.
const FILE: &str = "file";

/// The id of a box's master, as Vagrant keeps it.
pub(super) fn master_of(of_box: &LocalBox) -> Option<String> {
    let text = std::fs::read_to_string(of_box.folder.join("master_id")).ok()?;
    Some(text.trim().to_owned()).filter(|id| !id.is_empty())
}

impl VirtualBox {
    /// Notes, before Vagrant looks for a host-only interface with our subnet, whether it will find one
    /// that is not ours. `begun` tells that an earlier making of the machine was cut short.
    pub(super) async fn claim_interface(
        &self,
        manage: &Manage,
        begun: bool,
        io: &Io,
    ) -> Result<()> {
        let subnet = self.site.subnet.trunc().to_string();
        let mut ledger = self.site.ledger.open(self.site.clock).await?;
        let interfaces = manage.interfaces(io).await?;
        let there = interfaces.iter().find(|found| self.is_of_subnet(found));
        let facts = match (there, ledger.find(INTERFACE, &subnet)) {
            (Some(_), None) => return Ok(()),
            (Some(found), Some(entry)) if others(entry).any(|other| other == found.name) => {
                return Ok(());
            }
            (Some(_), Some(_)) => BTreeMap::new(),
            (None, entry) => {
                if let Some(entry) = entry.filter(|_| begun) {
                    self.remove_unfinished(manage, entry, &interfaces, io)
                        .await?;
                }
                let names: Vec<_> = interfaces.into_iter().map(|found| found.name).collect();
                BTreeMap::from([(OTHERS.to_owned(), names.join("\n"))])
            }
        };
        ledger.claim(INTERFACE, &subnet, &self.site.sandbox, facts)
    }

    /// The same as [`Self::remove_unfinished`], when the machine goes whose making was cut short.
    pub(super) async fn forget_unfinished(&self, manage: &Manage, io: &Io) -> Result<Swept> {
        let subnet = self.site.subnet.trunc().to_string();
        let ledger = self.site.ledger.open(self.site.clock).await?;
        let Some(entry) = ledger.find(INTERFACE, &subnet) else {
            return Ok(Swept::default());
        };
        let interfaces = manage.interfaces(io).await?;
        self.remove_unfinished(manage, entry, &interfaces, io).await
    }

    /// Removes interfaces that Vagrant made for us and was killed before it gave them an address: it
    /// fails as long as there is one (`lib/vagrant/util/network_ip.rb` cannot read what is no address).
    /// Nothing tells whose such an interface is but that a making of ours was cut short.
    async fn remove_unfinished(
        &self,
        manage: &Manage,
        entry: &Entry,
        interfaces: &[Interface],
        io: &Io,
    ) -> Result<Swept> {
        let mut swept = Swept::default();
        for interface in interfaces {
            let name = &interface.name;
            let ours = interface.subnet.is_none() && others(entry).all(|other| other != name);
            if ours && self.user_of(manage, name, io).await?.is_none() {
                if self.vagrant_at_work(None) {
                    io.note(stays(&format!("the host-only interface `{name}`")));
                    swept.left = true;
                    continue;
                }
                io.note(format!("removing the host-only interface `{name}`"));
                manage.remove_interface(name, io).await?;
                swept.removed = true;
            }
        }
        Ok(swept)
    }

    /// The name of a machine that is set to a host-only interface.
    async fn user_of(&self, manage: &Manage, interface: &str, io: &Io) -> Result<Option<String>> {
        for vm in manage.vms(io).await? {
            let info = manage.info(&vm.id, io).await?;
            if info.is_some_and(|info| info.uses(interface)) {
                return Ok(Some(vm.name));
            }
        }
        Ok(None)
    }

    pub(super) fn is_of_subnet(&self, interface: &Interface) -> bool {
        interface.subnet == Some(self.site.subnet.trunc())
    }

    /// The boxes that the sandbox's Vagrantfile names.
    pub(super) fn boxes(&self) -> Vec<LocalBox> {
        let text = std::fs::read_to_string(self.site.dir.join("Vagrantfile")).unwrap_or_default();
        let Some(home) = &self.home else {
            return Vec::new();
        };
        let named = |of_box: &LocalBox| {
            ['\'', '"']
                .iter()
                .any(|quote| text.contains(&format!("{quote}{}{quote}", of_box.name)))
        };
        home.boxes(PROVIDER).into_iter().filter(named).collect()
    }

    /// Notes that the sandbox uses the masters of its boxes, as far as Vagrant has made them for us:
    /// for this sandbox, `making` a machine, or for another one.
    pub(super) async fn claim_masters(
        &self,
        manage: &Manage,
        making: Option<&Making>,
        io: &Io,
    ) -> Result<()> {
        let vms = manage.vms(io).await?;
        for of_box in self.boxes() {
            let Some(id) = master_of(&of_box) else {
                continue;
            };
            let Some(vm) = vms.iter().find(|vm| vm.id == id) else {
                continue;
            };
            let mut ledger = self.site.ledger.open(self.site.clock).await?;
            let made_now = making.is_some_and(|making| making.covers(vm));
            if made_now || ledger.find(MASTER, &id).is_some() {
                let file = of_box.folder.join("master_id");
                let facts =
                    BTreeMap::from([(FILE.to_owned(), file.to_string_lossy().into_owned())]);
                ledger.claim(MASTER, &id, &self.site.sandbox, facts)?;
            }
        }
        Ok(())
    }

    /// Removes what the sandbox shared and nobody uses any more. What cannot be removed is told and stays
    /// in the ledger, for the next sandbox that goes.
    pub(super) async fn release_shared(&self, manage: &Manage, io: &Io) -> Result<()> {
        let mut ledger = self.site.ledger.open(self.site.clock).await?;
        for entry in self.released(&mut ledger, MASTER)? {
            let removed = self.remove_master(manage, &entry, io).await;
            if told(removed, io) {
                ledger.forget(MASTER, &entry.name)?;
            }
        }
        let making = ledger.all(KIND).next().is_some();
        for entry in self.released(&mut ledger, INTERFACE)? {
            let removed = self.remove_interface(manage, &entry, making, io).await;
            if told(removed, io) {
                ledger.forget(INTERFACE, &entry.name)?;
            }
        }
        Ok(())
    }

    /// Lets go of everything of a kind, and returns what nobody uses.
    fn released(&self, ledger: &mut Open, kind: &str) -> Result<Vec<Entry>> {
        let names: Vec<String> = ledger.all(kind).map(|entry| entry.name.clone()).collect();
        let mut unused = Vec::new();
        for name in names {
            unused.extend(ledger.release(kind, &name, &self.site.sandbox)?);
        }
        Ok(unused)
    }

    /// Says whether the master is gone.
    async fn remove_master(&self, manage: &Manage, entry: &Entry, io: &Io) -> Result<bool> {
        let vms = manage.vms(io).await?;
        if let Some(vm) = vms.iter().find(|vm| vm.id == entry.name) {
            if self.is_linked_to(manage, vm, io).await? {
                io.note(format!(
                    "the master `{}` stays: another machine is a clone of it",
                    vm.name
                ));
                return Ok(false);
            }
            if self.vagrant_at_work(None) {
                io.note(stays(&format!("the master `{}`", vm.name)));
                return Ok(false);
            }
            io.note(format!(
                "removing the master of linked clones `{}`",
                vm.name
            ));
            manage.remove(vm, io).await?;
        }
        // Vagrant would make a new one by itself; but the file is a part of what was made.
        if let Some(file) = entry.facts.get(FILE).map(Path::new) {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            if text.trim() == entry.name {
                remove_file(file)?;
            }
        }
        Ok(true)
    }

    /// Whether a disk of another machine holds the differences to one of this machine's.
    pub(super) async fn is_linked_to(&self, manage: &Manage, vm: &Vm, io: &Io) -> Result<bool> {
        let Some(info) = manage.info(&vm.id, io).await? else {
            return Ok(false);
        };
        let Some(folder) = info.folder().map(PathBuf::from) else {
            // It cannot be known, and a clone without its master is lost.
            return Ok(true);
        };
        Ok(is_linked(&manage.disks(io).await?, &folder))
    }

    /// Says whether the interface is gone. One without an address is not ours by itself; while something
    /// of ours is in the `making`, the entry is needed to find it.
    async fn remove_interface(
        &self,
        manage: &Manage,
        entry: &Entry,
        making: bool,
        io: &Io,
    ) -> Result<bool> {
        let mut gone = true;
        let known: Vec<&str> = others(entry).collect();
        let interfaces = manage.interfaces(io).await?;
        let new = |interface: &&Interface| !known.contains(&interface.name.as_str());
        for interface in interfaces.iter().filter(new) {
            match interface.subnet {
                Some(subnet) if subnet.to_string() == entry.name => {}
                Some(_) => continue,
                None => {
                    io.note(format!(
                        "the host-only interface `{}` has no address, and nothing tells who made it: \
                         it stays",
                        interface.name
                    ));
                    gone &= !making;
                    continue;
                }
            }
            if let Some(user) = self.user_of(manage, &interface.name, io).await? {
                io.note(format!(
                    "the host-only interface `{}` stays: the machine `{user}` is set to it",
                    interface.name
                ));
                return Ok(false);
            }
            if self.vagrant_at_work(None) {
                io.note(stays(&format!(
                    "the host-only interface `{}`",
                    interface.name
                )));
                return Ok(false);
            }
            io.note(format!(
                "removing the host-only interface `{}`",
                interface.name
            ));
            if let Err(failure) = manage.remove_interface(&interface.name, io).await {
                let words: Vec<_> = manage
                    .removal(&interface.name)
                    .into_iter()
                    .map(quote)
                    .collect();
                io.note(format!(
                    "remove it yourself: `VBoxManage {}`",
                    words.join(" ")
                ));
                return Err(failure);
            }
        }
        Ok(gone)
    }
}

fn others(entry: &Entry) -> impl Iterator<Item = &str> {
    entry.facts.get(OTHERS).map_or("", String::as_str).lines()
}

fn stays(what: &str) -> String {
    format!("{what} stays: a Vagrant that runs may be about to use it")
}

/// Whether a thing is gone; tells why not.
fn told(removed: Result<bool>, io: &Io) -> bool {
    removed.unwrap_or_else(|failure| {
        io.note(failure.to_string());
        false
    })
}

/// Whether a disk outside `folder` descends from one inside.
fn is_linked(disks: &[Disk], folder: &Path) -> bool {
    let parent = |disk: &Disk| {
        let id = disk.parent.as_ref()?;
        disks.iter().find(|other| other.id == *id)
    };
    disks
        .iter()
        .filter(|disk| !disk.location.starts_with(folder))
        .any(|disk| {
            // No chain is longer than the list, unless it is a circle.
            std::iter::successors(parent(disk), |disk| parent(disk))
                .take(disks.len())
                .any(|ancestor| ancestor.location.starts_with(folder))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(id: &str, parent: &str, location: &str) -> Disk {
        Disk {
            id: id.to_owned(),
            parent: (!parent.is_empty()).then(|| parent.to_owned()),
            location: PathBuf::from(location),
        }
    }

    #[test]
    fn a_clone_of_a_clone_holds_the_master() {
        let master = Path::new("/v/master");
        let own = [
            disk("m", "", "/v/master/m.vmdk"),
            disk("s", "m", "/v/master/Snapshots/s.vmdk"),
        ];
        assert!(!is_linked(&own, master));
        let clone = disk("c", "m", "/v/clone/c.vdi");
        assert!(is_linked(&[own[0].clone(), own[1].clone(), clone], master));
        let far = [
            own[0].clone(),
            disk("c", "m", "/elsewhere/c.vdi"),
            disk("d", "c", "/elsewhere/d.vdi"),
        ];
        assert!(is_linked(&far, master));
        // A folder whose name only begins the same, and a circle.
        let others = [
            disk("x", "y", "/v/master2/x.vdi"),
            disk("y", "x", "/v/master2/y.vdi"),
        ];
        assert!(!is_linked(&others, master));
    }
}
