//! The boxes' disks that Vagrant's provider keeps in the storage pool as a base of the machines' own.
//!
//! The provider takes any volume of the right name for whole, also one whose copying was cut short
//! (vagrant-libvirt, `action/handle_box_image.rb`), and it never removes one. So wdev notes which ones its
//! machines have caused, mends what is half-copied, and removes them with `wdev cache prune`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::virsh::{Virsh, Volume};
use crate::channel::Io;
use crate::clock::Clock;
use crate::error::Result;
use crate::ledger::{Ledger, Open};

/// The ledger's word for a base volume that a machine of wdev's has caused.
const IMAGE: &str = "libvirt-image";
/// The ledger's word for a machine that is being made; the base volumes that it causes are not known yet.
const MAKING: &str = "libvirt-making";
/// The fact of such a machine: the base volumes that were there before, one a line.
const BEFORE: &str = "before";
/// What the names of base volumes hold (vagrant-libvirt, `action/handle_box_image.rb`).
const MARK: &str = "_vagrant_box_image_";
/// How long a copy that goes on may stand still.
const STALL: Duration = Duration::from_secs(3);

/// A base volume that was removed, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pruned {
    /// Its name, which begins with the box's.
    pub name: String,
    /// How many bytes it has.
    pub bytes: u64,
}

fn is_base(volume: &Volume) -> bool {
    volume.name.contains(MARK)
}

/// The files that some volume is a layer on.
fn bases(volumes: &[Volume]) -> BTreeSet<&str> {
    volumes
        .iter()
        .filter_map(|volume| volume.backing.as_deref())
        .collect()
}

/// Notes, before a machine is made, which base volumes are there, and removes what an earlier, killed
/// run has copied only in part.
pub async fn before_making(
    virsh: Virsh,
    ledger: (&Ledger, Clock),
    unique: &str,
    sandbox: &Path,
    io: &Io,
) -> Result<()> {
    let mut volumes = virsh.volumes(io).await?;
    let (ledger, clock) = ledger;
    let ours = ours(&ledger.open(clock).await?, &volumes);
    let used = bases(&volumes);
    let mut gone = BTreeSet::new();
    for volume in volumes.iter().filter(|volume| is_base(volume)) {
        if ours.contains(&volume.name)
            && !used.contains(volume.path.as_str())
            && is_partial(virsh, volume, clock, io).await?
        {
            io.note(format!("removing the half-copied image `{}`", volume.name));
            virsh.remove_volume(&volume.path, io).await?;
            gone.insert(volume.name.clone());
        }
    }
    volumes.retain(|volume| is_base(volume) && !gone.contains(&volume.name));
    let mut open = ledger.open(clock).await?;
    if open.find(MAKING, unique).is_some() {
        return Ok(());
    }
    let names: Vec<String> = volumes.into_iter().map(|volume| volume.name).collect();
    let facts = BTreeMap::from([(BEFORE.to_owned(), names.join("\n"))]);
    open.claim(MAKING, unique, sandbox, facts)
}

/// Once the machine `unique` is made, or given up: notes the base volumes that it has caused. `disks`
/// are the machine's own.
pub async fn settle(
    virsh: Virsh,
    ledger: (&Ledger, Clock),
    unique: &str,
    disks: &BTreeSet<String>,
    sandbox: &Path,
    io: &Io,
) -> Result<()> {
    let (ledger, clock) = ledger;
    let making = ledger.open(clock).await?.find(MAKING, unique).cloned();
    let Some(making) = making else {
        return Ok(());
    };
    let volumes = virsh.volumes(io).await?;
    let before = names(making.facts.get(BEFORE));
    let (mine, others): (Vec<&Volume>, Vec<&Volume>) = volumes
        .iter()
        .partition(|volume| disks.contains(&volume.path));
    let under = |layers: &[&Volume], base: &Volume| {
        layers
            .iter()
            .any(|layer| layer.backing.as_deref() == Some(base.path.as_str()))
    };
    let mut open = ledger.open(clock).await?;
    for volume in volumes.iter().filter(|volume| is_base(volume)) {
        // One that nobody uses may be half-copied.
        if !before.contains(volume.name.as_str())
            && (under(&mine, volume) || !under(&others, volume))
        {
            open.claim(IMAGE, &volume.name, sandbox, BTreeMap::new())?;
        }
    }
    open.forget(MAKING, unique)
}

fn names(lines: Option<&String>) -> BTreeSet<&str> {
    lines
        .map(|lines| lines.lines().collect())
        .unwrap_or_default()
}

/// The names of the base volumes that machines of wdev's have caused, as far as it is known.
fn ours(open: &Open, volumes: &[Volume]) -> BTreeSet<String> {
    let claimed = open.all(IMAGE).map(|entry| entry.name.clone());
    let caused = open.all(MAKING).flat_map(|making| {
        let before = names(making.facts.get(BEFORE));
        volumes
            .iter()
            .filter(move |volume| is_base(volume) && !before.contains(volume.name.as_str()))
            .map(|volume| volume.name.clone())
    });
    claimed.chain(caused).collect()
}

