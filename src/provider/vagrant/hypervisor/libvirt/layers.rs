//! Which files the disks of this host's machines are layers on.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::super::tool::ask;
use super::virsh::{Virsh, Volumes};
use crate::channel::Io;
use crate::clock::Clock;
use crate::error::{Kind, Result};
use crate::process::Command;

/// How long `qemu-img` may take to read the heads of some files.
const LIMIT: Duration = Duration::from_secs(30);

/// What is in use.
#[derive(Debug)]
pub enum Used {
    /// These files and devices, and no others.
    Known(BTreeSet<String>),
    /// It cannot be told; why.
    Unknown(String),
}

/// The files that machines and volumes use, with all the layers below them. `image` is `qemu-img`, which
/// tells of files that libvirt knows nothing of.
pub async fn used(
    virsh: &Virsh,
    image: &Path,
    volumes: &Volumes,
    clock: Clock,
    io: &Io,
) -> Result<Used> {
    let seen = |path: &str| {
        let mut all = volumes.all.iter();
        // What libvirt remembers of a pool that it could not read anew is old.
        all.any(|it| it.path == path && !volumes.unseen.contains(&it.pool))
    };
    let backing = volumes.all.iter().filter_map(|it| it.backing.clone());
    let mut used: BTreeSet<String> = backing.collect();
    let mut to_follow: BTreeSet<String> = used.iter().filter(|it| !seen(it)).cloned().collect();
    for domain in virsh.domains(io).await? {
        for disk in virsh.disks(&domain, io).await? {
            used.extend(disk.path.iter().cloned().chain(disk.below));
            match disk.path {
                _ if disk.whole => {}
                Some(path) if seen(&path) => {}
                Some(path) => {
                    to_follow.insert(path);
                }
                None => {
                    return Ok(Used::Unknown(format!(
                        "what a disk of the machine `{domain}` is a layer on cannot be told"
                    )));
                }
            }
        }
    }
    for path in to_follow {
        match layers(image, &path, clock, io).await? {
            Some(layers) => used.extend(layers),
            None => {
                return Ok(Used::Unknown(format!(
                    "what the disk `{path}` is a layer on cannot be told"
                )));
            }
        }
    }
    Ok(Used::Known(used))
}

/// The files below a file; none when they cannot be told.
async fn layers(
    image: &Path,
    path: &str,
    clock: Clock,
    io: &Io,
) -> Result<Option<BTreeSet<String>>> {
    let file = Path::new(path);
    if !file.is_absolute() {
        // Such as `json:{…}`.
        return Ok(None);
    }
    let there = std::fs::symlink_metadata(file);
    if there.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return Ok(Some(BTreeSet::new()));
    }
    let command = Command::new(image)
        .args(["info", "--force-share", "--backing-chain", "--output=json"])
        .args([path]);
    match ask("qemu-img", command, LIMIT, clock, io).await {
        Ok((finished, lines)) if finished.ok() => Ok(chain(&lines.join("\n"))),
        Err(failure) if failure.kind == Kind::Interrupted => Err(failure),
        Ok(_) | Err(_) => Ok(None),
    }
}

/// The files in what `qemu-img info --backing-chain` prints.
fn chain(json: &str) -> Option<BTreeSet<String>> {
    let layers: Vec<Value> = serde_json::from_str(json).ok()?;
    let text = |layer: &Value, key: &str| layer.get(key)?.as_str().map(str::to_owned);
    let both = |layer: &Value| {
        let keys = ["filename", "full-backing-filename"];
        keys.map(|key| text(layer, key))
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
    };
    Some(layers.iter().flat_map(both).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layers_of_a_file_are_read() {
        // As `qemu-img` 7.2 prints it, shortened.
        let json = r#"[{"filename": "/e/top.qcow2", "backing-filename": "../pool/b.img",
            "full-backing-filename": "/e/../pool/b.img"}, {"filename": "/pool/b.img"}]"#;
        assert!(chain(json).unwrap().contains("/pool/b.img"));
        assert!(chain("").is_none());
    }
}
