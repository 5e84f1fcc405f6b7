//! A provider of one running machine that does nothing, for tests: what they need of it, they act.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::{Features, Machine, Power, Provider};
use crate::channel::{Channel, Io, Report, Script};
use crate::error::{Failure, Kind, Result};
use crate::names::LaneName;

/// What a test has the machine do.
pub(crate) trait Acts: Send + Sync + 'static {
    /// The MAC address of its adapter in the nodes' subnet.
    fn private_mac(&self) -> Option<String> {
        None
    }

    /// It is brought up.
    fn up(&self) {}

    /// It is restarted.
    fn restart(&self) {}

    /// A script runs on it.
    fn run(&self, _script: &Script) -> Result<Report> {
        Ok(Report::default())
    }

    /// How long it takes to tell its boot.
    fn ponders(&self) -> Duration {
        Duration::ZERO
    }

    /// The boot that it is in.
    fn boot(&self) -> Option<String> {
        None
    }
}

/// The provider, and the channel to its machine.
pub(crate) struct Double<T>(pub(crate) Arc<T>);

#[async_trait]
impl<T: Acts> Provider for Double<T> {
    fn name(&self) -> &'static str {
        "double"
    }

    fn features(&self) -> Features {
        Features {
            parallel_creation: true,
            snapshots: false,
            static_addresses: true,
            needs_elevation: false,
            windows: true,
            simulated: true,
        }
    }

    async fn check(&self, _io: &Io) -> Result<()> {
        Ok(())
    }

    async fn inspect(&self, _node: &LaneName, _io: &Io) -> Result<Machine> {
        Ok(Machine {
            power: Power::Running,
            id: Some("1".to_owned()),
            detail: "running".to_owned(),
            address: None,
            private_mac: self.0.private_mac(),
        })
    }

    async fn up(&self, node: &LaneName, io: &Io) -> Result<Machine> {
        self.0.up();
        self.inspect(node, io).await
    }

    async fn halt(&self, _node: &LaneName, _io: &Io) -> Result<()> {
        Ok(())
    }

    async fn restart(&self, _node: &LaneName, _io: &Io) -> Result<()> {
        self.0.restart();
        Ok(())
    }

    async fn destroy(&self, _node: &LaneName, _io: &Io) -> Result<()> {
        Ok(())
    }

    fn channel(&self, _node: &LaneName) -> Arc<dyn Channel> {
        Arc::new(Self(Arc::clone(&self.0)))
    }
}

#[async_trait]
impl<T: Acts> Channel for Double<T> {
    async fn run(&self, script: &Script, _io: &Io) -> Result<Report> {
        self.0.run(script)
    }

    async fn upload(&self, _from: &Path, _to: &str, _io: &Io) -> Result<()> {
        Ok(())
    }

    async fn download(&self, _from: &str, _to: &Path, _io: &Io) -> Result<()> {
        Ok(())
    }

    async fn exec(&self, _argv: &[String], _io: &Io) -> Result<i32> {
        Ok(0)
    }

    async fn boot_identity(&self, patience: Duration, _io: &Io) -> Result<String> {
        let silent = || Box::new(Failure::new(Kind::Provider, "it says nothing"));
        tokio::time::sleep(patience.min(self.0.ponders())).await;
        let boot = self.0.boot().filter(|_| self.0.ponders() <= patience);
        boot.ok_or_else(silent)
    }
}
