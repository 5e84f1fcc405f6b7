//! `wdev up`

use clap::Args;

use super::provider::{self, Choice, SimArguments};
use super::release::{self, Effort, Wish};
use super::run::{self, Job};
use super::session::Session;
use super::standing::Standing;
use super::{Globals, Overrides, preflight, session};
use crate::artifacts::Store;
use crate::clock::Clock;
use crate::config::Config;
use crate::config::model::{CniName, ProviderName};
use crate::engine::decide::decide;
use crate::engine::plan::Plan;
use crate::engine::state::State;
use crate::error::Result;
use crate::event::Decision;
use crate::home::{Index, Indexed, Lock, SandboxFolder};
use crate::names::LaneName;
use crate::os::Os;
use crate::plan::record::Record;
use crate::plan::steps::power::Action;
use crate::plan::{self, Target, Testbed};
use crate::provider::vagrant::hypervisor::Choices;
use crate::provider::vagrant::hypervisor::libvirt::kvm;
use crate::ui::{Ui, Verbosity};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wdev up --cni calico
  wdev up --provider sim --sim-speed 60      watch the whole flow without a machine
  wdev up --output json --fail-fast          for CI: one event a line on standard output

`up` can be stopped with Ctrl-C, killed, or lose power: run it again and it goes on where it was.")]
pub(super) struct Arguments {
    #[command(flatten)]
    making: Making,
    /// Recreate nodes whose machine cannot be changed in place; what is on them is lost.
    #[arg(long)]
    recreate: bool,
}

/// How a sandbox is made.
#[derive(Debug, Args)]
pub(super) struct Making {
    #[command(flatten)]
    pub overrides: Overrides,
    /// Stop all other work as soon as one step has failed.
    #[arg(long)]
    fail_fast: bool,
    /// Refuse to differ from wdev.lock.
    #[arg(long)]
    locked: bool,
    #[command(flatten)]
    sim: SimArguments,
}

impl Making {
    /// Refuses what contradicts itself.
    pub(super) fn check(&self, globals: &Globals) -> Result<()> {
        self.sim.check()?;
        run::format(globals).map(|_| ())
    }
}

/// The plan of `up` for a configuration, with the record that goes with it.
pub(super) struct Prepared {
    pub plan: Plan,
    pub record: Record,
    pub why_provider: Option<String>,
    pub warning: Option<String>,
    /// What the journal knew when the plan was made.
    pub state: State,
}

/// Settles the provider and every version, and makes the plan. Changes nothing of the sandbox.
pub(super) fn prepare(session: &Session, effort: Effort, ui: &Ui) -> Result<Prepared> {
    let (config, folder) = (&session.loaded.config, &session.folder);
    let standing = Standing::of(folder)?;
    standing.check(config)?;
    let Choice { provider, why } = provider::choose(config.provider, standing.made())?;
    let earlier = standing.earlier.as_ref();
    // Names stay what they are, also when the project's folder has moved.
    let network = earlier.map(|earlier| earlier.network.clone());
    let network = network
        .filter(|network| !network.is_empty())
        .unwrap_or_else(|| plan::naming::unique_prefix(&config.sandbox, folder.path()));
    let testbed = Testbed::from_env();
    let wish = Wish {
        config,
        project: &session.loaded.dir,
        provider,
        earlier,
    };
    let release = release::settle(wish, effort, ui)?;
    release::check(wish, &session.loaded, &release, ui)?;
    let store = match effort {
        Effort::Ask | Effort::Locked if provider != ProviderName::Sim => {
            Some(Store::of_user(&config.artifacts, Clock::new())?)
        }
        _ => None,
    };
    let target = Target {
        config,
        provider,
        folder,
        testbed,
        prefix: &network,
        release: &release,
        store: store.as_ref(),
    };
    let plan = plan::up::plan(&target)?;
    let nodes = plan::node::nodes(&target)?;
    let boot = config.timeouts.boot.as_secs();
    let subnet = config.network.nodes;
    let mut record = Record::new(&config.sandbox, provider, subnet, network, nodes, boot);
    let windows = record.nodes.iter().any(|node| node.os == Os::Windows);
    let (emulated, warning) = emulation(config, provider, windows);
    record.choices = choices(config, emulated);
    record.release = Some(release);
    record.cni = Some(config.cni.name);
    record.sim_seed = earlier.and_then(|earlier| earlier.sim_seed);
    if let Some(made) = standing.made() {
        record.keep(made);
    }
    if provider != ProviderName::Sim {
        tell_unbuilt(&plan, ui);
    }
    Ok(Prepared {
        plan,
        record,
        why_provider: why,
        warning,
        state: standing.state,
    })
}

