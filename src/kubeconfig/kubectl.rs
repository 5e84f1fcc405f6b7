//! Which kubectl talks to a sandbox's cluster.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::clock::Clock;
use crate::error::{Failure, Kind, Result};
use crate::event::Stream;
use crate::process::{Command, run};
use crate::release::Version;
use crate::stop::Stop;

/// How many minor versions kubectl may be older or newer than the API server.
/// Source: <https://kubernetes.io/releases/version-skew-policy/#kubectl>
const SKEW: u32 = 1;
/// How long a kubectl may take to tell its version.
const ASK: Duration = Duration::from_secs(20);

/// The kubectl for a cluster of this minor version: the sandbox's own where there is one (`cached`), else
/// the one that is installed on this host, where that fits. A cluster of which no version is known takes
/// any.
///
/// # Errors
/// `Host` when there is none.
pub async fn program(
    cached: Option<PathBuf>,
    installed: Option<PathBuf>,
    minor: Option<u32>,
    clock: Clock,
) -> Result<PathBuf> {
    if let Some(cached) = cached {
        return Ok(cached);
    }
    let why = match (installed, minor) {
        (None, _) => "there is no `kubectl` on your `PATH`".to_owned(),
        (Some(installed), None) => return Ok(installed),
        (Some(installed), Some(minor)) => match version(&installed, clock).await {
            Some(own) if own.abs_diff(minor) <= SKEW => return Ok(installed),
            Some(own) => format!("`{}` is of 1.{own}", installed.display()),
            None => format!("`{}` does not tell its version", installed.display()),
        },
    };
    let wanted = minor.map_or_else(String::new, |minor| format!(" for Kubernetes 1.{minor}"));
    Err(Box::new(
        Failure::new(
            Kind::Host,
            format!("there is no kubectl{wanted} on this host"),
        )
        .because(why)
        .advise(
            "install one whose minor version is at most one away: \
                 https://kubernetes.io/docs/tasks/tools/",
        ),
    ))
}

/// The minor version of a kubectl.
async fn version(program: &Path, clock: Clock) -> Option<u32> {
    #[derive(Deserialize)]
    struct Told {
        #[serde(rename = "clientVersion")]
        client: Client,
    }
    #[derive(Deserialize)]
    struct Client {
        #[serde(rename = "gitVersion")]
        git: String,
    }
    let command = Command::new(program).args(["version", "--client", "-o", "json"]);
    let mut text = String::new();
    let mut take = |stream: Stream, line: &str| {
        if stream == Stream::Stdout {
            text.push_str(line);
            text.push('\n');
        }
    };
    let stop = Stop::never();
    let ended = clock.timeout(ASK, run(command, &stop, &mut take)).await;
    ended?.ok()?;
    let told: Told = serde_json::from_str(&text).ok()?;
    minor(&told.client.git)
}

/// The minor version that a text names, such as `v1.36.2+k1`, `1.36` or `stable-1.36`.
#[must_use]
pub fn minor(text: &str) -> Option<u32> {
    if let Some(version) = Version::parse(text) {
        return Some(version.minor());
    }
    let word = text.rsplit(['-', '/']).next().unwrap_or(text);
    let rest = word.strip_prefix('v').unwrap_or(word).strip_prefix("1.")?;
    rest.split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[tokio::test]
    async fn an_installed_kubectl_must_fit() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let installed = |name: &str, body: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let json = r#"echo '{"clientVersion": {"gitVersion": "v1.32.4"}}'"#;
        let (good, mute) = (installed("good", json), installed("mute", "exit 1"));
        let asked = async |installed: &Path, minor| {
            program(None, Some(installed.to_owned()), minor, Clock::new()).await
        };
        for minor in [Some(31), Some(33), None] {
            assert_eq!(asked(&good, minor).await.unwrap(), good);
        }
        for minor in [30, 34] {
            let failure = asked(&good, Some(minor)).await.unwrap_err();
            assert!(failure.to_string().contains("is of 1.32"), "{failure}");
        }
        let failure = asked(&mute, Some(32)).await.unwrap_err();
        assert!(failure.to_string().contains("does not tell"), "{failure}");
        let none = program(None, None, Some(32), Clock::new()).await;
        assert_eq!(none.unwrap_err().kind, Kind::Host);
        let cached = PathBuf::from("/cached");
        let own = program(Some(cached.clone()), Some(mute), Some(30), Clock::new()).await;
        assert_eq!(own.unwrap(), cached);
    }

    #[test]
    fn a_minor_version_is_found_in_what_people_and_programs_write() {
        for (text, found) in [
            ("v1.32.4-dispatcher", Some(32)),
            ("v1.27.3-gke.100", Some(27)),
            ("v1.30.1+k3s1", Some(30)),
            ("1.36", Some(36)),
            ("stable-1.36", Some(36)),
            ("ci/latest-1.38", Some(38)),
            ("source", None),
            ("latest", None),
            ("", None),
        ] {
            assert_eq!(minor(text), found, "{text}");
        }
    }
}
