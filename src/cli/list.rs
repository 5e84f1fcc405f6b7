//! `wdev list`

use std::fmt::Write as _;

use clap::Args;
use serde_json::json;

use super::{Format, Globals};
use crate::engine::journal;
use crate::engine::state::State;
use crate::error::Result;
use crate::home::{Index, Indexed, SandboxFolder};
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  wdev list\n  wdev list -o json")]
pub(super) struct Arguments {}

pub(super) fn run(globals: &Globals, _arguments: &Arguments, ui: &Ui) -> Result<u8> {
    let format = globals.format(&[Format::Text, Format::Json])?;
    let rows: Vec<Row> = Index::of_user()?.all().iter().map(Row::of).collect();
    if format == Format::Json {
        let sandboxes: Vec<_> = rows.iter().map(Row::json).collect();
        ui.out(&format!(
            "{:#}\n",
            json!({ "version": 1, "sandboxes": sandboxes })
        ))?;
        return Ok(0);
    }
    if rows.is_empty() {
        ui.out("no sandbox on this host\n")?;
        return Ok(0);
    }
    let width = rows
        .iter()
        .map(|row| row.name.len())
        .max()
        .unwrap_or(0)
        .max("SANDBOX".len());
    let mut text = format!(
        "{:width$}  {:14}  {:>5}  {:11}  FOLDER\n",
        "SANDBOX", "PROVIDER", "NODES", "LAST RUN"
    );
    for row in &rows {
        let Row {
            name,
            provider,
            machines,
            last,
            folder,
        } = row;
        let _ = writeln!(
            text,
            "{name:width$}  {provider:14}  {machines:>5}  {last:11}  {folder}"
        );
    }
    ui.out(&text)?;
    Ok(0)
}

struct Row {
    name: String,
    provider: String,
    machines: usize,
    last: String,
    folder: String,
}

impl Row {
    fn of(entry: &Indexed) -> Self {
        let folder = SandboxFolder::at(entry.folder.clone());
        let state = journal::read(&folder.journal()).map(|read| State::from_events(&read.events));
        let (provider, machines, last) = match (folder.exists(), state) {
            (false, _) => (String::new(), 0, "folder gone".to_owned()),
            (true, Err(_)) => (String::new(), 0, "unreadable".to_owned()),
            (true, Ok(state)) => {
                let last = if folder.holder().is_some() {
                    "going on".to_owned()
                } else {
                    super::status::last_word(&state).to_owned()
                };
                (
                    state.provider.unwrap_or_default(),
                    state.machines.len(),
                    last,
                )
            }
        };
        let folder = entry.folder.display().to_string();
        Self {
            name: entry.sandbox.clone(),
            provider,
            machines,
            last,
            folder,
        }
    }

    fn json(&self) -> serde_json::Value {
        let Self {
            name,
            provider,
            machines,
            last,
            folder,
        } = self;
        json!({ "sandbox": name, "provider": provider, "machines": machines, "last_run": last, "folder": folder })
    }
}
