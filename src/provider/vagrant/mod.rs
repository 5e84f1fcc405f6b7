//! Vagrant as a provider: all that knows Vagrant.
//!
//! One Vagrant process at a time per machine (`lock`); no exit code and none of its own records of
//! progress is believed (`lifecycle`, `provision`); no question can be asked (`call`).

mod boot;
mod call;
mod channel;
mod check;
mod direct;
mod environment;
mod first_contact;
mod glance;
pub mod hypervisor;
mod lifecycle;
mod listen;
mod lock;
mod made_with;
mod node;
mod orphan;
mod own_address;
mod provision;
mod reach;
pub mod records;
pub mod state;
mod through;
mod transfer;
mod versions;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ipnet::Ipv4Net;
use tokio::sync::Mutex;

pub use self::channel::VagrantChannel;
pub use self::check::find_program;
use self::hypervisor::{Choices, Hypervisor, Site};
use self::lock::MachineLock;
use self::node::Node;
use super::{Features, Machine, Provider};
use crate::channel::{Channel, Io, Os};
use crate::clock::Clock;
use crate::config::model::ProviderName;
use crate::error::{Failure, Kind, Result};
use crate::ledger::Ledger;
use crate::names::LaneName;

/// Everything that the driver must be told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Vagrant itself; see [`find_program`].
    pub program: PathBuf,
    /// The folder with the rendered Vagrantfile.
    pub dir: PathBuf,
    /// The sandbox's folder, which stands for it in the ledger.
    pub sandbox: PathBuf,
    /// The provider; never `auto` or `sim`.
    pub provider: ProviderName,
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
    /// The name of the machines' network on this host.
    pub network: String,
    /// The subnet of the machines' addresses.
    pub subnet: Ipv4Net,
    /// What the user says of the provider.
    pub choices: Choices,
    /// What wdev has made on this host for several sandboxes.
    pub ledger: Ledger,
    /// What the provider needs beside Vagrant, in place of its own module: for tests.
    pub hypervisor: Option<Arc<dyn Hypervisor>>,
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
    provider: ProviderName,
    caller: call::Caller,
    hypervisor: Arc<dyn Hypervisor>,
    /// Held while something that the machines share is made or removed.
    shared: Arc<Mutex<()>>,
    nodes: BTreeMap<LaneName, Arc<Node>>,
}

impl Vagrant {
    /// A provider for the machines of one Vagrantfile. Touches nothing.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let caller = call::Caller {
            program: settings.program,
            dir: settings.dir,
            provider: settings.provider.as_str(),
            clock: settings.clock,
            ssh: settings.ssh,
        };
        // Of these, two machines made at the same time get in each other's way.
        let creation = (!hypervisor::features(settings.provider).parallel_creation).then(|| {
            let file = settings.ledger.lock_file(settings.provider.as_str());
            MachineLock::for_making(file, settings.clock)
        });
        let site = Site {
            sandbox: settings.sandbox,
            dir: caller.dir.clone(),
            network: settings.network,
            subnet: settings.subnet,
            choices: settings.choices,
            ledger: settings.ledger,
            clock: settings.clock,
        };
        let hypervisor = settings
            .hypervisor
            .unwrap_or_else(|| hypervisor::open(settings.provider, site));
        let shared = Arc::new(Mutex::new(()));
        let nodes = settings
            .machines
            .into_iter()
            .map(|machine| {
                let lane = machine.lane.clone();
                let node = Node::new(
                    caller.clone(),
                    machine,
                    (settings.boot, settings.halt),
                    Arc::clone(&hypervisor),
                    (Arc::clone(&shared), creation.clone()),
                );
                (lane, Arc::new(node))
            })
            .collect();
        Self {
            provider: settings.provider,
            caller,
            hypervisor,
            shared,
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

    /// Whether Vagrant knows a machine of this sandbox, also of nodes that this run has nothing to do with.
    fn has_machines(&self) -> bool {
        let machines = std::fs::read_dir(self.caller.dir.join(".vagrant/machines"));
        let mut nodes = machines.into_iter().flatten().flatten();
        nodes.any(|node| {
            let id = node.path().join(self.caller.provider).join("id");
            id.metadata().is_ok_and(|id| id.len() > 0)
        })
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
        self.provider.as_str()
    }

    fn features(&self) -> Features {
        hypervisor::features(self.provider)
    }

    async fn check(&self, io: &Io) -> Result<()> {
        check::depth(&self.caller.dir)?;
        let version = check::version(&self.caller, io).await?;
        for remark in check::rules(self.provider, version, None)? {
            io.note(remark);
        }
        if let Err(failure) = self.caller.ssh() {
            io.note(format!(
                "{failure}: going through Vagrant, which takes longer"
            ));
        }
        self.hypervisor.check(version, io).await
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
        self.node(node)?.destroy(io).await?;
        let _one_at_a_time = self.shared.lock().await;
        if self.has_machines() {
            return Ok(());
        }
        self.hypervisor.after_last(io).await
    }

    async fn use_address(&self, node: &LaneName, address: Ipv4Addr, io: &Io) -> Result<()> {
        self.node(node)?.use_address(address, io).await
    }

    fn channel(&self, node: &LaneName) -> Arc<dyn Channel> {
        Arc::new(VagrantChannel::new(
            node.clone(),
            self.nodes.get(node).map(Arc::clone),
        ))
    }
}
