//! Boxes on this host's disk: a `.box` file, a catalogue, or a folder with one.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::resolve::failure;
use crate::config::model::{MachineSpec, ProviderName};
use crate::error::{Result, io_failure};

/// The name that a catalogue has in its folder.
const CATALOGUE: &str = "metadata.json";
/// Vagrant takes a larger file for a box.
const CATALOGUE_MAX: u64 = 20 * 1024 * 1024;

/// What a box is taken from.
pub(super) enum Found {
    /// The box file itself.
    File,
    /// A list of versions and providers.
    Catalogue,
    /// Nobody knows before it is fetched.
    Unknown,
}

/// The part of a catalogue that matters here.
/// <https://developer.hashicorp.com/vagrant/docs/boxes/format#box-catalog-metadata>
#[derive(Deserialize)]
struct Catalogue {
    name: String,
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Version {
    version: String,
    #[serde(default)]
    providers: Vec<Form>,
}

#[derive(Deserialize)]
struct Form {
    name: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    checksum: String,
}

/// Looks at the path in `spec.box_url`. A folder becomes the catalogue in it; of a catalogue the name and
/// the newest version for the provider are filled in.
///
/// # Errors
/// `Configuration` where there is nothing, or nothing that Vagrant could use for the provider.
pub(super) fn look(node: &str, spec: &mut MachineSpec, provider: ProviderName) -> Result<Found> {
    let path = PathBuf::from(&spec.box_url);
    let about = match path.metadata() {
        Ok(about) => about,
        Err(error) => {
            let mut failed = io_failure("read", &path, &error);
            failed.kind = crate::error::Kind::Configuration;
            return Err(Box::new(
                failed
                    .because(format!("`box_url` of `{node}` names it"))
                    .advise("correct `box_url`: a URL, a `.box` file, a catalogue, or a folder with one")
                    .permanent(),
            ));
        }
    };
    let catalogue = if about.is_dir() {
        let inside = path.join(CATALOGUE);
        if !inside.is_file() {
            return Err(failure(
                format!("`{}` holds no `{CATALOGUE}`", path.display()),
                &format!("`box_url` of `{node}` names this folder, and Vagrant takes files only"),
                "name the `.box` file itself, or write a catalogue; see docs/boxes.md",
            ));
        }
        inside
    } else if path
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("json"))
        && about.len() <= CATALOGUE_MAX
    {
        path
    } else {
        return Ok(Found::File);
    };
    read(node, spec, provider, &catalogue)?;
    spec.box_url = catalogue.display().to_string();
    Ok(Found::Catalogue)
}

fn read(node: &str, spec: &mut MachineSpec, provider: ProviderName, path: &Path) -> Result<()> {
    let shown = path.display();
    let bytes = std::fs::read(path).map_err(|error| io_failure("read", path, &error))?;
    let catalogue: Catalogue = serde_json::from_slice(&bytes).map_err(|error| {
        let advice = if is_unpacked_box(&bytes) {
            format!(
                "this is a box that was unpacked; pack it again, and name the file: \
                 `tar -C {} -cf NAME.box .`",
                path.parent().unwrap_or(path).display()
            )
        } else {
            "see docs/boxes.md for what a catalogue looks like".to_owned()
        };
        failure(
            format!("`{shown}` is not a box catalogue"),
            &format!("`box_url` of `{node}` leads to it: {error}"),
            &advice,
        )
    })?;
    if spec.r#box.is_empty() {
        spec.r#box.clone_from(&catalogue.name);
    } else if spec.r#box != catalogue.name {
        return Err(failure(
            format!(
                "the box `{}` of `{node}` has another name in its catalogue",
                spec.r#box
            ),
            &format!("`{shown}` calls it `{}`", catalogue.name),
            "use that name in `box`, or leave `box` out",
        ));
    }
    let (version, form) = choose(&catalogue, &spec.box_version, provider).ok_or_else(|| {
        let there: Vec<String> = catalogue
            .versions
            .iter()
            .flat_map(|version| {
                let forms = version.providers.iter();
                forms.map(|form| format!("{} for `{}`", version.version, form.name))
            })
            .collect();
        let wanted = if spec.box_version.is_empty() {
            "no version".to_owned()
        } else {
            format!("no version {}", spec.box_version)
        };
        failure(
            format!(
                "the box `{}` of `{node}` has {wanted} for `{provider}`",
                catalogue.name
            ),
            &format!("`{shown}` has {}", there.join(", ")),
            "name another box, version or provider",
        )
    })?;
    // Vagrant would look for it in whatever folder it is started in.
    if !form.url.contains("://") && !Path::new(&form.url).is_absolute() {
        return Err(failure(
            format!(
                "`{shown}`, the catalogue of `{node}`, names its box by the relative path `{}`",
                form.url
            ),
            "Vagrant looks for it in the folder that it is started in, not beside the catalogue",
            "write a URL or an absolute path there",
        ));
    }
    let wanted = spec.box_checksum.split(':').next_back().unwrap_or_default();
    if !wanted.is_empty() && !form.checksum.eq_ignore_ascii_case(wanted) {
        return Err(failure(
            format!(
                "the box `{}` of `{node}` has another checksum in its catalogue",
                catalogue.name
            ),
            &format!(
                "`{shown}` says `{}`, and that is what Vagrant checks",
                form.checksum
            ),
            "find out which of the two is right",
        ));
    }
    spec.box_version.clone_from(&version.version);
    // It is Vagrant that checks what stands in the catalogue.
    spec.box_checksum.clear();
    Ok(())
}

/// The version that is asked for, or the newest.
fn choose<'a>(
    catalogue: &'a Catalogue,
    wanted: &str,
    provider: ProviderName,
) -> Option<(&'a Version, &'a Form)> {
    let mut found: Vec<(&Version, &Form)> = catalogue
        .versions
        .iter()
        .filter(|version| wanted.is_empty() || version.version == wanted)
        .filter_map(|version| {
            let mut forms = version.providers.iter();
            Some((version, forms.find(|form| is_for(&form.name, provider))?))
        })
        .collect();
    found.sort_by_key(|(version, _)| numbers(&version.version));
    found.pop()
}

/// VMware's boxes go by three names.
/// <https://developer.hashicorp.com/vagrant/docs/providers/vmware/boxes>
fn is_for(form: &str, provider: ProviderName) -> bool {
    let others: &[&str] = match provider {
        ProviderName::VmwareDesktop => &["vmware_fusion", "vmware_workstation"],
        _ => &[],
    };
    form == provider.as_str() || others.contains(&form)
}

fn numbers(version: &str) -> Vec<u64> {
    let parts = version.split(|c: char| !c.is_ascii_digit());
    parts.filter_map(|part| part.parse().ok()).collect()
}

/// The `metadata.json` inside of a box names its provider, and no versions.
fn is_unpacked_box(bytes: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(bytes)
        .is_ok_and(|value| value.get("provider").is_some())
}
