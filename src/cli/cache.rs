//! `wdev cache`

use std::fmt::Write as _;

use clap::{Args, Subcommand};
use indicatif::BinaryBytes;
use serde_json::json;

use super::preflight::warnings;
use super::run::block_on;
use super::{Format, Globals};
use crate::clock::Clock;
use crate::error::Result;
use crate::home;
use crate::ledger::Ledger;
use crate::provider::vagrant::hypervisor::libvirt::{self, Pruned, Tools};
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Remove what providers keep of boxes for machines that are gone.
    Prune(PruneArguments),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wdev cache prune --dry-run     show what would go
  wdev cache prune

It touches only what machines of wdev's have caused, and nothing that a machine still uses. What is
needed again comes again from the box.")]
struct PruneArguments {
    /// Only show what would be removed.
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(globals: &Globals, arguments: &Arguments, ui: &Ui) -> Result<u8> {
    let Command::Prune(PruneArguments { dry_run }) = arguments.command;
    let format = globals.format(&[Format::Text, Format::Json])?;
    let ledger = Ledger::new(home::state_folder()?);
    let ui_of_notes = *ui;
    let notes = warnings(move |text| ui_of_notes.err(&format!("note: {text}")));
    let images = block_on(false, async {
        libvirt::prune(&Tools::of_host(), &ledger, Clock::new(), dry_run, &notes).await
    })?;
    if format == Format::Json {
        let images: Vec<_> = images.iter().map(row).collect();
        let removed = json!({ "version": 1, "dry_run": dry_run, "libvirt_images": images });
        ui.out(&format!("{removed:#}\n"))?;
        return Ok(0);
    }
    if images.is_empty() {
        ui.out("nothing to remove\n")?;
        return Ok(0);
    }
    let doing = if dry_run { "would remove" } else { "removed" };
    let mut text = String::new();
    for Pruned { name, bytes } in &images {
        let size = BinaryBytes(*bytes);
        let _ = writeln!(text, "{doing} libvirt's image {name} ({size})");
    }
    ui.out(&text)?;
    Ok(0)
}

fn row(image: &Pruned) -> serde_json::Value {
    json!({ "name": image.name, "bytes": image.bytes })
}
