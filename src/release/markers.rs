//! The forms that a version of Kubernetes can be asked for in, and where upstream answers them.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{Origin, Version};

/// What `kubernetes.version` asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// `1.37`: the newest release of a minor.
    Minor(u32),
    /// `stable-1.37`, `latest`, `ci/latest-1.38`: a file upstream whose text is a version.
    Marker(Marker),
    /// `v1.37.2`, `ci/v1.38.0-alpha.1.12+0123456789abcd`.
    Exact(Version, Origin),
    /// `source`: the version of the user's checkout.
    Source,
}

/// A file upstream whose text is a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// Whether it is one of the CI builds.
    pub ci: bool,
    /// Its name: `stable-1.37`.
    pub name: String,
    /// The minor that it is about, where it is about one.
    pub minor: Option<u32>,
}

impl Asked {
    /// Reads a form; nothing for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (ci, rest) = match text.strip_prefix("ci/") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let words: &[&str] = if ci {
            &["latest"]
        } else {
            &["stable", "latest"]
        };
        if let Some(marker) = words.iter().find_map(|word| Marker::parse(ci, word, rest)) {
            return Some(Self::Marker(marker));
        }
        if let Some(version) = Version::parse(rest) {
            let origin = if ci { Origin::Ci } else { Origin::Release };
            return Some(Self::Exact(version, origin));
        }
        match rest {
            _ if ci => None,
            "source" => Some(Self::Source),
            _ => minor(rest.strip_prefix('v').unwrap_or(rest)).map(Self::Minor),
        }
    }

    /// Where what it stands for comes from.
    #[must_use]
    pub const fn origin(&self) -> Origin {
        match self {
            Self::Minor(_) | Self::Marker(Marker { ci: false, .. }) => Origin::Release,
            Self::Marker(_) => Origin::Ci,
            Self::Exact(_, origin) => *origin,
            Self::Source => Origin::Source,
        }
    }

    /// The minor that it names, where it names one.
    #[must_use]
    pub const fn minor(&self) -> Option<u32> {
        match self {
            Self::Minor(minor) => Some(*minor),
            Self::Marker(marker) => marker.minor,
            Self::Exact(version, _) => Some(version.minor()),
            Self::Source => None,
        }
    }
}

impl Marker {
    fn parse(ci: bool, word: &str, text: &str) -> Option<Self> {
        let line = text.strip_prefix(word)?;
        let minor = match line.strip_prefix('-') {
            None if line.is_empty() => None,
            Some("1") => None,
            Some(line) => Some(minor(line)?),
            None => return None,
        };
        Some(Self {
            ci,
            name: text.to_owned(),
            minor,
        })
    }

    /// The one that names a minor's newest release.
    #[must_use]
    pub fn stable(minor: u32) -> Self {
        Self {
            ci: false,
            name: format!("stable-1.{minor}"),
            minor: Some(minor),
        }
    }

    /// The one that names a minor's newest release or pre-release.
    #[must_use]
    pub fn latest(minor: u32) -> Self {
        Self {
            ci: false,
            name: format!("latest-1.{minor}"),
            minor: Some(minor),
        }
    }

    /// The marker of this kind for every minor: `stable`, `latest`.
    #[must_use]
    pub fn of_all(&self) -> Self {
        let word = self.name.split('-').next().unwrap_or_default();
        Self {
            ci: self.ci,
            name: word.to_owned(),
            minor: None,
        }
    }

    /// As a user writes it: `ci/latest-1.38`.
    #[must_use]
    pub fn written(&self) -> String {
        let prefix = if self.ci { "ci/" } else { "" };
        format!("{prefix}{}", self.name)
    }

    /// Where its text is.
    #[must_use]
    pub fn url(&self) -> String {
        let bucket = if self.ci {
            &MARKERS.ci
        } else {
            &MARKERS.release
        };
        bucket.marker.replace("{marker}", &self.name)
    }
}

/// `1.NN`
fn minor(text: &str) -> Option<u32> {
    let number = text.strip_prefix("1.")?;
    let plain = number.bytes().all(|b| b.is_ascii_digit());
    (plain && (number == "0" || !number.starts_with('0')))
        .then(|| number.parse().ok())
        .flatten()
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    release: Bucket,
    ci: Bucket,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bucket {
    marker: String,
    #[expect(dead_code, reason = "for readers of the data")]
    source: String,
}

static MARKERS: LazyLock<Table> =
    LazyLock::new(|| serde_json::from_str(include_str!("data/markers.json")).unwrap_or_default());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_that_a_configuration_may_have_is_understood() {
        for (text, origin, minor) in [
            ("1.37", Origin::Release, Some(37)),
            ("v1.37", Origin::Release, Some(37)),
            ("1.37.2", Origin::Release, Some(37)),
            ("v1.37.0-rc.0", Origin::Release, Some(37)),
            ("stable", Origin::Release, None),
            ("stable-1", Origin::Release, None),
            ("stable-1.36", Origin::Release, Some(36)),
            ("latest", Origin::Release, None),
            ("latest-1.37", Origin::Release, Some(37)),
            ("ci/latest", Origin::Ci, None),
            ("ci/latest-1.38", Origin::Ci, Some(38)),
            ("ci/v1.38.0-alpha.1.12+0123456789abcd", Origin::Ci, Some(38)),
            ("source", Origin::Source, None),
        ] {
            let asked = Asked::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((asked.origin(), asked.minor()), (origin, minor), "{text}");
        }
        for text in [
            "",
            "1",
            "1.",
            "2.0",
            "1.036",
            "ci/stable",
            "ci/1.37",
            "ci/source",
            "stable-",
            "latest-2",
            "main",
        ] {
            assert_eq!(Asked::parse(text), None, "{text}");
        }
    }
}
