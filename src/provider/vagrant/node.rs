//! One machine: what is known of it, and how to reach it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use super::MachineRef;
use super::call::{Call, Caller, Ended};
use super::hypervisor::Hypervisor;
use super::lock::{Held, MachineLock};
use super::records::Entry;
use super::state::power;
use crate::channel::Io;
use crate::diagnose::classify;
use crate::error::{Failure, Kind, Result, io_failure};
use crate::home::{remove_file, write_whole};
use crate::provider::{Machine, Power};

/// How long a question about a machine may take.
pub(super) const ASK: Duration = Duration::from_mins(2);
/// How long `inspect` waits for another Vagrant before it says that the machine is changing.
const INSPECT_PATIENCE: Duration = Duration::from_secs(10);
/// What a stop or a start may take on top of the limits that the machine has for it.
pub(super) const MARGIN: Duration = Duration::from_mins(2);
/// How long one attempt to connect may take while a machine boots.
pub(super) const CONNECT: Duration = Duration::from_secs(10);

/// What a look at a machine gave.
enum Looked {
    Found(Machine),
    /// Another Vagrant has locked it all the time.
    Locked(Box<Failure>),
}

/// One machine.
#[derive(Debug)]
pub struct Node {
    pub(super) caller: Caller,
    pub(super) machine: MachineRef,
    pub(super) lock: MachineLock,
    pub(super) boot: Duration,
    pub(super) halt: Duration,
    pub(super) hypervisor: Arc<dyn Hypervisor>,
    /// Held while something that the machines of the sandbox share is made or removed.
    pub(super) shared: Arc<Mutex<()>>,
    /// Held while a machine is made, where two at a time get in each other's way.
    pub(super) creation: Option<MachineLock>,
}

impl Node {
    pub(super) fn new(
        caller: Caller,
        machine: MachineRef,
        (boot, halt): (Duration, Duration),
        hypervisor: Arc<dyn Hypervisor>,
        (shared, creation): (Arc<Mutex<()>>, Option<MachineLock>),
    ) -> Self {
        let own = caller.dir.join(".driver");
        Self {
            lock: MachineLock::new(own.join(format!("{}.lock", machine.lane)), caller.clock),
            caller,
            machine,
            boot,
            halt,
            hypervisor,
            shared,
            creation,
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
    pub(super) fn own(&self, what: &str) -> PathBuf {
        let name = format!("{}.{what}", self.name());
        self.caller.dir.join(".driver").join(name)
    }

    /// The folder in which Vagrant keeps what it knows of the machine.
    pub(super) fn data(&self) -> PathBuf {
        let machines = self.caller.dir.join(".vagrant").join("machines");
        machines.join(self.name()).join(self.caller.provider)
    }

    /// The id that Vagrant knows the machine by. Without one there is no machine for Vagrant.
    pub(super) fn id(&self) -> Result<Option<String>> {
        read(&self.data().join("id"))
    }

    /// The id of the machine whose boot an `up` or `restart` of ours has seen to its end.
    pub(super) fn booted(&self) -> Result<Option<String>> {
        read(&self.own("booted"))
    }

    /// From here on, until the next proven boot, nothing about the machine's boot is known.
    pub(super) fn forget_boot(&self) -> Result<()> {
        remove_file(&self.own("booted"))?;
        self.forget_without_ssh()?;
        self.forget_way()
    }

    pub(super) fn remember_boot(&self, id: &str) -> Result<()> {
        self.keep_made_with_once()?;
        write(&self.own("booted"), id)
    }

    pub(super) async fn inspect(&self, io: &Io) -> Result<Machine> {
        if !self.caller.dir.is_dir() {
            return Ok(absent());
        }
        match self.lock.take(INSPECT_PATIENCE, io).await {
            Ok(held) => {
                if let Some(machine) = self.known_to_run(io).await {
                    return Ok(machine);
                }
                // For Hyper-V the question itself is an action that another one locks out.
                let machine = match self.look(&held, io).await? {
                    Looked::Locked(_) => return self.behind_a_lock(io).await,
                    Looked::Found(machine) => machine,
                };
                self.remember_running(&machine, io).await;
                Ok(machine)
            }
            Err(failure) if failure.kind == Kind::Busy => self.changing(),
            Err(failure) => Err(failure),
        }
    }

    /// As `inspect`, under the lock; a machine that another Vagrant has locked is an error.
    pub(super) async fn inspect_held(&self, held: &Held, io: &Io) -> Result<Machine> {
        match self.look(held, io).await? {
            Looked::Found(machine) => Ok(machine),
            Looked::Locked(failure) => Err(failure),
        }
    }

    async fn look(&self, held: &Held, io: &Io) -> Result<Looked> {
        // Read first: asking wipes it when the machine is gone. Without it every provider says
        // `not_created` without looking.
        let Some(id) = self.id()? else {
            return Ok(Looked::Found(absent()));
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
                let power = power(self.caller.provider, &word);
                Ok(Looked::Found(Machine {
                    power,
                    id: (power != Power::Absent).then_some(id),
                    detail: word,
                    address: None,
                    private_mac: None,
                }))
            }
            None if classify(&ended.said).is_some_and(|it| it.retry) => {
                Ok(Looked::Locked(Box::new(ended.failure())))
            }
            None => Err(Box::new(ended.failure())),
        }
    }

    /// A machine that another Vagrant has locked runs when it answers and its start was seen to its end.
    async fn behind_a_lock(&self, io: &Io) -> Result<Machine> {
        let machine = self.changing()?;
        let started = machine.id.is_some() && machine.id == self.booted()?;
        let power = if started && self.answers_now(io).await {
            Power::Running
        } else {
            Power::Changing
        };
        Ok(Machine { power, ..machine })
    }

    fn changing(&self) -> Result<Machine> {
        Ok(Machine {
            power: Power::Changing,
            id: self.id()?,
            detail: "another Vagrant is at work on it".to_owned(),
            ..absent()
        })
    }

    /// What changes with every boot, where the hypervisor tells it; none where the guest must.
    pub(super) async fn boot_by_hypervisor(
        &self,
        patience: Duration,
        io: &Io,
    ) -> Option<Result<String>> {
        match self.id() {
            Ok(Some(id)) => self.hypervisor.boot_identity(&id, patience, io).await,
            Ok(None) => Some(Err(Box::new(Failure::new(
                Kind::Provider,
                format!("there is no machine `{}`", self.name()),
            )))),
            Err(failure) => Some(Err(failure)),
        }
    }

    pub(super) async fn call(
        &self,
        held: &Held,
        args: &[&str],
        limit: Duration,
        io: &Io,
        entry: &mut (dyn FnMut(&Entry) + Send),
    ) -> Result<Ended> {
        self.is_found_with_these_settings()?;
        self.lock
            .note_holder(&format!("`vagrant {}`", args.join(" ")));
        let call = Call {
            args,
            node: self.name(),
            limit,
        };
        self.caller.call(held, call, io, entry).await
    }
}

pub(super) fn absent() -> Machine {
    Machine {
        power: Power::Absent,
        id: None,
        detail: "not_created".to_owned(),
        address: None,
        private_mac: None,
    }
}

pub(super) fn read(path: &Path) -> Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_failure("read", path, &error)),
    }
}

/// Makes a folder with those above it.
pub(super) fn make_folder(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).map_err(|error| io_failure("create the folder", dir, &error))
}

/// Writes a file in one move, readable by the owner only.
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    make_folder(path.parent().unwrap_or(Path::new(".")))?;
    write_whole(path, text.as_bytes())
}
