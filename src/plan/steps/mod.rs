//! The steps, one file each. `up.rs` puts them in order.

/// In an `impl Step`: what the step tells of itself is what the script step in `$script` tells.
macro_rules! told_by {
    ($script:ident) => {
        fn id(&self) -> $crate::names::StepId {
            self.$script.id()
        }

        fn title(&self) -> String {
            self.$script.title()
        }

        fn purpose(&self) -> String {
            self.$script.purpose()
        }

        fn phase(&self) -> &'static str {
            self.$script.phase()
        }

        fn inputs(&self) -> std::collections::BTreeMap<String, String> {
            self.$script.inputs()
        }

        fn limits(&self) -> $crate::engine::step::Limits {
            self.$script.limits()
        }
    };
}

/// In an `impl Step`, beside `told_by!`: a change asks for the same, and it is the same script by hand.
macro_rules! run_as {
    ($script:ident) => {
        fn on_change(&self, changed: &[String]) -> $crate::engine::step::OnChange {
            self.$script.on_change(changed)
        }

        fn script(&self) -> Option<$crate::channel::Script> {
            self.$script.script()
        }
    };
}

pub mod address;
pub mod clock;
pub mod cluster_ready;
pub mod cni;
pub mod computer_name;
pub mod container_runtime;
pub mod control_plane;
pub mod dns;
pub mod download;
pub mod equipped;
pub mod facts;
pub mod features;
pub mod first_contact;
pub mod guest;
pub mod hns;
pub mod hook;
pub mod host;
pub mod hosts;
pub mod images;
pub mod join;
pub mod kernel;
pub mod kube_proxy;
pub mod kubeconfig;
pub mod kubernetes;
pub mod leave;
pub mod machine;
pub mod node_ready;
pub mod power;
pub mod proxy;
pub mod readiness;
pub mod swap;
pub mod worker_join;

use self::images::ImageFile;
use crate::artifacts::Store;
use crate::channel::Os;
use crate::config::Config;
use crate::config::model::{ProviderName, Worker};
use crate::home::SandboxFolder;
use crate::plan::node::Node;
use crate::release::artifacts::{LINUX, WINDOWS};
use crate::release::{Artifact, Release};
use crate::render::kubernetes::Member;

/// What a step's file builds it from.
#[derive(Clone, Copy)]
pub struct Build<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// The provider in use; never `auto`.
    pub provider: ProviderName,
    /// The node that the step is for.
    pub node: &'a Node,
    /// The sandbox's folder.
    pub folder: &'a SandboxFolder,
    /// All nodes, the control plane first.
    pub nodes: &'a [Node],
    /// Every version, settled.
    pub release: &'a Release,
    /// The files with the user's own images.
    pub images: &'a [ImageFile],
    /// The cache of artifacts; none in a simulation, and for a plan that is only shown.
    pub store: Option<&'a Store>,
}

impl<'a> Build<'a> {
    /// What the user wrote of the node, where it is a worker.
    #[must_use]
    pub fn worker(&self) -> Option<&'a Worker> {
        let mut workers = self.config.workers.iter();
        workers.find(|worker| worker.name == self.node.name.as_str())
    }

    /// The node, as its configuration sees it, where it is a worker.
    #[must_use]
    pub fn member(&self) -> Option<Member<'a>> {
        self.worker().map(|worker| Member {
            name: &worker.name,
            address: self.node.address,
            os: self.node.os,
            labels: &worker.labels,
            taints: &worker.taints,
        })
    }

    /// The artifacts of these names for the node.
    #[must_use]
    pub fn artifacts(&self, names: &[&str]) -> Vec<Artifact> {
        let platform = match self.node.os {
            Os::Linux => LINUX,
            Os::Windows => WINDOWS,
        };
        let found = names
            .iter()
            .filter_map(|name| self.release.artifact(name, platform));
        found.cloned().collect()
    }
}
