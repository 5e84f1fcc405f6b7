//! From what a user asks for to one exact version: upstream's markers are asked once, here and not by
//! kubeadm, which would take another version without a word.

use std::collections::BTreeMap;
use std::path::Path;

use super::artifacts::proof_url;
use super::markers::{Asked, Marker};
use super::site::Site;
use super::{Exact, Origin, Version, source, supported};
use crate::clock::Clock;
use crate::error::{Failure, Kind, Result};
use crate::stop::Stop;

/// How much of a wrong answer is shown.
const EXCERPT: usize = 60;

/// An exact version, and what the user should know of how it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The version, with the answers that led to it.
    pub exact: Exact,
    /// Fall-backs that were taken.
    pub notes: Vec<String>,
}

/// Settles `asked`, a value of `kubernetes.version`. `checkout` is read for `source` alone; then no site
/// is asked. Otherwise markers are asked for, and that the version exists is proven by its checksum file.
///
/// A missing `ci/latest-1.NN` falls back to `ci/latest` as long as that is of the same minor, as for a
/// minor whose branch does not exist yet (kubernetes-sigs/cluster-api-provider-azure hack/util.sh).
///
/// # Errors
/// `Configuration` for a version that does not exist and a checkout that is none; `Host` for answers that
/// are no versions; whatever the site fails with.
pub async fn resolve(
    asked: &str,
    checkout: Option<&Path>,
    site: &dyn Site,
    clock: Clock,
    stop: &Stop,
) -> Result<Resolved> {
    let mut resolver = Resolver {
        site,
        answers: BTreeMap::new(),
        notes: Vec::new(),
    };
    let parsed = Asked::parse(asked).ok_or_else(|| {
        configuration(format!("`{asked}` is not a Kubernetes version"))
            .advise("docs/versions.md says what `kubernetes.version` may be")
    })?;
    let origin = parsed.origin();
    let version = match &parsed {
        Asked::Source => {
            let checkout = checkout.ok_or_else(|| {
                configuration("the version `source` needs a checkout to read it from")
                    .advise("name it: `kubernetes.source`")
            })?;
            source::version(checkout, clock, stop).await?
        }
        Asked::Exact(version, _) => {
            resolver.exists(version, origin, None).await?;
            version.clone()
        }
        Asked::Minor(minor) => resolver.marked(&Marker::stable(*minor)).await?,
        Asked::Marker(marker) => resolver.marked(marker).await?,
    };
    Ok(Resolved {
        exact: Exact {
            version,
            origin,
            answers: resolver.answers,
        },
        notes: resolver.notes,
    })
}

/// Whether `asked` says which minor it is, whatever it stands for today.
#[must_use]
pub fn names_minor(asked: &str) -> bool {
    Asked::parse(asked).is_some_and(|asked| asked.minor().is_some())
}

/// What `asked` probably stands for, by wdev's own data: the newest known release where a marker or a
/// checkout would have to be read. For what is only shown or simulated.
#[must_use]
pub fn assumed(asked: &str) -> Exact {
    let asked = Asked::parse(asked).unwrap_or(Asked::Marker(Marker {
        ci: false,
        name: "stable".to_owned(),
        minor: None,
    }));
    let version = if let Asked::Exact(version, _) = &asked {
        version.clone()
    } else {
        let minor = asked.minor().unwrap_or_else(supported::newest_minor);
        supported::newest_patch(minor).unwrap_or_else(|| Version::first_of(minor))
    };
    Exact {
        version,
        origin: asked.origin(),
        answers: BTreeMap::new(),
    }
}

struct Resolver<'a> {
    site: &'a dyn Site,
    answers: BTreeMap<String, String>,
    notes: Vec<String>,
}

