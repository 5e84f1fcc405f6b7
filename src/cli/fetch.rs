//! `wdev fetch`

use std::fmt::Write as _;
use std::sync::Arc;

use clap::Args;
use indicatif::BinaryBytes;
use serde_json::json;

use super::release::{Effort, Wish, settle};
use super::run::block_on;
use super::{Format, Globals, Overrides, session, signals};
use crate::artifacts::{Store, Stored};
use crate::channel::{Io, Line};
use crate::clock::Clock;
use crate::config::model::ProviderName;
use crate::config::redact_url;
use crate::error::Result;
use crate::plan::fetch;
use crate::plan::record::Record;
use crate::release::Artifact;
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
    let config = &session.loaded.config;
    let earlier = Record::find(&session.folder)?;
    let provider = match (config.provider, &earlier) {
        (ProviderName::Auto, Some(earlier)) => earlier.provider,
        // On this host need not be what another host will make machines with.
        (provider, _) => provider,
    };
    let wish = Wish {
        config,
        project: &session.loaded.dir,
        provider,
        earlier: earlier.as_ref(),
    };
    let release = settle(wish, Effort::Ask, ui)?;
    let progress = ui.progress();
    let fetched = block_on(false, async {
        let io = Io {
            output: Arc::new(move |line: Line| progress.tell(&line.text)),
            stop: signals::stop(),
        };
        let store = Store::of_user(&config.artifacts, Clock::new())?;
        fetch::files(&release.artifacts, &store, &io).await
    })?;
    if format == Format::Json {
        let files: Vec<_> = fetched.iter().map(row).collect();
        ui.out(&format!(
            "{:#}\n",
            json!({ "version": 1, "artifacts": files })
        ))?;
        return Ok(0);
    }
    let mut text = String::new();
    for (artifact, stored) in &fetched {
        let how = if stored.from_cache {
            "cached "
        } else {
            "fetched"
        };
        let (name, bytes) = (fetch::name(artifact), BinaryBytes(stored.bytes));
        let _ = writeln!(text, "{how}  {name} ({bytes})");
    }
    ui.out(&text)?;
    Ok(0)
}

fn row((artifact, stored): &(Artifact, Stored)) -> serde_json::Value {
    json!({
        "name": artifact.name,
        "platform": artifact.platform,
        "version": artifact.version,
        "url": redact_url(&artifact.url),
        "sha256": stored.sha256,
        "bytes": stored.bytes,
        "from_cache": stored.from_cache,
        "path": stored.path.to_string_lossy(),
    })
}
