//! Arguments of components that kubeadm or wdev sets itself, so that the user's own would break the
//! cluster or lose against them. Others of kubeadm's own may be given: the user's takes their place.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::config::model::{Audit, Kubernetes};

/// An argument that is set already.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Managed {
    component: String,
    flags: Vec<String>,
    #[serde(default)]
    when: When,
    /// Which source of the table this is known from.
    source: String,
    /// What to write in place of it.
    pub instead: String,
}

/// Whether it is always set, or by a value of the configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum When {
    #[default]
    Always,
    FeatureGates,
    LogLevels,
    Audit,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    sources: BTreeMap<String, String>,
    arguments: Vec<Managed>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    serde_json::from_str(include_str!("data/managed-arguments.json")).unwrap_or_default()
});

impl Managed {
    /// Who sets it.
    #[must_use]
    pub fn by(&self) -> &'static str {
        if self.source == "wdev" {
            "wdev"
        } else {
            "kubeadm"
        }
    }

    /// Where that is known from.
    #[must_use]
    pub fn source(&self) -> &'static str {
        TABLE.sources.get(&self.source).map_or("", String::as_str)
    }

    fn applies(&self, kubernetes: &Kubernetes) -> bool {
        match self.when {
            When::Always => true,
            When::FeatureGates => !kubernetes.feature_gates.is_empty(),
            When::LogLevels => kubernetes.log_levels.contains_key(&self.component),
            When::Audit => kubernetes.audit != Audit::None,
        }
    }
}

/// What is known of an argument that is set already; nothing for one that a user may give. The component
/// as in `kubernetes.extra_args`, the flag without dashes.
#[must_use]
pub fn managed(component: &str, flag: &str, kubernetes: &Kubernetes) -> Option<&'static Managed> {
    TABLE.arguments.iter().find(|row| {
        row.component == component
            && row.flags.iter().any(|name| name == flag)
            && row.applies(kubernetes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_its_source() {
        assert!(!TABLE.arguments.is_empty(), "the data cannot be read");
        for row in &TABLE.arguments {
            assert!(!row.source().is_empty(), "{row:?}");
        }
    }
}
