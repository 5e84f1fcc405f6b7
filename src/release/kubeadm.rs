//! What differs between the minors of kubeadm: the API of its configuration.

use std::sync::LazyLock;

use serde::Deserialize;

use super::by_minor;

/// An API version of kubeadm's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Api {
    /// `v1beta3`
    pub version: String,
    /// The first minor that it is used with.
    from: u32,
    /// How extra arguments are written.
    pub arguments: Arguments,
    /// Whether it has the structure `timeouts`, in the place of `timeoutForControlPlane` and the
    /// discovery's `timeout`.
    pub timeouts: bool,
    /// Whether a node's registration has `imagePullPolicy`. Below, kubeadm pulls what is not there.
    pub image_pull_policy: bool,
    /// Where this is known from.
    pub source: String,
}

/// How extra arguments are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arguments {
    /// `name: value`
    Map,
    /// `- name: …` and `value: …`
    List,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    apis: Vec<Api>,
}

static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_json::from_str(include_str!("data/kubeadm.json")).unwrap_or_default());

impl Api {
    /// The API that kubeadm of `minor` is given. A minor that is newer than this wdev gets the newest one.
    /// Nothing for one older than every API that wdev can write.
    #[must_use]
    pub fn of(minor: u32) -> Option<&'static Self> {
        by_minor(&TABLE.apis, minor, |api| api.from)
    }
}
