//! An exact version of Kubernetes, as its own version script and its tags write it.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

/// An exact version, such as `v1.36.3`, `v1.37.0-rc.0` or `v1.38.0-alpha.1.12+0123456789abcd`.
///
/// The order is that of <https://semver.org/#spec-item-11>; builds of one commit and its tag, which
/// differ after the `+`, are told apart by their text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version {
    minor: u32,
    patch: u32,
    pre: String,
    build: String,
}

impl Version {
    /// Reads an exact version, with or without the `v`; nothing for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let bare = text.strip_prefix('v').unwrap_or(text);
        let (rest, build) = match bare.split_once('+') {
            Some((rest, build)) => (rest, Some(build)),
            None => (bare, None),
        };
        let (numbers, pre) = match rest.split_once('-') {
            Some((numbers, pre)) => (numbers, Some(pre)),
            None => (rest, None),
        };
        if [build, pre].into_iter().flatten().any(|part| !dotted(part)) {
            return None;
        }
        let mut numbers = numbers.split('.');
        let (major, minor, patch) = (numbers.next()?, numbers.next()?, numbers.next()?);
        if major != "1" || numbers.next().is_some() {
            return None;
        }
        Some(Self {
            minor: number(minor)?,
            patch: number(patch)?,
            pre: pre.unwrap_or_default().to_owned(),
            build: build.unwrap_or_default().to_owned(),
        })
    }

    /// The first release of a minor.
    #[must_use]
    pub const fn first_of(minor: u32) -> Self {
        Self {
            minor,
            patch: 0,
            pre: String::new(),
            build: String::new(),
        }
    }

    /// The number after `1.`.
    #[must_use]
    pub const fn minor(&self) -> u32 {
        self.minor
    }

    /// The third number.
    #[must_use]
    pub const fn patch(&self) -> u32 {
        self.patch
    }

    /// The minor as people write it: `1.36`.
    #[must_use]
    pub fn line(&self) -> String {
        format!("1.{}", self.minor)
    }

    /// The version without the `v`.
    #[must_use]
    pub fn bare(&self) -> String {
        self.to_string().split_off(1)
    }

    /// Whether it comes before the release of its number.
    #[must_use]
    pub fn is_pre_release(&self) -> bool {
        !self.pre.is_empty()
    }

    /// The tag of its images: every character that a tag may not have becomes `_`.
    /// Upstream: `KubernetesVersionToImageTag` in cmd/kubeadm/app/util/version.go.
    #[must_use]
    pub fn image_tag(&self) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        self.to_string()
            .chars()
            .map(|c| if plain(c) { c } else { '_' })
            .collect()
    }
}

fn number(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    plain.then(|| text.parse().ok()).flatten()
}

fn dotted(text: &str) -> bool {
    text.split('.').all(|part| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    })
}

/// Pre-releases by <https://semver.org/#spec-item-11>; none is after all.
fn compare_pre(left: &str, right: &str) -> Ordering {
    if left.is_empty() || right.is_empty() {
        return left.is_empty().cmp(&right.is_empty());
    }
    let (mut left, mut right) = (left.split('.'), right.split('.'));
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(left), Some(right)) => match (left.parse::<u64>(), right.parse::<u64>()) {
                (Ok(left), Ok(right)) => left.cmp(&right),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => left.cmp(right),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.minor, self.patch)
            .cmp(&(other.minor, other.patch))
            .then_with(|| compare_pre(&self.pre, &other.pre))
            .then_with(|| self.build.cmp(&other.build))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v1.{}.{}", self.minor, self.patch)?;
        if !self.pre.is_empty() {
            write!(f, "-{}", self.pre)?;
        }
        if !self.build.is_empty() {
            write!(f, "+{}", self.build)?;
        }
        Ok(())
    }
}

impl TryFrom<String> for Version {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is no exact Kubernetes version"))
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn every_form_comes_back_as_it_was() {
        for text in [
            "v1.20.2",
            "v1.37.0-rc.0",
            "v1.38.0-alpha.1.12+0123456789abcd",
            "v1.38.0-alpha.1.12+0123456789abcd-dirty",
        ] {
            assert_eq!(version(text).to_string(), text);
        }
        for text in [
            "1.36",
            "v2.0.0",
            "v1.036.1",
            "v1.36.1+",
            "v1.36.1-",
            "v1.36.1+a+b",
            "ci/v1.36.1",
            "",
        ] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_order_is_that_of_releases() {
        let ordered = [
            "v1.9.9",
            "v1.38.0-alpha.0",
            "v1.38.0-alpha.1",
            "v1.38.0-alpha.1.12+0123456789abcd",
            "v1.38.0-alpha.2",
            "v1.38.0-alpha.10",
            "v1.38.0-beta.0",
            "v1.38.0-rc.1",
            "v1.38.0",
            "v1.38.1",
        ];
        for pair in ordered.windows(2) {
            assert!(version(pair[0]) < version(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn a_plus_is_no_part_of_a_tag() {
        let tag = version("v1.38.0-alpha.1.12+0123456789abcd").image_tag();
        assert_eq!(tag, "v1.38.0-alpha.1.12_0123456789abcd");
    }
}
