//! The machines of the simulated world: made, booted, halted, destroyed.

use std::sync::Arc;

use async_trait::async_trait;

use super::faults::{CREATE, FaultKind, REBOOT};
use super::world::{self, NextBoot, Outcome, Stage, Turn, World};
use super::{Inner, Sim, channel::SimChannel, draw, time, turn};
use crate::channel::{Channel, Io};
use crate::error::{Failure, Kind, Result};
use crate::names::LaneName;
use crate::provider::{Features, Machine, Power, Provider};

/// How long a machine is waited for that never answers.
const PATIENCE: u64 = 5 * 60 * 1000;
/// How long a boot takes after the fault `late`.
const LATE: u64 = 8 * 60 * 1000;

/// What `up` has to do next.
enum Next {
    /// The machine is being made until then.
    Make {
        until: u64,
        fault: Option<FaultKind>,
    },
    /// Look again after so many milliseconds.
    Wait(u64),
    /// It will never answer.
    GiveUp,
    /// It runs and answers.
    Ready,
}

#[async_trait]
impl Provider for Sim {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn features(&self) -> Features {
        Features {
            parallel_creation: true,
            snapshots: false,
            static_addresses: true,
            needs_elevation: false,
            windows: true,
            simulated: true,
        }
    }

    async fn check(&self, io: &Io) -> Result<()> {
        io.note("this is a simulation: no machine is real");
        Ok(())
    }

    async fn inspect(&self, node: &LaneName, _io: &Io) -> Result<Machine> {
        Ok(self.inner.look(|world, now| seen(world, node, now)))
    }

    async fn up(&self, node: &LaneName, io: &Io) -> Result<Machine> {
        let inner = &self.inner;
        inner.node(node)?;
        let _turn = turn(&inner.gates(node).machine, io).await?;
        // Since when this call waits for a boot that it began itself.
        let mut since = None;
        loop {
            let mut remark = None;
            let next =
                inner.with(|world, now| inner.next(world, node, now, &mut since, &mut remark))?;
            if let Some(remark) = remark {
                io.note(remark);
            }
            match next {
                Next::Make { until, fault } => {
                    inner.pause(until.saturating_sub(inner.now()), io).await?;
                    inner.with(|world, now| inner.made(world, node, now, fault, &mut since))??;
                }
                Next::Wait(ms) => inner.pause(ms.max(1), io).await?,
                Next::GiveUp => {
                    return Err(Box::new(
                        Failure::new(
                            Kind::Provider,
                            format!("the simulated machine of `{node}` does not answer"),
                        )
                        .because("it is on but has not finished booting in 5 minutes")
                        .advise("try again: a machine that is found so is switched off and on"),
                    ));
                }
                Next::Ready => return Ok(inner.look(|world, now| seen(world, node, now))),
            }
        }
    }

    async fn halt(&self, node: &LaneName, io: &Io) -> Result<()> {
        let inner = &self.inner;
        let _turn = turn(&inner.gates(node).machine, io).await?;
        let on = inner.look(|world, _| {
            world
                .machine(node)
                .is_some_and(|machine| machine.stage != Stage::Off)
        });
        if !on {
            return Ok(());
        }
        io.note(format!("shutting {node} down (simulated)"));
        inner
            .pause(inner.between(node, "halt", 5_000, 15_000), io)
            .await?;
        inner.with(|world, _| {
            if let Some(machine) = world.machine_mut(node) {
                machine.stop(Outcome::ShutDown);
                if matches!(machine.stage, Stage::On(_)) {
                    machine.stage = Stage::Off;
                }
                world.touch(node);
            }
        })
    }

    async fn restart(&self, node: &LaneName, io: &Io) -> Result<()> {
        let inner = &self.inner;
        inner.node(node)?;
        let _turn = turn(&inner.gates(node).machine, io).await?;
        inner.pause(1_000, io).await?;
        inner.with(|world, now| inner.reboot(world, node, now))?
    }

    async fn destroy(&self, node: &LaneName, io: &Io) -> Result<()> {
        let inner = &self.inner;
        let _turn = turn(&inner.gates(node).machine, io).await?;
        if inner.look(|world, _| world.machine(node).is_none()) {
            return Ok(());
        }
        io.note(format!("removing the simulated machine of {node}"));
        inner
            .pause(inner.between(node, "destroy", 1_000, 3_000), io)
            .await?;
        inner.with(|world, _| {
            let machine = world.node(node).machine.take().map(|machine| machine.id);
            let of_cluster = world.cluster.as_ref().map(|cluster| &cluster.machine);
            if machine.is_some() && of_cluster == machine.as_ref() {
                world.cluster = None;
                world.cluster_dirty = true;
            }
            let cluster = world.cluster.as_ref().map(|cluster| cluster.id.clone());
            // The node object outlives its machine, but not its cluster.
            world
                .node(node)
                .member
                .take_if(|member| Some(&member.cluster) != cluster.as_ref());
            world.touch(node);
        })
    }

    fn channel(&self, node: &LaneName) -> Arc<dyn Channel> {
        Arc::new(SimChannel::new(Arc::clone(&self.inner), node.clone()))
    }
}

