//! What a simulated world consists of, as it is kept in the store.
//!
//! Times are milliseconds of the world's own time, which starts as Unix time and never runs back.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use super::SimNode;
use super::faults::FaultKind;
use crate::channel::{Effect, Os};
use crate::names::LaneName;

/// Everything: the nodes, and the cluster that they may form.
#[derive(Debug, Default)]
pub(super) struct World {
    pub nodes: BTreeMap<LaneName, Node>,
    pub cluster: Option<Cluster>,
    /// The latest moment that this world has seen.
    pub at: u64,
    /// When something next happens by itself, and on which node.
    agenda: BTreeSet<(u64, LaneName)>,
    /// Nodes that changed since they were last stored.
    pub dirty: BTreeSet<LaneName>,
    /// Whether the cluster changed since it was last stored.
    pub cluster_dirty: bool,
}

/// A node: what stays when its machine goes, and the machine when there is one.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Node {
    /// How many machines were made under this name.
    pub made: u64,
    /// How many boots there were; no boot identity comes twice.
    pub boots: u64,
    /// Counts the scripts that were started, and so names each.
    pub serial: u64,
    /// How often each script, `create` and `reboot` was started.
    pub starts: BTreeMap<String, u32>,
    /// How often each fault struck each script, as `fault script`.
    pub struck: BTreeMap<String, u32>,
    /// Every script that ran to its end.
    pub done: Vec<Done>,
    /// The node object in a cluster.
    pub member: Option<Member>,
    pub machine: Option<Machine>,
    /// Where this node stands in the agenda.
    #[serde(skip)]
    due: Option<u64>,
}

/// A script that ran to its end on a machine.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Done {
    pub machine: String,
    pub script: String,
    pub fingerprint: String,
    pub times: u32,
}

