//! The version of the user's checkout, as Kubernetes' own build would call it: `hack/lib/version.sh`.
//!
//! The checkout is only read: git takes no locks, so that not even its index is refreshed, fetches
//! nothing, and starts no watcher.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::Version;
use crate::clock::Clock;
use crate::error::{Failure, Kind, Result};
use crate::process::{self, Command, Stream, run};
use crate::stop::Stop;

/// A whole Kubernetes tree on a slow disk with a cold cache takes a minute.
const LIMIT: Duration = Duration::from_mins(3);
const CLONE: &str = "clone it with git, or write the version that it is: `kubernetes.version`";
/// What every checkout of Kubernetes has, since before its oldest supported version.
const LANDMARKS: [&str; 3] = ["cmd/kubelet", "cmd/kubeadm", "hack/lib/version.sh"];

/// The version of the checkout at `path`.
///
/// # Errors
/// `Configuration` when it is no checkout of Kubernetes, or git knows no version of it; `Host` when git
/// is missing or may not read it.
pub async fn version(path: &Path, clock: Clock, stop: &Stop) -> Result<Version> {
    check_folder(path)?;
    let git = Git { path, clock, stop };
    git.check_repository().await?;
    let head = git
        .ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
        .await?;
    if !head.ok {
        return Err(git
            .failure("has no commit, so it has no version")
            .advise("check out the commit to build")
            .into());
    }
    let described = git
        .ask(&[
            "describe",
            "--tags",
            "--match=v*",
            "--abbrev=14",
            "HEAD^{commit}",
        ])
        .await?;
    let Some(text) = described.line().filter(|_| described.ok) else {
        return Err(git.no_tags(&described).await?.into());
    };
    let status = git.ask(&["status", "--porcelain"]).await?;
    // As upstream: what cannot be told is dirty.
    let dirty = !status.ok || !status.lines.is_empty();
    let version = translate(text, dirty);
    Version::parse(&version).ok_or_else(|| {
        git.failure(&format!(
            "is `{version}` by its tags, which is no Kubernetes version"
        ))
        .because(format!("`git describe` says `{text}`"))
        .advise("a tag such as `v1.36.3` must be nearer than any other that starts with `v`")
        .into()
    })
}

