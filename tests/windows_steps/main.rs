//! The scripts for Windows nodes, in their wrapper, under real PowerShell and against doubled commands.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;

mod address;
mod cluster;
mod container_runtime;
mod features;
mod first_contact;
mod join;
mod kubernetes;
mod node;
mod node_ready;
mod reach;
mod refusals;
mod ways;
