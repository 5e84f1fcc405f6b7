//! The boxes' disks that Vagrant's provider keeps in the storage pool as a base of the machines' own.
//!
//! The provider takes any volume of the right name for whole, also one whose copying was cut short
//! (vagrant-libvirt, `action/handle_box_image.rb`), and it never removes one. So wdev notes which ones its
//! machines have caused, mends what is half-copied, and removes them with `wdev cache prune`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::description::Volume;
use super::layers::{self, Used};
use super::virsh::{Virsh, Volumes};
use super::{PROVIDER, Tools, is_main_disk};
use crate::channel::Io;
use crate::clock::Clock;
use crate::error::{Failure, Kind, Result};
use crate::ledger::{Entry, Ledger, Open};

/// The ledger's word for a base volume that a machine of wdev's has caused.
const IMAGE: &str = "libvirt-image";
/// The ledger's word for a machine that is being made; the base volumes that it causes are not known yet.
const MAKING: &str = "libvirt-making";
/// The facts of such a machine: the base volumes that were there before, and the sandbox's boxes, one a
/// line each.
const BEFORE: &str = "before";
const BOXES: &str = "boxes";
/// What the names of base volumes hold (vagrant-libvirt, `action/handle_box_image.rb`).
const MARK: &str = "_vagrant_box_image_";
/// How a base volume's name writes the `/` in a box's (the same file).
const SLASH: &str = "-VAGRANTSLASH-";
/// What the names of the volumes of all machines of wdev's begin with (`plan::naming::unique_prefix`).
const WDEVS: &str = "wdev-";

/// A base volume that was removed, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pruned {
    /// Its name, which begins with the box's.
    pub name: String,
    /// How many bytes it has.
    pub bytes: u64,
}

/// The base volumes of this host.
#[derive(Debug)]
pub struct Images<'a> {
    pub virsh: &'a Virsh,
    pub tools: &'a Tools,
    pub ledger: &'a Ledger,
    pub clock: Clock,
}

fn is_base(volume: &Volume) -> bool {
    volume.name.contains(MARK)
}

/// The name of the box that a base volume is a copy of.
fn box_of(volume: &Volume) -> Option<String> {
    let (name, _) = volume.name.split_once(MARK)?;
    Some(name.replace(SLASH, "/"))
}

/// The boxes that the Vagrantfile in `dir` names.
pub fn boxes(dir: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(dir.join("Vagrantfile")).unwrap_or_default();
    let name = |line: &str| {
        let (_, value) = line.split_once(".vm.box = ")?;
        Some(value.trim().trim_matches(['\'', '"']).to_owned())
    };
    text.lines().filter_map(name).collect()
}

/// The files that some volume is a layer on.
fn bases(volumes: &[Volume]) -> BTreeSet<&str> {
    volumes
        .iter()
        .filter_map(|volume| volume.backing.as_deref())
        .collect()
}

