//! A machine's lifecycle, mended where an earlier run was killed.

use std::time::Duration;

use super::call::{Ended, narrate};
use super::lock::Held;
use super::node::{CONNECT, MARGIN, Node};
use super::orphan;
use crate::channel::Io;
use crate::diagnose::classify;
use crate::error::{Failure, Kind, Result, io_failure};
use crate::provider::{Machine, Power};

/// What creating may take on top of booting: fetching and unpacking a box.
const CREATE: Duration = Duration::from_hours(1);
/// How long `destroy` waits for another Vagrant before it looks who that is.
const ORPHAN_PATIENCE: Duration = Duration::from_secs(3);
/// How often `up` may begin anew: after a leftover was removed, or the machine changed by itself.
const ATTEMPTS: u32 = 3;
/// The pseudo id of a docker machine whose container is about to be made
/// (`plugins/providers/docker/action/init_state.rb`).
const PREPARING: &str = "preparing";

impl Node {
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
        if let (Some(docker), Some(network)) = (&self.docker, &self.network) {
            docker.ensure_network(&*network.lock().await, io).await?;
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
            let held = self.take_from_orphan(io).await?;
            self.forget_boot()?;
            self.destroy_held(&held, io).await?;
        }
        if let Some(docker) = &self.docker
            && docker.remove(&self.machine.unique, io).await?
        {
            io.note(format!("removed the container `{}`", self.machine.unique));
        }
        if let (Some(docker), Some(network)) = (&self.docker, &self.network) {
            docker.remove_network(&*network.lock().await, io).await?;
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
