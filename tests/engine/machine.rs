//! One machine that does nothing but boot.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use wdev::channel::{Channel, Io, Report, Script};
use wdev::error::Result;
use wdev::names::LaneName;
use wdev::provider::{Features, Machine, Power, Provider};

/// Counts its boots.
#[derive(Clone, Default)]
pub struct Booting(Arc<AtomicU32>);

impl Booting {
    /// How often it was rebooted.
    pub fn boots(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Provider for Booting {
    fn name(&self) -> &'static str {
        "booting"
    }

    fn features(&self) -> Features {
        Features {
            parallel_creation: true,
            snapshots: false,
            static_addresses: true,
            needs_elevation: false,
            windows: false,
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
            private_mac: None,
        })
    }

    async fn up(&self, _node: &LaneName, _io: &Io) -> Result<Machine> {
        unreachable!("it is never off")
    }

    async fn halt(&self, _node: &LaneName, _io: &Io) -> Result<()> {
        unreachable!("no plan of these tests halts it")
    }

    async fn restart(&self, _node: &LaneName, _io: &Io) -> Result<()> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    async fn destroy(&self, _node: &LaneName, _io: &Io) -> Result<()> {
        unreachable!("no plan of these tests removes it")
    }

    fn channel(&self, _node: &LaneName) -> Arc<dyn Channel> {
        Arc::new(self.clone())
    }
}

#[async_trait]
impl Channel for Booting {
    async fn run(&self, _script: &Script, _io: &Io) -> Result<Report> {
        unreachable!("no step of these tests is a script")
    }

    async fn upload(&self, _from: &Path, _to: &str, _io: &Io) -> Result<()> {
        unreachable!("no step of these tests copies files")
    }

    async fn download(&self, _from: &str, _to: &Path, _io: &Io) -> Result<()> {
        unreachable!("no step of these tests copies files")
    }

    async fn exec(&self, _argv: &[String], _io: &Io) -> Result<i32> {
        unreachable!("no step of these tests runs commands")
    }

    async fn boot_identity(&self, _patience: Duration, _io: &Io) -> Result<String> {
        Ok(format!("boot {}", self.boots()))
    }
}
