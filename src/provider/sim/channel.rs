//! How scripts, files and commands reach a simulated node.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::faults::FaultKind;
use super::world::{Feature, Outcome, Running, Stage, World};
use super::{Inner, cluster, effects, exec, interrupted, turn, words};
use crate::channel::{Channel, Effect, Io, Line, Mode, Report, Script, Secret};
use crate::error::{Failure, Kind, Result, io_failure};
use crate::event::Stream;
use crate::names::LaneName;

/// The secret that [`Effect::JoinToken`] makes and [`Effect::Join`] needs.
const JOIN_TOKEN: &str = "join_token";
/// Of an uploaded file only the hash is kept, after this.
pub(super) const UPLOADED: &str = "blake3:";

pub(super) struct SimChannel {
    inner: Arc<Inner>,
    name: LaneName,
}

/// What comes of asking the node to start a script.
enum Start {
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
enum View {
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

impl SimChannel {
    pub fn new(inner: Arc<Inner>, name: LaneName) -> Self {
        Self { inner, name }
    }

    fn say(&self, io: &Io, stream: Stream, text: impl Into<String>) {
        (io.output)(Line {
            stream,
            text: text.into(),
        });
    }

    /// Fails unless the node answers.
    async fn reach(&self, patience: Duration, io: &Io) -> Result<()> {
        let state = self.inner.look(|world, _| match world.machine(&self.name) {
            None => Some("there is no machine"),
            Some(machine) if machine.answers() => None,
            Some(machine) => Some(match machine.stage {
                Stage::On(_) => "it is booting",
                Stage::Off => "it is off",
                Stage::Making { .. } => "it is half made",
            }),
        });
        let Some(state) = state else {
            return Ok(());
        };
        let patience = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        self.inner.pause(patience.clamp(1, 2_000), io).await?;
        Err(Box::new(
            Failure::new(
                Kind::Provider,
                format!("the simulated node `{}` does not answer", self.name),
            )
            .because(state),
        ))
    }

    fn failure(&self, kind: Kind, script: &Script, what: &str) -> Failure {
        Failure::new(
            kind,
            format!("script `{}` on `{}` {what}", script.name, self.name),
        )
    }

    /// Starts the script unless another one is at work or this one need not run.
    fn start(&self, world: &mut World, script: &Script, now: u64) -> Result<Start> {
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
        let claimed = machine.ended.take().is_some_and(|ended| {
            ended.outcome == Outcome::Done
                && ended.name == script.name
                && ended.fingerprint == script.fingerprint
        });
        world.touch(name);
        if claimed || self.counts(world, script, now) {
            return Ok(Start::Finished(self.report(world, script, now)));
        }
        Ok(Start::Started(self.begin(world, script, now)))
    }

