//! Hyper-V beside Vagrant.

use async_trait::async_trait;

use super::{Hypervisor, Site};

/// Hyper-V.
#[derive(Debug)]
pub struct HyperV {
    _site: Site,
}

impl HyperV {
    /// For one sandbox.
    pub fn new(site: Site) -> Self {
        Self { _site: site }
    }
}

#[async_trait]
impl Hypervisor for HyperV {}
