//! `wdev node`

use std::net::Ipv4Addr;
use std::path::Path;

use clap::{Args, Subcommand};

use super::ask::{self, Removal};
use super::provider::SimArguments;
use super::run::{self, Job};
use super::session::{self, Session};
use super::{Globals, Overrides, up};
use crate::config::workers::{Change, NewWorker, Refused, with_worker, without_worker};
use crate::config::{Config, Request};
use crate::engine::decide::{Verdict, decide};
use crate::engine::dispatcher::must_be_recreated;
use crate::engine::journal;
use crate::engine::plan::Plan;
use crate::engine::state::State;
use crate::error::{Failure, Kind, Result, io_failure};
use crate::event::{Decision, Outcome};
use crate::home::{Lock, SandboxFolder};
use crate::kubeconfig::file;
use crate::names::{LaneName, StepKey};
use crate::plan::leave;
use crate::plan::node::Node;
use crate::plan::record::Record;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write one more worker into variables.yml, then do what `up` does.
    Add(Box<AddArguments>),
    /// Drain a worker, remove its machine, and take it out of variables.yml.
    Remove(RemoveArguments),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wdev node add winw2
  wdev node add big --windows 2025 --cpus 4 --memory 8GiB --label size=big
  wdev node add old --windows 2019 --taint os=Win1809:NoSchedule

