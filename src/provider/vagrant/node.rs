//! One machine: its lifecycle, mended where an earlier run was killed.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::MachineRef;
use super::call::{Call, Caller, Ended, narrate};
use super::docker::Docker;
use super::failure::classify;
use super::lock::{Held, MachineLock};
use super::records::Entry;
use super::state::power;
use crate::channel::Io;
use crate::channel::ssh::{self, Ssh};
use crate::error::{Failure, Kind, Result, io_failure};
use crate::provider::{Machine, Power};

/// How long a question about a machine may take.
const ASK: Duration = Duration::from_secs(120);
/// How long `inspect` waits for another Vagrant before it says that the machine is changing.
const INSPECT_PATIENCE: Duration = Duration::from_secs(10);
/// What creating may take on top of booting: fetching and unpacking a box.
const CREATE: Duration = Duration::from_hours(1);
/// What a stop or a start may take on top of the limits that the machine has for it.
const MARGIN: Duration = Duration::from_secs(120);
/// How long one attempt to connect may take while a machine boots.
const CONNECT: Duration = Duration::from_secs(10);
/// How often `up` may begin anew: after a leftover was removed, or the machine changed by itself.
const ATTEMPTS: u32 = 3;
/// The pseudo id of a docker machine whose container is about to be made
/// (plugins/providers/docker/action/init_state.rb).
const PREPARING: &str = "preparing";

/// One machine.
#[derive(Debug)]
pub struct Node {
    pub(super) caller: Caller,
    pub(super) machine: MachineRef,
    pub(super) lock: MachineLock,
    boot: Duration,
    halt: Duration,
    docker: Option<Docker>,
}

impl Node {
    pub(super) fn new(caller: Caller, machine: MachineRef, boot: Duration, halt: Duration) -> Self {
        let own = caller.dir.join(".driver");
        Self {
            lock: MachineLock::new(own.join(format!("{}.lock", machine.lane)), caller.clock),
            docker: (caller.provider == "docker").then(|| Docker::new(caller.clock)),
            caller,
            machine,
            boot,
            halt,
        }
    }

    pub(super) fn name(&self) -> &str {
        self.machine.lane.as_str()
    }

    /// How long to wait for another Vagrant at work on this machine, at most.
    pub(super) fn patience(&self) -> Duration {
        self.boot + self.halt + MARGIN
    }

    /// A file of ours about this machine.
    fn own(&self, what: &str) -> PathBuf {
        let name = format!("{}.{what}", self.name());
        self.caller.dir.join(".driver").join(name)
    }

    /// The folder in which Vagrant keeps what it knows of the machine.
    fn data(&self) -> PathBuf {
        let machines = self.caller.dir.join(".vagrant").join("machines");
        machines.join(self.name()).join(self.caller.provider)
    }

    /// The id that Vagrant knows the machine by. Without one there is no machine for Vagrant.
    pub(super) fn id(&self) -> Result<Option<String>> {
        read(&self.data().join("id"))
    }

    /// The id of the machine whose boot an `up` or `restart` of ours has seen to its end.
    fn booted(&self) -> Result<Option<String>> {
        read(&self.own("booted"))
    }

    /// From here on, until the next proven boot, nothing about the machine's boot is known.
    fn forget_boot(&self) -> Result<()> {
        remove(&self.own("booted"))?;
        remove(&self.own("ssh"))
    }

    fn remember_boot(&self, id: &str) -> Result<()> {
        write(&self.own("booted"), id)
    }

    pub(super) async fn inspect(&self, io: &Io) -> Result<Machine> {
        if !self.caller.dir.is_dir() {
            return Ok(absent());
        }
        match self.lock.take(INSPECT_PATIENCE, io).await {
            Ok(held) => self.inspect_held(&held, io).await,
            Err(failure) if failure.kind == Kind::Busy => Ok(Machine {
                power: Power::Changing,
                id: self.id()?,
                detail: "another Vagrant is at work on it".to_owned(),
                address: None,
            }),
            Err(failure) => Err(failure),
        }
    }

