//! What makes a stock Windows machine ready for a container runtime.

use serde::Serialize;

use super::{FIREWALL, body};
use crate::error::Result;
use crate::release::windows::windows_servers;
use crate::release::windows_node::{WantedFeatures, preparation};

/// Functions that several scripts share.
const REGISTRY: &str = include_str!("../../../powershell/parts/registry.ps1");
const REBOOT: &str = include_str!("../../../powershell/parts/reboot.ps1");
const HNS: &str = include_str!("../../../powershell/parts/hns.ps1");

/// Looks at what the machine is, refuses what is not Windows Server `windows`, and makes the rest quiet and
/// reachable. Its clock may differ from the host's by `tolerance_ms`.
///
/// # Errors
/// `Bug` when the data about Windows nodes is broken.
pub fn first_contact(windows: &str, tolerance_ms: i64) -> Result<String> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Data<'a> {
        windows: &'a str,
        known: Vec<Build<'a>>,
        free_mib: u64,
        tolerance_ms: i64,
        scheme: &'a str,
        ports: Ports,
        registry: Vec<Number<'a>>,
    }
    #[derive(Serialize)]
    struct Build<'a> {
        windows: &'a str,
        build: u32,
    }
    #[derive(Serialize)]
    struct Ports {
        start: u16,
        number: u16,
    }
    #[derive(Serialize)]
    struct Number<'a> {
        path: &'a str,
        name: &'a str,
        value: u32,
    }
    let facts = preparation()?;
    let known = windows_servers().iter().map(|server| Build {
        windows: &server.windows,
        build: server.build,
    });
    let registry = facts.registry.iter().map(|number| Number {
        path: &number.path,
        name: &number.name,
        value: number.value,
    });
    let data = Data {
        windows,
        known: known.collect(),
        free_mib: facts.disk_free_mib.value,
        tolerance_ms,
        scheme: &facts.power_scheme.value,
        ports: Ports {
            start: facts.ports.start,
            number: facts.ports.number,
        },
        registry: registry.collect(),
    };
    let script = include_str!("../../../powershell/first-contact.ps1");
    body(script, &[REGISTRY, FIREWALL], &data)
}

/// Makes the host network service ready for a network plugin.
///
/// # Errors
/// None: it has no data.
pub fn hns() -> Result<String> {
    #[derive(Serialize)]
    struct Data {}
    body(
        include_str!("../../../powershell/hns.ps1"),
        &[HNS],
        &Data {},
    )
}

/// Installs these features, and asks for the reboots that they need.
///
/// # Errors
/// `Configuration` when a name holds a NUL character.
pub fn features(wanted: &WantedFeatures) -> Result<String> {
    #[derive(Serialize)]
    struct Data<'a> {
        roles: &'a [String],
        enabled: &'a [String],
        disabled: &'a [String],
    }
    let data = Data {
        roles: &wanted.roles,
        enabled: &wanted.enabled,
        disabled: &wanted.disabled,
    };
    let script = include_str!("../../../powershell/features.ps1");
    body(script, &[REGISTRY, REBOOT], &data)
}