/// `git describe`'s words as a semantic version: the number of commits becomes a part of a pre-release,
/// and the commit its build. Upstream decides by the number of dashes.
fn translate(described: &str, dirty: bool) -> String {
    let dashes = described.matches('-').count();
    let split = described.rsplit_once("-g").filter(|(_, hash)| {
        hash.len() == 14 && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    });
    let version = match (dashes, split) {
        (3, Some((rest, hash))) => match rest.rsplit_once('-') {
            Some((tag, count)) if is_number(count) => format!("{tag}.{count}+{hash}"),
            _ => described.to_owned(),
        },
        (2, Some((rest, hash))) => format!("{rest}+{hash}"),
        _ => described.to_owned(),
    };
    if dirty {
        format!("{version}-dirty")
    } else {
        version
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn check_folder(path: &Path) -> Result<()> {
    let shown = path.display();
    let failure = |message: String| Failure::new(Kind::Configuration, message).permanent();
    if !path.is_dir() {
        let what = if path.exists() {
            "is no folder"
        } else {
            "does not exist"
        };
        return Err(Box::new(
            failure(format!("the checkout `{shown}` {what}"))
                .advise("name the folder that Kubernetes was cloned into: `kubernetes.source`"),
        ));
    }
    if let Some(missing) = LANDMARKS.iter().find(|mark| !path.join(mark).exists()) {
        return Err(Box::new(
            failure(format!("`{shown}` is no checkout of Kubernetes"))
                .because(format!("it has no `{missing}`"))
                .advise("name the folder that Kubernetes was cloned into: `kubernetes.source`"),
        ));
    }
    Ok(())
}

/// What git printed.
struct Answer {
    ok: bool,
    lines: Vec<String>,
    errors: Vec<String>,
}

impl Answer {
    fn line(&self) -> Option<&str> {
        self.lines.first().map(|line| line.trim())
    }

    fn says(&self, text: &str) -> bool {
        self.errors.iter().any(|line| line.contains(text))
    }
}

struct Git<'a> {
    path: &'a Path,
    clock: Clock,
    stop: &'a Stop,
}

impl Git<'_> {
    async fn ask(&self, arguments: &[&str]) -> Result<Answer> {
        let command = Command::new("git")
            .args(["--no-optional-locks", "--no-pager"])
            .args(["-c", "core.fsmonitor=false"])
            .arg("-C")
            .arg(self.path)
            .args(arguments)
            .environment(environment());
        let line = command.line();
        let (mut lines, mut errors) = (Vec::new(), Vec::new());
        let mut take = |stream: Stream, text: &str| match stream {
            Stream::Stdout => lines.push(text.to_owned()),
            _ => errors.push(text.to_owned()),
        };
        let ended = self
            .clock
            .timeout(LIMIT, run(command, self.stop, &mut take))
            .await;
        let Some(finished) = ended else {
            return Err(Box::new(
                Failure::new(
                    Kind::Host,
                    format!("git did not answer within {} s", LIMIT.as_secs()),
                )
                .command(line)
                .advise("run it yourself to see what it waits for"),
            ));
        };
        let finished = finished.map_err(|failure| {
            if failure.kind == Kind::Host && which::which("git").is_err() {
                return Box::new(
                    failure.advise("install git: it tells the version of `kubernetes.source`"),
                );
            }
            failure
        })?;
        Ok(Answer {
            ok: finished.ok(),
            lines,
            errors,
        })
    }

    /// That git sees this folder as the top of a repository, and may read it.
    async fn check_repository(&self) -> Result<()> {
        let prefix = self.ask(&["rev-parse", "--show-prefix"]).await?;
        if prefix.says("dubious ownership") || prefix.says("unsafe repository") {
            let path = process::word(self.path);
            return Err(Box::new(
                Failure::new(
                    Kind::Host,
                    format!("git does not read `{}`", self.path.display()),
                )
                .because("it belongs to another user, and git trusts no such folder")
                .advise(format!(
                    "if you trust it: `git config --global --add safe.directory {path}`"
                ))
                .permanent(),
            ));
        }
        if !prefix.ok {
            return Err(self
                .failure("is no git repository, so nothing tells its version")
                .output(prefix.errors)
                .advise(CLONE)
                .into());
        }
        match prefix.line() {
            None | Some("") => Ok(()),
            Some(inside) => Err(self
                .failure("lies in a repository of something else, whose tags are not its versions")
                .because(format!(
                    "to git it is the folder `{inside}` of another repository"
                ))
                .advise(CLONE)
                .into()),
        }
    }

    /// Why `git describe` found nothing.
    async fn no_tags(&self, described: &Answer) -> Result<Failure> {
        let path = process::word(self.path);
        let shallow = self.ask(&["rev-parse", "--is-shallow-repository"]).await?;
        let failure = self
            .failure("has no tag of a version before its commit, so it has no version")
            .output(described.errors.clone());
        Ok(if shallow.line() == Some("true") {
            failure
                .because("it is a shallow clone, which lacks the tags of older commits")
                .advise(format!(
                    "get the history: `git -C {path} fetch --unshallow --tags`"
                ))
                .advise("or write a version in place of `source`: `kubernetes.version`")
        } else {
            failure
                .because("no tag such as `v1.36.3` is there; a fork often has none")
                .advise(format!(
                    "get the tags: `git -C {path} fetch https://github.com/kubernetes/kubernetes \
                     'refs/tags/v*:refs/tags/v*'`"
                ))
                .advise("or write a version in place of `source`: `kubernetes.version`")
        })
    }

    fn failure(&self, what: &str) -> Failure {
        let path = self.path.display();
        Failure::new(Kind::Configuration, format!("the checkout `{path}` {what}")).permanent()
    }
}

/// wdev's own environment without what turns git to another repository, and without what lets it write,
/// fetch or ask.
fn environment() -> BTreeMap<OsString, OsString> {
    let kept = std::env::vars_os().filter(|(name, _)| {
        let name = name.to_string_lossy().to_ascii_uppercase();
        !name.starts_with("GIT_") || name.starts_with("GIT_CONFIG") || name == "GIT_EXEC_PATH"
    });
    let own = [
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("LC_ALL", "C"),
    ];
    kept.chain(own.map(|(name, value)| (name.into(), value.into())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::translate;

    #[test]
    fn the_words_of_git_become_versions_as_upstream_does_it() {
        for (described, clean) in [
            ("v1.36.3", "v1.36.3"),
            ("v1.38.0-alpha.1", "v1.38.0-alpha.1"),
            (
                "v1.38.0-alpha.1-12-g0123456789abcd",
                "v1.38.0-alpha.1.12+0123456789abcd",
            ),
            ("v1.36.3-5-g0123456789abcd", "v1.36.3-5+0123456789abcd"),
            // A shorter hash or a tag with more dashes is left alone, as upstream does.
            ("v1.36.3-5-g0123456", "v1.36.3-5-g0123456"),
            (
                "v1.36.3-my-own-5-g0123456789abcd",
                "v1.36.3-my-own-5-g0123456789abcd",
            ),
        ] {
            assert_eq!(translate(described, false), clean);
            assert_eq!(translate(described, true), format!("{clean}-dirty"));
        }
    }
}
