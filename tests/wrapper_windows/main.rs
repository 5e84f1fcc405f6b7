//! The wrapper around scripts for Windows nodes, and what runs beside it, under real PowerShell.
//!
//! PowerShell 7 here, Windows PowerShell 5.1 on the nodes: `powershell_rules.rs` holds what they have in
//! common.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;
mod ends;
mod lines;
mod node;
mod turns;