/// A node object: who registered it, where, and when.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Member {
    pub cluster: String,
    pub machine: String,
    pub address: String,
    pub since: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Machine {
    pub id: String,
    pub os: Os,
    /// Whether it is meant to be the control plane.
    pub control_plane: bool,
    pub address: Ipv4Addr,
    pub stage: Stage,
    /// A boot that will begin by itself.
    pub next_boot: Option<NextBoot>,
    pub files: BTreeMap<String, String>,
    pub settings: BTreeMap<String, String>,
    pub packages: BTreeMap<String, String>,
    pub features: BTreeMap<String, Feature>,
    pub services: BTreeMap<String, Service>,
    pub images: BTreeSet<String>,
    /// Whether the Host Networking Service does not answer.
    #[serde(default)]
    pub hns_broken: bool,
    /// Whether a join was cut off in the middle.
    #[serde(default)]
    pub half_joined: bool,
    /// The script at work.
    pub script: Option<Running>,
    /// How the last script ended, until somebody asks.
    pub ended: Option<Ended>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    /// It is being made until then; afterwards, nobody finished it.
    Making {
        until: u64,
    },
    Off,
    On(Boot),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Boot {
    pub identity: String,
    /// When it answers; never without.
    pub ready: Option<u64>,
    /// Whether it has come that far.
    pub settled: bool,
    /// What is odd about it.
    #[serde(default)]
    pub turn: Turn,
}

/// What is odd about a boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Turn {
    /// It is soon followed by another one.
    pub again: bool,
    /// Windows wants another one after it.
    pub pending: bool,
    /// It breaks the Host Networking Service.
    pub hns: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct NextBoot {
    pub begins: u64,
    /// How long it takes until the machine answers; for ever without.
    pub takes: Option<u64>,
    #[serde(default)]
    pub turn: Turn,
    /// Whether somebody asked for it.
    pub asked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Feature {
    /// Installed; active after the next boot.
    Pending,
    Active,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Service {
    pub needs: Vec<String>,
    /// Starts with the machine.
    pub enabled: bool,
    pub running: bool,
}

/// A script at work. It belongs to the machine: nobody need watch it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Running {
    pub serial: u64,
    pub name: String,
    pub fingerprint: String,
    pub effects: Vec<Effect>,
    /// The effect at work.
    pub current: usize,
    /// When that began.
    pub began: u64,
    /// Half-way through it: where faults strike.
    pub half: u64,
    /// When something happens; never in a stall.
    pub due: Option<u64>,
    /// Stretches every duration.
    pub slower: u64,
    /// What will go wrong, and in which effect.
    pub fate: Option<(FaultKind, usize)>,
    /// The join token that it was given.
    pub token: Option<Token>,
}

/// What may be kept of a join token.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Token {
    /// The public half.
    pub id: String,
    /// The cluster's number of it; none for an unknown one.
    pub number: Option<u64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Ended {
    pub serial: u64,
    pub name: String,
    pub fingerprint: String,
    pub outcome: Outcome,
    /// Whether the connection of whoever watched was cut.
    pub cut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Done,
    /// Exit code 1, after these words.
    Failed(String),
    /// The machine lost its power.
    PowerLost,
    /// The machine shut down or rebooted.
    ShutDown,
    /// The script died with its connection.
    CutLost,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Cluster {
    pub id: String,
    pub version: String,
    pub address: String,
    /// The control plane and its machine.
    pub node: LaneName,
    pub machine: String,
    /// What is applied, since when.
    pub manifests: BTreeMap<String, u64>,
    /// Join tokens by number, with the time that each was made. The tokens follow from the seed.
    pub tokens: BTreeMap<u64, u64>,
    pub tokens_made: u64,
}

impl Machine {
    pub fn new(id: String, node: &SimNode, until: u64) -> Self {
        Self {
            id,
            os: node.os,
            control_plane: node.control_plane,
            address: node.address,
            stage: Stage::Making { until },
            next_boot: None,
            files: BTreeMap::new(),
            settings: BTreeMap::new(),
            packages: BTreeMap::new(),
            features: BTreeMap::new(),
            services: BTreeMap::new(),
            images: BTreeSet::new(),
            hns_broken: false,
            half_joined: false,
            script: None,
            ended: None,
        }
    }

    /// Whether it is on and has finished booting.
    pub fn answers(&self) -> bool {
        matches!(&self.stage, Stage::On(boot) if boot.settled)
    }

    pub fn runs(&self, service: &str) -> bool {
        self.services
            .get(service)
            .is_some_and(|service| service.running)
    }

    /// Ends the script at work, if any.
    pub fn end_script(&mut self, outcome: Outcome) {
        if let Some(script) = self.script.take() {
            self.ended = Some(Ended {
                serial: script.serial,
                cut: script.is_cut(None),
                name: script.name,
                fingerprint: script.fingerprint,
                outcome,
            });
        }
    }

    /// Everything that runs stops.
    pub fn stop(&mut self, outcome: Outcome) {
        self.end_script(outcome);
        self.next_boot = None;
        for service in self.services.values_mut() {
            service.running = false;
        }
    }

    fn due(&self) -> Option<u64> {
        let boot = match &self.stage {
            Stage::On(boot) if !boot.settled => boot.ready,
            _ => None,
        };
        let next = self.next_boot.as_ref().map(|next| next.begins);
        let script = self.script.as_ref().and_then(|script| script.due);
        [boot, next, script].into_iter().flatten().min()
    }
}

impl Node {
    /// Counts a script that ran to its end on the present machine.
    pub fn stamp(&mut self, script: &str, fingerprint: &str) {
        let Some(machine) = self.machine.as_ref().map(|machine| machine.id.clone()) else {
            return;
        };
        let known = self.done.iter_mut().find(|done| {
            done.machine == machine && done.script == script && done.fingerprint == fingerprint
        });
        match known {
            Some(done) => done.times += 1,
            None => self.done.push(Done {
                machine,
                script: script.to_owned(),
                fingerprint: fingerprint.to_owned(),
                times: 1,
            }),
        }
    }

    /// Whether the present machine ran this script to its end before.
    pub fn stamped(&self, script: &str, fingerprint: &str) -> bool {
        let Some(machine) = &self.machine else {
            return false;
        };
        self.done.iter().any(|done| {
            done.machine == machine.id && done.script == script && done.fingerprint == fingerprint
        })
    }
}

impl World {
    /// The node, made known when it is not yet.
    pub fn node(&mut self, name: &LaneName) -> &mut Node {
        self.nodes.entry(name.clone()).or_default()
    }

    pub fn machine(&self, name: &LaneName) -> Option<&Machine> {
        self.nodes.get(name)?.machine.as_ref()
    }

    pub fn machine_mut(&mut self, name: &LaneName) -> Option<&mut Machine> {
        self.nodes.get_mut(name)?.machine.as_mut()
    }

    /// To be called after every change of a node.
    pub fn touch(&mut self, name: &LaneName) {
        self.dirty.insert(name.clone());
        self.schedule(name);
    }

    /// Puts the node where it belongs in the agenda.
    pub fn schedule(&mut self, name: &LaneName) {
        let Some(node) = self.nodes.get_mut(name) else {
            return;
        };
        let due = node.machine.as_ref().and_then(Machine::due);
        if due != node.due {
            if let Some(old) = node.due.take() {
                self.agenda.remove(&(old, name.clone()));
            }
            if let Some(new) = due {
                self.agenda.insert((new, name.clone()));
            }
            node.due = due;
        }
    }

    /// The next thing that happens by itself, when that is not after `now`.
    pub fn next(&self, now: u64) -> Option<(u64, LaneName)> {
        self.agenda.first().filter(|(at, _)| *at <= now).cloned()
    }
}
