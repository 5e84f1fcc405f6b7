//! Vagrant as a provider: all that knows Vagrant.
//!
//! One Vagrant process at a time per machine (`lock`); no exit code and none of its own records of
//! progress is believed (`lifecycle`, `provision`); no question can be asked (`call`).

mod call;
mod channel;
mod check;
pub mod docker;
mod environment;
mod lifecycle;
mod lock;
mod node;
mod orphan;
mod provision;
pub mod records;
pub mod state;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

pub use self::channel::VagrantChannel;
pub use self::check::{OLDEST, find_program};
use self::node::Node;
use super::{Features, Machine, Provider};
use crate::channel::{Channel, Io, Os};
use crate::clock::Clock;
use crate::error::{Failure, Kind, Result};
use crate::names::LaneName;

/// Everything that the driver must be told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Vagrant itself; see [`find_program`].
    pub program: PathBuf,
    /// The folder with the rendered Vagrantfile.
    pub dir: PathBuf,
    /// Vagrant's name of the provider, such as `docker`.
    pub provider: &'static str,
    /// The machines that the Vagrantfile defines.
    pub machines: Vec<MachineRef>,
    /// From the start of a machine until it answers. Fetching and unpacking a box comes on top.
    pub boot: Duration,
    /// From asking a machine to stop until it is off.
    pub halt: Duration,
    /// For pauses and limits.
    pub clock: Clock,
    /// The OpenSSH client; the one on `PATH` when none is given.
    pub ssh: Option<PathBuf>,
    /// The network to make for the machines, where the provider is docker.
    pub network: Option<docker::Network>,
}

/// One machine of the Vagrantfile.
#[derive(Debug, Clone)]
pub struct MachineRef {
    /// The node's name, which is also Vagrant's name of the machine.
    pub lane: LaneName,
    /// Its operating system.
    pub os: Os,
    /// The name that the Vagrantfile gives it at its provider, unique on this host: the name of the
    /// container for `docker`.
    pub unique: String,
}

/// The provider.
#[derive(Debug)]
pub struct Vagrant {
    provider: &'static str,
    caller: call::Caller,
    nodes: BTreeMap<LaneName, Arc<Node>>,
}

impl Vagrant {
    /// A provider for the machines of one Vagrantfile. Touches nothing.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let caller = call::Caller {
            program: settings.program,
            dir: settings.dir,
            provider: settings.provider,
            clock: settings.clock,
            ssh: settings.ssh,
        };
        let network = settings
            .network
            .map(|network| Arc::new(tokio::sync::Mutex::new(network)));
        let nodes = settings
            .machines
            .into_iter()
            .map(|machine| {
                let lane = machine.lane.clone();
                let mut node = Node::new(caller.clone(), machine, settings.boot, settings.halt);
                node.network.clone_from(&network);
                (lane, Arc::new(node))
            })
            .collect();
        Self {
            provider: settings.provider,
            caller,
            nodes,
        }
    }

    /// The command that opens a shell on a node, for a person at a terminal.
    ///
    /// # Errors
    /// When the node is unknown, not running, or `ssh` is not installed.
    pub async fn ssh_command(&self, node: &LaneName, io: &Io) -> Result<std::process::Command> {
        self.node(node)?.ssh_command(io).await
    }

    fn node(&self, name: &LaneName) -> Result<&Arc<Node>> {
        self.nodes.get(name).ok_or_else(|| unknown(name))
    }
}

fn unknown(name: &LaneName) -> Box<Failure> {
    Box::new(Failure::new(Kind::NotFound, format!("there is no node `{name}` here")).permanent())
}

#[async_trait]
impl Provider for Vagrant {
    fn name(&self) -> &'static str {
        self.provider
    }

    fn features(&self) -> Features {
        let docker = self.provider == "docker";
        Features {
            // Only these declare it (lib/vagrant/batch_action.rb); we start one process per machine.
            parallel_creation: docker || self.provider == "libvirt",
            snapshots: !docker,
            static_addresses: self.provider != "hyperv",
            needs_elevation: false,
            windows: !docker,
            simulated: false,
        }
    }

    async fn check(&self, io: &Io) -> Result<()> {
        check::version(&self.caller, io).await?;
        self.caller.ssh()?;
        if self.provider == "docker" {
            docker::Docker::new(self.caller.clock)
                .check(check::LIMIT, io)
                .await?;
        }
        Ok(())
    }

    async fn inspect(&self, node: &LaneName, io: &Io) -> Result<Machine> {
        self.node(node)?.inspect(io).await
    }

    async fn up(&self, node: &LaneName, io: &Io) -> Result<Machine> {
        self.node(node)?.up(io).await
    }

    async fn halt(&self, node: &LaneName, io: &Io) -> Result<()> {
        self.node(node)?.halt(io).await
    }

    async fn restart(&self, node: &LaneName, io: &Io) -> Result<()> {
        self.node(node)?.restart(io).await
    }

    async fn destroy(&self, node: &LaneName, io: &Io) -> Result<()> {
        self.node(node)?.destroy(io).await
    }

    fn channel(&self, node: &LaneName) -> Arc<dyn Channel> {
        Arc::new(VagrantChannel::new(
            node.clone(),
            self.nodes.get(node).map(Arc::clone),
        ))
    }
}