/// Whether a base volume is shorter than the box's disk and does not grow.
async fn is_partial(virsh: Virsh, volume: &Volume, clock: Clock, io: &Io) -> Result<bool> {
    let Some(whole) = size_in_box(&volume.name) else {
        return Ok(false);
    };
    let mut bytes = volume.bytes;
    while bytes < whole {
        clock.sleep(STALL).await;
        let volumes = virsh.volumes(io).await?;
        let now = volumes.iter().find(|other| other.path == volume.path);
        match now.map(|volume| volume.bytes) {
            Some(now) if now > bytes => bytes = now,
            Some(_) => return Ok(true),
            None => return Ok(false),
        }
    }
    Ok(false)
}

/// The size of the disk in the unpacked box that a base volume is a copy of; none where the box is gone.
fn size_in_box(volume: &str) -> Option<u64> {
    let (name, rest) = volume.split_once(MARK)?;
    let (version, disk) = rest.strip_suffix(".img")?.split_once('_')?;
    // Without a version, the name holds `0_` and a time.
    let (version, disk) = match disk.split_once('_') {
        Some((time, disk)) if version == "0" && time.bytes().all(|it| it.is_ascii_digit()) => {
            ("0", disk)
        }
        _ => (version, disk),
    };
    let versions = vagrant_home()?.join("boxes").join(name).join(version);
    let file = format!("{disk}.img");
    // Since Vagrant 2.4 the architecture comes between.
    let folders = std::fs::read_dir(&versions).ok()?.flatten();
    std::iter::once(versions)
        .chain(folders.map(|entry| entry.path()))
        .map(|folder| folder.join("libvirt").join(&file))
        .find_map(|path| Some(path.metadata().ok()?.len()))
}

fn vagrant_home() -> Option<PathBuf> {
    std::env::var_os("VAGRANT_HOME")
        .filter(|home| !home.is_empty())
        .map(PathBuf::from)
        .or_else(|| Some(std::env::home_dir()?.join(".vagrant.d")))
}

/// Removes the base volumes that machines of wdev's have caused and that nothing uses any more; with
/// `dry_run` only tells which. Nobody may be making a machine meanwhile.
///
/// # Errors
/// `Host` when libvirt or the ledger cannot be asked.
pub async fn prune(
    virsh: Virsh,
    ledger: (&Ledger, Clock),
    dry_run: bool,
    io: &Io,
) -> Result<Vec<Pruned>> {
    let (ledger, clock) = ledger;
    {
        let open = ledger.open(clock).await?;
        // Where wdev has never made a machine with libvirt, libvirt need not be there.
        if open.all(IMAGE).next().is_none() && open.all(MAKING).next().is_none() {
            return Ok(Vec::new());
        }
    }
    let volumes = virsh.volumes(io).await?;
    let mut used: BTreeSet<String> = bases(&volumes).into_iter().map(str::to_owned).collect();
    for domain in virsh.domains(io).await? {
        used.extend(virsh.disks(&domain, io).await?);
    }
    let ours = ours(&ledger.open(clock).await?, &volumes);
    let mut pruned = Vec::new();
    for volume in volumes.iter().filter(|volume| is_base(volume)) {
        if !ours.contains(&volume.name) || used.contains(&volume.path) {
            continue;
        }
        if !dry_run {
            virsh.remove_volume(&volume.path, io).await?;
        }
        pruned.push(Pruned {
            name: volume.name.clone(),
            bytes: volume.bytes,
        });
    }
    if !dry_run {
        forget_gone(&mut ledger.open(clock).await?, &volumes, &pruned)?;
    }
    Ok(pruned)
}

/// Forgets images that are no longer there, whoever removed them.
fn forget_gone(open: &mut Open, volumes: &[Volume], pruned: &[Pruned]) -> Result<()> {
    let known: Vec<String> = open.all(IMAGE).map(|entry| entry.name.clone()).collect();
    for name in known {
        let there = volumes.iter().any(|volume| volume.name == name);
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
        }
    }

    #[tokio::test]
    async fn only_what_came_with_a_machine_of_ours_is_ours() {
        let dir = tempfile::tempdir().unwrap();
        let mut open = Ledger::new(dir.path().to_owned())
            .open(Clock::new())
            .await
            .unwrap();
        let facts = BTreeMap::from([(
            BEFORE.to_owned(),
            "a_vagrant_box_image_1_box.img".to_owned(),
        )]);
        open.claim(MAKING, "wdev-a-cp", dir.path(), facts).unwrap();
        let volumes = [
            volume("a_vagrant_box_image_1_box.img", None),
            volume("b_vagrant_box_image_1_box.img", None),
            volume("c.img", None),
        ];
        assert_eq!(
            ours(&open, &volumes),
            BTreeSet::from(["b_vagrant_box_image_1_box.img".to_owned()])
        );
        assert_eq!(
            bases(&[volume("m.img", Some("b.img"))]),
            BTreeSet::from(["/pool/b.img"])
        );
    }
}
