//! Everything that a version says about the configuration that asks for it.

use super::finding::Finding;
use super::gates::{Gate, gate};
use super::kubelet_windows::has_variable;
use super::supported::{self, Support};
use super::{Origin, Version, arguments, broken, node_labels, proxy, skew};
use crate::boxes;
use crate::config::model::{Component, Config, ProviderName};
use crate::config::{Diagnostic, Loaded, Severity};

/// What is judged.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// The version of its control plane.
    pub version: &'a Version,
    /// Where that comes from.
    pub origin: Origin,
    /// The version of the checkout that components are built from, where that is another one.
    pub built: Option<&'a Version>,
    /// The minor that a kubelet's flag was removed in; nothing for one that is there.
    pub removed: fn(&str) -> Option<u32>,
}

/// Every mistake and remark, the mistakes first.
#[must_use]
pub fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    versions(subject, &mut found);
    built(subject, &mut found);
    feature_gates(subject, &mut found);
    extra_arguments(subject, &mut found);
    labels(subject, &mut found);
    windows(subject, &mut found);
    no_proxy(subject, &mut found);
    found.sort_by_key(|finding| finding.severity != Severity::Error);
    found
}

/// The same, each with its place in the user's files.
#[must_use]
pub fn check_located(subject: &Subject<'_>, loaded: &Loaded) -> Vec<Diagnostic> {
    let found = check(subject);
    found
        .iter()
        .map(|finding| finding.located(loaded))
        .collect()
}

fn versions(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    const KEY: &str = "kubernetes.version";
    let (version, line) = (subject.version, subject.version.line());
    match supported::support(version.minor()) {
        Support::Full => {}
        Support::Newer => found.push(
            Finding::new(
                Severity::Warning,
                KEY,
                format!(
                    "Kubernetes {line} is newer than wdev knows, which is 1.{}",
                    supported::newest_minor()
                ),
            )
            .note("it is treated like the newest known; look for a newer wdev if it fails"),
        ),
        Support::None => found.push(
            Finding::new(
                Severity::Error,
                KEY,
                format!("wdev does not support Kubernetes {line}"),
            )
            .allow(format!("{}, and newer ones", supported::in_words())),
        ),
    }
    if supported::support(version.minor()) != Support::None {
        let containerd = &subject.config.container_runtime.version;
        found.extend(skew::check_containerd(containerd, version));
    }
}

/// What is built from a checkout of another version than the cluster's.
fn built(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    let Some(built) = subject.built.filter(|_| subject.origin != Origin::Source) else {
        return;
    };
    for component in &subject.config.kubernetes.build {
        let name = match component {
            Component::Kubelet => "kubelet",
            Component::KubeProxy => "kube-proxy",
            Component::Kubeadm => "kubeadm",
            Component::Kubectl => "kubectl",
        };
        found.extend(
            skew::check_skew(name, built, subject.version, "kubernetes.build").map(|finding| {
                let note = finding.note.clone().unwrap_or_default();
                finding.note(format!(
                    "{note}; for a cluster of the checkout's version, write `version: source`"
                ))
            }),
        );
    }
}

fn feature_gates(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    let kubernetes = &subject.config.kubernetes;
    for name in kubernetes.feature_gates.keys() {
        let key = format!("kubernetes.feature_gates.{name}");
        found.extend(feature_gate(subject, name, key).map(Finding::on_key));
    }
    for (component, arguments) in &kubernetes.extra_args {
        let Some(list) = arguments.get("feature-gates") else {
            continue;
        };
        for entry in list.split(',') {
            let name = entry.split('=').next().unwrap_or_default().trim();
            let key = format!("kubernetes.extra_args.{component}.feature-gates");
            found.extend(feature_gate(subject, name, key));
        }
    }
}

fn feature_gate(subject: &Subject<'_>, name: &str, key: String) -> Option<Finding> {
    let line = subject.version.line();
    let warn = |message: String| Finding::new(Severity::Warning, key, message);
    let finding = match gate(name, subject.version.minor()) {
        Gate::Known | Gate::Unsure => return None,
        Gate::NotYet(from) => warn(format!(
            "Kubernetes {line} does not know the feature gate `{name}`: it came with 1.{from}"
        )),
        Gate::Gone(until) => warn(format!(
            "Kubernetes {line} does not know the feature gate `{name}`: 1.{until} was the last with it"
        )),
        Gate::Unknown(near) => warn(format!(
            "Kubernetes {line} does not know the feature gate `{name}`"
        ))
        .suggest(near),
    };
    Some(finding.note("a component does not start with a feature gate that it does not know"))
}

