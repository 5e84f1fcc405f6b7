//! How far the versions of a cluster's parts may lie apart.

use std::sync::LazyLock;

use serde::Deserialize;

use super::Version;
use super::containerd::{self, Cri};
use super::finding::Finding;
use crate::config::Severity;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    components: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    component: String,
    /// Minors by which it may be newer than the control plane.
    newer: u32,
    /// Minors by which it may be older, by its own minor.
    older: Vec<Older>,
    severity: Gravity,
    source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Older {
    from: u32,
    minors: u32,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Gravity {
    Error,
    Warning,
}

static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_json::from_str(include_str!("data/skew.json")).unwrap_or_default());

/// Whether `component` (`kubelet`, `kube-proxy`, `kubeadm`, `kubectl`) of this version goes with the
/// control plane's version; `key` is where the finding belongs. As upstream, minors count alone.
#[must_use]
pub fn check_skew(
    component: &str,
    version: &Version,
    control_plane: &Version,
    key: &str,
) -> Option<Finding> {
    let rule = TABLE
        .components
        .iter()
        .find(|rule| rule.component == component)?;
    let (own, other) = (version.minor(), control_plane.minor());
    let older = rule.older.iter().filter(|older| older.from <= own);
    let older = older.max_by_key(|older| older.from)?.minors;
    let (direction, limit) = if own > other + rule.newer {
        ("newer", rule.newer)
    } else if own + older < other {
        ("older", older)
    } else {
        return None;
    };
    let rule_in_words = match limit {
        0 => format!("a {component} is never {direction} than its control plane"),
        1 => format!("a {component} is at most one minor {direction} than its control plane"),
        limit => {
            format!("a {component} is at most {limit} minors {direction} than its control plane")
        }
    };
    let severity = match rule.severity {
        Gravity::Error => Severity::Error,
        Gravity::Warning => Severity::Warning,
    };
    let message =
        format!("the {component} would be {version}, and the control plane {control_plane}");
    Some(Finding::new(severity, key, message).note(format!("{rule_in_words}: {}", rule.source)))
}

/// Whether containerd of this version (`2.2.7`) goes with the version of Kubernetes, and whether its project
/// recommends it. A text that is no version says nothing.
#[must_use]
pub fn check_containerd(containerd: &str, kubernetes: &Version) -> Option<Finding> {
    let (own, minor) = (containerd::Version::parse(containerd)?, kubernetes.minor());
    let finding = |severity, message| {
        Finding::new(severity, "container_runtime.version", message).or_key("kubernetes.version")
    };
    let line = kubernetes.line();
    let cri = Cri::of(minor)?;
    if !cri.fits(own) {
        let below = cri.below.map(|below| format!(", but below {below}"));
        let message = format!(
            "Kubernetes {line} needs containerd {} or newer{}",
            cri.from,
            below.unwrap_or_default()
        );
        let note = format!("set `container_runtime.version`; {}", cri.source);
        return Some(finding(Severity::Error, message).note(note));
    }
    if containerd::is_recommended(own, minor)? {
        return None;
    }
    let lowest = containerd::recommended(minor).iter();
    let lowest: Vec<String> = lowest.map(|lowest| format!("{lowest} or newer")).collect();
    let message = format!("containerd {own} is not recommended for Kubernetes {line}");
    Some(
        finding(Severity::Warning, message)
            .allow(lowest.join(", "))
            .note("containerd's RELEASES.md names the lowest patch of each line"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(component: &str, version: &str, control_plane: &str) -> Option<Severity> {
        let parse = |text| Version::parse(text).unwrap();
        check_skew(
            component,
            &parse(version),
            &parse(control_plane),
            "kubernetes.build",
        )
        .map(|finding| finding.severity)
    }

    #[test]
    fn the_policy_of_upstream_holds() {
        for (component, version, control_plane, expected) in [
            ("kubelet", "v1.36.0", "v1.36.3", None),
            ("kubelet", "v1.36.9", "v1.36.3", None),
            ("kubelet", "v1.33.0", "v1.36.3", None),
            ("kubelet", "v1.32.0", "v1.36.3", Some(Severity::Error)),
            (
                "kubelet",
                "v1.38.0-alpha.1.3+0123456789abcd",
                "v1.37.1",
                Some(Severity::Error),
            ),
            ("kubelet", "v1.24.0", "v1.26.0", None),
            ("kubelet", "v1.24.0", "v1.27.0", Some(Severity::Error)),
            ("kube-proxy", "v1.37.0", "v1.36.3", Some(Severity::Error)),
            ("kubeadm", "v1.37.0", "v1.36.3", None),
            ("kubeadm", "v1.38.0", "v1.36.3", Some(Severity::Error)),
            ("kubeadm", "v1.35.0", "v1.36.3", Some(Severity::Error)),
            ("kubectl", "v1.35.0", "v1.36.3", None),
            ("kubectl", "v1.34.0", "v1.36.3", Some(Severity::Warning)),
        ] {
            assert_eq!(
                judged(component, version, control_plane),
                expected,
                "{component} {version} with {control_plane}"
            );
        }
    }

    #[test]
    fn containerd_is_judged_by_its_interface_and_by_its_project() {
        let judged = |containerd: &str, kubernetes: &str| {
            let kubernetes = Version::parse(kubernetes).unwrap();
            check_containerd(containerd, &kubernetes).map(|finding| finding.severity)
        };
        for (containerd, kubernetes, expected) in [
            ("1.5.18", "v1.36.3", Some(Severity::Error)),
            ("1.5.18", "v1.20.15", None),
            ("2.2.7", "v1.20.15", Some(Severity::Error)),
            ("2.2.7", "v1.36.3", None),
            ("2.2.7", "v1.30.14", None),
            ("2.1.5", "v1.36.3", Some(Severity::Warning)),
            ("1.7.20", "v1.35.0", Some(Severity::Warning)),
            ("distribution", "v1.36.3", None),
        ] {
            let found = judged(containerd, kubernetes);
            assert_eq!(found, expected, "containerd {containerd} with {kubernetes}");
        }
    }
}