/// What a provider sees of a machine.
fn seen(world: &World, name: &LaneName, now: u64) -> Machine {
    let Some(machine) = world.machine(name) else {
        return Machine {
            power: Power::Absent,
            id: None,
            detail: "absent".to_owned(),
            address: None,
            private_mac: None,
        };
    };
    let (power, detail) = match &machine.stage {
        Stage::Making { until } if *until > now => (Power::Changing, "being made"),
        Stage::Making { .. } => (Power::Broken, "half made"),
        Stage::Off => (Power::Off, "off"),
        Stage::On(boot) if boot.settled => (Power::Running, "running"),
        Stage::On(_) => (Power::Running, "booting"),
    };
    Machine {
        power,
        id: Some(machine.id.clone()),
        detail: format!("{detail} (simulated)"),
        address: Some(machine.address.into()),
        private_mac: None,
    }
}

impl Inner {
    /// Takes the next step towards a machine that answers.
    fn next(
        &self,
        world: &mut World,
        name: &LaneName,
        now: u64,
        since: &mut Option<u64>,
        remark: &mut Option<String>,
    ) -> Next {
        let Some(machine) = world.machine_mut(name) else {
            *remark = Some(format!("making a simulated machine for {name}"));
            return self.make(world, name, now);
        };
        match &machine.stage {
            Stage::Making { .. } => {
                *remark = Some(format!("the machine of {name} is half made; finishing it"));
                let until = now + self.making_takes(name);
                machine.stage = Stage::Making { until };
                world.touch(name);
                Next::Make { until, fault: None }
            }
            Stage::Off => {
                *remark = Some(format!("starting {name}"));
                self.boot(world, name, now, since);
                Next::Wait(1)
            }
            Stage::On(boot) if boot.settled => match &machine.next_boot {
                Some(next) if next.asked => Next::Wait(next.begins.saturating_sub(now)),
                _ => Next::Ready,
            },
            Stage::On(boot) => match (boot.ready, *since) {
                (Some(ready), _) => Next::Wait(ready.saturating_sub(now)),
                (None, Some(since)) if now >= since + PATIENCE => Next::GiveUp,
                (None, Some(since)) => Next::Wait(since + PATIENCE - now),
                (None, None) => {
                    *remark = Some(format!(
                        "{name} is on but does not answer; switching it off and on"
                    ));
                    self.boot(world, name, now, since);
                    Next::Wait(1)
                }
            },
        }
    }

    fn boot(&self, world: &mut World, name: &LaneName, now: u64, since: &mut Option<u64>) {
        let takes = time::boot_takes(world, self.seed, name);
        time::boot(world, self.seed, name, now, Some(takes), Turn::default());
        *since = Some(now);
    }

    fn making_takes(&self, name: &LaneName) -> u64 {
        self.between(name, "make", 20_000, 60_000)
    }

    /// Begins to make a machine.
    fn make(&self, world: &mut World, name: &LaneName, now: u64) -> Next {
        let until = now + self.making_takes(name);
        let node = world.node(name);
        node.made += 1;
        let made = node.made.to_string();
        let fault = self.faults.strike(self.seed, name, node, CREATE);
        if let Some(spec) = self.nodes.get(name) {
            let id = draw::digits(self.seed, &["machine", name.as_str(), &made]);
            node.machine = Some(world::Machine::new(id, spec, until));
        }
        world.touch(name);
        Next::Make { until, fault }
    }

    /// The machine is made, unless a fault says otherwise.
    fn made(
        &self,
        world: &mut World,
        name: &LaneName,
        now: u64,
        fault: Option<FaultKind>,
        since: &mut Option<u64>,
    ) -> Result<()> {
        match fault {
            Some(FaultKind::Fail) => {
                world.node(name).machine = None;
                world.touch(name);
                return Err(Box::new(
                    Failure::new(
                        Kind::Provider,
                        format!("cannot make a simulated machine for `{name}`"),
                    )
                    .because("injected fault"),
                ));
            }
            Some(FaultKind::Half) => {
                time::boot(world, self.seed, name, now, None, Turn::default());
                *since = Some(now);
            }
            _ => self.boot(world, name, now, since),
        }
        Ok(())
    }

    /// The machine is asked to boot anew.
    fn reboot(&self, world: &mut World, name: &LaneName, now: u64) -> Result<()> {
        let stage = world.machine(name).map(|machine| &machine.stage);
        let Some(Stage::On(boot)) = stage else {
            return Err(Box::new(Failure::new(
                Kind::Provider,
                format!("cannot reboot `{name}`: it is not on"),
            )));
        };
        let settled = boot.settled;
        let takes = time::boot_takes(world, self.seed, name);
        let node = world.node(name);
        let boots = node.boots.to_string();
        let fault = self.faults.strike(self.seed, name, node, REBOOT);
        let takes = match fault {
            Some(FaultKind::Lost) => {
                world.touch(name);
                return Ok(());
            }
            Some(FaultKind::Never) => None,
            Some(FaultKind::Late) => Some(LATE),
            _ => Some(takes),
        };
        let turn = Turn {
            again: fault == Some(FaultKind::Twice),
            pending: fault == Some(FaultKind::Pending),
            hns: fault == Some(FaultKind::Hns),
        };
        if settled {
            // It shuts down first, and until then answers as if nothing were.
            let parts = ["shutdown", name.as_str(), &boots];
            let begins = now + draw::between(self.seed, &parts, 2_000, 8_000);
            if let Some(machine) = &mut node.machine {
                machine.next_boot = Some(NextBoot {
                    begins,
                    takes,
                    turn,
                    asked: true,
                });
            }
            world.touch(name);
        } else {
            time::boot(world, self.seed, name, now, takes, turn);
        }
        Ok(())
    }
}
