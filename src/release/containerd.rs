//! What differs between the versions of containerd: its configuration, and which Kubernetes it is for.

use std::fmt;
use std::sync::LazyLock;

use serde::{Deserialize, Deserializer};

use super::by_minor;

/// A version of containerd: `2.3.4`, by its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second.
    pub minor: u32,
    /// The third; 0 where it is not said.
    pub patch: u32,
}

impl Version {
    /// Reads `2.3.4`, `v2.3`, `1.6.20~ds1`: what stands behind the third number is left out.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts = text.splitn(3, '.');
        let major = parts.next()?.parse().ok()?;
        let minor = digits(parts.next()?)?;
        let patch = parts.next().map_or(Some(0), digits)?;
        Some(Self {
            major,
            minor,
            patch,
        })
    }

    fn line(self) -> (u32, u32) {
        (self.major, self.minor)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

fn digits(text: &str) -> Option<u32> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            serde::de::Error::custom(format!("`{text}` is no version of containerd"))
        })
    }
}

/// The form of containerd's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    /// The first version of containerd that it is used with.
    pub from: Version,
    /// The number in the file's head.
    pub version: u32,
    /// Whether the folders of CNI plugins are the list `bin_dirs`, else the one `bin_dir`.
    pub bin_dirs: bool,
    /// Where this is known from.
    pub source: String,
}

/// What is recommended for a minor of Kubernetes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recommended {
    kubernetes: u32,
    containerd: Vec<Version>,
    #[expect(dead_code, reason = "for who reads the file")]
    source: String,
}

/// The versions of containerd whose runtime interface the kubelet of a minor speaks.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cri {
    kubernetes: u32,
    /// The first of them.
    pub from: Version,
    /// The first version after them.
    #[serde(default)]
    pub below: Option<Version>,
    /// Where this is known from.
    pub source: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    configs: Vec<Form>,
    recommended: Vec<Recommended>,
    cri: Vec<Cri>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    serde_json::from_str(include_str!("data/containerd.json")).unwrap_or_default()
});

impl Form {
    /// The form for this version of containerd; the newest for one that is newer than this wdev.
    #[must_use]
    pub fn of(version: Version) -> Option<&'static Self> {
        TABLE.configs.iter().rfind(|form| form.from <= version)
    }

    /// All of them, the oldest first.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &TABLE.configs
    }
}

impl Cri {
    /// What the kubelet of this minor speaks.
    #[must_use]
    pub fn of(kubernetes: u32) -> Option<&'static Self> {
        by_minor(&TABLE.cri, kubernetes, |entry| entry.kubernetes)
    }

    /// Whether a kubelet with this interface and this version of containerd understand each other.
    #[must_use]
    pub fn fits(&self, version: Version) -> bool {
        version >= self.from && self.below.is_none_or(|below| version < below)
    }
}

/// The lowest patch of each line of containerd that its project recommends for this minor of Kubernetes:
/// for a newer one that of the newest known, nothing for an older one.
#[must_use]
pub fn recommended(kubernetes: u32) -> &'static [Version] {
    by_minor(&TABLE.recommended, kubernetes, |entry| entry.kubernetes)
        .map_or(&[], |entry| entry.containerd.as_slice())
}

/// Whether a version is among the recommended ones for this minor of Kubernetes, or newer than all lines
/// that were known then. Nothing where there is no recommendation.
#[must_use]
pub fn is_recommended(version: Version, kubernetes: u32) -> Option<bool> {
    let wanted = recommended(kubernetes);
    let newest = wanted.iter().max()?;
    let same_line = wanted.iter().find(|low| low.line() == version.line());
    Some(match same_line {
        Some(low) => version >= *low,
        None => version.line() > newest.line(),
    })
}
