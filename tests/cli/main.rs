//! wdev as its users run it: arguments in; exit code, stdout and stderr out.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../common/mod.rs"]
mod common;

mod arguments;
mod changes;
mod env;
mod faults;
mod golden;
mod journal;
mod kubeconfig;
#[cfg(unix)]
mod kubectl;
mod locks;
mod node;
mod output;
mod paths;
#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod streams;
#[cfg(unix)]
mod vagrant;
