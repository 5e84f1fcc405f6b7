//! `wdev destroy`

use std::time::Duration;

use clap::Args;
use dialoguer::Confirm;

use super::Globals;
use super::provider::SimArguments;
use super::run::{self, Job};
use super::session::{self, Existing};
use crate::error::{Failure, Kind, Result};
use crate::home::{Index, SandboxFolder};
use crate::plan::power;
use crate::plan::record::Record;
use crate::plan::steps::power::Action;
use crate::ui::{Ui, prompts_possible};

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
    let Existing {
        name,
        folder,
        record,
    } = match session::existing(globals) {
        Err(failure) if failure.kind == Kind::NotFound => {
            ui.err(&format!("nothing to destroy: {failure}"));
            return Ok(0);
        }
        found => found?,
    };
    confirm(globals, &name, &folder, record.as_ref())?;
    let lock = folder.lock("destroy")?;
    if let Some(record) = &record {
        let (code, _) = run::carry_out(Job {
            globals,
            ui,
            folder: &folder,
            record,
            plan: power::plan(&record.sandbox, &record.nodes, Action::Destroy),
            sim: &arguments.sim,
            fail_fast: false,
            reboot: Duration::from_mins(10),
            despite_journal: true,
            next: "wdev destroy".to_owned(),
        })?;
        if code != 0 {
            return Ok(code);
        }
    }
    folder.remove(lock)?;
    Index::of_user()?.remove(folder.path())?;
    Ok(0)
}

fn confirm(
    globals: &Globals,
    name: &str,
    folder: &SandboxFolder,
    record: Option<&Record>,
) -> Result<()> {
    if globals.yes {
        return Ok(());
    }
    if !prompts_possible(globals.no_input) {
        return Err(Box::new(
            Failure::new(
                Kind::Arguments,
                format!("`destroy` of `{name}` must be confirmed, and nobody can be asked"),
            )
            .advise("run `wdev destroy --yes`"),
        ));
    }
    let nodes = record.map_or(0, |record| record.nodes.len());
    let question = format!(
        "Remove sandbox `{name}` with {nodes} machines, and `{}`?",
        folder.path().display()
    );
    let confirmed = Confirm::new()
        .with_prompt(question)
        .default(false)
        .interact()
        .map_err(|error| Failure::new(Kind::Interrupted, "nobody answered").because(error))?;
    if confirmed {
        Ok(())
    } else {
        Err(Box::new(Failure::new(
            Kind::Interrupted,
            "nothing was removed: you said no",
        )))
    }
}
