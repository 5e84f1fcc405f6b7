//! VirtualBox beside Vagrant.

use async_trait::async_trait;

use super::{Hypervisor, Site};

/// VirtualBox.
#[derive(Debug)]
pub struct VirtualBox {
    _site: Site,
}

impl VirtualBox {
    /// For one sandbox.
    pub fn new(site: Site) -> Self {
        Self { _site: site }
    }
}

#[async_trait]
impl Hypervisor for VirtualBox {}
