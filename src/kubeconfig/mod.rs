//! How a user reaches the cluster from the host: the sandbox's own kubeconfig, and its entries in the
//! user's.

pub mod access;
pub mod edit;
pub mod file;
pub mod kubectl;
pub mod lock;
pub mod merge;
pub mod merged;

pub use access::Access;