    async fn inspect_held(&self, held: &Held, io: &Io) -> Result<Machine> {
        // Read first: asking wipes it when the machine is gone. Without it every provider says
        // `not_created` without looking.
        let Some(id) = self.id()? else {
            return Ok(absent());
        };
        let mut word = None;
        let mut take = |entry: &Entry| {
            if let Entry::Record(record) = entry
                && record.kind == "state"
                && record.target == self.name()
            {
                word = Some(record.value(0).to_owned());
            }
        };
        let args = ["status", self.name()];
        let ended = self.call(held, &args, ASK, io, &mut take).await?;
        match word {
            Some(word) => {
                let power = power(&word);
                Ok(Machine {
                    power,
                    id: (power != Power::Absent).then_some(id),
                    detail: word,
                    address: None,
                })
            }
            None => Err(Box::new(ended.failure())),
        }
    }

    pub(super) async fn up(&self, io: &Io) -> Result<Machine> {
        let held = self.lock.take(self.patience(), io).await?;
        for _ in 0..ATTEMPTS {
            let machine = self.inspect_held(&held, io).await?;
            let ended = match machine.power {
                Power::Broken => return Err(self.broken(&machine)),
                Power::Running => {
                    if machine.id == self.booted()? && self.answer(&held, CONNECT, io).await.is_ok()
                    {
                        return Ok(machine);
                    }
                    // `vagrant up` would skip network, hostname and key of a machine that runs.
                    io.note("its start was not seen to its end; restarting it");
                    self.forget_boot()?;
                    let args = ["reload", self.name(), "--no-provision"];
                    let limit = self.halt + self.boot + MARGIN;
                    self.call(&held, &args, limit, io, &mut narrate(io)).await?
                }
                Power::Absent | Power::Off | Power::Suspended | Power::Changing => {
                    self.forget_boot()?;
                    self.vagrant_up(&held, io).await?
                }
            };
            if !ended.finished.ok() {
                if self.reclaim_name(&ended, io).await? {
                    continue;
                }
                return Err(Box::new(ended.failure()));
            }
            let machine = self.inspect_held(&held, io).await?;
            if machine.power != Power::Running {
                io.note(format!("Vagrant says done, but it is {}", machine.detail));
                continue;
            }
            self.answer(&held, self.boot, io).await?;
            self.remember_boot(machine.id.as_deref().unwrap_or_default())?;
            return Ok(machine);
        }
        Err(Box::new(
            Failure::new(
                Kind::Provider,
                format!("the machine `{}` does not stay up", self.name()),
            )
            .because(format!(
                "{ATTEMPTS} attempts ended without a running machine"
            ))
            .advise("see its log: `docker logs` or the hypervisor's console"),
        ))
    }

    async fn vagrant_up(&self, held: &Held, io: &Io) -> Result<Ended> {
        let args = [
            "up",
            self.name(),
            "--provider",
            self.caller.provider,
            "--no-provision",
            "--no-destroy-on-error",
            "--no-install-provider",
        ];
        let limit = CREATE + self.boot;
        self.call(held, &args, limit, io, &mut narrate(io)).await
    }

    /// Removes a container that has our unique name but that Vagrant does not know: one whose creation
    /// was cut short. Says whether trying again makes sense.
    async fn reclaim_name(&self, ended: &Ended, io: &Io) -> Result<bool> {
        let taken = classify(&ended.said).is_some_and(|known| known.id == "docker-name-taken");
        let (true, Some(docker)) = (taken, &self.docker) else {
            return Ok(false);
        };
        let name = &self.machine.unique;
        let Some(found) = docker.find(name, io).await? else {
            return Ok(false);
        };
        if self.id()?.as_ref() == Some(&found) {
            return Ok(false);
        }
        io.note(format!("removing the half-made container `{name}`"));
        docker.remove(name, io).await
    }

