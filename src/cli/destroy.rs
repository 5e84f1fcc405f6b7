//! `wdev destroy`

use clap::Args;

use super::ask::{self, Removal};
use super::provider::{self, SimArguments};
use super::run::{self, Job};
use super::session::{self, Existing};
use super::standing::machines_possible;
use super::{Globals, kubeconfig};
use crate::clock::Clock;
use crate::config::model::ProviderName;
use crate::error::{Failure, Kind, Result, io_failure};
use crate::event::Outcome;
use crate::home::{Index, SandboxFolder};
use crate::plan::record::Record;
use crate::plan::steps::power::Action;
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wdev destroy
  wdev destroy --yes --sandbox pr-1234     for CI

It works on a half-made sandbox, without a valid configuration, and twice.")]
pub(super) struct Arguments {
    #[command(flatten)]
    sim: SimArguments,
}

pub(super) fn run(globals: &Globals, arguments: &Arguments, ui: &Ui) -> Result<u8> {
    arguments.sim.check()?;
    run::format(globals)?;
    let Existing {
        name,
        folder,
        record,
    } = match session::existing(globals) {
        Err(failure) if failure.kind == Kind::NotFound => {
            ui.err(&format!("nothing to destroy: {failure}"));
            // A folder that was removed by hand leaves its entry in the index.
            if let Ok((_, folder)) = session::named(globals) {
                Index::of_user()?.remove(folder.path())?;
            }
            return Ok(0);
        }
        found => found?,
    };
    if record.is_none() {
        not_linked(&folder)?;
    }
    // Also while the question waits: what it tells is still so when the answer comes.
    let lock = folder.lock("destroy")?;
    let record = Record::find(&folder)?;
    confirm(globals, &name, &folder, record.as_ref(), ui)?;
    let mut result = 0;
    if let Some(record) = record.as_ref().filter(|_| machines_possible(&folder)) {
        if record.provider == ProviderName::Sim {
            forget_broken_world(record, &folder, ui)?;
        }
        let at = (&folder, record);
        let job = Job::power(globals, ui, at, &arguments.sim, Action::Destroy, "destroy");
        let (code, finished) = run::carry_out(Job {
            despite_journal: true,
            ..job
        })?;
        if finished.outcome != Outcome::Done {
            return Ok(code);
        }
        // What could not be told is no reason to leave something behind.
        result = code;
    }
    // It leads nowhere any more. A kubeconfig that is broken is the user's to mend, and stops nothing.
    for failure in kubeconfig::remove_all(&folder, ui) {
        ui.err(&format!("warning: {failure}"));
        for advice in &failure.advice {
            ui.err(&format!("  {advice}"));
        }
    }
    // While the lock is held: what a later run notes in the index stays there.
    Index::of_user()?.remove(folder.path())?;
    folder.remove(lock)?;
    Ok(result)
}

/// Refuses to empty a folder that wdev has made nothing in, and that is not even its own.
fn not_linked(folder: &SandboxFolder) -> Result<()> {
    let path = folder.path();
    if !path.is_symlink() || std::fs::read_dir(path).is_ok_and(|mut all| all.next().is_none()) {
        return Ok(());
    }
    Err(Box::new(
        Failure::new(
            Kind::Host,
            format!(
                "`{}` is a link to a folder that holds no sandbox",
                path.display()
            ),
        )
        .advise("remove the link; nothing was touched"),
    ))
}

/// A simulated world that cannot be read is no machine that could be left behind.
fn forget_broken_world(record: &Record, folder: &SandboxFolder, ui: &Ui) -> Result<()> {
    let opened = run::block_on(true, async {
        provider::open(record, folder, Clock::new(), &SimArguments::default()).map(|_| ())
    });
    if let Err(failure) = opened {
        ui.err(&format!("warning: {failure}; it is removed"));
        let world = folder.sim();
        std::fs::remove_dir_all(&world).map_err(|error| io_failure("remove", &world, &error))?;
    }
    Ok(())
}

fn confirm(
    globals: &Globals,
    name: &str,
    folder: &SandboxFolder,
    record: Option<&Record>,
    ui: &Ui,
) -> Result<()> {
    let nodes = record.map_or(0, |record| record.nodes.len());
    let machines = crate::event::text::count(nodes, "machine");
    let removal = Removal {
        what: format!("`destroy` of `{name}`"),
        again: "destroy --yes",
        told: format!(
            "sandbox `{name}`: {machines} and the folder\n  {}",
            folder.path().display()
        ),
        question: "Remove all of it?",
    };
    ask::confirm(globals, &removal, ui)
}
