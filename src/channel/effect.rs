//! What a script changes on its node, in terms that a simulator can perform and check.
//!
//! A step writes its effects beside its script. Real channels ignore them. The simulator performs them
//! one by one under its clock, fails where the real thing would (see [`Effect::Needs`]), and for a
//! probe answers whether they are all in place.

use serde::{Deserialize, Serialize};

/// One change, or one thing that must hold for the next change to work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Time passes, in milliseconds of the simulated clock.
    Takes(u64),
    /// The next effects fail with `message`, the real tool's words, unless `condition` holds.
    Needs {
        /// What must hold.
        condition: Condition,
        /// What the real tool says when it does not.
        message: String,
    },
    /// A file with this content (any text that changes when the content does).
    File {
        /// Where, as the node writes paths.
        path: String,
        /// The content, or a hash of it.
        content: String,
    },
    /// A setting of the operating system: a sysctl, a registry value, swap off, a firewall rule.
    Setting {
        /// Its name.
        key: String,
        /// Its value.
        value: String,
    },
    /// A package or unpacked archive.
    Package {
        /// Its name.
        name: String,
        /// Its version.
        version: String,
    },
    /// A Windows feature. It is installed at once but active only after a reboot, which the script
    /// then asks for.
    Feature(String),
    /// A service exists; it needs other services to start.
    Service {
        /// Its name.
        name: String,
        /// Services that must run before it can start.
        needs: Vec<String>,
    },
    /// A service runs and starts with the machine. Fails unless all that it needs runs.
    Running(String),
    /// The Host Networking Service of a Windows node answers, or is repaired.
    Hns,
    /// A container image is pulled.
    Image(String),
    /// A control plane of this version listens here; its services run.
    ControlPlane {
        /// The exact Kubernetes version.
        version: String,
        /// The address that it advertises.
        address: String,
    },
    /// A short-lived join token is made and reported as the secret `join_token`.
    JoinToken,
    /// This node joins the cluster with the secret `join_token`, under this address.
    Join {
        /// The address that the node registers.
        address: String,
    },
    /// A worker has left the cluster: drained, unless `force` does without, and its node object deleted.
    Left {
        /// Its name.
        node: String,
        /// Also when it does not answer.
        force: bool,
    },
    /// Something is applied to the cluster, such as a CNI or kube-proxy.
    Manifest(String),
    /// Waits until this node is Ready: joined, kubelet running, network plugin running on it.
    NodeReady,
    /// Waits until every pod of what was applied runs on every node that it is meant for.
    PodsReady(String),
}

/// What must hold on the node or in its cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// A Windows feature is active: installed, and the node rebooted since.
    Feature(String),
    /// A service runs.
    Running(String),
    /// A file is there.
    File(String),
    /// A setting has this value.
    Setting {
        /// Its name.
        key: String,
        /// The value that it must have.
        value: String,
    },
    /// A control plane exists and answers.
    ControlPlane,
    /// The node has joined the cluster.
    Joined,
}