    pub(super) async fn halt(&self, io: &Io) -> Result<()> {
        if !self.caller.dir.is_dir() {
            return Ok(());
        }
        let held = self.lock.take(self.patience(), io).await?;
        self.forget_boot()?;
        if self.id()?.is_none_or(|id| id == PREPARING) {
            return Ok(());
        }
        let args = ["halt", self.name()];
        let limit = self.halt + MARGIN;
        self.call(&held, &args, limit, io, &mut narrate(io))
            .await?
            .good()?;
        let machine = self.inspect_held(&held, io).await?;
        match machine.power {
            Power::Off | Power::Absent | Power::Suspended => Ok(()),
            _ => Err(Box::new(
                Failure::new(
                    Kind::Provider,
                    format!("the machine `{}` did not stop", self.name()),
                )
                .because(format!("it is {}", machine.detail)),
            )),
        }
    }

    pub(super) async fn restart(&self, io: &Io) -> Result<()> {
        let held = self.lock.take(self.patience(), io).await?;
        self.forget_boot()?;
        let Some(id) = self.id()? else {
            return Err(Box::new(Failure::new(
                Kind::Provider,
                format!("there is no machine `{}` to restart", self.name()),
            )));
        };
        let args = ["reload", self.name(), "--no-provision"];
        let limit = self.halt + self.boot + MARGIN;
        self.call(&held, &args, limit, io, &mut narrate(io))
            .await?
            .good()?;
        self.answer(&held, self.boot, io).await?;
        self.remember_boot(&id)
    }

    pub(super) async fn destroy(&self, io: &Io) -> Result<()> {
        if self.caller.dir.is_dir() {
            let held = self.lock.take(self.patience(), io).await?;
            self.forget_boot()?;
            self.destroy_held(&held, io).await?;
        }
        if let Some(docker) = &self.docker
            && docker.remove(&self.machine.unique, io).await?
        {
            io.note(format!("removed the container `{}`", self.machine.unique));
        }
        Ok(())
    }

    async fn destroy_held(&self, held: &Held, io: &Io) -> Result<()> {
        let Some(id) = self.id()? else {
            return Ok(());
        };
        let by_docker = self.docker.is_some();
        let described = self.caller.dir.join("Vagrantfile").is_file();
        if !described && !by_docker {
            return Err(Box::new(
                Failure::new(
                    Kind::Provider,
                    format!("cannot remove the machine `{}`", self.name()),
                )
                .because("its Vagrantfile is gone, but Vagrant still knows the machine")
                .advise("render the files again with `wdev render`, then run the same again"),
            ));
        }
        if described && id != PREPARING {
            let args = ["destroy", "-f", self.name()];
            let limit = self.halt + MARGIN;
            let ended = self.call(held, &args, limit, io, &mut narrate(io)).await?;
            let gone =
                ended.finished.ok() && self.inspect_held(held, io).await?.power == Power::Absent;
            if !gone && !by_docker {
                return Err(Box::new(ended.failure()));
            }
        }
        // What is left for docker is the container, which goes next, and what Vagrant remembers.
        match std::fs::remove_dir_all(self.data()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(io_failure("remove", &self.data(), &error)),
        }
    }

    /// Waits, for at most `limit`, until the machine answers over SSH.
    async fn answer(&self, held: &Held, limit: Duration, io: &Io) -> Result<()> {
        if self.machine.os != crate::channel::Os::Linux {
            return Ok(());
        }
        let clock = self.caller.clock;
        let mut why = String::from("it was not asked");
        let asking = async {
            let mut fresh = false;
            loop {
                let ssh = self.ssh_held(held, fresh, io).await?;
                match ssh
                    .run("true", None, CONNECT, &io.stop, &mut |_, _| {})
                    .await?
                {
                    ssh::Ended::Command(0) => return Ok(()),
                    ssh::Ended::Command(code) => why = format!("`true` ended with {code}"),
                    ssh::Ended::Connection { why: words, .. } => why = words,
                }
                fresh = true;
                clock.sleep(Duration::from_secs(1)).await;
            }
        };
        match clock.timeout(limit, asking).await {
            Some(answered) => answered,
            None => Err(Box::new(
                Failure::new(
                    Kind::Provider,
                    format!("the machine `{}` does not answer", self.name()),
                )
                .because(why)
                .advise("raise `timeouts.boot` in `variables.yml` if it only needs longer"),
            )),
        }
    }

