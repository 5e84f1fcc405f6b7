//! `wdev completion SHELL`

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Cli, Format, Globals};
use crate::error::Result;
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  wdev completion bash > ~/.local/share/bash-completion/completions/wdev"
)]
pub(super) struct Arguments {
    /// The shell.
    shell: Shell,
}

pub(super) fn run(globals: &Globals, arguments: &Arguments, ui: &Ui) -> Result<u8> {
    globals.format(&[Format::Text])?;
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "wdev", &mut script);
    ui.out(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
