//! How a plan is carried out: a dispatcher, one runner per lane, messages between them, and a journal
//! that only the dispatcher writes.

mod board;
mod bounded;
pub mod decide;
pub mod dispatcher;
pub mod journal;
pub mod lane;
pub mod plan;
mod reboot;
pub mod recorder;
pub mod state;
pub mod step;
