//! `wdev config show|schema|migrate`

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Format, Globals, Overrides, session};
use crate::config;
use crate::error::{Failure, Kind, Result};
use crate::home::write_whole;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show every effective value and where it comes from.
    #[command(
        after_help = "Examples:\n  wdev config show\n  wdev config show -o json | jq .values"
    )]
    Show {
        #[command(flatten)]
        overrides: Overrides,
    },
    /// Print the JSON Schema of variables.yml, for editors.
    #[command(after_help = "Example:\n  wdev config schema > variables.schema.json")]
    Schema,
    /// Write a predecessor's flat variables file in the new form.
    #[command(
        after_help = "Examples:\n  wdev config migrate              print it\n  wdev config migrate --write      replace the file, keeping the old one as FILE.old"
    )]
    Migrate {
        /// The file; variables.yml or variables.yaml in this folder without it.
        file: Option<PathBuf>,
        /// Replace the file instead of printing.
        #[arg(long)]
        write: bool,
    },
}

pub(super) fn run(globals: &Globals, arguments: &Arguments, ui: &Ui) -> Result<u8> {
    match &arguments.command {
        Command::Show { overrides } => show(globals, overrides, ui),
        Command::Schema => {
            globals.format(&[Format::Text, Format::Json])?;
            ui.out(&format!("{:#}\n", config::schema()))?;
            Ok(0)
        }
        Command::Migrate { file, write } => migrate(globals, file.clone(), *write, ui),
    }
}

fn show(globals: &Globals, overrides: &Overrides, ui: &Ui) -> Result<u8> {
    let format = globals.format(&[Format::Text, Format::Yaml, Format::Json])?;
    let session = session::load(globals, overrides, ui)?;
    let text = match format {
        Format::Json => format!("{:#}\n", config::show_json(&session.loaded)),
        Format::Text | Format::Yaml => config::show_yaml(&session.loaded),
    };
    ui.out(&text)?;
    Ok(0)
}

fn migrate(globals: &Globals, file: Option<PathBuf>, write: bool, ui: &Ui) -> Result<u8> {
    globals.format(&[Format::Text, Format::Yaml])?;
    let file = match file.or_else(|| globals.config.clone()) {
        Some(file) => file,
        None => ["variables.yml", "variables.yaml"]
            .into_iter()
            .map(PathBuf::from)
            .find(|file| file.exists())
            .ok_or_else(|| {
                Failure::new(
                    Kind::Configuration,
                    "there is no variables.yml or variables.yaml here",
                )
                .advise("name the file: `wdev config migrate FILE`")
            })?,
    };
    let migrated = config::migrate(&file).map_err(|problems| session::invalid(&problems, ui))?;
    if !write {
        ui.out(&migrated)?;
        return Ok(0);
    }
    let old = file.with_added_extension("old");
    std::fs::copy(&file, &old).map_err(|error| crate::error::io_failure("write", &old, &error))?;
    write_whole(&file, migrated.as_bytes())?;
    ui.err(&format!(
        "wrote `{}`; the old one is `{}`\n",
        file.display(),
        old.display()
    ));
    Ok(0)
}
