//! How scripts, files and commands reach a simulated node.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::script::{Heard, Start, View};
use super::world::{Outcome, Stage};
use super::{Inner, exec, interrupted, turn};
use crate::channel::{Channel, Io, Line, Report, Script};
use crate::error::{Failure, Kind, Result, io_failure};
use crate::event::Stream;
use crate::names::LaneName;

/// Of an uploaded file only the hash is kept, after this.
pub(super) const UPLOADED: &str = "blake3:";

pub(super) struct SimChannel {
    pub inner: Arc<Inner>,
    pub name: LaneName,
}

/// Passes on a line of output.
fn say(io: &Io, stream: Stream, text: impl Into<String>) {
    (io.output)(Line {
        stream,
        text: text.into(),
    });
}

impl SimChannel {
    pub fn new(inner: Arc<Inner>, name: LaneName) -> Self {
        Self { inner, name }
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

    /// Follows the script to its end.
    async fn watch(&self, script: &Script, serial: u64, io: &Io) -> Result<Report> {
        let mut heard = Heard::default();
        loop {
            let view = self
                .inner
                .with(|world, now| self.view(world, script, serial, &mut heard, now))?;
            for line in heard.lines.drain(..) {
                say(io, Stream::Stdout, line);
            }
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
                say(io, Stream::Stderr, message.clone());
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

    async fn download(&self, from: &str, to: &Path, io: &Io) -> Result<()> {
        self.reach(Duration::from_secs(2), io).await?;
        self.inner.pause(100, io).await?;
        let content = self
            .inner
            .look(|world, _| world.machine(&self.name)?.files.get(from).cloned());
        let failed = |why: &str| {
            let what = format!("could not copy `{from}` on `{}`", self.name);
            Err(Box::new(Failure::new(Kind::Step, what).because(why)))
        };
        match content {
            None => failed("there is no such file"),
            Some(hash) if hash.starts_with(UPLOADED) => {
                failed("the simulator keeps only the hash of an uploaded file")
            }
            Some(content) => crate::home::write_whole(to, content.as_bytes()),
        }
    }

    async fn exec(&self, argv: &[String], io: &Io) -> Result<i32> {
        self.reach(Duration::from_secs(2), io).await?;
        io.note("this is a simulation: nothing is really run");
        self.inner.pause(200, io).await?;
        let answer = self
            .inner
            .look(|world, now| exec::answer(world, self.inner.seed, &self.name, argv, now));
        for line in answer.output {
            say(io, answer.stream, line);
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
