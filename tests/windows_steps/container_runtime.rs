//! containerd on a Windows node.
