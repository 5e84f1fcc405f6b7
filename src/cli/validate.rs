//! `wdev validate`

use clap::Args;

use super::{Format, Globals, Overrides, release, session};
use crate::config::{self, Severity};
use crate::error::Result;
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  wdev validate\n  wdev validate --config ci/variables.yml -o json"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    overrides: Overrides,
}

pub(super) fn run(globals: &Globals, arguments: &Arguments, ui: &Ui) -> Result<u8> {
    let format = globals.format(&[Format::Text, Format::Json])?;
    if format == Format::Text {
        let session = session::load(globals, &arguments.overrides, ui)?;
        release::check_known(&session.loaded, ui)?;
        let what = match &session.loaded.file {
            Some(file) => format!("`{}` is valid", file.display()),
            None => "there is no variables.yml here; the defaults are valid".to_owned(),
        };
        ui.out(&format!("{what}\n"))?;
        return Ok(0);
    }
    let diagnostics = match config::load(&session::request(globals, &arguments.overrides)?) {
        Ok(loaded) => {
            let found = release::known(&loaded);
            [loaded.notes, loaded.warnings, found].concat()
        }
        Err(problems) => problems.0,
    };
    let valid = diagnostics.iter().all(|it| it.severity != Severity::Error);
    let report = serde_json::json!({ "version": 1, "valid": valid, "diagnostics": diagnostics });
    ui.out(&format!("{report:#}\n"))?;
    Ok(if valid {
        0
    } else {
        crate::error::Kind::Configuration.exit_code()
    })
}
