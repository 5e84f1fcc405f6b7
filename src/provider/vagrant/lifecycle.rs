//! A machine's lifecycle, mended where an earlier run was killed.

use std::time::Duration;

use super::call::{Ended, narrate};
use super::lock::Held;
use super::node::{CONNECT, MARGIN, Node, absent, write};
use super::orphan;
use super::records::Entry;
use super::state::unseen_by_vagrant;
use crate::channel::Io;
use crate::error::{Failure, Kind, Result, io_failure};
use crate::home::{remove_file, write_whole};
use crate::provider::{Machine, Power};

/// What creating may take on top of booting: fetching and unpacking a box.
const CREATE: Duration = Duration::from_hours(1);
/// The file that is there from before Vagrant makes the machine until it has answered.
const MAKING: &str = "making";
/// How long a machine waits for its turn to be made: for the boxes of those before it. The step's own
/// deadline comes first.
const TURN: Duration = Duration::from_hours(12);
/// How long `destroy` waits for another Vagrant before it looks who that is.
const ORPHAN_PATIENCE: Duration = Duration::from_secs(3);
/// How often `up` may begin anew: after a leftover was removed, or the machine changed by itself.
const ATTEMPTS: u32 = 3;
/// How Vagrant says that the hypervisor has made and started the machine, so that the next one may be
/// made (`templates/locales/en.yml`: `boot_waiting`, and Hyper-V's and vagrant-libvirt's
/// `waiting_for_ip`).
const MADE: [&str; 3] = [
    "Waiting for machine to boot",
    "Waiting for the machine to report its IP address",
    "Waiting for domain to get an IP address",
];
/// The pseudo id of a docker machine whose container is about to be made
/// (`plugins/providers/docker/action/init_state.rb`). Vagrant never takes it for a machine that is gone.
const PREPARING: &str = "preparing";
/// The id of no machine.
const NOBODY: &str = "removed-by-wdev";

