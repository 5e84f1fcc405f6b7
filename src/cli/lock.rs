//! `wdev lock`

use std::collections::BTreeSet;
use std::fmt::Write as _;

use clap::Args;
use serde_json::json;

use super::release::{Wish, ask, exact_of, told, with_lock};
use super::run::block_on;
use super::{Format, Globals, Overrides, session};
use crate::artifacts::Store;
use crate::clock::Clock;
use crate::error::{Failure, Kind, Result};
use crate::home::write_whole;
use crate::plan::fetch;
use crate::release::{Proof, Release, lock};
use crate::ui::Ui;

/// What `--update` calls Kubernetes itself, with all its binaries.
const KUBERNETES: &str = "kubernetes";
/// What `--update` without a name means.
const EVERYTHING: &str = "";

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wdev lock                       write wdev.lock, keeping what it has
  wdev lock --update              resolve everything anew
  wdev lock --update kubernetes   only the version of Kubernetes
  wdev up --locked                refuse to differ from it

Commit wdev.lock beside variables.yml: then everybody builds the same sandbox.")]
pub(super) struct Arguments {
    #[command(flatten)]
    overrides: Overrides,
    /// Resolve anew: everything, or one part such as `kubernetes`, `containerd`, `runc`.
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = EVERYTHING)]
    update: Option<String>,
}

pub(super) fn run(globals: &Globals, arguments: &Arguments, ui: &Ui) -> Result<u8> {
    let format = globals.format(&[Format::Text, Format::Json])?;
    let session = session::load(globals, &arguments.overrides, ui)?;
    let config = &session.loaded.config;
    let wish = Wish {
        config,
        project: &session.loaded.dir,
        provider: config.provider,
        earlier: None,
    };
    let before = lock::read(wish.project)?;
    let updates = |name: &str| {
        let asked = arguments.update.as_deref();
        asked.is_some_and(|asked| asked == EVERYTHING || asked == name)
    };
    let kept = before.as_ref().filter(|before| wish.fits(before));
    let exact = match kept.filter(|_| !updates(KUBERNETES)) {
        Some(kept) => exact_of(kept),
        None => ask(config, ui)?,
    };
    let fresh = wish.of(exact);
    if let Some(name) = &arguments.update {
        check_name(name, &fresh)?;
    }
    let release = match &before {
        Some(before) => {
            let mut before = before.clone();
            before.artifacts.retain(|artifact| !updates(&artifact.name));
            with_lock(fresh, &before)
        }
        None => fresh,
    };
    let release = with_hashes(release, wish, ui)?;
    let text = lock::text(&release)?;
    let path = lock::path(wish.project);
    // A checkout on Windows may have turned the line ends around.
    let same = std::fs::read_to_string(&path).is_ok_and(|old| old.replace("\r\n", "\n") == text);
    if !same {
        write_whole(&path, text.as_bytes())?;
    }
    let changes = match &before {
        Some(before) => lock::differences(before, &release),
        None => Vec::new(),
    };
    if format == Format::Json {
        let report = json!({
            "version": 1,
            "path": path.display().to_string(),
            "changed": !same,
            "kubernetes": release.kubernetes,
            "changes": changes,
        });
        ui.out(&format!("{report:#}\n"))?;
        return Ok(0);
    }
    let what = if same { "is up to date" } else { "is written" };
    let mut said = format!(
        "{} {what}: Kubernetes {}, {} artifacts\n",
        path.display(),
        release.kubernetes,
        lock::listed(&release).count(),
    );
    for change in changes {
        let _ = writeln!(said, "  {change}");
    }
    ui.out(&said)?;
    Ok(0)
}

/// Finds every hash; what has no checksum file is downloaded, since nothing else can tell.
fn with_hashes(mut release: Release, wish: Wish<'_>, ui: &Ui) -> Result<Release> {
    let store = Store::of_user(&wish.config.artifacts, Clock::new())?;
    let io = told(ui);
    let own = |proof: Proof| proof == Proof::Own;
    let (mine, theirs): (Vec<_>, Vec<_>) = std::mem::take(&mut release.artifacts)
        .into_iter()
        .partition(|artifact| own(artifact.proof));
    release.artifacts = block_on(false, async {
        let found = fetch::with_hashes(&theirs, &store, &io).await?;
        let (known, unknown): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|one| !one.sha256.is_empty());
        let downloaded = fetch::all(&unknown, &store, &io).await?;
        Ok([known, downloaded, mine].concat())
    })?;
    Ok(release)
}

fn check_name(name: &str, fresh: &Release) -> Result<()> {
    let names: BTreeSet<&str> = lock::listed(fresh)
        .map(|artifact| artifact.name.as_str())
        .chain([KUBERNETES, EVERYTHING])
        .collect();
    if names.contains(name) {
        return Ok(());
    }
    let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
    Err(Box::new(
        Failure::new(
            Kind::Arguments,
            format!("`--update {name}`: nothing in the lock file is called that"),
        )
        .because(format!("there are: {}", names.join(", "))),
    ))
}
