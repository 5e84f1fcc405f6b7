//! VirtualBox beside Vagrant, against a scripted `VBoxManage`: what is checked, what is noted before
//! Vagrant makes anything, and what is removed: what is ours, and nothing else.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../fakes/mod.rs"]
mod fakes;

mod check;
mod half_made;
mod shared;
mod world;
