//! From what the user wrote of a machine's box to what Vagrant is told.

use super::local::{self, Found};
use super::{Arch, Guest, check_named, default_for, known};
use crate::config::model::{Communicator, MachineSpec, ProviderName};
use crate::error::{Failure, Kind, Result};
use crate::os::Os;

/// The machine with its box settled: the name, the exact version where one is known, where it comes
/// from, and how Vagrant reaches it first. Nothing is downloaded; local files are looked at.
///
/// The simulator has no boxes, and what Docker takes is the user's own image: both stay as they are.
///
/// # Errors
/// `Configuration` or `Host` where there is no such box, or Vagrant could not take it as it is written.
pub fn resolve(
    node: &str,
    spec: &MachineSpec,
    guest: Guest<'_>,
    provider: ProviderName,
    arch: Arch,
) -> Result<MachineSpec> {
    let mut spec = spec.clone();
    match provider {
        ProviderName::Sim | ProviderName::Auto => return Ok(spec),
        ProviderName::Docker => {
            spec.communicator = Communicator::Ssh;
            return Ok(spec);
        }
        _ => {}
    }
    let of_node =
        |failure: Box<Failure>| Box::new(failure.because(format!("for the node `{node}`")));
    if spec.r#box.is_empty() && spec.box_url.is_empty() {
        let default = default_for(guest, provider, arch).map_err(of_node)?;
        spec.r#box.clone_from(&default.family.name);
    }
    if spec.box_url.is_empty() {
        check_named(&spec.r#box, &spec.box_version, provider, arch).map_err(of_node)?;
        if !spec.box_checksum.is_empty() {
            return Err(checksum_of_a_catalogue(node));
        }
    } else {
        from_url(node, &mut spec, provider)?;
    }
    let facts = known(&spec.r#box, provider, arch);
    if let Some(facts) = facts
        && spec.box_version.is_empty()
        && spec.box_url.is_empty()
    {
        spec.box_version.clone_from(&facts.artifact.version);
    }
    spec.communicator = match (guest.os(), spec.communicator) {
        (Os::Linux, _) => Communicator::Ssh,
        (Os::Windows, Communicator::Auto) => {
            facts.map_or(Communicator::Winrm, |facts| facts.family.communicator)
        }
        (Os::Windows, chosen) => chosen,
    };
    Ok(spec)
}

/// Settles a box that does not come from the registry.
fn from_url(node: &str, spec: &mut MachineSpec, provider: ProviderName) -> Result<()> {
    let kind = if is_path(&spec.box_url) {
        local::look(node, spec, provider)?
    } else {
        remote(&spec.box_url)
    };
    match kind {
        Found::File => {
            if !spec.box_version.is_empty() {
                return Err(failure(
                    format!("the `.box` file of `{node}` has no version"),
                    "Vagrant takes `box_version` for a registry or a catalogue only",
                    "remove `box_version`, or name the catalogue (`metadata.json`) in `box_url`",
                ));
            }
            if spec.r#box.is_empty() {
                spec.r#box = name_of(&spec.box_url, &spec.box_checksum);
            }
        }
        Found::Catalogue => {
            if spec.r#box.is_empty() {
                return Err(failure(
                    format!("`box_url` of `{node}` leads to a catalogue, and `box` is missing"),
                    "Vagrant wants to know the name that the catalogue gives the box",
                    "add `box` with the `name` that stands in the catalogue",
                ));
            }
            if !spec.box_checksum.is_empty() && !is_path(&spec.box_url) {
                return Err(checksum_of_a_catalogue(node));
            }
        }
        // Vagrant finds out what it is; a name is all that it needs.
        Found::Unknown => {
            if spec.r#box.is_empty() {
                spec.r#box = name_of(&spec.box_url, &spec.box_checksum);
            }
        }
    }
    Ok(())
}

fn is_path(url: &str) -> bool {
    !url.contains("://") && !url.starts_with("file:")
}

fn remote(url: &str) -> Found {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let ends = |ending: &str| {
        let from = path.len().checked_sub(ending.len());
        from.and_then(|from| path.get(from..))
            .is_some_and(|end| end.eq_ignore_ascii_case(ending))
    };
    if ends(".box") {
        Found::File
    } else if ends(".json") {
        Found::Catalogue
    } else {
        Found::Unknown
    }
}

/// A name for a box that has none: it tells boxes of different origin apart, so that one is never taken
/// for another.
fn name_of(url: &str, checksum: &str) -> String {
    let last = url.split(['?', '#']).next().unwrap_or_default();
    let last = last.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = last.split(".box").next().unwrap_or_default();
    let mut stem: String = stem
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-' || *c == '.' || *c == '_')
        .take(40)
        .collect();
    if stem.is_empty() {
        stem.push_str("box");
    }
    let hash = blake3::hash(format!("{url}\n{checksum}").as_bytes()).to_hex();
    format!("wdev/{stem}-{}", hash.get(..8).unwrap_or_default())
}

fn checksum_of_a_catalogue(node: &str) -> Box<Failure> {
    failure(
        format!("`box_checksum` of `{node}` would not be checked"),
        "of a box from the registry or a catalogue Vagrant checks the checksum that stands there, and \
         passes over this one",
        "name the `.box` file itself in `box_url`, or remove `box_checksum`",
    )
}

pub(super) fn failure(message: String, cause: &str, advice: &str) -> Box<Failure> {
    Box::new(
        Failure::new(Kind::Configuration, message)
            .because(cause)
            .advise(advice)
            .permanent(),
    )
}