impl Node {
    pub(super) async fn up(&self, io: &Io) -> Result<Machine> {
        let held = self.lock.take(self.patience(), io).await?;
        for _ in 0..ATTEMPTS {
            let machine = self.inspect_held(&held, io).await?;
            if machine.power != Power::Absent && self.was_cut_short() {
                io.note("its making was cut short; making it anew");
                self.unmake(&held, io).await?;
                continue;
            }
            let ended = match machine.power {
                Power::Broken => return Err(self.broken(&machine)),
                Power::Running => {
                    if machine.id == self.booted()? {
                        match self.answer(&held, CONNECT, io).await {
                            Ok(()) => match self.settled(machine, io).await? {
                                Some(machine) => return Ok(machine),
                                None => continue,
                            },
                            // Such as another host key: nothing that a restart mends.
                            Err(failure) if failure.permanent => return Err(failure),
                            Err(_) => {}
                        }
                    }
                    // `vagrant up` would skip network, hostname and key of a machine that runs.
                    io.note("its start was not seen to its end; restarting it");
                    self.forget_boot()?;
                    self.start_anew(&held, &machine, io).await?
                }
                Power::Absent | Power::Off | Power::Suspended | Power::Changing => {
                    self.forget_boot()?;
                    self.vagrant_up(&held, io).await?
                }
            };
            if !ended.finished.ok() {
                let known = self.id()?;
                let (machine, said) = (&self.machine, &ended.said);
                let reclaimed = {
                    let _one_at_a_time = self.shared.lock().await;
                    self.hypervisor
                        .reclaim(machine, known.as_deref(), said, io)
                        .await?
                };
                if reclaimed {
                    continue;
                }
                return Err(Box::new(ended.failure()));
            }
            let machine = self.inspect_held(&held, io).await?;
            if machine.power != Power::Running {
                io.note(format!("Vagrant says done, but it is {}", machine.detail));
                continue;
            }
            let Some(machine) = self.settled(machine, io).await? else {
                continue;
            };
            self.first_contact(&held, io).await?;
            self.answer(&held, self.boot, io).await?;
            self.remember_boot(machine.id.as_deref().unwrap_or_default())?;
            remove_file(&self.own(MAKING))?;
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
            .advise(if self.caller.provider == "docker" {
                "see its log: `docker logs`"
            } else {
                "look at its console in the hypervisor's own tool"
            }),
        ))
    }

    /// Whether an earlier run began to make the machine, did not see that to its end, and no later start
    /// makes up for it.
    fn was_cut_short(&self) -> bool {
        self.own(MAKING).is_file() && self.hypervisor.sets_up_once(&self.machine)
    }

    /// Removes a machine on which nothing was done yet.
    async fn unmake(&self, held: &Held, io: &Io) -> Result<()> {
        self.forget_boot()?;
        self.destroy_held(held, io).await?;
        let _one_at_a_time = self.shared.lock().await;
        self.hypervisor.remove_rest(&self.machine, io).await?;
        Ok(())
    }

    /// The machine with all that Vagrant does not give it; nothing where it had to be stopped for that.
    async fn settled(&self, machine: Machine, io: &Io) -> Result<Option<Machine>> {
        let id = machine.id.clone().unwrap_or_default();
        let stopped = {
            let _one_at_a_time = self.shared.lock().await;
            self.hypervisor.before_use(&self.machine, &id, io).await?
        };
        if stopped {
            io.note("it was stopped for a change that it cannot take while it runs; starting it");
            self.forget_boot()?;
            return Ok(None);
        }
        self.started(machine, io).await.map(Some)
    }

    /// What is to be done for a machine that Vagrant has running.
    pub(super) async fn started(&self, machine: Machine, io: &Io) -> Result<Machine> {
        let _one_at_a_time = self.shared.lock().await;
        let id = machine.id.clone().unwrap_or_default();
        let private_mac = self.hypervisor.after_start(&self.machine, &id, io).await?;
        Ok(Machine {
            private_mac,
            ..machine
        })
    }

    async fn before_start(&self, io: &Io) -> Result<()> {
        let _one_at_a_time = self.shared.lock().await;
        self.hypervisor.before_start(&self.machine, io).await
    }

    async fn vagrant_up(&self, held: &Held, io: &Io) -> Result<Ended> {
        // A machine that is only off need not wait for another one's box.
        let mut creation = match &self.creation {
            Some(lock) if self.id()?.is_none() => Some(lock.take(TURN, io).await?),
            _ => None,
        };
        self.before_start(io).await?;
        if self.id()?.is_none() {
            self.keep_made_with()?;
            write(&self.own(MAKING), self.caller.provider)?;
        }
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
        let mut tell = narrate(io);
        let mut entry = |entry: &Entry| {
            if let Entry::Record(record) = entry
                && let Some((_, lines)) = record.talk()
                && lines
                    .iter()
                    .any(|line| MADE.iter().any(|made| line.contains(made)))
            {
                // From here on it only boots.
                creation = None;
            }
            tell(entry);
        };
        self.call(held, &args, limit, io, &mut entry).await
    }

    /// Stops a machine that runs, and starts it.
    async fn start_anew(&self, held: &Held, machine: &Machine, io: &Io) -> Result<Ended> {
        if self.power_off_unseen(machine, io).await? {
            return self.vagrant_up(held, io).await;
        }
        self.reload(held, io).await
    }

    /// Turns a machine off that Vagrant does not take for a running one. Says whether it was such a one.
    async fn power_off_unseen(&self, machine: &Machine, io: &Io) -> Result<bool> {
        Ok(unseen_by_vagrant(self.caller.provider, &machine.detail)
            && self.hypervisor.power_off(&self.machine, io).await?)
    }

    async fn reload(&self, held: &Held, io: &Io) -> Result<Ended> {
        self.before_start(io).await?;
        let args = ["reload", self.name(), "--no-provision"];
        let limit = self.halt + self.boot + MARGIN;
        self.call(held, &args, limit, io, &mut narrate(io)).await
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
        let mut machine = self.inspect_held(&held, io).await?;
        if self.power_off_unseen(&machine, io).await? {
            io.note("it did not answer yet and could not be asked to stop; it was turned off");
            machine = self.inspect_held(&held, io).await?;
        }
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
        self.reload(&held, io).await?.good()?;
        let machine = Machine {
            power: Power::Running,
            id: Some(id.clone()),
            ..absent()
        };
        self.started(machine, io).await?;
        self.first_contact(&held, io).await?;
        self.answer(&held, self.boot, io).await?;
        self.remember_boot(&id)
    }

    pub(super) async fn destroy(&self, io: &Io) -> Result<()> {
        if self.caller.dir.is_dir() {
            let held = self.take_from_orphan(io).await?;
            self.forget_boot()?;
            self.destroy_held(&held, io).await?;
        }
        let _one_at_a_time = self.shared.lock().await;
        if self.hypervisor.remove_rest(&self.machine, io).await? {
            io.note(format!(
                "removed what was left of the machine `{}`",
                self.machine.unique
            ));
        }
        Ok(())
    }

    /// Takes the lock, if need be from a Vagrant that nobody waits for any more.
    async fn take_from_orphan(&self, io: &Io) -> Result<Held> {
        match self.lock.take(ORPHAN_PATIENCE, io).await {
            Err(failure) if failure.kind == Kind::Busy => {
                if orphan::end(&self.caller.dir, self.name(), self.lock.starter()) > 0 {
                    io.note("ended a Vagrant that an earlier wdev had left behind");
                }
                self.lock.take(self.patience(), io).await
            }
            taken => taken,
        }
    }

    async fn destroy_held(&self, held: &Held, io: &Io) -> Result<()> {
        let Some(id) = self.id()? else {
            return Ok(());
        };
        self.is_found_with_these_settings()?;
        let removable = self.hypervisor.removes_machines();
        let described = self.caller.dir.join("Vagrantfile").is_file();
        if !described && !removable {
            return Err(Box::new(
                Failure::new(
                    Kind::Provider,
                    format!("cannot remove the machine `{}`", self.name()),
                )
                .because("its Vagrantfile is gone, but Vagrant still knows the machine")
                .advise("render the files again with `wdev render`, then run the same again"),
            ));
        }
        if described && id == PREPARING {
            // Asked about a machine that is not there, Vagrant forgets it, also in its index of all
            // machines of the user. What is half-made goes with the rest below.
            write_whole(&self.data().join("id"), NOBODY.as_bytes())?;
            match self.inspect_held(held, io).await {
                Err(failure) if failure.kind == Kind::Interrupted => return Err(failure),
                Ok(_) | Err(_) => {}
            }
        } else if described {
            let args = ["destroy", "-f", self.name()];
            let limit = self.halt + MARGIN;
            let ended = self.call(held, &args, limit, io, &mut narrate(io)).await?;
            let gone =
                ended.finished.ok() && self.inspect_held(held, io).await?.power == Power::Absent;
            if !gone && !removable {
                return Err(Box::new(ended.failure()));
            }
        }
        // What is left goes next, by the hypervisor; and what Vagrant remembers.
        match std::fs::remove_dir_all(self.data()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(io_failure("remove", &self.data(), &error))
            }
            Ok(()) | Err(_) => {
                remove_file(&self.own(MAKING))?;
                remove_file(&self.own("made-with"))
            }
        }
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
