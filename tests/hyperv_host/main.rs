//! The scripts for a Hyper-V host, run by real PowerShell on cmdlets that are doubled over a world in a file.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

#[path = "../common/mod.rs"]
mod common;

mod check;
mod doubles;
#[path = "../fakes/mod.rs"]
mod fakes;
mod host;
mod machine;
mod network;
mod shared;
mod wdev;
