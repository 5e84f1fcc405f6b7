//! libvirt beside Vagrant.

use async_trait::async_trait;

use super::{Hypervisor, Site};

/// libvirt.
#[derive(Debug)]
pub struct Libvirt {
    _site: Site,
}

impl Libvirt {
    /// For one sandbox.
    pub fn new(site: Site) -> Self {
        Self { _site: site }
    }
}

#[async_trait]
impl Hypervisor for Libvirt {}
