//! The steps, one file each. `up.rs` puts them in order.

pub mod address;
pub mod clock;
pub mod cluster_ready;
pub mod cni;
pub mod computer_name;
pub mod container_runtime;
pub mod control_plane;
pub mod facts;
pub mod features;
pub mod first_contact;
pub mod guest;
pub mod hook;
pub mod host;
pub mod hosts;
pub mod join;
pub mod kernel;
pub mod kube_proxy;
pub mod kubernetes;
pub mod machine;
pub mod node_ready;
pub mod power;
pub mod readiness;
pub mod swap;
pub mod worker_join;

use crate::config::Config;
use crate::config::model::ProviderName;
use crate::plan::node::Node;

/// What a step's file builds it from.
#[derive(Clone, Copy)]
pub struct Build<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// The provider in use; never `auto`.
    pub provider: ProviderName,
    /// The node that the step is for.
    pub node: &'a Node,
    /// All nodes, the control plane first.
    pub nodes: &'a [Node],
}
