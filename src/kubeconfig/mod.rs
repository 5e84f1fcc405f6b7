//! How a user reaches the cluster from the host: the sandbox's own kubeconfig, and its entries in the
//! user's.

pub mod edit;
pub mod tree;