/// Tells of steps that this version cannot do on a real machine, before anybody waits for them.
fn tell_unbuilt(plan: &Plan, ui: &Ui) {
    let unbuilt = plan.lanes.iter().flat_map(|lane| {
        let steps = lane.steps.iter().map(|planned| &planned.step);
        let steps = steps.filter(|step| step.script().is_some_and(|script| script.text.is_none()));
        steps.map(|step| format!("{}/{}", lane.name, step.id()))
    });
    let unbuilt: Vec<String> = unbuilt.collect();
    if !unbuilt.is_empty() && ui.verbosity() > Verbosity::Quiet {
        ui.err(&format!(
            "warning: not built yet, so that a real machine fails there: {}",
            unbuilt.join(", ")
        ));
    }
}

/// Whether libvirt's machines are emulated, and what the user must hear about it. A host that cannot run
/// them as asked is refused by the checks before anything is made, not here: a plan can be shown anywhere.
fn emulation(config: &Config, provider: ProviderName, windows: bool) -> (bool, Option<String>) {
    if provider != ProviderName::Libvirt {
        return (false, None);
    }
    let asked = config.vagrant.libvirt_driver;
    kvm::decide(asked, kvm::lacks().as_ref(), windows)
        .map_or((false, None), |it| (it.emulated, it.warning))
}

/// What the provider must know beside the machines.
fn choices(config: &Config, emulated: bool) -> Choices {
    Choices {
        emulated,
        // Their pods' packets carry MAC addresses of their own (network modes l2bridge and overlay).
        mac_spoofing: config.cni.name != CniName::None,
        // Antrea's Open vSwitch driver is signed for tests only.
        unsigned_drivers: config.cni.name == CniName::Antrea,
        hyperv_switch: config.vagrant.hyperv_switch.clone(),
    }
}

pub(super) fn run(globals: &Globals, arguments: &Arguments, ui: &Ui) -> Result<u8> {
    let making = &arguments.making;
    making.check(globals)?;
    let session = session::load(globals, &making.overrides, ui)?;
    make(
        globals,
        making,
        &session,
        ui,
        arguments.recreate,
        None,
        &|_, _| Ok(()),
    )
}

/// Makes or completes the sandbox. `ready` is called once the host is found fit, with the lock held: the
/// given one, where the caller has it already.
pub(super) fn complete(
    globals: &Globals,
    arguments: &Making,
    session: &Session,
    ui: &Ui,
    lock: Option<Lock>,
    ready: &dyn Fn(&Plan, &State) -> Result<()>,
) -> Result<u8> {
    make(globals, arguments, session, ui, false, lock, ready)
}

