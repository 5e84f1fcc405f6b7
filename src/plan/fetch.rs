//! Brings the artifacts of a release into the cache, each checked against a hash.

use crate::artifacts::{Store, Stored, Wanted, checksum};
use crate::channel::Io;
use crate::error::{Failure, Kind, Result};
use crate::release::artifacts::{checksum_url, is_of_kubernetes, make_target};
use crate::release::{Artifact, Proof, Site};

/// What an artifact is called in messages and facts: `kubelet linux/amd64`.
#[must_use]
pub fn name(artifact: &Artifact) -> String {
    format!("{} {}", artifact.name, artifact.platform)
}

/// Finds the hash of every artifact that has none yet, in its project's own checksum file. Where there is
/// none the artifact comes back without a hash and as [`Proof::FirstDownload`].
///
/// # Errors
/// `Host` when a site does not answer, or says something else than a hash; `Configuration` when there is
/// no such version.
pub async fn with_hashes(artifacts: &[Artifact], store: &Store, io: &Io) -> Result<Vec<Artifact>> {
    let site = store.site(io.clone());
    let mut found = Vec::with_capacity(artifacts.len());
    for artifact in artifacts {
        let mut artifact = artifact.clone();
        if artifact.sha256.is_empty() && artifact.proof == Proof::Upstream {
            match from_upstream(&artifact, &site).await {
                Ok(Some(hash)) => artifact.sha256 = hash,
                Ok(None) => artifact.proof = Proof::FirstDownload,
                // Then the files themselves are missing too, and are all named at once.
                Err(_) if store.is_offline() => {}
                Err(failure) => return Err(failure),
            }
        }
        found.push(artifact);
    }
    Ok(found)
}

async fn from_upstream(artifact: &Artifact, site: &dyn Site) -> Result<Option<String>> {
    let Some(url) = checksum_url(artifact) else {
        return Ok(None);
    };
    let Some(text) = site.text(&url).await? else {
        if is_of_kubernetes(artifact) {
            return Err(no_such_version(artifact, &url));
        }
        return Ok(None);
    };
    let file = artifact.url.rsplit('/').next().unwrap_or_default();
    match checksum::find(&text, file) {
        Some(hash) => Ok(Some(hash)),
        None => Err(Box::new(
            Failure::new(Kind::Host, format!("`{url}` holds no hash of `{file}`"))
                .because(format!("it begins with `{}`", beginning(&text)))
                .advise("see whether a proxy or a mirror answers in its place"),
        )),
    }
}

fn beginning(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(60).collect()
}

fn no_such_version(artifact: &Artifact, url: &str) -> Box<Failure> {
    Box::new(
        Failure::new(
            Kind::Configuration,
            format!(
                "there is no {} of Kubernetes {}",
                name(artifact),
                artifact.version
            ),
        )
        .because(format!("the download site does not know `{url}`"))
        .advise("check `kubernetes.version`: https://kubernetes.io/releases/ lists the releases")
        .advise("CI builds are removed after a while: `ci/latest` is always there")
        .permanent(),
    )
}

/// Brings all artifacts into the cache; they come back with their hashes.
///
/// # Errors
/// Those of [`with_hashes`] and of [`Store::ensure_all`]; `Host` when the user's own build is not there.
pub async fn all(artifacts: &[Artifact], store: &Store, io: &Io) -> Result<Vec<Artifact>> {
    let files = files(artifacts, store, io).await?;
    Ok(files.into_iter().map(|(artifact, _)| artifact).collect())
}

/// The same, each with its file in the cache.
///
/// # Errors
/// Those of [`all`].
pub async fn files(
    artifacts: &[Artifact],
    store: &Store,
    io: &Io,
) -> Result<Vec<(Artifact, Stored)>> {
    for artifact in artifacts.iter().filter(|one| one.proof == Proof::Own) {
        check_own(artifact)?;
    }
    let mut artifacts = with_hashes(artifacts, store, io).await?;
    for artifact in &artifacts {
        if artifact.proof == Proof::FirstDownload && artifact.sha256.is_empty() {
            io.note(format!(
                "{} has no checksum file: its hash is that of this first download",
                name(artifact)
            ));
        }
    }
    let wanted: Vec<Wanted> = artifacts.iter().map(wanted).collect();
    let stored = store.ensure_all(&wanted, io).await?;
    for (artifact, Stored { sha256, .. }) in artifacts.iter_mut().zip(&stored) {
        artifact.sha256.clone_from(sha256);
    }
    Ok(artifacts.into_iter().zip(stored).collect())
}

fn wanted(artifact: &Artifact) -> Wanted {
    Wanted {
        name: name(artifact),
        url: artifact.url.clone(),
        sha256: (!artifact.sha256.is_empty()).then(|| artifact.sha256.clone()),
    }
}

/// The user's own build is there.
fn check_own(artifact: &Artifact) -> Result<()> {
    if std::path::Path::new(&artifact.url).is_file() {
        return Ok(());
    }
    let advice = if is_of_kubernetes(artifact) {
        format!(
            "build it in your checkout: `make WHAT={} KUBE_BUILD_PLATFORMS={}`",
            make_target(&artifact.name),
            artifact.platform
        )
    } else {
        "name a file that is there: `container_runtime.archive`".to_owned()
    };
    Err(Box::new(
        Failure::new(
            Kind::Host,
            format!("your build of {} is not there", name(artifact)),
        )
        .because(format!("there is no `{}`", artifact.url))
        .advise(advice)
        .permanent(),
    ))
}
