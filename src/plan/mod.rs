//! What is done: the lanes and steps of each command.

pub mod fetch;
pub mod leave;
pub mod naming;
pub mod node;
pub mod power;
pub mod record;
pub mod render;
pub mod steps;
pub mod up;

use crate::artifacts::Store;
use crate::config::Config;
use crate::config::model::ProviderName;
use crate::home::SandboxFolder;
use crate::release::Release;

/// What a plan is made for.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// The provider in use; never `auto`.
    pub provider: ProviderName,
    /// The sandbox's folder.
    pub folder: &'a SandboxFolder,
    /// What stands in for Windows.
    pub testbed: Testbed,
    /// What the names of all that it has on this host begin with.
    pub prefix: &'a str,
    /// Every version, settled.
    pub release: &'a Release,
    /// The cache of artifacts; none in a simulation, and for a plan that is only shown.
    pub store: Option<&'a Store>,
}

/// What stands in for Windows machines, where a test says so in `WDEV_TESTBED`. No part of the product
/// for users: it lets the whole flow run where there is no Windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Testbed {
    /// Nothing: workers are Windows machines (with docker, Linux ones).
    #[default]
    None,
    /// `linux`: workers are Linux machines, on every provider.
    LinuxWorkers,
    /// `1`: docker makes Linux machines that Vagrant takes for Windows.
    DoubledWindows,
}

impl Testbed {
    /// What `WDEV_TESTBED` says; other words mean nothing.
    #[must_use]
    pub fn from_env() -> Self {
        match std::env::var("WDEV_TESTBED").as_deref() {
            Ok("linux") => Self::LinuxWorkers,
            Ok("1") => Self::DoubledWindows,
            _ => Self::None,
        }
    }
}
