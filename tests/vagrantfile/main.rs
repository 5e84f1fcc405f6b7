//! The Vagrantfile: what it says to Vagrant, checked with real Ruby and real Vagrant.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../common/mod.rs"]
mod common;

mod docker;
mod hypervisors;
mod sandbox;
mod snapshots;
mod validate;
