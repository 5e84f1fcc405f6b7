//! `wdev render`

use std::fmt::Write as _;

use clap::Args;

use super::release::Effort;
use super::{Format, Globals, Overrides, session, up};
use crate::error::Result;
use crate::home::{Index, Indexed};
use crate::plan;
use crate::plan::record::Record;
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  wdev render && less .wdev/default/rendered/Vagrantfile

By hand, in the rendered folder: `vagrant up NODE`, then `vagrant provision NODE --provision-with STEP`.")]
pub(super) struct Arguments {
    #[command(flatten)]
    overrides: Overrides,
}

pub(super) fn run(globals: &Globals, arguments: &Arguments, ui: &Ui) -> Result<u8> {
    let format = globals.format(&[Format::Text, Format::Json])?;
    let session = session::load(globals, &arguments.overrides, ui)?;
    let up::Prepared { plan, record, .. } = up::prepare(&session, Effort::Assume, ui)?;
    let folder = session.folder.rendered();
    let written = {
        // A run that is going on reads these files.
        let _lock = session.folder.lock("render")?;
        if Record::find(&session.folder)?.is_none() {
            // So that `list` and `destroy` know what is made by hand with these files.
            Index::of_user()?.add(&Indexed {
                sandbox: record.sandbox.clone(),
                folder: session.folder.path().to_owned(),
            })?;
            record.write(&session.folder.record())?;
        }
        plan::render::write(&plan, &record, &session.loaded.config, &folder)?
    };
    if format == Format::Json {
        let report = serde_json::json!({ "version": 1, "folder": folder, "written": written });
        ui.out(&format!("{report:#}\n"))?;
    } else {
        let mut text = String::new();
        for file in &written {
            let _ = writeln!(text, "wrote {}", file.display());
        }
        if written.is_empty() {
            text = format!("`{}` is up to date\n", folder.display());
        }
        ui.out(&text)?;
    }
    Ok(0)
}