    /// How to reach the machine directly. Asked of Vagrant once per boot; `fresh` asks again.
    pub(super) async fn ssh(&self, fresh: bool, io: &Io) -> Result<Ssh> {
        if !fresh && self.own("ssh").is_file() {
            return Ok(Ssh::new(
                ssh::find_program()?,
                &self.own("ssh"),
                self.name(),
            ));
        }
        let held = self.lock.take(self.patience(), io).await?;
        self.ssh_held(&held, fresh, io).await
    }

    async fn ssh_held(&self, held: &Held, fresh: bool, io: &Io) -> Result<Ssh> {
        let program = ssh::find_program()?;
        let path = self.own("ssh");
        if fresh || !path.is_file() {
            let mut config = None;
            let mut take = |entry: &Entry| {
                if let Entry::Record(record) = entry
                    && record.kind == "ssh-config"
                {
                    config = Some(record.value(0).to_owned());
                }
            };
            let args = ["ssh-config", self.name()];
            let ended = self.call(held, &args, ASK, io, &mut take).await?;
            match config {
                Some(config) if ended.finished.ok() => write(&path, &config)?,
                _ => return Err(Box::new(ended.failure())),
            }
        }
        Ok(Ssh::new(program, &path, self.name()))
    }

    pub(super) async fn ssh_command(&self, io: &Io) -> Result<std::process::Command> {
        let ssh = self.ssh(false, io).await?;
        // The port may have moved with a boot that was not ours.
        let known = ssh
            .run("true", None, CONNECT, &io.stop, &mut |_, _| {})
            .await?;
        if known == ssh::Ended::Command(0) {
            return Ok(ssh.interactive());
        }
        Ok(self.ssh(true, io).await?.interactive())
    }

    /// The time of the container's start; none where the provider is not docker. Containers share the
    /// boot id of their host.
    pub(super) async fn container_started(
        &self,
        patience: Duration,
        io: &Io,
    ) -> Option<Result<String>> {
        let docker = self.docker.as_ref()?;
        Some(match self.id() {
            Ok(Some(id)) => docker.started(&id, patience, io).await,
            Ok(None) => Err(Box::new(Failure::new(
                Kind::Provider,
                format!("there is no machine `{}`", self.name()),
            ))),
            Err(failure) => Err(failure),
        })
    }

    pub(super) async fn call(
        &self,
        held: &Held,
        args: &[&str],
        limit: Duration,
        io: &Io,
        entry: &mut (dyn FnMut(&Entry) + Send),
    ) -> Result<Ended> {
        self.lock.note_holder(&format!(
            "`vagrant {}`, started by wdev (process {})",
            args.join(" "),
            std::process::id()
        ));
        let call = Call {
            args,
            node: self.name(),
            limit,
        };
        self.caller.call(held, call, io, entry).await
    }

    fn broken(&self, machine: &Machine) -> Box<Failure> {
        Box::new(
            Failure::new(
                Kind::Provider,
                format!("the machine `{}` cannot be used", self.name()),
            )
            .because(format!("its state is `{}`", machine.detail))
            .advise("look at it in the hypervisor's own tool")
            .advise("or remove it with `wdev destroy` and run `wdev up` again")
            .permanent(),
        )
    }
}

fn absent() -> Machine {
    Machine {
        power: Power::Absent,
        id: None,
        detail: "not_created".to_owned(),
        address: None,
    }
}

fn read(path: &Path) -> Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_failure("read", path, &error)),
    }
}

fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(io_failure("remove", path, &error))
        }
        _ => Ok(()),
    }
}

/// Writes a file in one move, readable by the owner only.
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let written = std::fs::create_dir_all(dir)
        .and_then(|()| tempfile::NamedTempFile::new_in(dir))
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(path).map_err(|error| error.error)?;
            Ok(())
        });
    written.map_err(|error| io_failure("write", path, &error))
}
