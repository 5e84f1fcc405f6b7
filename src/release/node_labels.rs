//! Labels that a node may give itself when it registers. The facts are in `data/node-labels.json`.

use std::sync::LazyLock;

use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// The namespaces that are Kubernetes' own, with all below them.
    reserved: Vec<String>,
    /// Those of them, with all below them, that a node may use.
    namespaces: Vec<String>,
    /// The single keys that it may use.
    keys: Vec<String>,
    source: String,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    serde_json::from_str(include_str!("data/node-labels.json")).unwrap_or_default()
});

/// Whether a kubelet that is to give its node the label `key` refuses to start.
#[must_use]
pub fn is_refused(key: &str) -> bool {
    let Some((namespace, _)) = key.split_once('/') else {
        return false;
    };
    let within = |domains: &[String]| {
        domains.iter().any(|domain| {
            let above = namespace.strip_suffix(domain.as_str());
            above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
        })
    };
    within(&TABLE.reserved) && !within(&TABLE.namespaces) && !TABLE.keys.iter().any(|it| it == key)
}

/// What it may use instead, and where that is known from.
#[must_use]
pub fn allowed() -> (String, &'static str) {
    let namespaces = TABLE.namespaces.join(", ");
    (
        format!(
            "any namespace of your own, {namespaces}, or one of {}",
            TABLE.keys.join(", ")
        ),
        &TABLE.source,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubernetes_own_names_are_refused_but_for_those_that_are_meant_for_nodes() {
        for key in [
            "node-role.kubernetes.io/worker",
            "app.kubernetes.io/name",
            "kubernetes.io/role",
            "x.k8s.io/a",
            "k8s.io/a",
        ] {
            assert!(is_refused(key), "{key}");
        }
        for key in [
            "disk",
            "example.com/disk",
            "notkubernetes.io/a",
            "kubernetes.io/os",
            "node.kubernetes.io/disk",
            "a.node.kubernetes.io/b",
            "topology.kubernetes.io/zone",
        ] {
            assert!(!is_refused(key), "{key}");
        }
    }
}
