//! Which version of Kubernetes knows which feature gate. A component does not start with one that it
//! does not know.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::config::nearest;

/// What a minor makes of a feature gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// It knows it.
    Known,
    /// It came later: with this minor.
    NotYet(u32),
    /// It was removed; this minor was the last that knew it.
    Gone(u32),
    /// No version is known to have it; perhaps this one is meant.
    Unknown(Option<&'static str>),
    /// The minor is newer than the list, which may lack it.
    Unsure,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[expect(dead_code, reason = "for readers of the data")]
    source: Vec<String>,
    /// The newest minor that the list is complete for.
    complete_through: u32,
    gates: Vec<Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    /// The first minor that knows it; the oldest of the list for older ones.
    from: u32,
    /// The last minor that knows it.
    until: Option<u32>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    serde_json::from_str(include_str!("data/feature-gates.json")).unwrap_or_default()
});

static BY_NAME: LazyLock<BTreeMap<&'static str, &'static Row>> = LazyLock::new(|| {
    let rows = TABLE.gates.iter();
    rows.map(|row| (row.name.as_str(), row)).collect()
});

/// What Kubernetes `1.minor` makes of the feature gate.
#[must_use]
pub fn gate(name: &str, minor: u32) -> Gate {
    let Some(row) = BY_NAME.get(name) else {
        let known = |row: &&Row| row.from <= minor && row.until.is_none_or(|until| minor <= until);
        let names = TABLE.gates.iter().filter(known);
        let near = nearest(name, names.map(|row| row.name.as_str()));
        return if near.is_none() && minor > TABLE.complete_through {
            Gate::Unsure
        } else {
            Gate::Unknown(near)
        };
    };
    match row.until {
        _ if minor < row.from => Gate::NotYet(row.from),
        Some(until) if until < minor => Gate::Gone(until),
        _ => Gate::Known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_come_and_go_with_the_minors() {
        for (name, minor, expected) in [
            ("WinDSR", 20, Gate::Known),
            ("WinDSR", 36, Gate::Known),
            ("AllAlpha", 37, Gate::Known),
            ("WindowsHostProcessContainers", 27, Gate::Known),
            ("WindowsHostProcessContainers", 30, Gate::Gone(27)),
            ("SidecarContainers", 20, Gate::NotYet(28)),
            ("SidecarContainers", 36, Gate::Known),
            ("SidecarContainers", 37, Gate::Gone(36)),
            ("winDsr", 36, Gate::Unknown(Some("WinDSR"))),
            (
                "SidecarContainer",
                36,
                Gate::Unknown(Some("SidecarContainers")),
            ),
            ("SidecarContainer", 37, Gate::Unsure),
            ("NobodysGateAtAll", 36, Gate::Unknown(None)),
            ("NobodysGateAtAll", 38, Gate::Unsure),
        ] {
            assert_eq!(gate(name, minor), expected, "{name} in 1.{minor}");
        }
    }

    #[test]
    fn every_gate_is_listed_once() {
        assert!(TABLE.gates.len() > 400, "the data cannot be read");
        assert_eq!(BY_NAME.len(), TABLE.gates.len());
    }
}