impl Resolver<'_> {
    /// What a marker stands for.
    async fn marked(&mut self, marker: &Marker) -> Result<Version> {
        let (version, answered) = match self.ask(marker).await? {
            Some(version) => (version, marker.clone()),
            None => self.fall_back(marker).await?,
        };
        if let Some(minor) = marker.minor
            && minor != version.minor()
        {
            return Err(wrong_minor(marker, &answered, minor, &version));
        }
        let origin = if marker.ci {
            Origin::Ci
        } else {
            Origin::Release
        };
        self.exists(&version, origin, Some(&answered)).await?;
        Ok(version)
    }

    /// Asks for a marker; nothing where there is none.
    async fn ask(&mut self, marker: &Marker) -> Result<Option<Version>> {
        let url = marker.url();
        let Some(text) = self.site.text(&url).await? else {
            return Ok(None);
        };
        let text = text.trim();
        let version = Version::parse(text).ok_or_else(|| nonsense(&url, "a version", text))?;
        self.answers.insert(url, text.to_owned());
        Ok(Some(version))
    }

    async fn fall_back(&mut self, marker: &Marker) -> Result<(Version, Marker)> {
        let other = marker.of_all();
        if marker.ci
            && other != *marker
            && let Some(version) = self.ask(&other).await?
        {
            self.notes.push(format!(
                "there is no marker `{}` yet: taken from `{}`",
                marker.written(),
                other.written()
            ));
            return Ok((version, other));
        }
        Err(self.missing(marker).await)
    }

    /// The failure of a marker that does not exist: it says what does.
    async fn missing(&mut self, marker: &Marker) -> Box<Failure> {
        let stable = !marker.ci && marker.name.starts_with("stable");
        let message = match (marker.minor, stable) {
            (Some(minor), true) => format!("there is no release of Kubernetes 1.{minor}"),
            (Some(minor), false) => {
                format!("there is no release or pre-release of Kubernetes 1.{minor}")
            }
            (None, _) => format!("upstream has no marker `{}`", marker.written()),
        };
        let mut failure =
            configuration(message).because(format!("`{}` does not exist", marker.url()));
        let mut pre_release = None;
        if let Some(minor) = marker.minor.filter(|_| stable) {
            let latest = Marker::latest(minor);
            pre_release = self.peek(&latest).await;
            if let Some(version) = &pre_release {
                failure = failure.advise(format!(
                    "its newest pre-release is `{version}`: for that, write `{}`",
                    latest.written()
                ));
            }
        }
        if pre_release.is_none()
            && marker.minor.is_some()
            && let Some(version) = self.peek(&marker.of_all()).await
        {
            failure = failure.advise(format!(
                "the newest of all is `{version}`: for that, write `{}`",
                marker.of_all().written()
            ));
        }
        if !marker.ci {
            failure = failure.advise("for builds of what is being developed, write `ci/latest`");
        }
        Box::new(failure)
    }

    /// A marker that is only mentioned: no answer is not an error, and none is recorded.
    async fn peek(&self, marker: &Marker) -> Option<Version> {
        let text = self.site.text(&marker.url()).await.ok()??;
        Version::parse(text.trim())
    }

    /// That the version was published, which its checksum file tells. `marker` is what named it.
    async fn exists(
        &self,
        version: &Version,
        origin: Origin,
        marker: Option<&Marker>,
    ) -> Result<()> {
        let Some(url) = proof_url(version, origin) else {
            return Ok(());
        };
        let Some(text) = self.site.text(&url).await? else {
            return Err(match marker {
                Some(marker) => half_published(version, marker, &url),
                None => Box::new(self.unpublished(version, origin, &url).await),
            });
        };
        let text = text.trim();
        let hash = text.split_whitespace().next().unwrap_or_default();
        if hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Ok(());
        }
        Err(nonsense(&url, "a checksum", text))
    }

    /// The failure of an exact version that upstream does not have.
    async fn unpublished(&self, version: &Version, origin: Origin, url: &str) -> Failure {
        let minor = version.minor();
        let mut failure = configuration(format!("upstream has no Kubernetes `{version}`"))
            .because(format!("`{url}` does not exist"));
        if origin == Origin::Ci {
            return failure
                .advise("CI builds are removed after a while: take a newer one")
                .advise(format!(
                    "for the newest of 1.{minor}, write `ci/latest-1.{minor}`"
                ));
        }
        let text = version.to_string();
        if text.contains('+') {
            failure = failure.advise(format!("if it is a CI build, write `ci/{text}`"));
        }
        let stable = Marker::stable(minor);
        if let Some(newest) = self.peek(&stable).await {
            return failure.advise(format!(
                "the newest release of 1.{minor} is `{newest}`: for that, write `1.{minor}`"
            ));
        }
        if let Some(newest) = self.peek(&Marker::latest(minor)).await {
            return failure.advise(format!(
                "the newest pre-release of 1.{minor} is `{newest}`: for that, write `latest-1.{minor}`"
            ));
        }
        failure.advise("https://kubernetes.io/releases/ lists what there is")
    }
}

fn configuration(message: impl Into<String>) -> Failure {
    Failure::new(Kind::Configuration, message).permanent()
}

/// The failure of an answer that is something else than `wanted`.
fn nonsense(url: &str, wanted: &str, text: &str) -> Box<Failure> {
    let failure = Failure::new(Kind::Host, format!("`{url}` does not answer with {wanted}"));
    let line = text.lines().next().unwrap_or_default().trim();
    let start = line.to_ascii_lowercase();
    Box::new(if text.is_empty() {
        failure
            .because("the answer is empty")
            .advise("try again later, or write an exact version")
    } else if start.starts_with("<!doctype") || start.starts_with("<html") || start.starts_with('<')
    {
        failure
            .because("the answer is a web page, so something stands between this host and the site")
            .advise("log in where the network wants a login, or set `HTTPS_PROXY`")
    } else {
        let shown: String = line
            .chars()
            .filter(|c| !c.is_control())
            .take(EXCERPT)
            .collect();
        failure
            .because(format!("it starts with `{shown}`"))
            .advise("check the mirror in `artifacts.mirror` and the proxy of this host")
    })
}

/// The failure of a marker whose answer is of another minor than asked for.
fn wrong_minor(marker: &Marker, answered: &Marker, minor: u32, version: &Version) -> Box<Failure> {
    if marker == answered {
        return Box::new(
            Failure::new(
                Kind::Host,
                format!(
                    "`{}` answers with `{version}`, which is no 1.{minor}",
                    marker.url()
                ),
            )
            .advise("check the mirror in `artifacts.mirror`"),
        );
    }
    Box::new(
        configuration(format!("there are no CI builds of Kubernetes 1.{minor}"))
            .because(format!(
                "`{}` does not exist, and `{}` is `{version}`",
                marker.url(),
                answered.written()
            ))
            .advise(format!("for that, write `{}`", answered.written())),
    )
}

/// The failure of a version that a marker names and that is not there.
fn half_published(version: &Version, marker: &Marker, url: &str) -> Box<Failure> {
    Box::new(
        Failure::new(
            Kind::Host,
            format!(
                "`{}` names `{version}`, whose files are not there",
                marker.url()
            ),
        )
        .because(format!("`{url}` does not exist"))
        .advise("upstream is perhaps publishing it: try again later, or write an exact version"),
    )
}
