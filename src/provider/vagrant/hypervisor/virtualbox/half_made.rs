//! What a killed `vagrant up` leaves half-made.
//!
//! Vagrant gives a machine its own name only at its first boot. Before that there is an import called
//! `BOX_MILLISECONDS_RANDOM`, which becomes the master of linked clones or the machine itself, and a clone
//! called `temp_clone_MILLISECONDS_RANDOM`; what it knows of them it writes down only once each is whole
//! (`plugins/providers/virtualbox/driver/version_5_0.rb`, `import` and `clonevm`; `action/import.rb`,
//! `action/import_master.rb`). So before Vagrant makes a machine, the ledger is told when that began and
//! which machines there were. Ours is, of what came later, only what no Vagrant knows or can be at.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::VirtualBox;
use super::manage::Manage;
use super::output::Vm;
use crate::channel::Io;
use crate::error::{Result, io_failure};
use crate::provider::vagrant::MachineRef;

/// The ledger's kind for a machine that is being made; its name is the machine's unique one.
pub const KIND: &str = "virtualbox-machine";
/// The facts: milliseconds since 1970, and the ids of the machines that there were.
const SINCE: &str = "since";
const BEFORE: &str = "before";
/// A fact that is there once an earlier attempt was cut short.
const AGAIN: &str = "again";
/// How Vagrant calls a clone that has no name yet.
const CLONE: &str = "temp_clone";

/// What was noted before Vagrant made a machine.
#[derive(Debug, Clone)]
pub struct Making {
    since: i64,
    before: BTreeSet<String>,
    /// Whether an earlier attempt was cut short.
    pub again: bool,
}

impl Making {
    /// Reads it from the ledger's facts.
    pub fn read(facts: &BTreeMap<String, String>) -> Self {
        let ids = facts.get(BEFORE).map_or("", String::as_str);
        Self {
            // Without a beginning nothing is ours.
            since: facts
                .get(SINCE)
                .and_then(|since| since.parse().ok())
                .unwrap_or(i64::MAX),
            before: ids.split_whitespace().map(str::to_owned).collect(),
            again: facts.contains_key(AGAIN),
        }
    }

    /// Whether Vagrant may have made the machine meanwhile: it is new, and its name says when it began.
    pub fn covers(&self, vm: &Vm) -> bool {
        let stamp = Stamp::of(&vm.name);
        !self.before.contains(&vm.id) && stamp.is_some_and(|stamp| self.covers_time(stamp.millis))
    }

    fn covers_time(&self, millis: i64) -> bool {
        (self.since..=Timestamp::now().as_millisecond()).contains(&millis)
    }
}

/// A name that Vagrant gives before the own one.
struct Stamp<'a> {
    of: &'a str,
    millis: i64,
}

impl<'a> Stamp<'a> {
    fn of(name: &'a str) -> Option<Self> {
        let (rest, random) = name.rsplit_once('_')?;
        let (of, millis) = rest.rsplit_once('_')?;
        let number = |text: &str| text.parse::<i64>().ok().filter(|number| *number >= 0);
        number(random).filter(|random| *random < 100_000)?;
        Some(Self {
            of,
            millis: number(millis)?,
        })
    }
}

/// What a search for half-made machines came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Something was removed.
    pub removed: bool,
    /// Something was left, because a Vagrant that runs may be making it.
    pub left: bool,
}

impl Swept {
    /// What two searches came to.
    pub fn and(self, other: Self) -> Self {
        Self {
            removed: self.removed || other.removed,
            left: self.left || other.left,
        }
    }
}

impl VirtualBox {
    /// Notes that Vagrant is about to make `machine`.
    pub(super) async fn note_making(
        &self,
        manage: &Manage,
        machine: &MachineRef,
        io: &Io,
    ) -> Result<()> {
        let vms = manage.vms(io).await?;
        let ids: Vec<String> = vms.into_iter().map(|vm| vm.id).collect();
        let mut ledger = self.site.ledger.open(self.site.clock).await?;
        let facts = if ledger.find(KIND, &machine.unique).is_some() {
            // The first beginning counts: what an earlier attempt has left is still ours.
            BTreeMap::from([(AGAIN.to_owned(), "yes".to_owned())])
        } else {
            BTreeMap::from([
                (
                    SINCE.to_owned(),
                    Timestamp::now().as_millisecond().to_string(),
                ),
                (BEFORE.to_owned(), ids.join(" ")),
            ])
        };
        ledger.claim(KIND, &machine.unique, &self.site.sandbox, facts)
    }

    /// What was noted when Vagrant began to make `machine`.
    pub(super) async fn making(&self, machine: &MachineRef) -> Result<Option<Making>> {
        let ledger = self.site.ledger.open(self.site.clock).await?;
        let entry = ledger.find(KIND, &machine.unique);
        Ok(entry.map(|entry| Making::read(&entry.facts)))
    }

