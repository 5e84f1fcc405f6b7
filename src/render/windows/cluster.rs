//! The bodies of the steps that make a Windows node a part of the cluster, and hold that it is a good one.

use std::net::Ipv4Addr;

use serde::Serialize;

use super::software::{KUBELET, PROGRAMS, SERVICES};
use super::{PROGRAM, body};
use crate::error::Result;
use crate::os::Os;
use crate::render::kubernetes::{KubeletService, discovery_file, socket};
use crate::render::linux_cluster::server;

/// What a Windows node asks the cluster about itself, and tells when something is wrong.
const NODE: &str = include_str!("../../../powershell/parts/node.ps1");

/// How long the scripts wait, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// A probe, for an API server that does not answer.
    pub glance: u64,
    /// A run, for the API server and then for the cluster to know the node.
    pub run: u64,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            glance: 10,
            run: 120,
        }
    }
}

/// What `kubeadm join` is to do on a Windows node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Join<'a> {
    /// The node's name, in lower case.
    pub node: &'a str,
    /// Its own address, which it registers.
    pub address: Ipv4Addr,
    /// The control plane's address.
    pub control_plane: Ipv4Addr,
    /// The text for `kubeadm join --config`, by `Cluster::join`.
    pub config: &'a str,
    /// What else a node takes over when it joins: once it changes, the node joins anew.
    pub also: &'a str,
    /// The kubelet's service, to whose line kubeadm's arguments are added.
    pub kubelet: &'a KubeletService,
    /// Whether kubeadm looks for certificates below the kubelet's folder.
    pub links_pki: bool,
    /// How long it waits.
    pub patience: Patience,
}

/// Joins the node, given the secrets `join_token` and `cluster_ca`. Its states and the fact `state` of a probe
/// are those of [`crate::render::linux_cluster::join`].
///
/// # Errors
/// `Configuration` when a text holds a NUL character; `Bug` when the data has no JSON form.
pub fn join(it: &Join<'_>) -> Result<String> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Data<'a> {
        node: &'a str,
        address: Ipv4Addr,
        server: String,
        socket: &'a str,
        config: &'a str,
        also: &'a str,
        discovery: &'a str,
        kubelet: &'a KubeletService,
        links_pki: bool,
        glance: u64,
        patience: u64,
    }
    let data = Data {
        node: it.node,
        address: it.address,
        server: server(it.control_plane),
        socket: socket(Os::Windows),
        config: it.config,
        also: it.also,
        discovery: discovery_file(Os::Windows),
        kubelet: it.kubelet,
        links_pki: it.links_pki,
        glance: it.patience.glance,
        patience: it.patience.run,
    };
    let parts = [PROGRAM, PROGRAMS, SERVICES, KUBELET, NODE];
    let script = include_str!("../../../powershell/join.ps1");
    body(script, &parts, &data)
}

/// What a node must be to be ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready<'a> {
    /// Its name.
    pub node: &'a str,
    /// The address that the cluster must know it under.
    pub address: Ipv4Addr,
    /// The version that its kubelet must tell, with `v`; nothing where the user's own build may tell another.
    pub kubelet: Option<&'a str>,
    /// The container runtime that it must tell, as in `containerd://2.3.4`; the name alone where the version
    /// is the user's affair.
    pub runtime: &'a str,
    /// Seconds to wait.
    pub patience: u64,
}

/// Waits until the node is Ready, and says what is in the way.
///
/// # Errors
/// `Configuration` when a text holds a NUL character; `Bug` when the data has no JSON form.
pub fn node_ready(it: &Ready<'_>) -> Result<String> {
    #[derive(Serialize)]
    struct Data<'a> {
        node: &'a str,
        address: Ipv4Addr,
        kubelet: &'a str,
        runtime: &'a str,
        patience: u64,
    }
    let data = Data {
        node: it.node,
        address: it.address,
        kubelet: it.kubelet.unwrap_or_default(),
        runtime: it.runtime,
        patience: it.patience,
    };
    let script = include_str!("../../../powershell/node-ready.ps1");
    body(script, &[SERVICES, NODE], &data)
}
