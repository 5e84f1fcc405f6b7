//! The kubelet of a Windows node: a service of Windows, whose line holds every argument.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Argument, Cluster, Member};
use crate::error::{Failure, Kind, Result};
use crate::release::kubelet_windows::{has_variable, log_runner, needed, reserved};

/// The folder of the Kubernetes programs on a Windows node.
pub const BIN_FOLDER: &str = r"C:\k";
/// The kubelet's log on a Windows node.
pub const KUBELET_LOG: &str = r"C:\var\log\kubelet\kubelet.log";

/// What the kubelet's service is started with. kubeadm's own arguments come to it on the node, after the join.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KubeletService {
    /// The words before the arguments: what keeps the log, and the kubelet.
    pub before: Vec<String>,
    /// The arguments, by name.
    pub arguments: Vec<Argument>,
    /// The words behind them.
    pub after: Vec<String>,
}

impl Cluster<'_> {
    /// The kubelet's service on a Windows node with this much memory. The node registers with its address,
    /// labels and taints by itself: kubeadm starts the service, but cannot change its line.
    ///
    /// # Errors
    /// `Configuration` for an argument that this version does not know any more, and for one in which Windows
    /// would put a variable of the environment.
    pub fn kubelet_service(&self, member: &Member<'_>, memory_mib: u64) -> Result<KubeletService> {
        let mut all: BTreeMap<String, String> = needed(self.minor())
            .map(|row| (row.name.clone(), row.value.clone()))
            .collect();
        all.insert("hostname-override".to_owned(), member.name.to_owned());
        if !member.taints.is_empty() {
            all.insert("register-with-taints".to_owned(), member.taints.join(","));
        }
        if let Some(kept) = reserved(memory_mib) {
            all.insert(
                "system-reserved".to_owned(),
                format!("memory={}", kept.system),
            );
            all.insert("kube-reserved".to_owned(), format!("memory={}", kept.kube));
        }
        for argument in self.kubelet_arguments(member)? {
            check(&argument)?;
            all.insert(argument.name, argument.value);
        }
        let program = |name: &str| format!(r"{BIN_FOLDER}\{name}.exe");
        let mut before = Vec::new();
        if let Some(arguments) = log_runner(self.minor()) {
            before.push(program("kube-log-runner"));
            before.extend(arguments.iter().cloned());
        }
        before.push(program("kubelet"));
        let arguments = all.into_iter();
        Ok(KubeletService {
            before,
            arguments: arguments
                .map(|(name, value)| Argument { name, value })
                .collect(),
            after: vec!["--windows-service".to_owned()],
        })
    }
}

/// Holds that an argument reaches the kubelet as it is.
fn check(argument: &Argument) -> Result<()> {
    if !has_variable(&format!("{}={}", argument.name, argument.value)) {
        return Ok(());
    }
    let message = format!(
        "`kubernetes.extra_args.kubelet` cannot hand on `{}` to a Windows node",
        argument.name.escape_debug()
    );
    Err(Box::new(
        Failure::new(Kind::Configuration, message)
            .because("Windows takes what stands between two percent signs for a variable")
            .advise("set it without them, or in a file that another argument names")
            .permanent(),
    ))
}
