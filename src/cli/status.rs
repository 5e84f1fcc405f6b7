//! `wdev status`
use clap::Args;
use super::Globals;
use crate::error::Result;
use crate::ui::Ui;
#[derive(Debug, Args)]
pub(super) struct Arguments {}
pub(super) fn run(_g: &Globals, _a: &Arguments, _ui: &Ui) -> Result<u8> { Ok(0) }
