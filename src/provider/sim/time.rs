//! The passing of time: boots that end, services that start with them, scripts that go on whether or
//! not anybody watches.

use super::draw::{between, digits};
use super::effects::{self, Tried};
use super::faults::FaultKind;
use super::words;
use super::world::{Boot, Feature, Machine, NextBoot, Outcome, Running, Stage, Turn, World};
use crate::channel::{Effect, Os};
use crate::names::LaneName;

/// How long after it came back a machine boots once more, when it is to boot twice.
const AGAIN_AFTER: u64 = 20_000;
/// How long that boot takes.
const AGAIN_TAKES: u64 = 45_000;

/// Lets everything happen that happens by itself until `now`, in the order of time.
pub(super) fn advance(world: &mut World, seed: u64, now: u64) {
    while let Some((at, name)) = world.next(now) {
        happen(world, seed, &name, at);
        world.touch(&name);
    }
    world.at = world.at.max(now);
}

fn happen(world: &mut World, seed: u64, name: &LaneName, at: u64) {
    let Some(machine) = world.machine_mut(name) else {
        return;
    };
    if let Some(next) = machine.next_boot.take_if(|next| next.begins <= at) {
        boot(world, seed, name, at, next.takes, next.turn);
    } else if matches!(&machine.stage, Stage::On(boot) if !boot.settled && boot.ready.is_some_and(|ready| ready <= at))
    {
        settle(machine, at);
    } else {
        script(world, seed, name, at);
    }
}

/// Begins a boot that takes so long, or never ends.
pub(super) fn boot(
    world: &mut World,
    seed: u64,
    name: &LaneName,
    now: u64,
    takes: Option<u64>,
    turn: Turn,
) {
    let node = world.node(name);
    node.boots += 1;
    let number = node.boots.to_string();
    let Some(machine) = &mut node.machine else {
        return;
    };
    machine.stop(Outcome::ShutDown);
    machine.stage = Stage::On(Boot {
        identity: digits(seed, &["boot", name.as_str(), &machine.id, &number]),
        ready: takes.map(|takes| now + takes),
        settled: false,
        turn,
    });
    world.touch(name);
}

/// How long the next boot of a node takes by itself.
pub(super) fn boot_takes(world: &World, seed: u64, name: &LaneName) -> u64 {
    let boots = world.nodes.get(name).map_or(0, |node| node.boots);
    between(
        seed,
        &["boot takes", name.as_str(), &boots.to_string()],
        30_000,
        90_000,
    )
}

/// A machine has booted.
fn settle(machine: &mut Machine, now: u64) {
    let Stage::On(boot) = &mut machine.stage else {
        return;
    };
    boot.settled = true;
    let turn = boot.turn;
    if turn.again {
        machine.next_boot = Some(NextBoot {
            begins: now + AGAIN_AFTER,
            takes: Some(AGAIN_TAKES),
            turn: Turn::default(),
            asked: false,
        });
    }
    if !turn.pending {
        for feature in machine.features.values_mut() {
            *feature = Feature::Active;
        }
    }
    machine.hns_broken = turn.hns && machine.os == Os::Windows;
    // Each round starts what needs only what runs already; a service in a circle never starts.
    loop {
        let startable: Vec<String> = machine
            .services
            .iter()
            .filter(|(_, service)| service.enabled && !service.running)
            .filter(|(_, service)| service.needs.iter().all(|need| machine.runs(need)))
            .map(|(name, _)| name.clone())
            .collect();
        if startable.is_empty() {
            break;
        }
        for name in startable {
            if let Some(service) = machine.services.get_mut(&name) {
                service.running = true;
            }
        }
    }
}

