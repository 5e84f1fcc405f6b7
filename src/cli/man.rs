//! `wdev man`

use clap::{Args, CommandFactory};

use super::{Cli, Format, Globals};
use crate::error::{Failure, Kind, Result};
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  wdev man | man -l -\n  wdev man up > wdev-up.1")]
pub(super) struct Arguments {
    /// The command to describe; wdev as a whole without it.
    command: Option<String>,
}

pub(super) fn run(globals: &Globals, arguments: &Arguments, ui: &Ui) -> Result<u8> {
    globals.format(&[Format::Text])?;
    let mut command = Cli::command();
    command.build();
    if let Some(name) = &arguments.command {
        let Some(found) = command.find_subcommand(name) else {
            return Err(Box::new(
                Failure::new(Kind::Arguments, format!("there is no command `{name}`"))
                    .advise("`wdev --help` lists them"),
            ));
        };
        command = found.clone();
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| Failure::new(Kind::Bug, "cannot write the manual page").because(error))?;
    ui.out(&String::from_utf8_lossy(&page))?;
    Ok(0)
}
