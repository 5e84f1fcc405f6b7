//! Versions of Kubernetes: from what a user writes to an exact one, and what that says about the rest.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../common/mod.rs"]
mod common;

mod checkout;
mod judged;
mod markers;
mod site;
