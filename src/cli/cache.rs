//! `wdev cache`

use std::collections::BTreeSet;
use std::fmt::Write as _;

use clap::{Args, Subcommand};
use indicatif::BinaryBytes;
use serde_json::json;

use super::preflight::warnings;
use super::run::block_on;
use super::{Format, Globals};
use crate::artifacts::folder_of_user;
use crate::artifacts::prune::{Pruned, Removed, Rule, prune};
use crate::clock::Clock;
use crate::engine::journal;
use crate::engine::state::State;
use crate::error::Result;
use crate::home::{self, Index, Indexed, SandboxFolder};
use crate::ledger::Ledger;
use crate::provider::vagrant::hypervisor::libvirt::{self, Tools};
use crate::release::lock;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Remove downloads that nobody needs, and what providers keep of boxes for machines that are gone.
    Prune(PruneArguments),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wdev cache prune --dry-run     show what would go
  wdev cache prune               downloads that no sandbox of this host needs and nobody used for 30 days
  wdev cache prune --all         all downloads; the next `up` fetches again what it needs

It touches only what wdev's machines and downloads have caused, and nothing that a machine or a download
still uses.")]
struct PruneArguments {
    /// Only show what would be removed.
    #[arg(long)]
    dry_run: bool,
    /// Remove all downloads, also those that sandboxes need or that were used lately.
    #[arg(long)]
    all: bool,
}

pub(super) fn run(globals: &Globals, arguments: &Arguments, ui: &Ui) -> Result<u8> {
    let Command::Prune(PruneArguments { dry_run, all }) = arguments.command;
    let format = globals.format(&[Format::Text, Format::Json])?;
    let ledger = Ledger::new(home::state_folder()?);
    let ui_of_notes = *ui;
    let notes = warnings(move |text| ui_of_notes.err(&format!("note: {text}")));
    // First: it cannot fail for the want of a hypervisor.
    let rule = Rule::new(needed(&Index::of_user()?), all, dry_run);
    let Pruned { files, busy } = prune(&folder_of_user()?, &rule)?;
    if busy && all {
        ui.err("note: another wdev uses the cache: only what was not used for 30 days goes");
    }
    let images = block_on(false, async {
        libvirt::prune(&Tools::of_host(), &ledger, Clock::new(), dry_run, &notes).await
    })?;
    let freed: u64 = files.iter().map(|file| file.bytes).sum();
    if format == Format::Json {
        let images: Vec<_> = images
            .iter()
            .map(|image| row(&image.name, image.bytes))
            .collect();
        let artifacts: Vec<_> = files
            .iter()
            .map(|file| row(&file.what, file.bytes))
            .collect();
        let removed = json!({
            "version": 1,
            "dry_run": dry_run,
            "libvirt_images": images,
            "artifacts": artifacts,
            "artifact_bytes": freed,
        });
        ui.out(&format!("{removed:#}\n"))?;
        return Ok(0);
    }
    if images.is_empty() && files.is_empty() {
        ui.out("nothing to remove\n")?;
        return Ok(0);
    }
    let doing = if dry_run { "would remove" } else { "removed" };
    let mut text = String::new();
    for Removed { what, bytes } in &files {
        let _ = writeln!(text, "{doing} {what} ({})", BinaryBytes(*bytes));
    }
    if !files.is_empty() {
        let freeing = if dry_run { "would free" } else { "freed" };
        let _ = writeln!(text, "{freeing} {} of downloads", BinaryBytes(freed));
    }
    for image in &images {
        let size = BinaryBytes(image.bytes);
        let _ = writeln!(text, "{doing} libvirt's image {} ({size})", image.name);
    }
    ui.out(&text)?;
    Ok(0)
}

/// The hashes of the files that the sandboxes of this host were made of, or that their lock files list.
fn needed(index: &Index) -> BTreeSet<String> {
    index.all().iter().flat_map(needed_by).collect()
}

/// What cannot be read needs nothing: what is missing later is fetched again.
fn needed_by(entry: &Indexed) -> Vec<String> {
    let folder = SandboxFolder::at(entry.folder.clone());
    let recorded = journal::read(&folder.journal()).unwrap_or_default();
    let state = State::from_events(&recorded.events);
    let done = state.steps.values().filter_map(|step| step.done.as_ref());
    let facts = done.flat_map(|done| done.facts.values().cloned());
    // The folder is `.wdev/SANDBOX` of the project.
    let project = entry.folder.ancestors().nth(2);
    let locked = project.and_then(|project| lock::read(project).ok().flatten());
    let artifacts = locked.into_iter().flat_map(|release| release.artifacts);
    facts
        .chain(artifacts.map(|artifact| artifact.sha256))
        .collect()
}

fn row(name: &str, bytes: u64) -> serde_json::Value {
    json!({ "name": name, "bytes": bytes })
}
