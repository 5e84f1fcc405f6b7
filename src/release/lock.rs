//! `wdev.lock`: what a sandbox consists of, beside `variables.yml`, for the user to commit.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Artifact, Proof, Release};
use crate::error::{Failure, Kind, Result, io_failure};

/// The file's name.
pub const FILE: &str = "wdev.lock";
/// The version of its form.
const VERSION: u32 = 1;

const HEAD: &str = "\
# What this sandbox consists of, exactly. Written by `wdev lock`; commit it beside variables.yml.
# `wdev up --locked` refuses to differ from it, `wdev lock --update [NAME]` moves it.
# proof: where a hash is from; `upstream` is the project's own checksum file, `data` is wdev's own data,
# `first_download` is nothing better than the file that was downloaded first.
";

/// The file as it is written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Locked {
    version: u32,
    release: Release,
}

/// What every form of the file begins with.
#[derive(Deserialize)]
struct Head {
    version: u32,
}

/// Where the lock file of a project lies.
#[must_use]
pub fn path(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

/// Reads the lock file of a project; nothing where there is none.
///
/// # Errors
/// `Configuration` when it is damaged or a newer wdev wrote it, `Host` when it cannot be read.
pub fn read(folder: &Path) -> Result<Option<Release>> {
    let path = path(folder);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            return Err(damaged(&path, "it is not UTF-8"));
        }
        Err(error) => return Err(io_failure("read", &path, &error)),
    };
    // The version first: a newer file may have another shape.
    if toml::from_str::<Head>(&text).is_ok_and(|head| head.version > VERSION) {
        return Err(Box::new(
            Failure::new(
                Kind::Configuration,
                format!("`{}` was written by a newer wdev", path.display()),
            )
            .advise("use that wdev, or remove the file and run `wdev lock`"),
        ));
    }
    let locked: Locked = toml::from_str(&text).map_err(|error| damaged(&path, &said(&error)))?;
    if let Some(bad) = locked.release.artifacts.iter().find(|one| !is_sound(one)) {
        let why = format!(
            "`{}` for `{}` has no usable hash or URL",
            bad.name, bad.platform
        );
        return Err(damaged(&path, &why));
    }
    Ok(Some(locked.release))
}

/// What the lock file of a release holds: the same bytes on every machine.
///
/// # Errors
/// `Bug` when it cannot be written as text.
pub fn text(release: &Release) -> Result<String> {
    let mut release = release.clone();
    release.artifacts = listed(&release).cloned().collect();
    release
        .artifacts
        .sort_by(|a, b| (&a.name, &a.platform).cmp(&(&b.name, &b.platform)));
    let locked = Locked {
        version: VERSION,
        release,
    };
    let body = toml::to_string(&locked).map_err(|error| {
        Failure::new(Kind::Bug, format!("cannot write `{FILE}`")).because(error)
    })?;
    Ok(format!("{HEAD}\n{body}"))
}

/// The artifacts that belong in a lock file: all but the user's own builds, which change all the time.
pub fn listed(release: &Release) -> impl Iterator<Item = &Artifact> {
    let artifacts = release.artifacts.iter();
    artifacts.filter(|artifact| artifact.proof != Proof::Own)
}

/// What differs between a lock file and what would be made without it, a sentence each.
#[must_use]
pub fn differences(locked: &Release, wanted: &Release) -> Vec<String> {
    let mut found = Vec::new();
    if locked.asked != wanted.asked {
        found.push(format!(
            "`kubernetes.version` is `{}` now and was `{}`",
            wanted.asked, locked.asked
        ));
    } else if locked.kubernetes != wanted.kubernetes {
        found.push(format!(
            "Kubernetes is {} now and was {}",
            wanted.kubernetes, locked.kubernetes
        ));
    }
    let what = |one: &Artifact| format!("{} for {}", one.name, one.platform);
    for new in listed(wanted) {
        match locked.artifact(&new.name, &new.platform) {
            None => found.push(format!("{} is not in it", what(new))),
            Some(old) if old.url != new.url && old.version != new.version => found.push(format!(
                "{} is {} now and was {}",
                what(new),
                new.version,
                old.version
            )),
            Some(old) if old.url != new.url => {
                found.push(format!("{} comes from another place now", what(new)));
            }
            Some(_) => {}
        }
    }
    for old in &locked.artifacts {
        if wanted.artifact(&old.name, &old.platform).is_none() {
            found.push(format!("{} is in it and no longer needed", what(old)));
        }
    }
    found
}