fn extra_arguments(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    let kubernetes = &subject.config.kubernetes;
    let line = subject.version.line();
    let windows =
        subject.config.provider != ProviderName::Docker && !subject.config.workers.is_empty();
    for (component, arguments) in &kubernetes.extra_args {
        for (flag, value) in arguments {
            let key = format!("kubernetes.extra_args.{component}.{flag}");
            if let Some(managed) = arguments::managed(component, flag, kubernetes) {
                let message = format!("`{flag}` is set by {}", managed.by());
                found.push(
                    Finding::new(Severity::Error, key, message)
                        .on_key()
                        .note(format!("in place of it, write {}", managed.instead)),
                );
                continue;
            }
            if windows && component == "kubelet" && has_variable(value) {
                let message = format!("`{flag}` cannot be handed on to a Windows node");
                found.push(
                    Finding::new(Severity::Error, key, message)
                        .note("Windows takes what stands between two percent signs for a variable; set it without them, or in a file that another argument names"),
                );
                continue;
            }
            let removed = (subject.removed)(flag).filter(|_| component == "kubelet");
            if let Some(minor) = removed.filter(|minor| *minor <= subject.version.minor()) {
                let message = format!("the kubelet of {line} has no flag `{flag}`");
                found.push(
                    Finding::new(Severity::Error, key, message)
                        .on_key()
                        .note(format!(
                            "it was removed in 1.{minor}, and the kubelet would not start"
                        )),
                );
            }
        }
    }
}

/// Labels with which no kubelet starts.
fn labels(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    for (index, worker) in subject.config.workers.iter().enumerate() {
        let refused = worker
            .labels
            .keys()
            .filter(|key| node_labels::is_refused(key));
        for key in refused {
            let (allowed, source) = node_labels::allowed();
            let message = format!("a node cannot give itself the label `{key}`");
            let note = format!(
                "the kubelet would not start ({source}); set it once the node is there: `wdev kubectl -- label node {} {key}=...`",
                worker.name
            );
            found.push(
                Finding::new(
                    Severity::Error,
                    format!("workers[{index}].labels.{key}"),
                    message,
                )
                .on_key()
                .allow(allowed)
                .note(note),
            );
        }
    }
}

fn windows(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    // Docker's machines are all Linux.
    let config = subject.config;
    if config.provider == ProviderName::Docker {
        return;
    }
    for (index, worker) in config.workers.iter().enumerate() {
        if let Err(failure) = boxes::check_kubernetes(&worker.windows, subject.version.minor()) {
            let note: Vec<String> = [failure.causes, failure.advice].concat();
            found.push(
                Finding::new(
                    Severity::Error,
                    format!("workers[{index}].windows"),
                    failure.message,
                )
                .note(note.join("; ")),
            );
        }
    }
    let own_kubelet = |component: &str| {
        subject.built.is_some()
            && config.kubernetes.build.contains(&Component::Kubelet)
            && component == "kubelet"
    };
    for broken in broken::broken(subject.version) {
        let concerned = !broken.windows_only || !config.workers.is_empty();
        if concerned && !own_kubelet(&broken.component) {
            found.push(
                Finding::new(Severity::Error, "kubernetes.version", &broken.what)
                    .suggest(Some(broken.instead.to_string()))
                    .note(format!(
                        "{} and newer work: {}",
                        broken.instead, broken.source
                    )),
            );
        }
    }
}

fn no_proxy(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    let network = &subject.config.network;
    if network.proxy.http.is_none() && network.proxy.https.is_none() {
        return;
    }
    let missing = proxy::missing(&network.proxy.no_proxy, network);
    if missing.is_empty() {
        return;
    }
    found.push(
        Finding::new(
            Severity::Warning,
            "network.proxy.no_proxy",
            "the list of what is reached without the proxy lacks the cluster's own addresses",
        )
        .note(format!(
            "wdev's nodes reach them directly all the same; for whatever else reads this list, add: {}",
            missing.join(", ")
        )),
    );
}
