//! A script on a simulated node: whether it starts, what there is to see of it, what it reports.

use super::channel::SimChannel;
use super::faults::FaultKind;
use super::world::{Feature, Outcome, Running, World};
use super::{cluster, effects, words};
use crate::channel::{Effect, Mode, Report, Script, Secret};
use crate::error::{Failure, Kind, Result};

/// The secret that [`Effect::JoinToken`] makes and [`Effect::Join`] needs.
const JOIN_TOKEN: &str = "join_token";

/// What comes of asking the node to start a script.
pub(super) enum Start {
    Started(u64),
    /// An earlier script is at work; look again after so many milliseconds.
    Busy {
        name: String,
        ms: u64,
    },
    Finished(Report),
    /// Nothing is in the way of a probe.
    Probe,
}

/// What a watcher sees of the script that it started.
pub(super) enum View {
    /// Nothing for so many milliseconds.
    Wait(u64),
    /// Nothing ever.
    Silence,
    /// The connection breaks.
    Cut,
    Ended(Outcome, Report),
    /// There is no trace of it.
    Gone,
}

/// What a watcher has heard of a script.
#[derive(Default)]
pub(super) struct Heard {
    /// How many effects were begun.
    begun: usize,
    /// Lines that are not yet passed on.
    pub lines: Vec<String>,
}

impl Heard {
    /// Adds what effects say at their begin and at their end, until `begun` of them are begun; one more
    /// than there are stands for the end of all.
    fn until(&mut self, effects: &[Effect], begun: usize) {
        while self.begun < begun {
            let before = self.begun.checked_sub(1).and_then(|last| effects.get(last));
            let next = effects.get(self.begun);
            let lines = [before.and_then(words::ends), next.and_then(words::begins)];
            self.lines.extend(lines.into_iter().flatten());
            self.begun += 1;
        }
    }
}

impl SimChannel {
    /// Starts the script unless another one is at work or this one need not run.
    pub fn start(&self, world: &mut World, script: &Script, now: u64) -> Result<Start> {
        let name = &self.name;
        let Some(machine) = world.machine_mut(name).filter(|machine| machine.answers()) else {
            return Err(Box::new(Failure::new(
                Kind::Provider,
                format!("the simulated node `{name}` does not answer"),
            )));
        };
        match &machine.script {
            // Nobody watches it any more, and it will never end: it counts as dead.
            Some(running) if running.due.is_none() => machine.end_script(Outcome::CutLost),
            Some(running) => {
                let due = running.due.unwrap_or(now);
                return Ok(Start::Busy {
                    name: running.name.clone(),
                    ms: due.saturating_sub(now).max(1),
                });
            }
            None => {}
        }
        if script.mode == Mode::Probe {
            return Ok(Start::Probe);
        }
        let unseen = machine.ended.take().is_some_and(|ended| {
            ended.outcome == Outcome::Done
                && ended.name == script.name
                && ended.fingerprint == script.fingerprint
        });
        world.touch(name);
        if self.counts(world, script, unseen, now) {
            return Ok(Start::Finished(self.report(world, script, now)));
        }
        Ok(Start::Started(self.begin(world, script, now)))
    }

    fn begin(&self, world: &mut World, script: &Script, now: u64) -> u64 {
        let inner = &self.inner;
        let token = script
            .secrets
            .get(JOIN_TOKEN)
            .map(|token| cluster::given(world, inner.seed, token.reveal()));
        let effects = if script.effects.is_empty() {
            vec![Effect::Takes(1_000)]
        } else {
            script.effects.clone()
        };
        let node = world.node(&self.name);
        node.serial += 1;
        let fault = inner
            .faults
            .strike(inner.seed, &self.name, node, &script.name);
        let slow = fault == Some(FaultKind::Slow);
        let mut running = Running {
            serial: node.serial,
            name: script.name.clone(),
            fingerprint: script.fingerprint.clone(),
            current: 0,
            began: now,
            half: now,
            due: None,
            slower: if slow { 10 } else { 1 },
            fate: fault
                .filter(|_| !slow)
                .map(|kind| (kind, effects.len() / 2)),
            effects,
            token,
        };
        running.begin(inner.seed, &self.name, now);
        let serial = running.serial;
        if let Some(machine) = &mut node.machine {
            machine.script = Some(running);
        }
        world.touch(&self.name);
        serial
    }

    /// Whether an earlier run to the end counts: nothing was undone since, and the secret that it may
    /// have made was not yet seen by anybody.
    fn counts(&self, world: &World, script: &Script, unseen: bool, now: u64) -> bool {
        let node = world.nodes.get(&self.name);
        node.is_some_and(|node| node.stamped(&script.name, &script.fingerprint))
            && (unseen || !script.effects.contains(&Effect::JoinToken))
            && self.first_missing(world, script, true, now).is_none()
    }

    pub fn first_missing(
        &self,
        world: &World,
        script: &Script,
        boot_later: bool,
        now: u64,
    ) -> Option<String> {
        script.effects.iter().find_map(|effect| {
            effects::missing(world, self.inner.seed, &self.name, effect, boot_later, now)
        })
    }

    /// What a script that ran to its end reports.
    fn report(&self, world: &mut World, script: &Script, now: u64) -> Report {
        let mut report = Report {
            in_place: self.first_missing(world, script, true, now).is_none(),
            reboot_wanted: self.reboot_wanted(world, script),
            ..Report::default()
        };
        if script.effects.contains(&Effect::JoinToken)
            && let Ok(cluster) = cluster::own(world, &self.name)
        {
            // The one that the script made just now; who asks much later gets a new one.
            let fresh = cluster
                .tokens
                .last_key_value()
                .filter(|(_, made)| now.saturating_sub(**made) < words::TOKEN_FRESH)
                .map(|(number, _)| *number);
            let number = fresh.unwrap_or_else(|| cluster::mint(cluster, now));
            let token = cluster::token(self.inner.seed, &cluster.id, number);
            world.cluster_dirty = true;
            report
                .secrets
                .insert(JOIN_TOKEN.to_owned(), Secret::new(token));
        }
        report
    }

    pub fn reboot_wanted(&self, world: &World, script: &Script) -> bool {
        world.machine(&self.name).is_some_and(|machine| {
            script.effects.iter().any(|effect| {
                matches!(effect, Effect::Feature(feature)
                    if machine.features.get(feature) == Some(&Feature::Pending))
            })
        })
    }

    /// What there is to see of a script. Its new lines of output go to `heard`.
    pub fn view(
        &self,
        world: &mut World,
        script: &Script,
        serial: u64,
        heard: &mut Heard,
        now: u64,
    ) -> View {
        let Some(machine) = world.machine_mut(&self.name) else {
            return View::Gone;
        };
        if let Some(running) = machine.script.as_ref().filter(|run| run.serial == serial) {
            heard.until(&running.effects, running.current + 1);
            return match (running.fate_now(), running.due) {
                _ if running.is_cut(Some(now)) => View::Cut,
                (Some(FaultKind::Cut), _) => View::Wait(running.half - now),
                (_, Some(due)) => View::Wait(due.saturating_sub(now)),
                (_, None) => View::Silence,
            };
        }
        let Some(ended) = machine.ended.take_if(|ended| ended.serial == serial) else {
            return View::Gone;
        };
        if ended.cut {
            machine.ended = Some(ended);
            return View::Cut;
        }
        world.touch(&self.name);
        if ended.outcome == Outcome::Done {
            heard.until(&script.effects, script.effects.len() + 1);
            let report = self.report(world, script, now);
            return View::Ended(ended.outcome, report);
        }
        View::Ended(ended.outcome, Report::default())
    }
}
