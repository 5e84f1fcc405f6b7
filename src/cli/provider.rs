//! Chooses and opens the provider.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use crate::clock::Clock;
use crate::config::model::ProviderName;
use crate::engine::plan::{Lane, Plan};
use crate::error::{Failure, Kind, Result};
use crate::home::{self, SandboxFolder};
use crate::ledger::Ledger;
use crate::plan::node::Role;
use crate::plan::record::Record;
use crate::provider::sim::{Fault, Faults, Settings, Sim, SimNode, Store};
use crate::provider::vagrant::{self, MachineRef, Vagrant};
use crate::provider::{Provider, host};

/// How fast a simulation can be watched.
const SPEEDS: RangeInclusive<f64> = 0.01..=1_000_000.0;

/// How a simulation runs.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct SimArguments {
    /// Run a simulation this many times as fast as reality, to watch it; without it, at once.
    #[arg(long = "sim-speed", value_name = "FACTOR", help_heading = "Simulation")]
    speed: Option<f64>,
    /// Decides every duration and every random fault of a simulation.
    #[arg(long = "sim-seed", value_name = "NUMBER", help_heading = "Simulation")]
    seed: Option<u64>,
    /// Let something go wrong, such as `winw1/features=die:once`; see docs/simulator.md.
    #[arg(long = "sim-fault", value_name = "FAULT", help_heading = "Simulation")]
    faults: Vec<String>,
}

impl SimArguments {
    /// The speed to watch a simulation at, when one was asked for.
    pub fn speed(&self) -> Result<Option<f64>> {
        match self.speed {
            Some(speed) if !SPEEDS.contains(&speed) => Err(Box::new(
                Failure::new(
                    Kind::Arguments,
                    format!("`--sim-speed {speed}` is not a factor above 0"),
                )
                .because(format!("it may be {} to {}", SPEEDS.start(), SPEEDS.end()))
                .advise("leave it out to wait for nothing at all"),
            )),
            speed => Ok(speed),
        }
    }

    /// The seed, when one was given.
    pub fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// Whether they can be understood; asked before anything is made.
    pub fn check(&self) -> Result<()> {
        self.speed()?;
        self.faults().map(|_| ())
    }

    /// Whether each fault can strike: one that never does would look like a good run.
    ///
    /// # Errors
    /// `Arguments`, with what there is.
    pub fn check_against(&self, plan: &Plan) -> Result<()> {
        let lanes = plan.lanes.iter().filter(|lane| !lane.name.is_host());
        for fault in &self.faults()?.scripted {
            let nodes: Vec<&Lane> = lanes
                .clone()
                .filter(|lane| fault.node().is_none_or(|node| *node == lane.name))
                .collect();
            let mut steps = nodes.iter().flat_map(|lane| &lane.steps);
            let missing = match (fault.node(), fault.step()) {
                (Some(node), _) if nodes.is_empty() => format!("there is no node `{node}`"),
                (_, Some(step)) if !steps.any(|planned| planned.step.id().as_str() == step) => {
                    format!("there is no step `{step}` there")
                }
                _ => continue,
            };
            return Err(Box::new(
                Failure::new(
                    Kind::Arguments,
                    format!("the fault `{fault}` would never strike"),
                )
                .because(missing)
                .advise("`wdev plan` shows the nodes and their steps"),
            ));
        }
        Ok(())
    }

    fn faults(&self) -> Result<Faults> {
        let scripted = self
            .faults
            .iter()
            .map(|text| Fault::parse(text))
            .collect::<Result<_>>()?;
        Ok(Faults {
            scripted,
            ..Faults::default()
        })
    }

    /// Whether anything of this makes sense only in a simulation, and was asked for.
    pub fn any(&self) -> bool {
        self.speed.is_some() || self.seed.is_some() || !self.faults.is_empty()
    }
}

/// The provider to use and, where nobody named it, why.
pub(super) struct Choice {
    pub provider: ProviderName,
    pub why: Option<String>,
}

/// Settles `auto`: the provider that the sandbox already has, else the first usable hypervisor.
///
/// # Errors
/// `Host` when no hypervisor is usable; `Configuration` when the sandbox stands on another provider.
pub(super) fn choose(wanted: ProviderName, earlier: Option<&Record>) -> Result<Choice> {
    match (wanted, earlier) {
        (ProviderName::Auto, Some(record)) => Ok(Choice {
            provider: record.provider,
            why: None,
        }),
        (wanted, Some(record)) if wanted != record.provider => {
            let (wanted, stands) = (wanted.as_str(), record.provider.as_str());
            Err(Box::new(
                Failure::new(
                    Kind::Configuration,
                    format!("the sandbox `{}` stands on `{stands}`", record.sandbox),
                )
                .because(format!(
                    "`{wanted}` is asked for now, and machines cannot move"
                ))
                .advise("remove it first: `wdev destroy`")
                .advise("or give the other one a name of its own: `--sandbox NAME`"),
            ))
        }
        (ProviderName::Auto, None) => {
            let (provider, why) = host::choose()?;
            Ok(Choice {
                provider,
                why: Some(why),
            })
        }
        (provider, None | Some(_)) => Ok(Choice {
            provider,
            why: None,
        }),
    }
}

/// Opens the provider of a sandbox. Needs a runtime.
pub(super) fn open(
    record: &Record,
    folder: &SandboxFolder,
    clock: Clock,
    sim: &SimArguments,
) -> Result<Arc<dyn Provider>> {
    match record.provider {
        ProviderName::Sim => {
            let nodes = record.nodes.iter().map(|node| SimNode {
                lane: node.name.clone(),
                os: node.os,
                control_plane: node.role == Role::ControlPlane,
                address: node.address,
            });
            let settings = Settings {
                nodes: nodes.collect(),
                store: Store::Folder(folder.sim()),
                seed: sim.seed().or(record.sim_seed).unwrap_or_default(),
                faults: sim.faults()?,
                clock,
            };
            Ok(Sim::open(settings)?)
        }
        _ => Ok(Arc::new(open_vagrant(record, folder, clock)?)),
    }
}

/// Opens a sandbox whose machines Vagrant makes. Needs a runtime.
pub(super) fn open_vagrant(
    record: &Record,
    folder: &SandboxFolder,
    clock: Clock,
) -> Result<Vagrant> {
    let program: PathBuf = vagrant::find_program()?;
    Ok(Vagrant::new(vagrant::Settings {
        program,
        dir: folder.rendered(),
        sandbox: folder.path().to_owned(),
        provider: record.provider,
        machines: record
            .nodes
            .iter()
            .map(|node| MachineRef {
                lane: node.name.clone(),
                os: node.os,
                unique: node.unique_name.clone(),
            })
            .collect(),
        boot: Duration::from_secs(record.boot_seconds),
        halt: Duration::from_mins(5),
        ssh: None,
        clock,
        network: record.network.clone(),
        subnet: record.subnet,
        choices: record.choices.clone(),
        ledger: Ledger::new(home::state_folder()?),
        hypervisor: None,
    }))
}
