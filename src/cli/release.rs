//! What a configuration's versions stand for: from the lock file, from the sandbox's own record, or from
//! the markers of the download site.

use std::path::Path;

use super::preflight::warnings;
use super::run::block_on;
use super::session;
use crate::artifacts::Store;
use crate::channel::Io;
use crate::clock::Clock;
use crate::config::model::ProviderName;
use crate::config::{Config, Diagnostic, Loaded, Problems, Severity};
use crate::error::{Failure, Kind, Result};
use crate::plan::Testbed;
use crate::plan::node::worker_os;
use crate::plan::record::Record;
use crate::release::artifacts::is_of_kubernetes;
use crate::release::{self, Exact, Origin, Release, Subject, Version, lock};
use crate::stop::Stop;
use crate::ui::{Ui, Verbosity};

/// What the configuration names the version of, beside Kubernetes.
const CONTAINERD: &str = "containerd";

/// How far a command may go to find out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// It shows only: what is not known is assumed.
    Assume,
    /// Whom it has to ask is asked.
    Ask,
    /// The lock file must say it all.
    Locked,
}

/// What a release is settled for.
#[derive(Clone, Copy)]
pub(super) struct Wish<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// The folder of `variables.yml`.
    pub project: &'a Path,
    /// The provider in use; never `auto`.
    pub provider: ProviderName,
    /// What the sandbox was last made of.
    pub earlier: Option<&'a Record>,
}

impl Wish<'_> {
    /// The release of an exact version, with the artifacts that this configuration needs.
    pub fn of(&self, exact: Exact) -> Release {
        let workers = worker_os(self.provider, Testbed::from_env());
        Release::new(self.config, workers, exact)
    }

    /// Whether a release was settled for the version that is asked for now.
    pub fn fits(&self, release: &Release) -> bool {
        release.asked == self.config.kubernetes.version
    }
}

/// Settles every version. What the lock file says holds, as long as the same is asked for; else what the
/// sandbox was made of, until the user asks for another version.
///
/// # Errors
/// `Configuration` when there is no such version or the lock file is damaged, `Host` when nobody answers.
pub(super) fn settle(wish: Wish<'_>, effort: Effort, ui: &Ui) -> Result<Release> {
    let simulated = wish.provider == ProviderName::Sim;
    if effort == Effort::Locked {
        check_locked(wish)?;
    }
    let locked = lock::read(wish.project)?.filter(|locked| wish.fits(locked));
    if let Some(locked) = locked {
        let fresh = wish.of(exact_of(&locked));
        return Ok(with_lock(fresh, &locked));
    }
    let recorded = wish.earlier.and_then(|record| record.release.as_ref());
    if let Some(recorded) = recorded.filter(|recorded| wish.fits(recorded)) {
        return Ok(with_lock(wish.of(exact_of(recorded)), recorded));
    }
    let asked = &wish.config.kubernetes.version;
    if simulated || effort == Effort::Assume {
        let exact = release::assumed(asked);
        if !simulated && !is_exact(&exact, asked) {
            ui.err(&format!(
                "note: `{asked}` is taken to be {} until `wdev up` or `wdev lock` asks",
                exact.version
            ));
        }
        return Ok(wish.of(exact));
    }
    Ok(wish.of(ask(wish.config, ui)?))
}

/// Whether what the user wrote leaves nothing open.
fn is_exact(resolved: &Exact, asked: &str) -> bool {
    let asked = asked.strip_prefix("ci/").unwrap_or(asked);
    Version::parse(asked).is_some_and(|version| version == resolved.version)
}

/// Asks the download site, or the checkout, what the version is.
pub(super) fn ask(config: &Config, ui: &Ui) -> Result<Exact> {
    let kubernetes = &config.kubernetes;
    let assumed = release::assumed(&kubernetes.version);
    if config.artifacts.offline && is_exact(&assumed, &kubernetes.version) {
        // Nobody may be asked whether it exists.
        return Ok(assumed);
    }
    let clock = Clock::new();
    let store = Store::of_user(&config.artifacts, clock)?;
    let io = told(ui);
    let (asked, checkout) = (&kubernetes.version, kubernetes.source.as_deref());
    let resolved = block_on(false, async {
        let site = store.site(io.clone());
        release::resolve(asked, checkout, &site, clock, &io.stop).await
    })?;
    for note in &resolved.notes {
        ui.err(&format!("note: {note}"));
    }
    Ok(resolved.exact)
}

