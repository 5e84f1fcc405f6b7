//! A Kubernetes checkout in little.

use std::path::Path;
use std::process::Command;

/// Runs git in the folder, whatever is configured on this machine; what it prints.
pub fn git(path: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(path)
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
        .args(["-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false"])
        .args([
            "-c",
            "init.defaultBranch=master",
            "-c",
            "protocol.file.allow=always",
        ])
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1");
    String::from_utf8(super::run(&mut command, b""))
        .unwrap()
        .trim()
        .to_owned()
}

/// A small tree with what tells a Kubernetes checkout.
pub fn tree(path: &Path) {
    for folder in ["cmd/kubelet", "cmd/kubeadm", "hack/lib"] {
        std::fs::create_dir_all(path.join(folder)).unwrap();
    }
    for file in [
        "cmd/kubelet/kubelet.go",
        "cmd/kubeadm/kubeadm.go",
        "hack/lib/version.sh",
    ] {
        std::fs::write(path.join(file), "1\n").unwrap();
    }
}
