//! The nodes of a sandbox, as plans see them.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use super::{Target, Testbed};
use crate::boxes::{self, Arch, Guest};
use crate::channel::Os;
use crate::config::model::{MachineSpec, ProviderName};
use crate::error::Result;
use crate::names::LaneName;

/// One machine of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its name, which is also its lane's.
    pub name: LaneName,
    /// What it is for.
    pub role: Role,
    /// What runs on it.
    pub os: Os,
    /// What runs on it, in words: `Windows Server 2022`.
    pub os_title: String,
    /// Its address in the node subnet.
    pub address: Ipv4Addr,
    /// What it is made of.
    pub machine: MachineSpec,
    /// The name of its machine on this host.
    pub unique_name: String,
}

/// What a node is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It runs the control plane.
    ControlPlane,
    /// It runs pods.
    Worker,
}

impl Role {
    /// In words.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::ControlPlane => "control plane",
            Self::Worker => "worker",
        }
    }
}

impl Node {
    /// What it is, in words: `worker, Windows Server 2022`.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{}, {}", self.role.title(), self.os_title)
    }

    /// Whether it is the control plane.
    #[must_use]
    pub fn is_control_plane(&self) -> bool {
        self.role == Role::ControlPlane
    }

    /// Whether a hook for `target` is for this node: its name, `control-plane`, `workers` or `all`.
    #[must_use]
    pub fn is_meant_by(&self, target: &str) -> bool {
        match target {
            "all" => true,
            "control-plane" => self.role == Role::ControlPlane,
            "workers" => self.role == Role::Worker,
            name => self.name.as_str() == name,
        }
    }
}

/// The nodes of a sandbox: the control plane, then the workers in order, each with its box settled.
///
/// Docker machines are Linux, whatever the configuration says of a worker: that provider is for tests
/// and demos.
///
/// # Errors
/// `Configuration` or `Host` where there is no box for a node: see [`boxes::resolve`].
pub fn nodes(target: &Target) -> Result<Vec<Node>> {
    let config = target.config;
    let machine = |name: &str, spec: &MachineSpec, guest: Guest<'_>| {
        boxes::resolve(name, spec, guest, target.provider, Arch::host())
    };
    let control_plane = &config.control_plane;
    let name = LaneName::new(&control_plane.name);
    let mut nodes = vec![Node {
        unique_name: format!("{}-{name}", target.prefix),
        name,
        role: Role::ControlPlane,
        os: Os::Linux,
        os_title: "Linux".to_owned(),
        address: control_plane.address,
        machine: machine(&control_plane.name, &control_plane.machine, Guest::Linux)?,
    }];
    for worker in &config.workers {
        let os = worker_os(target.provider, target.testbed);
        let os_title = match os {
            Os::Linux => "Linux".to_owned(),
            Os::Windows => format!("Windows Server {}", worker.windows),
        };
        let guest = match os {
            Os::Linux => Guest::Linux,
            Os::Windows => Guest::Windows(&worker.windows),
        };
        if os == Os::Windows && target.provider != ProviderName::Sim {
            boxes::check_kubernetes(&worker.windows, target.release.kubernetes.minor())?;
        }
        let name = LaneName::new(&worker.name);
        nodes.push(Node {
            unique_name: format!("{}-{name}", target.prefix),
            name,
            role: Role::Worker,
            os,
            os_title,
            address: worker.address,
            machine: machine(&worker.name, &worker.machine, guest)?,
        });
    }
    Ok(nodes)
}

/// What runs on the workers of a provider. Machines of docker are Linux.
#[must_use]
pub fn worker_os(provider: ProviderName, testbed: Testbed) -> Os {
    match testbed {
        Testbed::LinuxWorkers => Os::Linux,
        Testbed::None if provider == ProviderName::Docker => Os::Linux,
        Testbed::None | Testbed::DoubledWindows => Os::Windows,
    }
}
