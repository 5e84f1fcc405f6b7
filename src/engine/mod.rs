//! How a plan is carried out: a dispatcher, one runner per lane, messages between them, and a journal
//! that only the dispatcher writes.

mod attempt;
mod board;
mod bounded;
pub mod decide;
mod desk;
pub mod dispatcher;
pub mod journal;
pub mod lane;
mod phases;
pub mod plan;
mod reboot;
pub mod recorder;
mod runner;
pub mod state;
pub mod step;