/// The version of the checkout that components are built from, where that is not the cluster's.
fn built(wish: Wish<'_>, release: &Release) -> Result<Option<Version>> {
    let kubernetes = &wish.config.kubernetes;
    let another = !kubernetes.build.is_empty()
        && release.origin != Origin::Source
        && wish.provider != ProviderName::Sim;
    let Some(checkout) = kubernetes.source.as_deref().filter(|_| another) else {
        return Ok(None);
    };
    let stop = Stop::never();
    block_on(
        false,
        release::source::version(checkout, Clock::new(), &stop),
    )
    .map(Some)
}

/// What a version that is written in the configuration says about the rest of it, without asking anybody; nothing
/// where it stands for another one every day.
pub(super) fn known(loaded: &Loaded) -> Vec<Diagnostic> {
    let asked = &loaded.config.kubernetes.version;
    if !release::names_minor(asked) {
        return Vec::new();
    }
    let exact = release::assumed(asked);
    judged(loaded, &exact.version, exact.origin, None)
}

/// What the version of a control plane, and that of components built from a checkout where it is another one, say
/// about the configuration.
fn judged(
    loaded: &Loaded,
    version: &Version,
    origin: Origin,
    built: Option<&Version>,
) -> Vec<Diagnostic> {
    let subject = Subject {
        config: &loaded.config,
        version,
        origin,
        built,
        removed: release::kubelet::removed_in,
    };
    release::check_located(&subject, loaded)
}

/// Tells what [`known`] finds.
///
/// # Errors
/// `Configuration` when the configuration cannot be used.
pub(super) fn check_known(loaded: &Loaded, ui: &Ui) -> Result<()> {
    told_or_invalid(known(loaded), ui)
}

/// Tells what a version says about the rest of the configuration.
///
/// # Errors
/// `Configuration` when they do not go together.
pub(super) fn check(wish: Wish<'_>, loaded: &Loaded, release: &Release, ui: &Ui) -> Result<()> {
    let built = built(wish, release)?;
    let found = judged(loaded, &release.kubernetes, release.origin, built.as_ref());
    told_or_invalid(found, ui)
}

/// Tells warnings; mistakes are told as those of a configuration.
fn told_or_invalid(found: Vec<Diagnostic>, ui: &Ui) -> Result<()> {
    let (errors, warnings): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|found| found.severity == Severity::Error);
    if !warnings.is_empty() && ui.verbosity() > Verbosity::Quiet {
        ui.err(&Problems(warnings).render(ui.err_colored()));
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(session::invalid(&Problems(errors), ui))
    }
}

/// Takes the remarks of work outside of a plan.
pub(super) fn told(ui: &Ui) -> Io {
    let ui = *ui;
    warnings(move |text| ui.err(&format!("note: {text}")))
}

/// What a release says of its version.
pub(super) fn exact_of(release: &Release) -> Exact {
    Exact {
        version: release.kubernetes.clone(),
        origin: release.origin,
        answers: release.answers.clone(),
    }
}

/// What the lock file, or the sandbox's record, says of the same artifacts: their hashes, and the versions of
/// those that the configuration says nothing of.
pub(super) fn with_lock(mut fresh: Release, locked: &Release) -> Release {
    for artifact in &mut fresh.artifacts {
        let Some(of_lock) = locked.artifact(&artifact.name, &artifact.platform) else {
            continue;
        };
        let open = !is_of_kubernetes(artifact) && artifact.name != CONTAINERD;
        if of_lock.url == artifact.url || open {
            *artifact = of_lock.clone();
        }
    }
    fresh
}

/// Refuses to go on when the lock file is not what `fresh` asks for.
///
/// # Errors
/// `Configuration`, with what differs.
fn check_locked(wish: Wish<'_>) -> Result<()> {
    let path = lock::path(wish.project);
    let Some(locked) = lock::read(wish.project)? else {
        return Err(Box::new(
            Failure::new(
                Kind::Configuration,
                format!("`--locked` needs `{}`, and there is none", path.display()),
            )
            .advise("write it with `wdev lock`, and commit it"),
        ));
    };
    let mut fresh = with_lock(wish.of(exact_of(&locked)), &locked);
    fresh.asked.clone_from(&wish.config.kubernetes.version);
    let differences = lock::differences(&locked, &fresh);
    if differences.is_empty() {
        return Ok(());
    }
    let failure = Failure::new(
        Kind::Configuration,
        format!(
            "`{}` is not what the configuration asks for",
            path.display()
        ),
    );
    let failure = differences.into_iter().fold(failure, Failure::because);
    Err(Box::new(failure.advise(
        "move it with `wdev lock --update`, and look at what changes",
    )))
}
