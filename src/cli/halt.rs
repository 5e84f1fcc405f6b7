//! `wdev halt`

use clap::Args;

use super::provider::SimArguments;
use super::run::{self, Job};
use super::{Globals, session};
use crate::error::Result;
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
    let (folder, record, _lock) = session::held(globals, "halt")?;
    let at = (&folder, &record);
    let job = Job::power(globals, ui, at, &arguments.sim, Action::Halt, "halt");
    let (code, _) = run::carry_out(job)?;
    Ok(code)
}