fn make(
    globals: &Globals,
    arguments: &Making,
    session: &Session,
    ui: &Ui,
    recreates: bool,
    lock: Option<Lock>,
    ready: &dyn Fn(&Plan, &State) -> Result<()>,
) -> Result<u8> {
    let (config, folder) = (&session.loaded.config, &session.folder);
    let effort = if arguments.locked {
        Effort::Locked
    } else {
        Effort::Ask
    };
    let Prepared {
        plan,
        mut record,
        why_provider,
        warning,
        state: _,
    } = prepare(session, effort, ui)?;
    arguments.sim.check_against(&plan)?;
    if let Some(why) = why_provider {
        ui.err(&format!("provider `{}`: {why}", record.provider));
    }
    if let Some(warning) = warning {
        ui.err(&format!("warning: {warning}"));
    }
    if arguments.sim.any() && record.provider != ProviderName::Sim {
        ui.err("note: the options for simulations have no effect on real machines");
    }
    let index = Index::of_user()?;
    preflight::check(config, &record, &index, folder, ui)?;
    let _lock = match lock {
        Some(lock) => lock,
        None => folder.lock("up")?,
    };
    // Another run may have come in between: what it made must stay known.
    let now = Standing::of(folder)?;
    now.check(config)?;
    if let Some(made) = now.made() {
        provider::choose(record.provider, Some(made))?;
        record.keep(made);
    }
    ready(&plan, &now.state)?;
    // Known to the index before anything of it is made, so that `list` and `destroy` find it.
    index.add(&Indexed {
        sandbox: config.sandbox.clone(),
        folder: folder.path().to_owned(),
    })?;
    record.sim_seed = arguments.sim.seed().or(record.sim_seed);
    warn_of_leftovers(&record, &plan, ui);
    if recreates {
        let code = recreate(
            globals,
            &arguments.sim,
            ui,
            folder,
            &record,
            &plan,
            &now.state,
        )?;
        if code != 0 {
            return Ok(code);
        }
    }
    let planned = plan.clone();
    let prepare = || {
        // Two that begin at the same time did not see each other above.
        let alone = index.lock()?;
        preflight::check_addresses(&record, &index, folder)?;
        record.write(&folder.record())?;
        drop(alone);
        plan::render::write(&planned, &record, config, &folder.rendered()).map(|_| ())
    };
    let (code, _) = run::carry_out(Job {
        globals,
        ui,
        folder,
        record: &record,
        plan,
        sim: &arguments.sim,
        fail_fast: arguments.fail_fast,
        reboot: config.timeouts.reboot,
        despite_journal: false,
        prepare: &prepare,
        next: run::again(globals, "up"),
    })?;
    Ok(code)
}

fn warn_of_leftovers(record: &Record, plan: &Plan, ui: &Ui) {
    let planned = |name: &LaneName| plan.lanes.iter().any(|lane| lane.name == *name);
    for node in record.nodes.iter().filter(|node| !planned(&node.name)) {
        let heir = record
            .nodes
            .iter()
            .find(|other| planned(&other.name) && other.address == node.address);
        let clash = heir.map_or_else(String::new, |heir| {
            format!(
                "; it still has the address {}, which `{}` is to have now: stop it",
                node.address, heir.name
            )
        });
        ui.err(&format!(
            "warning: `{0}` is no longer in the configuration; its machine is left alone, and \
             `wdev node remove {0}` removes it{clash}",
            node.name
        ));
    }
}

/// Removes the machines that the plan cannot change in place.
fn recreate(
    globals: &Globals,
    sim: &SimArguments,
    ui: &Ui,
    folder: &SandboxFolder,
    record: &Record,
    plan: &Plan,
    state: &State,
) -> Result<u8> {
    let verdicts = decide(plan, state);
    let wanted = |name: &LaneName| {
        verdicts
            .iter()
            .any(|(key, verdict)| key.lane == *name && verdict.decision == Decision::Recreate)
    };
    let mut gone = record.clone();
    gone.nodes.retain(|node| wanted(&node.name));
    if gone.nodes.is_empty() {
        return Ok(0);
    }
    let (at, again) = ((folder, &gone), "up --recreate");
    let job = Job::power(globals, ui, at, sim, Action::Destroy, again);
    let (code, _) = run::carry_out(job)?;
    Ok(code)
}
