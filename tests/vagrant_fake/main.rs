//! The Vagrant driver against a scripted fake: what it calls, what it believes, what it says.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../fakes/mod.rs"]
mod fakes;

mod check;
mod commands;
mod direct;
mod inspect;
mod lifecycle;
mod own_address;
mod scripts;
mod through;
mod world;
