//! What a Windows machine must be and must be set to before it can become a node, and the features it needs.
//!
//! The facts are in `data/windows-node.json` and `data/windows-features.json`, each with its source.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::error::{Failure, Kind, Result};

/// What a machine must be and must be set to.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preparation {
    /// Free space that drive C: must have, in MiB.
    pub disk_free_mib: Known<u64>,
    /// The GUID of the power plan.
    pub power_scheme: Known<String>,
    /// The ports for outgoing connections.
    pub ports: Ports,
    /// Numbers in the registry.
    pub registry: Vec<Number>,
}

/// A value, and where it is known from.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known<T> {
    /// The value.
    pub value: T,
    /// Where it is known from.
    pub source: String,
}

/// A range of ports.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ports {
    /// The first.
    pub start: u16,
    /// How many.
    pub number: u16,
    /// Where that is known from.
    pub source: String,
}

/// A number in the registry.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Number {
    /// Its key, as PowerShell writes it.
    pub path: String,
    /// Its name.
    pub name: String,
    /// The number.
    pub value: u32,
    /// Where that is known from.
    pub source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Features {
    always: Always,
    network_plugins: Vec<ForPlugin>,
    without_hypervisor: Vec<Instead>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Always {
    features: Vec<String>,
    #[expect(dead_code, reason = "for who reads the file")]
    source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ForPlugin {
    name: String,
    features: Vec<String>,
    #[expect(dead_code, reason = "for who reads the file")]
    source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Instead {
    feature: String,
    enabled: Vec<String>,
    disabled: Vec<String>,
    #[expect(dead_code, reason = "for who reads the file")]
    source: String,
}

/// What a node's features must be.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct WantedFeatures {
    /// Features of Server Manager to be installed.
    pub roles: Vec<String>,
    /// Components of DISM to be enabled.
    pub enabled: Vec<String>,
    /// Components of DISM to be disabled.
    pub disabled: Vec<String>,
}

static PREPARATION: LazyLock<Option<Preparation>> =
    LazyLock::new(|| serde_json::from_str(include_str!("data/windows-node.json")).ok());
static FEATURES: LazyLock<Option<Features>> =
    LazyLock::new(|| serde_json::from_str(include_str!("data/windows-features.json")).ok());

fn broken() -> Box<Failure> {
    Box::new(Failure::new(Kind::Bug, "wdev's own data about Windows nodes is broken").permanent())
}

/// What a machine must be and must be set to.
///
/// # Errors
/// `Bug` when the data file is broken.
pub fn preparation() -> Result<&'static Preparation> {
    PREPARATION.as_ref().ok_or_else(broken)
}

/// The features that a node with the network plugin `plugin` needs, and those that the user asks for.
///
/// Without `hypervisor`, which a machine has with nested virtualisation alone, a feature that would need one comes
/// without it.
///
/// # Errors
/// `Bug` when the data file is broken.
pub fn features(plugin: &str, asked: &[String], hypervisor: bool) -> Result<WantedFeatures> {
    let data = FEATURES.as_ref().ok_or_else(broken)?;
    let plugins = data.network_plugins.iter().filter(|row| row.name == plugin);
    let names = data
        .always
        .features
        .iter()
        .chain(plugins.flat_map(|row| &row.features))
        .chain(asked);
    let mut wanted = WantedFeatures::default();
    let mut seen = Vec::new();
    for name in names {
        // Windows does not tell the case of their names.
        if seen
            .iter()
            .any(|other: &&String| other.eq_ignore_ascii_case(name))
        {
            continue;
        }
        seen.push(name);
        let instead = data
            .without_hypervisor
            .iter()
            .find(|row| row.feature.eq_ignore_ascii_case(name));
        match instead {
            Some(instead) if !hypervisor => {
                wanted.enabled.extend(instead.enabled.iter().cloned());
                wanted.disabled.extend(instead.disabled.iter().cloned());
            }
            _ => wanted.roles.push(name.clone()),
        }
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(plugin: &str, asked: &[&str], hypervisor: bool) -> WantedFeatures {
        let asked: Vec<String> = asked.iter().map(|&name| name.to_owned()).collect();
        features(plugin, &asked, hypervisor).unwrap()
    }

    #[test]
    fn hyper_v_comes_only_where_something_needs_it() {
        for plugin in ["calico", "flannel", "none"] {
            let only = wanted(plugin, &[], false);
            assert_eq!(only.roles, ["Containers"]);
            assert!(only.enabled.is_empty() && only.disabled.is_empty());
        }
        assert_eq!(
            wanted("calico", &["RSAT"], true).roles,
            ["Containers", "RSAT"]
        );
        let antrea = wanted("antrea", &["hyper-v"], true);
        assert_eq!(
            antrea.roles,
            ["Containers", "Hyper-V", "Hyper-V-PowerShell"]
        );
    }

    #[test]
    fn a_machine_without_nested_virtualisation_gets_hyper_v_without_its_hypervisor() {
        for (plugin, asked) in [("antrea", &[][..]), ("none", &["HYPER-V"][..])] {
            let without = wanted(plugin, asked, false);
            assert_eq!(without.enabled, ["Microsoft-Hyper-V"]);
            assert_eq!(without.disabled, ["Microsoft-Hyper-V-Online"]);
            assert!(
                !without
                    .roles
                    .iter()
                    .any(|name| name.eq_ignore_ascii_case("Hyper-V"))
            );
        }
    }

    #[test]
    fn every_number_has_a_source() {
        let all = preparation().unwrap();
        let sources = [
            &all.disk_free_mib.source,
            &all.power_scheme.source,
            &all.ports.source,
        ];
        assert!(sources.iter().all(|source| !source.is_empty()));
        assert!(
            all.registry
                .iter()
                .all(|row| !row.source.is_empty() && row.path.starts_with("HKLM:"))
        );
    }
}
