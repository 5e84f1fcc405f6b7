//! `wdev exec NODE -- COMMAND`

use std::sync::{Arc, OnceLock};

use clap::Args;

use super::provider::{self, SimArguments};
use super::run::block_on;
use super::{Format, Globals, session};
use crate::channel::{Io, Line};
use crate::clock::Clock;
use crate::config::model::ProviderName;
use crate::error::{Failure, Kind, Result};
use crate::event::Stream;
use crate::names::LaneName;
use crate::plan::record::Record;
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wdev exec cp -- cat /etc/os-release
  wdev exec winw1 -- hostname

The command's exit code is passed on; when the node cannot be reached it is 5.")]
pub(super) struct Arguments {
    /// The node.
    node: String,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(super) fn run(globals: &Globals, arguments: &Arguments, ui: &Ui) -> Result<u8> {
    globals.format(&[Format::Text])?;
    let (folder, record) = session::recorded(globals)?;
    let lane = node(&record, &arguments.node)?;
    let simulated = record.provider == ProviderName::Sim;
    if simulated {
        ui.err("SIMULATION: no machine is real");
    }
    let out = *ui;
    let lost = Arc::new(OnceLock::new());
    let first_lost = Arc::clone(&lost);
    let code = block_on(simulated, async {
        let provider = provider::open(&record, &folder, Clock::new(), &SimArguments::default())?;
        let output = move |line: Line| match line.stream {
            Stream::Stdout => {
                if let Err(failure) = out.out(&format!("{}\n", line.text)) {
                    let _ = first_lost.set(failure);
                }
            }
            _ => out.err(&line.text),
        };
        let io = Io {
            output: Arc::new(output),
            stop: super::signals::stop(),
        };
        let ran = provider.channel(&lane).exec(&arguments.command, &io).await;
        ran.map_err(|failure| match failure.kind {
            Kind::Provider if failure.advice.is_empty() => {
                Box::new(failure.advise("see `wdev status`; `wdev up` starts what is off"))
            }
            _ => failure,
        })
    })?;
    match lost.get() {
        Some(failure) if code == 0 => Err(failure.clone()),
        _ => Ok(u8::try_from(code).unwrap_or(1)),
    }
}

/// The node of that name.
///
/// # Errors
/// `NotFound`, with the names that there are.
pub(super) fn node(record: &Record, name: &str) -> Result<LaneName> {
    let found = record.nodes.iter().find(|node| node.name.as_str() == name);
    found.map(|node| node.name.clone()).ok_or_else(|| {
        let names: Vec<String> = record
            .nodes
            .iter()
            .map(|node| node.name.to_string())
            .collect();
        Box::new(
            Failure::new(
                Kind::NotFound,
                format!("the sandbox `{}` has no node `{name}`", record.sandbox),
            )
            .because(format!("its nodes are {}", names.join(", "))),
        )
    })
}
