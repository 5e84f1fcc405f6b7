//! `wdev fetch`

use std::fmt::Write as _;
use std::sync::Arc;

use clap::Args;
use indicatif::BinaryBytes;
use serde_json::json;

use super::run::block_on;
use super::session::{self, Session};
use super::{Format, Globals, Overrides, signals};
use crate::artifacts::{Store, Stored, Wanted};
use crate::channel::{Io, Line};
use crate::clock::Clock;
use crate::config::redact_url;
use crate::error::{Failure, Kind, Result};
use crate::release::lock;
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wdev fetch                                what this sandbox needs, so that `up` downloads nothing
  wdev fetch --kubernetes-version v1.36.3   for another version
  wdev fetch -o json                        with the files' places

What is in the cache already is only checked. A download that is cut goes on where it stopped.")]
pub(super) struct Arguments {
    #[command(flatten)]
    overrides: Overrides,
}

pub(super) fn run(globals: &Globals, arguments: &Arguments, ui: &Ui) -> Result<u8> {
    let format = globals.format(&[Format::Text, Format::Json])?;
    let session = session::load(globals, &arguments.overrides, ui)?;
    let wanted = wanted(&session)?;
    let progress = ui.progress();
    let fetched = block_on(false, async {
        let io = Io {
            output: Arc::new(move |line: Line| progress.tell(&line.text)),
            stop: signals::stop(),
        };
        let store = Store::of_user(&session.loaded.config.artifacts, Clock::new())?;
        store.ensure_all(&wanted, &io).await
    })?;
    let rows = wanted.iter().zip(&fetched);
    if format == Format::Json {
        let files: Vec<_> = rows.map(row).collect();
        ui.out(&format!(
            "{:#}\n",
            json!({ "version": 1, "artifacts": files })
        ))?;
        return Ok(0);
    }
    let mut text = String::new();
    for (
        wanted,
        Stored {
            bytes, from_cache, ..
        },
    ) in rows
    {
        let how = if *from_cache { "cached " } else { "fetched" };
        let _ = writeln!(text, "{how}  {} ({})", wanted.name, BinaryBytes(*bytes));
    }
    ui.out(&text)?;
    Ok(0)
}

/// What `up` of this configuration will need.
// SEAM: for now what `wdev.lock` lists; to be what the release of this configuration consists of.
fn wanted(session: &Session) -> Result<Vec<Wanted>> {
    match lock::read(&session.loaded.dir)? {
        Some(release) => Ok(release.artifacts.iter().map(Wanted::from).collect()),
        None => Err(Box::new(
            Failure::new(Kind::NotFound, "there is no `wdev.lock` here")
                .advise("write it with `wdev lock`"),
        )),
    }
}

fn row((wanted, stored): (&Wanted, &Stored)) -> serde_json::Value {
    json!({
        "name": wanted.name,
        "url": redact_url(&wanted.url),
        "sha256": stored.sha256,
        "bytes": stored.bytes,
        "from_cache": stored.from_cache,
        "path": stored.path.to_string_lossy(),
    })
}