    /// Removes what `machine`'s making has left half-made, but not the machine `known` to Vagrant.
    pub(super) async fn sweep(
        &self,
        manage: &Manage,
        making: &Making,
        known: Option<&str>,
        io: &Io,
    ) -> Result<Swept> {
        let mut swept = Swept::default();
        let vms = manage.vms(io).await?;
        let mut names = Vec::new();
        for vm in vms.iter().filter(|vm| making.covers(vm)) {
            if known == Some(vm.id.as_str()) || self.is_known(&vm.id) {
                continue;
            }
            if !self.is_half_made(manage, &vm.name, &mut names, io).await? {
                continue;
            }
            let Some(info) = manage.info(&vm.id, io).await? else {
                continue;
            };
            if info.state() != "poweroff" || self.is_linked_to(manage, vm, io).await? {
                continue;
            }
            if Stamp::of(&vm.name).is_some_and(|stamp| self.may_be_at_work(stamp.millis)) {
                swept.left = true;
                continue;
            }
            io.note(format!("removing the half-made machine `{}`", vm.name));
            manage.remove(vm, io).await?;
            swept.removed = true;
        }
        let of_folders = self.sweep_folders(manage, making, &mut names, io).await?;
        Ok(swept.and(of_folders))
    }

    /// Removes the folders of machines that were never registered.
    async fn sweep_folders(
        &self,
        manage: &Manage,
        making: &Making,
        names: &mut Vec<String>,
        io: &Io,
    ) -> Result<Swept> {
        let mut swept = Swept::default();
        let Some(folder) = manage.machine_folder(io).await? else {
            return Ok(swept);
        };
        for path in folders(&folder) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let Some(stamp) = Stamp::of(&name).filter(|stamp| making.covers_time(stamp.millis))
            else {
                continue;
            };
            if !self.is_half_made(manage, &name, names, io).await? {
                continue;
            }
            if self.may_be_at_work(stamp.millis) {
                swept.left = true;
            } else if self.remove_folder(manage, &path, io).await? {
                swept.removed = true;
            }
        }
        Ok(swept)
    }

    /// Removes a machine's folder, and the disks in it, unless a registered machine has its settings
    /// there. Says whether it did.
    pub(super) async fn remove_folder(
        &self,
        manage: &Manage,
        path: &Path,
        io: &Io,
    ) -> Result<bool> {
        for vm in manage.vms(io).await? {
            let info = manage.info(&vm.id, io).await?;
            // One whose folder is not known may be in this one.
            if info.is_some_and(|info| info.folder().is_none_or(|folder| folder == path)) {
                return Ok(false);
            }
        }
        for disk in manage.disks(io).await? {
            if disk.location.starts_with(path) {
                manage.remove_disk(&disk, io).await?;
            }
        }
        io.note(format!("removing the folder `{}`", path.display()));
        match std::fs::remove_dir_all(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(io_failure("remove", path, &error))
            }
            _ => Ok(true),
        }
    }

    /// Whether Vagrant gives such a name: to a clone, or to an import of one of the sandbox's boxes, whose
    /// own names are looked up once and kept in `names`.
    async fn is_half_made(
        &self,
        manage: &Manage,
        name: &str,
        names: &mut Vec<String>,
        io: &Io,
    ) -> Result<bool> {
        let Some(Stamp { of, .. }) = Stamp::of(name) else {
            return Ok(false);
        };
        if of == CLONE {
            return Ok(true);
        }
        if names.is_empty() {
            for of_box in self.boxes() {
                let ovf = of_box.folder.join("box.ovf");
                names.extend(manage.suggested_name(&ovf, io).await?);
            }
        }
        Ok(names.iter().any(|name| name == of))
    }

    fn may_be_at_work(&self, millis: i64) -> bool {
        self.vagrant_at_work(Some(millis))
    }

    /// Whether a Vagrant runs that may be making something with this VirtualBox, begun at `millis`.
    pub(super) fn vagrant_at_work(&self, millis: Option<i64>) -> bool {
        let realm = Some("VBOX_USER_HOME");
        self.places.watch.at_work(super::PROVIDER, realm, millis)
    }

    /// Whether a Vagrant knows the machine: as its own, or as a box's master.
    fn is_known(&self, id: &str) -> bool {
        let Some(home) = &self.home else {
            return true;
        };
        let mut masters = home.boxes(super::PROVIDER).into_iter();
        masters.any(|of_box| super::shared::master_of(&of_box).as_deref() == Some(id))
            || home.knows(super::PROVIDER, id)
    }
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries
        // A link is not followed: what it leads to is somebody's.
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(name: &str, id: &str) -> bool {
        let facts = BTreeMap::from([
            (SINCE.to_owned(), "1700000000000".to_owned()),
            (BEFORE.to_owned(), "old other".to_owned()),
        ]);
        let (name, id) = (name.to_owned(), id.to_owned());
        Making::read(&facts).covers(&Vm { name, id })
    }

    #[test]
    fn only_what_vagrant_began_meanwhile_may_be_ours() {
        assert!(covers("temp_clone_1700000000001_52", "new"));
        assert!(covers("packer_debian-12_1700000000001_99999", "new"));
        // There already, made earlier, or to be made in a time that has not come.
        assert!(!covers("temp_clone_1700000000001_52", "old"));
        assert!(!covers("temp_clone_1699999999999_52", "new"));
        assert!(!covers("temp_clone_9999999999999_52", "new"));
        // No name of Vagrant's.
        assert!(!covers("my machine", "new"));
        assert!(!covers("temp_clone_1700000000001", "new"));
        assert!(!covers("temp_clone_1700000000001_-1", "new"));
    }

    #[test]
    fn without_a_noted_beginning_nothing_is_ours() {
        let vm = Vm {
            name: "temp_clone_1700000000001_52".to_owned(),
            id: "new".to_owned(),
        };
        assert!(!Making::read(&BTreeMap::new()).covers(&vm));
    }
}