fn is_sound(artifact: &Artifact) -> bool {
    let digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    artifact.sha256.len() == 64
        && artifact.sha256.bytes().all(digit)
        && artifact.url.starts_with("https://")
}

/// The parser's complaint in one line, with its place.
fn said(error: &toml::de::Error) -> String {
    error
        .to_string()
        .lines()
        .map(str::trim)
        .collect::<Vec<_>>()
        .join(" ")
}

fn damaged(path: &Path, why: &str) -> Box<Failure> {
    Box::new(
        Failure::new(
            Kind::Configuration,
            format!("`{}` is damaged", path.display()),
        )
        .because(why)
        .advise("restore it from version control, or remove it and run `wdev lock`"),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

    use super::super::{Origin, Version};
    use super::*;
    use std::collections::BTreeMap;

    fn artifact(name: &str, version: &str) -> Artifact {
        Artifact {
            name: name.to_owned(),
            platform: "linux/amd64".to_owned(),
            version: version.to_owned(),
            url: format!("https://dl.example/{name}-{version}"),
            sha256: "0".repeat(64),
            proof: Proof::Upstream,
        }
    }

    fn release() -> Release {
        Release {
            asked: "ci/latest".to_owned(),
            kubernetes: Version::parse("v1.38.0-alpha.1.12+0123456789abcd").unwrap(),
            origin: Origin::Ci,
            answers: BTreeMap::from([(
                "https://dl.k8s.io/ci/latest.txt".to_owned(),
                "v1.38.0-alpha.1.12+0123456789abcd".to_owned(),
            )]),
            artifacts: vec![artifact("kubelet", "v1"), artifact("containerd", "2.2.7")],
        }
    }

    #[test]
    fn what_is_written_is_read_back_in_one_order() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()).unwrap(), None);
        std::fs::write(path(folder.path()), text(&release()).unwrap()).unwrap();
        let back = read(folder.path()).unwrap().unwrap();
        let names: Vec<_> = back.artifacts.iter().map(|one| &one.name).collect();
        assert_eq!(names, ["containerd", "kubelet"]);
        let mut shuffled = release();
        shuffled.artifacts.reverse();
        assert_eq!(text(&shuffled).unwrap(), text(&release()).unwrap());
        assert!(differences(&back, &release()).is_empty());
    }

    #[test]
    fn damage_is_told_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let good = text(&release()).unwrap();
        for (bad, word) in [
            (good.replace("version = 1\n", "version = 9\n"), "newer wdev"),
            (good.replace(&"0".repeat(64), "short"), "no usable hash"),
            (
                good.replace("https://dl.example", "http://dl.example"),
                "no usable hash or URL",
            ),
            (good.replace("[release]", "[release"), "line"),
            (good.replace("origin", "orogin"), "orogin"),
        ] {
            assert_ne!(bad, good);
            std::fs::write(path(folder.path()), bad).unwrap();
            let failure = read(folder.path()).unwrap_err();
            assert_eq!(failure.kind, Kind::Configuration);
            assert!(failure.to_string().contains(word), "{word}: {failure}");
        }
    }

    #[test]
    fn every_difference_is_named() {
        let mut wanted = release();
        wanted.asked = "1.36".to_owned();
        wanted.artifacts[0] = artifact("kubelet", "v2");
        wanted.artifacts[1] = artifact("runc", "1.4.3");
        let said = differences(&release(), &wanted).join("\n");
        for word in [
            "`1.36` now and was `ci/latest`",
            "kubelet for linux/amd64 is v2 now and was v1",
            "runc for linux/amd64 is not in it",
            "containerd for linux/amd64 is in it and no longer needed",
        ] {
            assert!(said.contains(word), "{word}: {said}");
        }
    }
}
