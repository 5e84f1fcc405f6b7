//! The configurations of kubeadm, the kubelet, kube-proxy and containerd, for every version.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

#[path = "../common/mod.rs"]
mod common;
mod containerd;
mod facts;
mod hostile;
mod kubelet_windows;
mod programs;
mod scene;
mod shown;
mod strict;
mod table;
