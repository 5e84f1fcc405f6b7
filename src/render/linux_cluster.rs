//! The bodies of the steps that make Linux nodes a cluster, by kubeadm; see [`super::linux`] for what a body
//! is. `docs/control-plane.md` tells their states.

use std::net::Ipv4Addr;

use serde::Serialize;

use super::engine::render;
use super::kubernetes::{DISCOVERY_FILE, PORT};
use crate::error::Result;

/// How many minutes a join token lives, if nobody removes it.
pub const TOKEN_MINUTES: u32 = 30;

/// A file on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFile {
    /// Where, absolute.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// What `kubeadm init` is to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlPlane<'a> {
    /// The node's name.
    pub node: &'a str,
    /// Its own address, which the API server advertises.
    pub address: Ipv4Addr,
    /// The version that the API server must tell, with `v`.
    pub version: &'a str,
    /// Whether another version is a failure; images of the user's own may tell another one.
    pub exact: bool,
    /// The container runtime's socket, as a URL.
    pub socket: &'a str,
    /// The text for `kubeadm init --config`.
    pub config: &'a str,
    /// Files that it refers to; written for root only.
    pub files: &'a [NodeFile],
    /// The phases that init leaves out, such as `addon/kube-proxy`.
    pub skipped_phases: &'a [String],
    /// Taints as `key=value:Effect`, or none to leave them to kubeadm.
    pub taints: Option<&'a [String]>,
}

/// Where the API server of the control plane at this address listens.
#[must_use]
pub fn server(address: Ipv4Addr) -> String {
    format!("https://{address}:{PORT}")
}

/// Makes the control plane, or mends it. What is half made is reset; what worked once never is.
/// Facts: `server`; of a probe `state`.
///
/// # Errors
/// When a value cannot be carried by a script.
pub fn control_plane(it: &ControlPlane) -> Result<String> {
    #[derive(Serialize)]
    struct View<'a> {
        node: &'a str,
        server: String,
        address: String,
        version: &'a str,
        exact: &'a str,
        socket: &'a str,
        config: &'a str,
        paths: Vec<&'a str>,
        texts: Vec<&'a str>,
        skipped: &'a [String],
        taints_given: &'a str,
        taints: &'a [String],
    }
    let view = View {
        node: it.node,
        server: server(it.address),
        address: it.address.to_string(),
        version: it.version,
        exact: yes(it.exact),
        socket: it.socket,
        config: it.config,
        paths: it.files.iter().map(|file| file.path.as_str()).collect(),
        texts: it.files.iter().map(|file| file.text.as_str()).collect(),
        skipped: it.skipped_phases,
        taints_given: yes(it.taints.is_some()),
        taints: it.taints.unwrap_or_default(),
    };
    render("templates/linux/cluster/control-plane.sh.tera", &view)
}

/// Loads container images from files of the user's own: `(path on the node, digest of the file)` each. A file
/// is removed once it is loaded. `config` is what `kubeadm init` is configured with: it tells under which
/// names kubeadm asks for images.
///
/// # Errors
/// When a value cannot be carried by a script.
pub fn images(files: &[(String, String)], config: &str) -> Result<String> {
    #[derive(Serialize)]
    struct View<'a> {
        files: Vec<&'a str>,
        digests: Vec<&'a str>,
        config: &'a str,
    }
    let view = View {
        files: files.iter().map(|(path, _)| path.as_str()).collect(),
        digests: files.iter().map(|(_, digest)| digest.as_str()).collect(),
        config,
    };
    render("templates/linux/cluster/images.sh.tera", &view)
}

/// On the control plane: makes a token for the join of `node`. Given `forget_node` = `yes`, a node object of
/// that name is removed. Secrets: `join_token`, and `cluster_ca`, the cluster's certificate in base64.
///
/// # Errors
/// When a value cannot be carried by a script.
pub fn join_token(node: &str) -> Result<String> {
    #[derive(Serialize)]
    struct View<'a> {
        node: &'a str,
        minutes: u32,
    }
    let minutes = TOKEN_MINUTES;
    render(
        "templates/linux/cluster/join-token.sh.tera",
        &View { node, minutes },
    )
}

/// On the control plane: removes what [`join_token`] has made for `node`.
///
/// # Errors
/// When a value cannot be carried by a script.
pub fn join_end(node: &str) -> Result<String> {
    #[derive(Serialize)]
    struct View<'a> {
        node: &'a str,
    }
    render("templates/linux/cluster/join-end.sh.tera", &View { node })
}

/// What `kubeadm join` is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Join<'a> {
    /// The node's name.
    pub node: &'a str,
    /// Its own address, which it registers.
    pub address: Ipv4Addr,
    /// The control plane's address.
    pub control_plane: Ipv4Addr,
    /// The container runtime's socket, as a URL.
    pub socket: &'a str,
    /// The text for `kubeadm join --config`; its discovery file is [`DISCOVERY_FILE`].
    pub config: &'a str,
    /// What else a node takes over when it joins: once it changes, the node joins anew.
    pub also: &'a str,
}

/// Joins the node, given `join_token` and `cluster_ca`. What has joined half, or another cluster, or with
/// other settings, is reset first. Fact of a probe: `state`, one of `untouched`, `half`, `joined`, `unknown`
/// (to the cluster) and `unclear` (the API server cannot be asked).
///
/// # Errors
/// When a value cannot be carried by a script.
pub fn join(it: &Join) -> Result<String> {
    #[derive(Serialize)]
    struct View<'a> {
        node: &'a str,
        server: String,
        address: String,
        socket: &'a str,
        config: &'a str,
        also: &'a str,
        discovery: &'a str,
    }
    let view = View {
        node: it.node,
        server: server(it.control_plane),
        address: it.address.to_string(),
        socket: it.socket,
        config: it.config,
        also: it.also,
        discovery: DISCOVERY_FILE,
    };
    render("templates/linux/cluster/join.sh.tera", &view)
}

/// On the control plane: drains `node`, whose pods have `patience` seconds to end, and deletes its node
/// object. With `force` also where it could not be drained.
///
/// # Errors
/// When a value cannot be carried by a script.
pub fn leave(node: &str, patience: u64, force: bool) -> Result<String> {
    #[derive(Serialize)]
    struct View<'a> {
        node: &'a str,
        patience: u64,
        force: &'a str,
    }
    let view = View {
        node,
        patience,
        force: yes(force),
    };
    render("templates/linux/cluster/leave.sh.tera", &view)
}

/// Waits until nodes are Ready under their own addresses, for `patience` seconds each way; asks with
/// `kubeconfig`, a path on the node.
///
/// # Errors
/// When a value cannot be carried by a script.
pub fn nodes_ready(
    kubeconfig: &str,
    nodes: &[(String, Ipv4Addr)],
    patience: u64,
) -> Result<String> {
    #[derive(Serialize)]
    struct View<'a> {
        kubeconfig: &'a str,
        nodes: Vec<&'a str>,
        addresses: Vec<String>,
        patience: u64,
    }
    let view = View {
        kubeconfig,
        nodes: nodes.iter().map(|(name, _)| name.as_str()).collect(),
        addresses: nodes
            .iter()
            .map(|(_, address)| address.to_string())
            .collect(),
        patience,
    };
    render("templates/linux/cluster/node-ready.sh.tera", &view)
}

fn yes(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}
