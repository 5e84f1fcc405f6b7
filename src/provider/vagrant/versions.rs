//! Which versions of Vagrant and of hypervisors go together. The rules are data: `versions.json`.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use crate::config::model::ProviderName;
use crate::error::{Failure, Kind, Result};

const WHERE_FROM: &str = "https://developer.hashicorp.com/vagrant/install";

/// A version of three numbers.
pub type Version = (u32, u32, u32);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    #[serde(rename = "source")]
    _source: String,
    oldest: Dotted,
    newest: Dotted,
    refused: Vec<Refused>,
    hypervisors: BTreeMap<String, Hypervisor>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refused {
    provider: ProviderName,
    vagrant: Vec<Dotted>,
    why: String,
    advice: String,
    #[serde(rename = "source")]
    _source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hypervisor {
    title: String,
    oldest: Dotted,
    newest: Dotted,
    /// In ascending order.
    needs: Vec<Need>,
    #[serde(rename = "source")]
    _source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Need {
    hypervisor: Dotted,
    vagrant: Dotted,
}

/// A version in a text, of one to three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
struct Dotted(Version);

impl TryFrom<String> for Dotted {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        parse(&text)
            .map(Self)
            .ok_or_else(|| format!("`{text}` is no version"))
    }
}

impl fmt::Display for Dotted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor, patch) = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// The version at the beginning of a text such as `7.1.4r165100` or `2.4.10.dev`; what is missing
/// counts as 0.
#[must_use]
pub fn parse(text: &str) -> Option<Version> {
    let mut numbers = text.trim().splitn(3, '.').map(|part| {
        let end = part
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(part.len());
        part.get(..end)?.parse().ok()
    });
    let major = numbers.next()??;
    let mut rest = || numbers.next().flatten().unwrap_or(0);
    Some((major, rest(), rest()))
}

fn rules_from_data() -> Result<Rules> {
    serde_json::from_str(include_str!("versions.json"))
        .map_err(|error| Box::new(Failure::new(Kind::Bug, "the rules for versions").because(error)))
}

/// Holds a version of Vagrant against what is known to work: by itself, or (with `hypervisor`)
/// together with the hypervisor's version. Returns remarks for the user.
///
/// # Errors
/// `Host` when it is too old, or known not to work.
pub fn rules(
    provider: ProviderName,
    vagrant: Version,
    hypervisor: Option<Version>,
) -> Result<Vec<String>> {
    let rules = rules_from_data()?;
    let vagrant = Dotted(vagrant);
    match hypervisor {
        None => by_itself(&rules, provider, vagrant),
        Some(version) => match rules.hypervisors.get(provider.as_str()) {
            Some(known) => together(known, vagrant, Dotted(version)),
            None => Ok(Vec::new()),
        },
    }
}

fn by_itself(rules: &Rules, provider: ProviderName, vagrant: Dotted) -> Result<Vec<String>> {
    if vagrant < rules.oldest {
        return Err(Box::new(
            Failure::new(Kind::Host, format!("Vagrant {vagrant} is too old"))
                .because(format!("wdev needs {} or newer", rules.oldest))
                .advise(format!("install a newer Vagrant: {WHERE_FROM}"))
                .permanent(),
        ));
    }
    let refused = rules
        .refused
        .iter()
        .find(|rule| rule.provider == provider && rule.vagrant.contains(&vagrant));
    if let Some(rule) = refused {
        return Err(Box::new(
            Failure::new(
                Kind::Host,
                format!("Vagrant {vagrant} does not work with `{provider}`"),
            )
            .because(&rule.why)
            .advise(format!("{}: {WHERE_FROM}", rule.advice))
            .permanent(),
        ));
    }
    let newer = vagrant > rules.newest;
    Ok(newer
        .then(|| {
            format!(
                "Vagrant {vagrant} is newer than wdev knows (up to {}): it should work, and what it \
                 says may be explained less well",
                rules.newest
            )
        })
        .into_iter()
        .collect())
}

