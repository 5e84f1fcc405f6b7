//! VMware Workstation and Fusion beside Vagrant.

use async_trait::async_trait;

use super::{Hypervisor, Site};

/// VMware Workstation and Fusion.
#[derive(Debug)]
pub struct VmWare {
    _site: Site,
}

impl VmWare {
    /// For one sandbox.
    pub fn new(site: Site) -> Self {
        Self { _site: site }
    }
}

#[async_trait]
impl Hypervisor for VmWare {}
