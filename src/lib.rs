//! `wdev`: real Kubernetes clusters with Windows nodes on your own machine.
//!
//! `docs/architecture.md` describes the parts and which of them may know which.

pub mod artifacts;
pub mod boxes;
pub mod channel;
pub mod cli;
pub mod clock;
pub mod config;
pub mod diagnose;
pub mod engine;
pub mod error;
pub mod event;
pub mod home;
pub mod kubeconfig;
pub mod ledger;
pub mod names;
pub mod os;
pub mod plan;
pub mod process;
pub mod provider;
pub mod release;
pub mod render;
pub mod replace;
pub mod stop;
pub mod ui;
pub mod yaml;
