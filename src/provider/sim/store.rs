//! Where a world is kept between two runs of wdev: a small JSON file for each node and one for the
//! cluster. Each is replaced in one move; none is synced, because no machine is real.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::world::{Cluster, Node, World};
use crate::error::{Failure, Kind, Result, io_failure};
use crate::names::LaneName;

/// The version of the files.
const VERSION: u32 = 1;
const NODES: &str = "nodes";
const CLUSTER: &str = "cluster.json";

#[derive(Serialize, Deserialize)]
struct Stored<T> {
    version: u32,
    /// The world's time.
    at: u64,
    state: T,
}

/// Only this much is understood of any version.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// Reads a world; a folder that is not there holds an empty one.
pub(super) fn load(folder: &Path) -> Result<World> {
    let mut world = World::default();
    if let Some(stored) = read::<Cluster>(&folder.join(CLUSTER))? {
        world.at = stored.at;
        world.cluster = Some(stored.state);
    }
    let nodes = folder.join(NODES);
    let entries = match fs::read_dir(&nodes) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(world),
        Err(error) => return Err(io_failure("read the folder", &nodes, &error)),
    };
    for entry in entries {
        let path = entry
            .map_err(|error| io_failure("read the folder", &nodes, &error))?
            .path();
        let (Some(name), Some("json")) = (
            path.file_stem().and_then(|name| name.to_str()),
            path.extension().and_then(|ending| ending.to_str()),
        ) else {
            continue;
        };
        if let Some(stored) = read::<Node>(&path)? {
            let name = LaneName::from(name);
            world.at = world.at.max(stored.at);
            world.nodes.insert(name.clone(), stored.state);
            world.schedule(&name);
        }
    }
    Ok(world)
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<Stored<T>>> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_failure("read", path, &error)),
    };
    let damaged = |error: serde_json::Error| {
        Box::new(
            Failure::new(
                Kind::Provider,
                format!("cannot understand the simulator's file `{}`", path.display()),
            )
            .because(error)
            .advise("remove the folder that it is in: the simulated machines are gone then, and nothing else is")
            .permanent(),
        )
    };
    let version: Version = serde_json::from_slice(&text).map_err(damaged)?;
    if version.version > VERSION {
        return Err(Box::new(
            Failure::new(
                Kind::Provider,
                format!(
                    "the simulator's file `{}` is of a newer wdev",
                    path.display()
                ),
            )
            .because(format!(
                "it has version {}, and this wdev knows {VERSION}",
                version.version
            ))
            .advise("use the newer wdev, or remove the folder that the file is in")
            .permanent(),
        ));
    }
    serde_json::from_slice(&text).map(Some).map_err(damaged)
}

/// Writes what changed. The cluster goes first: a node that does not yet know of its last effect does it
/// again, and every effect can be done twice.
pub(super) fn save(folder: &Path, world: &mut World) -> Result<()> {
    if world.cluster_dirty {
        let path = folder.join(CLUSTER);
        match &world.cluster {
            Some(cluster) => write(&path, world.at, cluster)?,
            None => match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(io_failure("remove", &path, &error));
                }
                _ => {}
            },
        }
        world.cluster_dirty = false;
    }
    while let Some(name) = world.dirty.first().cloned() {
        if let Some(node) = world.nodes.get(&name) {
            let path = folder.join(NODES).join(format!("{name}.json"));
            write(&path, world.at, node)?;
        }
        world.dirty.remove(&name);
    }
    Ok(())
}

fn write<T: Serialize>(path: &Path, at: u64, state: &T) -> Result<()> {
    let stored = Stored {
        version: VERSION,
        at,
        state,
    };
    let text = serde_json::to_vec(&stored).map_err(|error| {
        Failure::new(Kind::Bug, format!("cannot store `{}`", path.display())).because(error)
    })?;
    // One writer per sandbox: the name can be fixed, and a file left behind is overwritten.
    let fresh: PathBuf = path.with_extension("new");
    let written = match fs::write(&fresh, &text) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = path.parent().unwrap_or(path);
            fs::create_dir_all(folder)
                .map_err(|error| io_failure("create the folder", folder, &error))?;
            fs::write(&fresh, &text)
        }
        result => result,
    };
    written
        .and_then(|()| fs::rename(&fresh, path))
        .map_err(|error| io_failure("write", path, &error))
}
