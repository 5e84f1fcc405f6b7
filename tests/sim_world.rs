//! The simulated world, as the engine sees it: through its provider and its channels.

#![expect(
    clippy::unwrap_used,
    reason = "a test ends where what it builds on fails"
)]

#[path = "sim_world/cluster.rs"]
mod cluster;
#[path = "sim_world/faults.rs"]
mod faults;
#[path = "sim_world/machines.rs"]
mod machines;
#[path = "sim_world/scripts.rs"]
mod scripts;
#[path = "sim_world/store.rs"]
mod store;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use wdev::channel::{Channel, Effect, Io, Line, Mode, Os, Report, Script, Secret};
use wdev::clock::Clock;
use wdev::error::Result;
use wdev::names::LaneName;
use wdev::provider::Provider;
use wdev::provider::sim::{Fault, Faults, Memory, Settings, Sim, SimNode, Store};
use wdev::stop::Stop;

/// A world with the nodes `cp`, `winw1` and `winw2`, and all that was said in it.
struct Lab {
    sim: Arc<Sim>,
    clock: Clock,
    said: Arc<Mutex<Vec<String>>>,
    io: Io,
}

fn settings(store: Store) -> Settings {
    let node = |name: &str, os, last| SimNode {
        lane: LaneName::from(name),
        os,
        control_plane: name == "cp",
        address: [192, 168, 56, last].into(),
    };
    Settings {
        nodes: vec![
            node("cp", Os::Linux, 10),
            node("winw1", Os::Windows, 11),
            node("winw2", Os::Windows, 12),
        ],
        store,
        seed: 7,
        faults: Faults::default(),
        clock: Clock::new(),
    }
}

fn memory() -> Store {
    Store::Memory(Arc::new(Memory::default()))
}

impl Lab {
    fn new() -> Self {
        Self::open(settings(memory()))
    }

    fn with_fault(fault: &str) -> Self {
        let mut settings = settings(memory());
        settings.faults.scripted = vec![Fault::parse(fault).unwrap()];
        Self::open(settings)
    }

    fn open(settings: Settings) -> Self {
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        Self {
            clock: settings.clock,
            sim: Sim::open(settings).unwrap(),
            said,
            io: Io {
                output: Arc::new(move |line: Line| heard.lock().unwrap().push(line.text)),
                stop: Stop::never(),
            },
        }
    }

    async fn up(&self, node: &str) -> wdev::provider::Machine {
        self.sim.up(&node.into(), &self.io).await.unwrap()
    }

    fn channel(&self, node: &str) -> Arc<dyn Channel> {
        self.sim.channel(&node.into())
    }

    async fn run(&self, node: &str, script: &Script) -> Result<Report> {
        self.channel(node).run(script, &self.io).await
    }

    /// Runs these effects as the script `name`; its fingerprint follows from them.
    async fn does(&self, node: &str, name: &str, effects: &[Effect]) -> Result<Report> {
        self.run(node, &script(node, name, effects)).await
    }

    /// What a probe says is missing.
    async fn missing(&self, node: &str, effects: &[Effect]) -> Option<String> {
        let mut probe = script(node, "probe", effects);
        probe.mode = Mode::Probe;
        let report = self.run(node, &probe).await.unwrap();
        assert_eq!(report.in_place, report.why.is_none());
        report.why
    }

    /// Reboots and waits until the node answers with another boot identity.
    async fn reboot(&self, node: &str) {
        let name = LaneName::from(node);
        let channel = self.channel(node);
        let before = channel.boot_identity(SECOND, &self.io).await.unwrap();
        self.sim.restart(&name, &self.io).await.unwrap();
        self.until_boot_is_not(node, &before).await;
    }

    async fn until_boot_is_not(&self, node: &str, before: &str) -> String {
        let channel = self.channel(node);
        let changed = async {
            loop {
                match channel.boot_identity(SECOND, &self.io).await {
                    Ok(now) if now != before => return now,
                    _ => self.clock.sleep(SECOND).await,
                }
            }
        };
        let limit = Duration::from_mins(10);
        self.clock.timeout(limit, changed).await.unwrap()
    }

    fn heard(&self, what: &str) -> bool {
        self.said
            .lock()
            .unwrap()
            .iter()
            .any(|line| line.contains(what))
    }

    /// How often the script was performed to its end, on all machines of the node.
    fn completed(&self, node: &str, script: &str) -> u32 {
        let done = self.sim.completions();
        let of = |done: &&wdev::provider::sim::Completion| {
            done.node.as_str() == node && done.script == script
        };
        done.iter().filter(of).map(|done| done.times).sum()
    }
}

const SECOND: Duration = Duration::from_secs(1);

fn script(node: &str, name: &str, effects: &[Effect]) -> Script {
    Script {
        name: name.to_owned(),
        os: if node == "cp" { Os::Linux } else { Os::Windows },
        mode: Mode::Run,
        text: None,
        effects: effects.to_vec(),
        fingerprint: format!("{effects:?}"),
        secrets: BTreeMap::new(),
    }
}

fn with_token(mut script: Script, token: &str) -> Script {
    script
        .secrets
        .insert("join_token".to_owned(), Secret::new(token));
    script
}

fn file(path: &str) -> Effect {
    Effect::File {
        path: path.to_owned(),
        content: "x".to_owned(),
    }
}

fn service(name: &str, needs: &[&str]) -> Effect {
    Effect::Service {
        name: name.to_owned(),
        needs: needs.iter().map(|&need| need.to_owned()).collect(),
    }
}

fn running(name: &str) -> Effect {
    Effect::Running(name.to_owned())
}

/// The join token that a script made.
fn token_of(report: &Report) -> String {
    report
        .secrets
        .get("join_token")
        .unwrap()
        .reveal()
        .to_owned()
}
