//! Windows: not talked to yet.

use super::{Errand, Guest};
use crate::channel::Script;
use crate::channel::wrap::not_built;
use crate::error::{Failure, Kind, Result};

/// A machine with Windows Server.
#[derive(Debug)]
pub struct Windows;

impl Guest for Windows {
    fn wrap(&self, script: &Script, _nonce: &str, _unseen: &[String]) -> Result<String> {
        Err(not_built(script))
    }

    fn run(&self, _size: u64) -> Result<String> {
        Err(later())
    }

    fn exec(&self, _argv: &[String]) -> Result<String> {
        Err(later())
    }

    fn receive(&self, _to: &str, _hash: &str) -> Result<String> {
        Err(later())
    }

    fn send(&self, _from: &str) -> Result<String> {
        Err(later())
    }

    fn boot_identity(&self) -> Result<String> {
        Err(later())
    }

    fn errand(&self, _errand: Errand<'_>) -> Result<String> {
        Err(later())
    }

    fn landing(&self, nonce: &str) -> String {
        format!("C:/Windows/Temp/wdev-{nonce}")
    }
}

fn later() -> Box<Failure> {
    Box::new(
        Failure::new(Kind::Step, "nodes with Windows cannot be talked to yet")
            .advise("try it without machines: add `--provider sim`")
            .permanent(),
    )
}
