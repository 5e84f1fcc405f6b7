//! A sandbox whose Vagrant and SSH are fakes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use ipnet::Ipv4Net;
use wdev::channel::{Channel, Io, Mode, Os, Script};
use wdev::clock::Clock;
use wdev::config::model::ProviderName;
use wdev::error::{Failure, Result};
use wdev::ledger::Ledger;
use wdev::names::LaneName;
use wdev::provider::Provider;
use wdev::provider::vagrant::hypervisor::{Choices, Hypervisor};
use wdev::provider::vagrant::{MachineRef, Settings, Vagrant};

use crate::common::shown::Shown;
use crate::common::wrapped;
use crate::fakes::Fake;

pub const RUNNING: &str = "print 1,cp,metadata,provider,libvirt\nprint 1,cp,state,running\n";
pub const LOCKED: &str =
    "print 1,,error-exit,Vagrant::Errors::MachineLocked,because it is locked!\nexit 1\n";
pub const SSH_CONFIG: &str =
    "expect ssh-config cp\nprint 1,cp,ssh-config,Host cp\\n  Port 2222\\n\n";

/// A hypervisor that needs nothing beside Vagrant, and notes what it turned off.
#[derive(Debug, Default)]
pub struct Plain {
    pub turned_off: Mutex<Vec<String>>,
    pub sets_up_once: std::sync::atomic::AtomicBool,
}

#[async_trait]
impl Hypervisor for Plain {
    fn sets_up_once(&self, _machine: &MachineRef) -> bool {
        self.sets_up_once.load(std::sync::atomic::Ordering::Relaxed)
    }

    async fn power_off(&self, machine: &MachineRef, _io: &Io) -> Result<bool> {
        let mut turned_off = self.turned_off.lock().unwrap();
        turned_off.push(machine.unique.clone());
        Ok(true)
    }
}

/// A sandbox with one machine `cp`, whose Vagrant and SSH are fakes.
pub struct World {
    pub vagrant: Fake,
    pub ssh: Fake,
    pub hypervisor: Arc<Plain>,
    pub dir: tempfile::TempDir,
    pub shown: Shown,
}

impl World {
    pub fn new(vagrant: &str) -> Self {
        let world = Self {
            vagrant: Fake::new("vagrant", vagrant),
            ssh: Fake::new("ssh", ""),
            hypervisor: Arc::default(),
            dir: tempfile::tempdir().unwrap(),
            shown: Shown::default(),
        };
        std::fs::write(world.path("Vagrantfile"), "").unwrap();
        // A step that was rendered, which the Vagrantfile names.
        let steps = world.path("steps/cp");
        std::fs::create_dir_all(&steps).unwrap();
        std::fs::write(steps.join("a-step.sh"), "").unwrap();
        world
    }

    /// A world in which Vagrant knows the machine.
    pub fn with_machine(vagrant: &str) -> Self {
        let world = Self::new(vagrant);
        let id = world.id();
        std::fs::create_dir_all(id.parent().unwrap()).unwrap();
        std::fs::write(id, "uuid-1").unwrap();
        world
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn id(&self) -> PathBuf {
        self.path(".vagrant/machines/cp/libvirt/id")
    }

    pub fn provider(&self) -> Vagrant {
        self.provider_of(self.vagrant.program.clone(), Clock::with_speed(20.0))
    }

    pub fn provider_of(&self, program: PathBuf, clock: Clock) -> Vagrant {
        Vagrant::new(self.settings(program, clock))
    }

    fn settings(&self, program: PathBuf, clock: Clock) -> Settings {
        Settings {
            program,
            dir: self.dir.path().to_owned(),
            sandbox: self.dir.path().to_owned(),
            provider: ProviderName::Libvirt,
            machines: vec![MachineRef {
                lane: cp(),
                os: Os::Linux,
                unique: "wdev-test-cp".to_owned(),
            }],
            boot: Duration::from_mins(2),
            halt: Duration::from_mins(1),
            clock,
            network: "wdev-test".to_owned(),
            subnet: Ipv4Net::default(),
            choices: Choices::default(),
            ledger: Ledger::new(self.path("state")),
            hypervisor: Some(Arc::<Plain>::clone(&self.hypervisor)),
            ssh: Some(self.ssh.program.clone()),
        }
    }

    /// The channel of a host that has no SSH client.
    pub fn channel_without_ssh(&self) -> Arc<dyn Channel> {
        self.channel_without_ssh_at(self.vagrant.program.clone(), Clock::with_speed(20.0))
    }

    pub fn channel_without_ssh_at(&self, program: PathBuf, clock: Clock) -> Arc<dyn Channel> {
        let settings = Settings {
            ssh: Some(self.path("no-ssh-here")),
            ..self.settings(program, clock)
        };
        Vagrant::new(settings).channel(&cp())
    }

    pub fn channel(&self) -> Arc<dyn Channel> {
        self.provider().channel(&cp())
    }

    pub fn io(&self) -> Io {
        self.shown.io()
    }

    pub fn shown(&self) -> String {
        self.shown.text()
    }

    /// The subcommand and the machine of each call of Vagrant.
    pub fn calls(&self) -> Vec<String> {
        let two = |call: String| call.split(' ').take(2).collect::<Vec<_>>().join(" ");
        self.vagrant.calls().into_iter().map(two).collect()
    }
}

pub fn cp() -> LaneName {
    "cp".into()
}

pub fn script(mode: Mode) -> Script {
    let text = "wdev_run() { :; }\nwdev_probe() { :; }\n";
    wrapped::script(Os::Linux, mode, text)
}

pub fn blocks(blocks: &[&str]) -> String {
    blocks.join("next\n")
}

pub fn says(failure: &Failure, text: &str) {
    let all = format!("{failure} {:?}", failure.advice);
    assert!(all.contains(text), "`{text}` is not in {all}");
}

/// A script that prints each line of a text with this word.
pub fn print_all(word: &str, text: &str) -> String {
    text.lines().fold(String::new(), |script, line| {
        script + word + " " + line + "\n"
    })
}