impl Images<'_> {
    async fn open(&self) -> Result<Open> {
        self.ledger.open(self.clock).await
    }

    fn vagrant_at_work(&self) -> bool {
        self.tools.watch.at_work(PROVIDER, None, None)
    }

    /// Notes, before a machine of one of these `boxes` is made, which base volumes are there, and removes
    /// what an earlier, killed run has copied only in part.
    ///
    /// # Errors
    /// `Busy` when a Vagrant that runs may be copying one of them.
    pub async fn before_making(
        &self,
        unique: &str,
        sandbox: &Path,
        boxes: &BTreeSet<String>,
        io: &Io,
    ) -> Result<()> {
        let mut volumes = self.virsh.volumes(io).await?.all;
        let ours = ours(&self.open().await?, &volumes);
        let used = bases(&volumes);
        let mut gone = BTreeSet::new();
        for volume in volumes.iter().filter(|volume| is_base(volume)) {
            if ours.contains(&volume.name)
                && !used.contains(volume.path.as_str())
                && self.is_partial(volume, io).await?
            {
                if self.vagrant_at_work() {
                    return Err(busy(&volume.name));
                }
                io.note(format!("removing the half-copied image `{}`", volume.name));
                self.virsh.remove_volume(&volume.path, io).await?;
                gone.insert(volume.name.clone());
            }
        }
        volumes.retain(|volume| is_base(volume) && !gone.contains(&volume.name));
        let mut open = self.open().await?;
        let mut facts = BTreeMap::new();
        let mut boxes = boxes.clone();
        if let Some(making) = open.find(MAKING, unique) {
            // What an earlier attempt has caused is still ours.
            boxes.extend(names(making, BOXES).into_iter().map(str::to_owned));
        } else {
            let names: Vec<String> = volumes.into_iter().map(|volume| volume.name).collect();
            facts.insert(BEFORE.to_owned(), names.join("\n"));
        }
        let boxes: Vec<String> = boxes.into_iter().collect();
        facts.insert(BOXES.to_owned(), boxes.join("\n"));
        open.claim(MAKING, unique, sandbox, facts)
    }

    /// Once the machine `unique` is made, or given up: notes the base volumes that it has caused. `disks`
    /// are the files of the machine's own.
    pub async fn settle(
        &self,
        unique: &str,
        disks: &BTreeSet<String>,
        sandbox: &Path,
        io: &Io,
    ) -> Result<()> {
        let Some(making) = self.open().await?.find(MAKING, unique).cloned() else {
            return Ok(());
        };
        let is_own =
            |volume: &&Volume| disks.contains(&volume.path) || is_main_disk(&volume.name, unique);
        let volumes = self.virsh.volumes(io).await?.all;
        let (own, others): (Vec<&Volume>, Vec<&Volume>) = volumes.iter().partition(is_own);
        // Another machine of wdev's that uses it by now says nothing of who has caused it.
        let foreign: Vec<&Volume> = others
            .into_iter()
            .filter(|it| !it.name.starts_with(WDEVS))
            .collect();
        let under = |layers: &[&Volume], base: &Volume| {
            layers
                .iter()
                .any(|layer| layer.backing.as_deref() == Some(base.path.as_str()))
        };
        let mut open = self.open().await?;
        for volume in volumes.iter().filter(|volume| is_base(volume)) {
            let new = !names(&making, BEFORE).contains(volume.name.as_str());
            // One that nobody uses may be half-copied.
            let mine = under(&own, volume) || causes(&making, volume) && !under(&foreign, volume);
            if new && mine {
                open.claim(IMAGE, &volume.name, sandbox, BTreeMap::new())?;
            }
        }
        open.forget(MAKING, unique)
    }

    /// Whether a base volume is shorter than the box's disk and does not grow.
    async fn is_partial(&self, volume: &Volume, io: &Io) -> Result<bool> {
        let home = self.tools.vagrant_home.as_deref();
        let Some(whole) = home.and_then(|home| size_in_box(home, &volume.name)) else {
            return Ok(false);
        };
        let mut bytes = volume.bytes;
        while bytes < whole {
            self.clock.sleep(self.tools.stall).await;
            let volumes = self.virsh.volumes(io).await?.all;
            let now = volumes.iter().find(|other| other.path == volume.path);
            match now.map(|volume| volume.bytes) {
                Some(now) if now > bytes => bytes = now,
                Some(_) => return Ok(true),
                None => return Ok(false),
            }
        }
        Ok(false)
    }

    /// Removes the base volumes that machines of wdev's have caused and that nothing uses any more; with
    /// `dry_run` only tells which. What may be in use stays. No wdev may be making a machine meanwhile.
    ///
    /// # Errors
    /// `Host` when libvirt or the ledger cannot be asked.
    pub async fn prune(&self, dry_run: bool, io: &Io) -> Result<Vec<Pruned>> {
        {
            let mut open = self.open().await?;
            if !dry_run {
                forget_abandoned(&mut open)?;
            }
            // Where wdev has never made a machine with libvirt, libvirt need not be there.
            if open.all(IMAGE).next().is_none() && !open.all(MAKING).any(is_alive) {
                return Ok(Vec::new());
            }
        }
        let volumes = self.virsh.volumes(io).await?;
        let ours = ours(&self.open().await?, &volumes.all);
        let used =
            match layers::used(self.virsh, &self.tools.image, &volumes, self.clock, io).await? {
                Used::Known(used) => used,
                Used::Unknown(why) => {
                    io.note(format!("no image of libvirt's is removed: {why}"));
                    return Ok(Vec::new());
                }
            };
        let unused = |volume: &&Volume| {
            is_base(volume)
                && ours.contains(&volume.name)
                && !used.contains(&volume.path)
                && !volumes.unseen.contains(&volume.pool)
        };
        let mut unused: Vec<&Volume> = volumes.all.iter().filter(unused).collect();
        if !unused.is_empty() && self.vagrant_at_work() {
            io.note("images of libvirt's stay while a Vagrant runs that may be about to use one");
            if !dry_run {
                unused.clear();
            }
        }
        let mut pruned = Vec::new();
        for volume in unused {
            if !dry_run {
                self.virsh.remove_volume(&volume.path, io).await?;
            }
            pruned.push(Pruned {
                name: volume.name.clone(),
                bytes: volume.bytes,
            });
        }
        if !dry_run {
            forget_gone(&mut self.open().await?, &volumes, &pruned)?;
        }
        Ok(pruned)
    }
}

fn busy(image: &str) -> Box<Failure> {
    Box::new(
        Failure::new(
            Kind::Busy,
            format!("the image `{image}` is copied only in part"),
        )
        .because("a Vagrant that runs may be copying it")
        .advise("wait until every `vagrant up` on this host has ended, then run the same again"),
    )
}

fn names<'a>(making: &'a Entry, fact: &str) -> BTreeSet<&'a str> {
    let lines = making.facts.get(fact).map_or("", String::as_str).lines();
    lines.collect()
}

/// Whether a sandbox is left for which the machine was to be made.
fn is_alive(making: &Entry) -> bool {
    making.users.iter().any(|sandbox| sandbox.exists())
}

