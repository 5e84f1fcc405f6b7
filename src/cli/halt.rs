//! `wdev halt`

use std::time::Duration;

use clap::Args;

use super::provider::SimArguments;
use super::run::{self, Job};
use super::{Globals, session};
use crate::error::Result;
use crate::plan::power;
use crate::plan::steps::power::Action;
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  wdev halt && wdev up      the second goes on where the sandbox was"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    sim: SimArguments,
}

pub(super) fn run(globals: &Globals, arguments: &Arguments, ui: &Ui) -> Result<u8> {
    arguments.sim.check()?;
    run::format(globals)?;
    let (folder, record) = session::recorded(globals)?;
    let _lock = folder.lock("halt")?;
    let (code, _) = run::carry_out(Job {
        globals,
        ui,
        folder: &folder,
        record: &record,
        plan: power::plan(&record.sandbox, &record.nodes, Action::Halt),
        sim: &arguments.sim,
        fail_fast: false,
        reboot: Duration::from_mins(10),
        despite_journal: false,
        prepare: &|| Ok(()),
        next: run::again(globals, "halt"),
    })?;
    Ok(code)
}