fn together(known: &Hypervisor, vagrant: Dotted, hypervisor: Dotted) -> Result<Vec<String>> {
    let title = &known.title;
    if hypervisor < known.oldest {
        return Err(Box::new(
            Failure::new(Kind::Host, format!("{title} {hypervisor} is too old"))
                .because(format!("wdev needs {} or newer", known.oldest))
                .advise(format!("install a newer {title}"))
                .permanent(),
        ));
    }
    let need = known
        .needs
        .iter()
        .rev()
        .find(|need| hypervisor >= need.hypervisor);
    if let Some(need) = need.filter(|need| vagrant < need.vagrant) {
        return Err(Box::new(
            Failure::new(
                Kind::Host,
                format!("Vagrant {vagrant} does not know {title} {hypervisor}"),
            )
            .because(format!("it needs Vagrant {} or newer", need.vagrant))
            .advise(format!("install a newer Vagrant: {WHERE_FROM}"))
            .advise(format!("or an older {title}"))
            .permanent(),
        ));
    }
    let (major, minor, _) = hypervisor.0;
    let newer = Dotted((major, minor, 0)) > known.newest;
    Ok(newer
        .then(|| {
            format!(
                "{title} {hypervisor} is newer than wdev knows (up to {}): Vagrant may refuse it, and \
                 then needs an upgrade",
                known.newest
            )
        })
        .into_iter()
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vagrant(provider: ProviderName, version: &str) -> Result<Vec<String>> {
        rules(provider, parse(version).unwrap(), None)
    }

    fn virtualbox(vagrant: &str, version: &str) -> Result<Vec<String>> {
        rules(
            ProviderName::Virtualbox,
            parse(vagrant).unwrap(),
            parse(version),
        )
    }

    #[test]
    fn versions_are_read_from_what_programs_print() {
        assert_eq!(parse("7.1.4r165100"), Some((7, 1, 4)));
        assert_eq!(parse("2.4.10.dev\n"), Some((2, 4, 10)));
        assert_eq!(parse("7.0"), Some((7, 0, 0)));
        assert_eq!(parse("7.0.20_Debian"), Some((7, 0, 20)));
        assert_eq!(parse("WARNING"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn vagrant_may_be_too_old_or_newer_than_known() {
        assert_eq!(vagrant(ProviderName::Libvirt, "2.3.4").unwrap(), [""; 0]);
        assert_eq!(vagrant(ProviderName::Libvirt, "2.4.9").unwrap(), [""; 0]);
        let old = vagrant(ProviderName::Libvirt, "2.3.3").unwrap_err();
        assert_eq!(old.kind, Kind::Host);
        assert!(old.to_string().contains("2.3.4 or newer"), "{old}");
        let newer = vagrant(ProviderName::Libvirt, "2.5.0").unwrap();
        assert!(newer[0].contains("newer than wdev knows"), "{newer:?}");
    }

    #[test]
    fn vagrants_that_cannot_import_are_refused_for_hyperv_only() {
        for version in ["2.4.6", "2.4.7"] {
            let failure = vagrant(ProviderName::Hyperv, version).unwrap_err();
            assert!(failure.to_string().contains("import"), "{failure}");
            assert!(failure.advice[0].contains("2.4.8"), "{failure:?}");
            assert!(vagrant(ProviderName::Virtualbox, version).is_ok());
        }
        assert!(vagrant(ProviderName::Hyperv, "2.4.5").is_ok());
        assert!(vagrant(ProviderName::Hyperv, "2.4.8").is_ok());
    }

    #[test]
    fn each_virtualbox_needs_its_vagrant() {
        for (vagrant, version, works) in [
            ("2.3.4", "6.1.50", true),
            ("2.3.4", "7.0.20", true),
            ("2.3.4", "7.1.0", false),
            ("2.4.1", "7.1.4", false),
            ("2.4.2", "7.1.4", true),
            ("2.4.8", "7.2.2", false),
            ("2.4.9", "7.2.10", true),
            ("2.4.9", "7.3.0", true),
            ("2.4.8", "7.3.0", false),
            ("2.4.9", "6.0.24", false),
        ] {
            let found = virtualbox(vagrant, version);
            assert_eq!(found.is_ok(), works, "{vagrant} with {version}: {found:?}");
        }
        assert!(virtualbox("2.4.9", "7.2.10").unwrap().is_empty());
        let newer = virtualbox("2.4.9", "7.3.0").unwrap();
        assert!(newer[0].contains("VirtualBox 7.3.0"), "{newer:?}");
        let failure = virtualbox("2.3.4", "7.1.4").unwrap_err();
        assert!(failure.to_string().contains("2.4.2 or newer"), "{failure}");
    }

    #[test]
    fn a_hypervisor_without_rules_is_fine() {
        let found = rules(ProviderName::Libvirt, (2, 3, 4), Some((9, 0, 0)));
        assert!(found.unwrap().is_empty());
    }
}