/// Whether a volume is a copy of a box of the sandbox that the machine is for.
fn causes(making: &Entry, volume: &Volume) -> bool {
    box_of(volume).is_some_and(|name| names(making, BOXES).contains(name.as_str()))
}

/// The names of the base volumes that machines of wdev's have caused, as far as it is known.
fn ours(open: &Open, volumes: &[Volume]) -> BTreeSet<String> {
    let claimed = open.all(IMAGE).map(|entry| entry.name.clone());
    let alive = open.all(MAKING).filter(|making| is_alive(making));
    let caused = alive.flat_map(|making| {
        let before = names(making, BEFORE);
        volumes
            .iter()
            .filter(move |it| causes(making, it) && !before.contains(it.name.as_str()))
            .map(|volume| volume.name.clone())
    });
    claimed.chain(caused).collect()
}

/// The size of the disk in the unpacked box that a base volume is a copy of; none where the box is gone.
fn size_in_box(home: &Path, volume: &str) -> Option<u64> {
    let (name, rest) = volume.split_once(MARK)?;
    let (version, disk) = rest.strip_suffix(".img")?.split_once('_')?;
    // Without a version, the name holds `0_` and a time.
    let (version, disk) = match disk.split_once('_') {
        Some((time, disk)) if version == "0" && time.bytes().all(|it| it.is_ascii_digit()) => {
            ("0", disk)
        }
        _ => (version, disk),
    };
    let versions = home.join("boxes").join(name).join(version);
    let file = format!("{disk}.img");
    // Since Vagrant 2.4 the architecture comes between.
    let folders = std::fs::read_dir(&versions).ok()?.flatten();
    std::iter::once(versions)
        .chain(folders.map(|entry| entry.path()))
        .map(|folder| folder.join("libvirt").join(&file))
        .find_map(|path| Some(path.metadata().ok()?.len()))
}

/// Forgets machines that were being made for a sandbox that is gone.
fn forget_abandoned(open: &mut Open) -> Result<()> {
    let abandoned = open.all(MAKING).filter(|making| !is_alive(making));
    let names: Vec<String> = abandoned.map(|entry| entry.name.clone()).collect();
    for name in names {
        open.forget(MAKING, &name)?;
    }
    Ok(())
}

/// Forgets images that are no longer there, whoever removed them.
fn forget_gone(open: &mut Open, volumes: &Volumes, pruned: &[Pruned]) -> Result<()> {
    let known: Vec<String> = open.all(IMAGE).map(|entry| entry.name.clone()).collect();
    for name in known {
        // In a pool that could not be looked through it may still be.
        let there = !volumes.unseen.is_empty() || volumes.all.iter().any(|it| it.name == name);
        if !there || pruned.iter().any(|pruned| pruned.name == name) {
            open.forget(IMAGE, &name)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(name: &str, backing: Option<&str>) -> Volume {
        Volume {
            name: name.to_owned(),
            path: format!("/pool/{name}"),
            bytes: 1,
            backing: backing.map(|name| format!("/pool/{name}")),
            pool: "default".to_owned(),
        }
    }

    #[tokio::test]
    async fn only_what_came_with_a_machine_of_ours_is_ours() {
        let dir = tempfile::tempdir().unwrap();
        let mut open = Ledger::new(dir.path().to_owned())
            .open(Clock::new())
            .await
            .unwrap();
        let facts = |boxes: &str| {
            let before = "a_vagrant_box_image_1_box.img".to_owned();
            BTreeMap::from([
                (BEFORE.to_owned(), before),
                (BOXES.to_owned(), boxes.to_owned()),
            ])
        };
        let gone = dir.path().join("gone");
        open.claim(MAKING, "wdev-a-cp", dir.path(), facts("a\nme/b"))
            .unwrap();
        open.claim(MAKING, "wdev-b-cp", &gone, facts("d")).unwrap();
        let volumes = [
            volume("a_vagrant_box_image_1_box.img", None),
            volume("me-VAGRANTSLASH-b_vagrant_box_image_1_box.img", None),
            // Somebody else's, and that of a sandbox that is gone.
            volume("c_vagrant_box_image_1_box.img", None),
            volume("d_vagrant_box_image_1_box.img", None),
            volume("b.img", None),
        ];
        assert_eq!(
            ours(&open, &volumes),
            BTreeSet::from(["me-VAGRANTSLASH-b_vagrant_box_image_1_box.img".to_owned()])
        );
        forget_abandoned(&mut open).unwrap();
        assert!(open.find(MAKING, "wdev-b-cp").is_none());
        assert!(open.find(MAKING, "wdev-a-cp").is_some());
    }

    #[test]
    fn the_boxes_are_those_that_the_vagrantfile_names() {
        let dir = tempfile::tempdir().unwrap();
        let text = "    node.vm.box = \"me/b\"\n    node.vm.box_version = \"1\"\n";
        std::fs::write(dir.path().join("Vagrantfile"), text).unwrap();
        assert_eq!(boxes(dir.path()), BTreeSet::from(["me/b".to_owned()]));
    }
}