    fn begin(&self, world: &mut World, script: &Script, now: u64) -> u64 {
        let inner = &self.inner;
        let token = script
            .secrets
            .get(JOIN_TOKEN)
            .map(|token| cluster::token_number(world, inner.seed, token.reveal()));
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

    /// Whether an earlier run to the end counts: nothing was undone since, and it made no secret.
    fn counts(&self, world: &World, script: &Script, now: u64) -> bool {
        let node = world.nodes.get(&self.name);
        node.is_some_and(|node| node.stamped(&script.name, &script.fingerprint))
            && !script.effects.contains(&Effect::JoinToken)
            && self.first_missing(world, script, true, now).is_none()
    }

    fn first_missing(
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
            in_place: true,
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

    fn reboot_wanted(&self, world: &World, script: &Script) -> bool {
        world.machine(&self.name).is_some_and(|machine| {
            script.effects.iter().any(|effect| {
                matches!(effect, Effect::Feature(feature)
                    if machine.features.get(feature) == Some(&Feature::Pending))
            })
        })
    }

    /// What there is to see of a script since `spoken`, which counts the effects spoken of: each has a
    /// line for its begin and one for its end.
    fn view(
        &self,
        world: &mut World,
        script: &Script,
        serial: u64,
        spoken: &mut usize,
        io: &Io,
        now: u64,
    ) -> View {
        let Some(machine) = world.machine_mut(&self.name) else {
            return View::Gone;
        };
        if let Some(running) = machine.script.as_ref().filter(|run| run.serial == serial) {
            self.speak(&running.effects, running.current + 1, spoken, io);
            return match (running.fate_now(), running.due) {
                (Some(FaultKind::Cut), _) if running.half <= now => View::Cut,
                (Some(FaultKind::Cut), _) => View::Wait(running.half - now),
                (_, Some(due)) => View::Wait(due.saturating_sub(now)),
                (_, None) => View::Silence,
            };
        }
        let Some(ended) = machine.ended.take_if(|ended| ended.serial == serial) else {
            return View::Gone;
        };
        world.touch(&self.name);
        if ended.outcome == Outcome::Done {
            self.speak(&script.effects, script.effects.len() + 1, spoken, io);
            let report = self.report(world, script, now);
            return View::Ended(ended.outcome, report);
        }
        View::Ended(ended.outcome, Report::default())
    }

    fn speak(&self, effects: &[Effect], until: usize, spoken: &mut usize, io: &Io) {
        while *spoken < until {
            let before = spoken.checked_sub(1).and_then(|index| effects.get(index));
            let next = effects.get(*spoken);
            let lines = [before.and_then(words::ends), next.and_then(words::begins)];
            for line in lines.into_iter().flatten() {
                self.say(io, Stream::Stdout, line);
            }
            *spoken += 1;
        }
    }

    /// Follows the script to its end.
    async fn watch(&self, script: &Script, serial: u64, io: &Io) -> Result<Report> {
        let mut spoken = 0;
        loop {
            let view = self
                .inner
                .with(|world, now| self.view(world, script, serial, &mut spoken, io, now))?;
            let waited = match view {
                View::Wait(ms) => self.inner.pause(ms.max(1), io).await,
                View::Silence => {
                    io.stop.reached(crate::stop::Level::Interrupt).await;
                    Err(interrupted())
                }
                View::Cut => return Err(Box::new(self.unproven(script))),
                View::Gone => {
                    let what = "is gone with its machine";
                    return Err(Box::new(self.failure(Kind::Provider, script, what)));
                }
                View::Ended(outcome, report) => return self.ended(script, outcome, report, io),
            };
            if waited.is_err() {
                let advice = "the script goes on; the next run waits for its end";
                return Err(Box::new(
                    self.failure(Kind::Interrupted, script, "was left alone")
                        .advise(advice),
                ));
            }
        }
    }

    fn ended(&self, script: &Script, outcome: Outcome, report: Report, io: &Io) -> Result<Report> {
        Err(Box::new(match outcome {
            Outcome::Done => return Ok(report),
            Outcome::Failed(message) => {
                self.say(io, Stream::Stderr, message.clone());
                self.failure(Kind::Step, script, "ended with exit code 1")
                    .because(message)
            }
            Outcome::PowerLost => self
                .failure(Kind::Provider, script, "was lost")
                .because("the machine lost its power"),
            Outcome::ShutDown => self
                .failure(Kind::Provider, script, "was lost")
                .because("the machine shut down"),
            Outcome::CutLost => self.unproven(script),
        }))
    }

    /// A cut connection: an exit code of 0, and no marker.
    fn unproven(&self, script: &Script) -> Failure {
        self.failure(
            Kind::Step,
            script,
            "ended with exit code 0, but its end could not be proven",
        )
        .because("the connection was cut")
    }

    async fn probe(&self, script: &Script, io: &Io) -> Result<Report> {
        self.inner.pause(1_000, io).await?;
        self.reach(Duration::from_secs(2), io).await?;
        Ok(self.inner.look(|world, now| {
            let why = self.first_missing(world, script, false, now);
            Report {
                in_place: why.is_none(),
                why,
                reboot_wanted: self.reboot_wanted(world, script),
                ..Report::default()
            }
        }))
    }
}

#[async_trait]
impl Channel for SimChannel {
    async fn run(&self, script: &Script, io: &Io) -> Result<Report> {
        let inner = &self.inner;
        let os = inner.node(&self.name)?.os;
        if script.os != os {
            return Err(Box::new(
                self.failure(Kind::Step, script, "cannot run")
                    .because(format!("it is for {:?}, and the node is {os:?}", script.os))
                    .permanent(),
            ));
        }
        let _turn = turn(&inner.gates(&self.name).script, io).await?;
        self.reach(Duration::from_secs(2), io).await?;
        let mut noted = false;
        loop {
            match inner.with(|world, now| self.start(world, script, now))?? {
                Start::Busy { name, ms } => {
                    if !noted {
                        io.note(format!(
                            "waiting for `{name}`, which an earlier run left at work on {}",
                            self.name
                        ));
                        noted = true;
                    }
                    inner.pause(ms, io).await?;
                }
                Start::Probe => return self.probe(script, io).await,
                Start::Finished(report) => {
                    io.note(format!("`{}` was finished by an earlier run", script.name));
                    return Ok(report);
                }
                Start::Started(serial) => return self.watch(script, serial, io).await,
            }
        }
    }

    async fn upload(&self, from: &Path, to: &str, io: &Io) -> Result<()> {
        let bytes = tokio::fs::read(from)
            .await
            .map_err(|error| io_failure("read", from, &error))?;
        self.reach(Duration::from_secs(2), io).await?;
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        // A hundred megabytes a second.
        self.inner.pause(100 + size / 100_000, io).await?;
        let content = format!("{UPLOADED}{}", blake3::hash(&bytes).to_hex());
        self.inner.with(|world, _| {
            if let Some(machine) = world.machine_mut(&self.name) {
                machine.files.insert(to.to_owned(), content);
                world.touch(&self.name);
            }
        })
    }

    async fn exec(&self, argv: &[String], io: &Io) -> Result<i32> {
        self.reach(Duration::from_secs(2), io).await?;
        io.note("this is a simulation: nothing is really run");
        self.inner.pause(200, io).await?;
        let answer = self
            .inner
            .look(|world, now| exec::answer(world, self.inner.seed, &self.name, argv, now));
        for line in answer.output {
            self.say(io, answer.stream, line);
        }
        Ok(answer.code)
    }

    async fn boot_identity(&self, patience: Duration, io: &Io) -> Result<String> {
        self.reach(patience, io).await?;
        self.inner.pause(100, io).await?;
        let identity = self.inner.look(|world, _| {
            let machine = world.machine(&self.name)?;
            match &machine.stage {
                Stage::On(boot) if boot.settled => Some(boot.identity.clone()),
                _ => None,
            }
        });
        identity.ok_or_else(|| {
            Box::new(Failure::new(
                Kind::Provider,
                format!("the simulated node `{}` stopped answering", self.name),
            ))
        })
    }
}