/// A script comes to the end of an effect, or to its fate.
fn script(world: &mut World, seed: u64, name: &LaneName, at: u64) {
    let Some(machine) = world.machine_mut(name) else {
        return;
    };
    let Some(mut script) = machine
        .script
        .take_if(|script| script.due.is_some_and(|due| due <= at))
    else {
        return;
    };
    let fate = script.fate_now();
    let dies = fate.is_some_and(|kind| kind != FaultKind::Cut && kind != FaultKind::Stops);
    if dies
        && matches!(
            script.effects.get(script.current),
            Some(Effect::Join { .. })
        )
    {
        machine.half_joined = true;
    }
    let outcome = match fate {
        Some(FaultKind::Fail) => Some(Outcome::Failed("injected fault: exit 1".to_owned())),
        Some(FaultKind::Die) => {
            machine.script = Some(script);
            machine.stop(Outcome::PowerLost);
            machine.stage = Stage::Off;
            return;
        }
        Some(FaultKind::Restart) => {
            machine.script = Some(script);
            let takes = boot_takes(world, seed, name);
            boot(world, seed, name, at, Some(takes), Turn::default());
            return;
        }
        Some(FaultKind::Host) => {
            machine.script = Some(script);
            host_reboots(world);
            return;
        }
        Some(FaultKind::CutLost) => Some(Outcome::CutLost),
        _ => effect(world, seed, name, &mut script, at),
    };
    let node = world.node(name);
    if outcome == Some(Outcome::Done) {
        node.stamp(&script.name, &script.fingerprint);
    }
    if let Some(machine) = &mut node.machine {
        if outcome == Some(Outcome::Done) && script.stops_services() {
            stop_services(machine, &script.effects);
        }
        machine.script = Some(script);
        if let Some(outcome) = outcome {
            machine.end_script(outcome);
        }
    }
}

/// What was started stops at once, and what needs it with it.
fn stop_services(machine: &mut Machine, effects: &[Effect]) {
    for effect in effects {
        if let Effect::Running(name) = effect
            && let Some(service) = machine.services.get_mut(name)
        {
            service.running = false;
        }
    }
}

/// Every machine that is on loses its power.
fn host_reboots(world: &mut World) {
    let names: Vec<LaneName> = world.nodes.keys().cloned().collect();
    for name in names {
        if let Some(machine) = world.machine_mut(&name)
            && matches!(machine.stage, Stage::On(_))
        {
            machine.stop(Outcome::PowerLost);
            machine.stage = Stage::Off;
            world.touch(&name);
        }
    }
}

/// Performs the effect that is due; returns how the script ended, when it did.
fn effect(
    world: &mut World,
    seed: u64,
    name: &LaneName,
    script: &mut Running,
    at: u64,
) -> Option<Outcome> {
    let Some(effect) = script.effects.get(script.current) else {
        return Some(Outcome::Done);
    };
    match effects::perform(world, seed, name, effect, script.token.as_ref(), at) {
        Tried::Done => {
            script.current += 1;
            if script.current >= script.effects.len() {
                return Some(Outcome::Done);
            }
            script.begin(seed, name, at);
            None
        }
        Tried::Wait(until) => {
            let limit = script.began + words::WAIT_LIMIT;
            if at >= limit {
                let what = match effect {
                    Effect::PodsReady(manifest) => format!("daemonsets/{manifest}"),
                    _ => format!("nodes/{name}"),
                };
                return Some(Outcome::Failed(words::not_ready_in_time(&what)));
            }
            script.due = Some(until.min(limit).max(at + 1));
            None
        }
        Tried::Failed(message) => Some(Outcome::Failed(message)),
    }
}

impl Running {
    /// The fault that strikes in the present effect.
    pub fn fate_now(&self) -> Option<FaultKind> {
        self.fate
            .filter(|(_, at)| *at == self.current)
            .map(|(kind, _)| kind)
    }

    /// Whether what it starts is to stop at its end.
    pub fn stops_services(&self) -> bool {
        matches!(self.fate, Some((FaultKind::Stops, _)))
    }

    /// Whether the connection of whoever watches is cut by `now`, or by its end.
    pub fn is_cut(&self, now: Option<u64>) -> bool {
        let there = |at| match now {
            Some(now) if self.current == at => self.half <= now,
            _ => self.current > at,
        };
        matches!(self.fate, Some((FaultKind::Cut, at)) if there(at))
    }

    /// Begins the present effect.
    pub fn begin(&mut self, seed: u64, node: &LaneName, now: u64) {
        let takes = self
            .effects
            .get(self.current)
            .map_or(0, |effect| {
                words::natural(seed, node.as_str(), &self.name, self.current, effect)
            })
            .saturating_mul(self.slower);
        self.began = now;
        self.half = now.saturating_add(takes / 2);
        self.due = match self.fate_now() {
            Some(FaultKind::Stall) => None,
            Some(
                FaultKind::Fail
                | FaultKind::Die
                | FaultKind::CutLost
                | FaultKind::Restart
                | FaultKind::Host,
            ) => Some(self.half),
            _ => Some(now.saturating_add(takes)),
        };
    }
}
