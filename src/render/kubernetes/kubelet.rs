//! The kubelet: its service, and the arguments that kubeadm hands on to it.

use super::{Argument, Cluster, Member};
use crate::error::{Failure, Kind, Result};
use crate::os::Os;
use crate::release::kubelet::removed_in;

/// The text of the kubelet's unit.
pub const UNIT: &str = include_str!("../../../templates/kubernetes/kubelet.service");
/// The text of the drop-in for nodes that kubeadm makes: the files that kubeadm writes, and which of them
/// the kubelet reads. Upstream: kubernetes/website,
/// setup/production-environment/tools/kubeadm/kubelet-integration.
pub const DROP_IN: &str = include_str!("../../../templates/kubernetes/10-kubeadm.conf");

impl Cluster<'_> {
    /// The arguments of the kubelet on one node, beside those that kubeadm writes itself: the node's
    /// address and labels, the log level, and the user's own.
    ///
    /// # Errors
    /// `Configuration` for an argument that this version does not know any more, and for one that cannot
    /// reach the kubelet: kubeadm and systemd hand them on as words of one line.
    pub fn kubelet_arguments(&self, member: &Member<'_>) -> Result<Vec<Argument>> {
        let mut own = vec![("node-ip", member.address.to_string())];
        if !member.labels.is_empty() {
            let labels: Vec<String> = member
                .labels
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            own.push(("node-labels", labels.join(",")));
        }
        let mut arguments = self.arguments("kubelet", &own);
        // The kubelet's configuration has them, for every node.
        let extra = self.config.kubernetes.extra_args.get("kubelet");
        if !extra.is_some_and(|extra| extra.contains_key("feature-gates")) {
            arguments.retain(|argument| argument.name != "feature-gates");
        }
        for argument in &arguments {
            self.check(argument)?;
            if member.os == Os::Linux {
                check_is_a_word(argument)?;
            }
        }
        Ok(arguments)
    }

    fn check(&self, argument: &Argument) -> Result<()> {
        let removed = removed_in(&argument.name).filter(|minor| *minor <= self.minor());
        let Some(minor) = removed else {
            return Ok(());
        };
        let message = format!(
            "the kubelet of {} has no `--{}`",
            self.release.kubernetes, argument.name
        );
        Err(Box::new(
            Failure::new(Kind::Configuration, message)
                .because(format!("Kubernetes 1.{minor} removed it"))
                .advise(format!(
                    "remove `{}` from `kubernetes.extra_args.kubelet`",
                    argument.name
                ))
                .permanent(),
        ))
    }
}

fn check_is_a_word(argument: &Argument) -> Result<()> {
    let breaks = |c: char| c.is_whitespace() || c.is_control() || "\"'`\\".contains(c);
    if !argument
        .name
        .chars()
        .chain(argument.value.chars())
        .any(breaks)
    {
        return Ok(());
    }
    let message = format!(
        "`kubernetes.extra_args.kubelet` cannot hand on `{}`",
        argument.name.escape_debug()
    );
    Err(Box::new(
        Failure::new(Kind::Configuration, message)
            .because(
                "kubeadm hands the arguments on as one line, where white space, quotes and backslashes \
                 have a meaning",
            )
            .advise("set it without them, or in a file that another argument names")
            .permanent(),
    ))
}