What is not said is left to wdev's defaults. Everything else in variables.yml stays as it is, comments too.
The options of `up` stand over variables.yml: give those that the sandbox was made with.")]
struct AddArguments {
    /// The node's name: a DNS label of at most 15 characters, as Windows asks for.
    name: String,
    /// The Windows Server version.
    #[arg(long, value_name = "VERSION", value_parser = ["2019", "2022", "2025"])]
    windows: Option<String>,
    /// Virtual processors.
    #[arg(long, value_name = "N")]
    cpus: Option<u32>,
    /// Memory, such as 6GiB.
    #[arg(long, value_name = "AMOUNT")]
    memory: Option<String>,
    /// The address in the node subnet; the next free one without it.
    #[arg(long, value_name = "ADDRESS")]
    address: Option<Ipv4Addr>,
    /// A label that the node registers with; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    label: Vec<String>,
    /// A taint that the node registers with; may be given several times.
    #[arg(long, value_name = "KEY=VALUE:EFFECT")]
    taint: Vec<String>,
    #[command(flatten)]
    up: up::Making,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wdev node remove winw2
  wdev node remove winw2 --yes --force     its machine or the control plane does not answer

It can be killed at any moment: the same command again finishes it.")]
struct RemoveArguments {
    /// The worker.
    name: String,
    /// Go on when the node cannot be drained or the cluster cannot be told.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    sim: SimArguments,
}

pub(super) fn run(globals: &Globals, arguments: &Arguments, ui: &Ui) -> Result<u8> {
    match &arguments.command {
        Command::Add(arguments) => add(globals, arguments, ui),
        Command::Remove(arguments) => remove(globals, arguments, ui),
    }
}

fn add(globals: &Globals, arguments: &AddArguments, ui: &Ui) -> Result<u8> {
    arguments.up.check(globals)?;
    let overrides = &arguments.up.overrides;
    let request = Request {
        first_worker: true,
        ..session::request(globals, overrides)?
    };
    let Session { loaded, folder } = session::load_from(&request, ui)?;
    let lock = held(&folder, "node add")?;
    let Change {
        file,
        before,
        after,
        loaded,
        pinned: _,
    } = with_worker(&request, &loaded, &arguments.worker()?)
        .map_err(|refused| told(refused, ui, "with this worker"))?;
    let session = Session { loaded, folder };
    let ready = |plan: &Plan, state: &State| {
        // Before the file says what cannot be done.
        let verdicts = decide(plan, state);
        if let Some(failure) = must_be_recreated(plan, &verdicts) {
            // What the file did not name is another worker's machine of that name.
            let in_the_way = |(key, verdict): (&StepKey, &Verdict)| {
                key.lane.as_str() == arguments.name && verdict.decision == Decision::Recreate
            };
            return Err(if verdicts.iter().any(in_the_way) {
                left_over(&arguments.name)
            } else {
                failure
            });
        }
        write(&file, before.as_deref(), &after)?;
        let (name, file) = (&arguments.name, file.display());
        ui.err(&format!("`{name}` stands in `{file}` now"));
        Ok(())
    };
    up::complete(globals, &arguments.up, &session, ui, lock, &ready)
}

impl AddArguments {
    fn worker(&self) -> Result<NewWorker> {
        let label = |text: &String| {
            let pair = text.split_once('=');
            let pair = pair.map(|(key, value)| (key.to_owned(), value.to_owned()));
            pair.ok_or_else(|| {
                let message = format!("`--label {text}` has no value");
                let advice = "write it as `--label KEY=VALUE`";
                Box::new(Failure::new(Kind::Arguments, message).advise(advice))
            })
        };
        let labels = self.label.iter().map(label);
        Ok(NewWorker {
            name: self.name.clone(),
            windows: self.windows.clone(),
            cpus: self.cpus,
            memory: self.memory.clone(),
            address: self.address.map(|address| address.to_string()),
            labels: labels.collect::<Result<_>>()?,
            taints: self.taint.clone(),
        })
    }
}

fn remove(globals: &Globals, arguments: &RemoveArguments, ui: &Ui) -> Result<u8> {
    arguments.sim.check()?;
    run::format(globals)?;
    let overrides = Overrides::default();
    let Session { loaded, folder } = session::load(globals, &overrides, ui)?;
    // Also while the question waits: what it tells is still so when the answer comes.
    let _lock = held(&folder, leave::COMMAND)?;
    let name = LaneName::new(&arguments.name);
    let record = Record::find(&folder)?;
    let made = record.as_ref().and_then(|record| record.node(&name));
    let control_plane = loaded.config.control_plane.name == arguments.name;
    if control_plane || made.is_some_and(Node::is_control_plane) {
        return Err(Box::new(
            Failure::new(
                Kind::Arguments,
                format!("`{name}` is the control plane, without which there is no cluster"),
            )
            .advise("remove the whole sandbox with `wdev destroy`"),
        ));
    }
    let mut workers = loaded.config.workers.iter();
    let change = if workers.any(|worker| worker.name == arguments.name) {
        let request = session::request(globals, &overrides)?;
        let change = without_worker(&request, &loaded, &arguments.name);
        Some(change.map_err(|refused| told(refused, ui, "without this worker"))?)
    } else if made.is_some() {
        None
    } else {
        return Err(unknown(&arguments.name, &loaded.config.workers));
    };
    let machine = made.map_or(
        "no machine of it yet",
        |_| "its machine with all that is on it",
    );
    let entry = change.as_ref().map_or(String::new(), |change| {
        format!(", and its entry in `{}`", change.file.display())
    });
    let removal = Removal {
        what: format!("`node remove` of `{name}`"),
        again: &format!("node remove {name} --yes"),
        told: format!("worker `{name}`: {machine}{entry}"),
        question: "Remove it?",
    };
    ask::confirm(globals, &removal, ui)?;
    let (gone, code) = leave(globals, arguments, &name, (&loaded.config, &folder), ui)?;
    if gone {
        forget(change.as_ref(), ui)?;
    }
    Ok(code)
}

/// Takes the sandbox, where there is one, before anything is judged by what another run may be changing.
fn held(folder: &SandboxFolder, command: &str) -> Result<Option<Lock>> {
    folder.exists().then(|| folder.lock(command)).transpose()
}

/// Drains the node, removes its machine, and forgets it in the record. Returns whether it is gone, and the
/// exit code. The lock is held.
fn leave(
    globals: &Globals,
    arguments: &RemoveArguments,
    name: &LaneName,
    (config, folder): (&Config, &SandboxFolder),
    ui: &Ui,
) -> Result<(bool, u8)> {
    let Some(mut record) = Record::find(folder)? else {
        return Ok((true, 0));
    };
    let Some(node) = record.node(name).cloned() else {
        return Ok((true, 0));
    };
    let state = State::from_events(&journal::read(&folder.journal())?.events);
    let (patience, force) = (config.timeouts.ready, arguments.force);
    let (code, finished) = run::carry_out(Job {
        globals,
        ui,
        folder,
        record: &record,
        plan: leave::plan(&record, &node, &state, patience, force)?,
        sim: &arguments.sim,
        fail_fast: false,
        reboot: config.timeouts.reboot,
        despite_journal: false,
        prepare: &|| Ok(()),
        next: run::again(globals, &format!("node remove {name}")),
    })?;
    if finished.outcome != Outcome::Done {
        return Ok((false, code));
    }
    record.nodes.retain(|node| node.name != *name);
    record.write(&folder.record())?;
    Ok((true, code))
}

/// The last thing: as long as the file names the worker, the same command finishes its removal.
fn forget(change: Option<&Change>, ui: &Ui) -> Result<()> {
    let Some(change) = change else { return Ok(()) };
    write(&change.file, change.before.as_deref(), &change.after)?;
    for pinned in &change.pinned {
        let file = change.file.display();
        ui.err(&format!(
            "note: `{file}` now says the {pinned}, so that it stays"
        ));
    }
    Ok(())
}

/// A worker that is no longer in the configuration, but whose machine is there.
fn left_over(name: &str) -> Box<Failure> {
    Box::new(
        Failure::new(
            Kind::Configuration,
            format!("the machine of an earlier worker `{name}` is still there"),
        )
        .because("it was made of other settings; nothing was touched")
        .advise(format!("remove it first: `wdev node remove {name}`"))
        .advise("or give the new worker another name")
        .permanent(),
    )
}

fn unknown(name: &str, workers: &[crate::config::model::Worker]) -> Box<Failure> {
    let names: Vec<&str> = workers.iter().map(|worker| worker.name.as_str()).collect();
    Box::new(
        Failure::new(Kind::NotFound, format!("there is no worker `{name}`"))
            .because(format!("there are: {}", names.join(", "))),
    )
}

/// What stands against a change, told in full; nothing was written.
fn told(refused: Refused, ui: &Ui, how: &str) -> Box<Failure> {
    match refused {
        Refused::Failure(failure) => failure,
        Refused::Problems(problems) => {
            ui.err(&problems.render(ui.err_colored()));
            Box::new(
                Failure::new(
                    Kind::Configuration,
                    format!("{how} variables.yml would be wrong as shown above"),
                )
                .advise("nothing was touched"),
            )
        }
    }
}

/// Writes the file in one move, unless somebody else has changed it meanwhile.
fn write(path: &Path, before: Option<&str>, after: &str) -> Result<()> {
    let target = file::target(path)?;
    let now = match std::fs::read_to_string(&target) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(io_failure("read", &target, &error)),
    };
    if now.as_deref() != before {
        return Err(Box::new(
            Failure::new(
                Kind::Host,
                format!(
                    "`{}` was changed by somebody else meanwhile",
                    path.display()
                ),
            )
            .advise("run the same command again: it begins with what the file says now"),
        ));
    }
    file::write(&target, after)
}
