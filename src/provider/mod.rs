//! What makes machines. Free of any one tool's words: the engine and the steps see only this.

#[cfg(test)]
pub(crate) mod double;
pub mod host;
pub mod sim;
pub mod vagrant;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::channel::{Channel, Io};
use crate::error::Result;
use crate::names::LaneName;

/// What a provider can do and needs; plans ask this, never the provider's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a feature list is a list of flags"
)]
pub struct Features {
    /// Several machines may be created at the same time.
    pub parallel_creation: bool,
    /// Machines' disks can be kept and brought back.
    pub snapshots: bool,
    /// A machine can be given its address before it boots.
    pub static_addresses: bool,
    /// The user must be an administrator.
    pub needs_elevation: bool,
    /// It makes machines that run Windows.
    pub windows: bool,
    /// No machine is real.
    pub simulated: bool,
}

/// What a machine is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Power {
    /// There is no machine.
    Absent,
    /// It is off.
    Off,
    /// It is paused or saved.
    Suspended,
    /// It is changing; ask again.
    Changing,
    /// It is on. This says nothing about whether it answers.
    Running,
    /// The provider calls it unusable.
    Broken,
}

impl Power {
    /// Whether it is on, or may be in a moment.
    #[must_use]
    pub const fn may_run(self) -> bool {
        matches!(self, Self::Running | Self::Changing)
    }
}

/// A machine as its provider sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// What it is doing.
    pub power: Power,
    /// Differs between any two machines, also of the same name; none when absent.
    pub id: Option<String>,
    /// The provider's own word for its state.
    pub detail: String,
    /// Where the host reaches it, when known.
    pub address: Option<IpAddr>,
    /// The MAC address of its adapter in the nodes' subnet, as `00:15:5d:01:02:03`, where the guest
    /// itself must give that adapter its address; known after `up`.
    pub private_mac: Option<String>,
}

/// What makes machines.
///
/// Every operation is safe to do twice and safe to die in: what is half-made is found by `inspect` and
/// mended or removed by the next operation. One operation at a time per machine is the
/// implementation's own duty.
#[async_trait]
pub trait Provider: Send + Sync {
    /// The name as in `variables.yml`.
    fn name(&self) -> &'static str;

    /// What it can do and needs.
    fn features(&self) -> Features;

    /// Checks that the provider can be used on this host; cheap, changes nothing.
    async fn check(&self, io: &Io) -> Result<()>;

    /// What there is of the machine.
    async fn inspect(&self, node: &LaneName, io: &Io) -> Result<Machine>;

    /// Creates the machine when it is absent, starts it when it is off, and returns it running and
    /// answering. A half-made or half-booted machine is mended.
    async fn up(&self, node: &LaneName, io: &Io) -> Result<Machine>;

    /// Shuts the machine down and leaves it off. Absent is fine.
    async fn halt(&self, node: &LaneName, io: &Io) -> Result<()>;

    /// Asks the machine to boot anew and returns once that has begun; the engine proves the rest.
    async fn restart(&self, node: &LaneName, io: &Io) -> Result<()>;

    /// Removes the machine and all that belongs to it. Absent is fine.
    async fn destroy(&self, node: &LaneName, io: &Io) -> Result<()>;

    /// The node has been given this address from inside: from here on it is reached by it. Only asked of
    /// providers that cannot set addresses themselves.
    ///
    /// # Errors
    /// `Provider` when it does not answer there.
    async fn use_address(&self, _node: &LaneName, _address: Ipv4Addr, _io: &Io) -> Result<()> {
        Ok(())
    }

    /// How scripts and files reach the machine.
    fn channel(&self, node: &LaneName) -> Arc<dyn Channel>;
}
