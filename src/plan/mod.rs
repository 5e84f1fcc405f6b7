//! What is done: the lanes and steps of each command.

pub mod naming;
pub mod node;
pub mod power;
pub mod record;
pub mod render;
pub mod steps;
pub mod up;

use crate::config::Config;
use crate::config::model::ProviderName;

/// What a plan is made for.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// The provider in use; never `auto`.
    pub provider: ProviderName,
    /// What the names of all that it has on this host begin with.
    pub prefix: &'a str,
}
