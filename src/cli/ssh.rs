//! `wdev ssh NODE`

use clap::Args;

use super::run::block_on;
use super::{Globals, exec, provider, session};
use crate::clock::Clock;
use crate::config::model::ProviderName;
use crate::error::{Failure, Kind, Result};
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  wdev ssh cp")]
pub(super) struct Arguments {
    /// The node.
    node: String,
}

pub(super) fn run(globals: &Globals, arguments: &Arguments, _ui: &Ui) -> Result<u8> {
    let (folder, record) = session::recorded(globals)?;
    let lane = exec::node(&record, &arguments.node)?;
    if record.provider == ProviderName::Sim {
        return Err(Box::new(
            Failure::new(Kind::Arguments, "a simulated node has no shell")
                .advise(format!("`wdev exec {lane} -- hostname`")),
        ));
    }
    let mut command = block_on(false, async {
        provider::open_vagrant(&record, &folder, Clock::new())?
            .ssh_command(&lane, &crate::channel::Io::silent())
            .await
    })?;
    let status = command.status().map_err(|error| {
        Failure::new(Kind::Host, "cannot start `ssh`")
            .because(error)
            .advise("install an OpenSSH client and put it on the PATH")
    })?;
    // Killed by a signal: the shell's own convention has no code that fits here better.
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(1))
}
