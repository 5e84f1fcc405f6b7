//! Versions as users name them.

use super::scalar::{Checked, Complaint};

/// A number without sign and without a leading zero.
fn is_number(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 9
        && text.bytes().all(|b| b.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'))
}

/// `X.Y.Z` with an optional pre-release and, where `build` allows it, build.
fn is_exact(text: &str, build: bool) -> bool {
    let dotted = |text: &str| {
        text.split('.').all(|part| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        })
    };
    let (rest, good_build) = match text.split_once('+') {
        Some((rest, after)) => (rest, build && dotted(after)),
        None => (text, true),
    };
    let (numbers, pre) = match rest.split_once('-') {
        Some((numbers, pre)) => (numbers, dotted(pre)),
        None => (rest, true),
    };
    let parts: Vec<&str> = numbers.split('.').collect();
    good_build && pre && parts.len() == 3 && parts.iter().all(|part| is_number(part))
}

fn is_minor(text: &str) -> bool {
    text.split_once('.')
        .is_some_and(|(major, minor)| major == "1" && is_number(minor))
}

/// `latest`, `stable`, either with `-1` or `-1.NN`.
fn is_marker(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| {
        text.strip_prefix(word).is_some_and(|rest| {
            rest.is_empty()
                || rest
                    .strip_prefix('-')
                    .is_some_and(|line| line == "1" || is_minor(line))
        })
    })
}

/// The forms that a release can be named in.
/// <https://kubernetes.io/releases/version-skew-policy/>, markers as published at
/// `https://dl.k8s.io/release/` and `https://dl.k8s.io/ci/`.
pub(crate) fn kubernetes(text: &str) -> Checked<String> {
    let bare = text.strip_prefix('v').unwrap_or(text);
    let good = match text.strip_prefix("ci/") {
        Some(ci) => {
            is_marker(ci, &["latest"])
                || ci
                    .strip_prefix('v')
                    .is_some_and(|v| v.starts_with("1.") && is_exact(v, true))
        }
        None => {
            text == "source"
                || is_marker(text, &["stable", "latest"])
                || is_minor(bare)
                || (bare.starts_with("1.") && is_exact(bare, true))
        }
    };
    if good {
        return Ok(text.to_owned());
    }
    let allowed = "`1.36`, `1.36.3`, `v1.37.0-rc.0`, `stable`, `stable-1.36`, `latest`, `ci/latest-1.37`, `ci/v1.37.0-alpha.1.12+0123456789abcd`, `source`";
    let known = super::keys::data("kubernetes.version").unwrap_or_default();
    let complaint = if text.is_empty() {
        Complaint::new("the Kubernetes version is empty").note("leave the key out for the default")
    } else {
        Complaint::new(format!("`{text}` is not a Kubernetes version"))
    };
    let complaint = match bare {
        "1" | "1." => complaint.note(format!("the minor is missing: write it as in `{known}`")),
        _ if bare.starts_with("1.") && bare.contains(['x', 'X', '*']) => complaint.note(format!(
            "name one minor as in `{known}`: its newest patch release is used"
        )),
        _ => complaint,
    };
    let repaired = text
        .strip_prefix("ci/")
        .filter(|ci| ci.starts_with("1.") && is_exact(ci, true))
        .map(|ci| format!("ci/v{ci}"));
    Err(complaint.allow(allowed).suggest(repaired))
}

/// The exact version of something else than Kubernetes, without `v`.
pub(crate) fn exact(text: &str) -> Checked<String> {
    let bare = text.strip_prefix('v').unwrap_or(text);
    if is_exact(bare, false) {
        return Ok(bare.to_owned());
    }
    let message = if text.is_empty() {
        "the version is empty".to_owned()
    } else {
        format!("`{text}` is not an exact version")
    };
    let parts = bare.split('.').filter(|part| is_number(part)).count();
    let suggestion = (parts == 2 && bare.split('.').count() == 2).then(|| format!("{bare}.0"));
    Err(Complaint::new(message)
        .allow("three numbers as in `3.32.1`; leave the key out for the default")
        .suggest(suggestion))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubernetes_versions() {
        for text in [
            "1.30",
            "v1.30",
            "1.30.2",
            "v1.36.0-alpha.1",
            "v1.36.0-alpha.1+0123456789abcd",
            "1.36.0-rc.0",
            "stable",
            "stable-1",
            "stable-1.36",
            "latest",
            "latest-1.37",
            "ci/latest",
            "ci/latest-1.37",
            "ci/v1.37.0-alpha.1.12+0123456789abcd",
            "source",
        ] {
            assert!(kubernetes(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "1",
            "1.",
            "1.x",
            "1.36.x",
            "2.0",
            "1.36.",
            "1.036",
            "v",
            "ci/",
            "ci/v",
            "ci/1.37.0-alpha.1",
            "stable-",
            "stable-2",
            "latest-1.x",
            "1.36.3-",
            "1.36.3+",
            "1.36.3+a b",
            "main",
            "1.3.0.1",
        ] {
            assert!(kubernetes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn other_versions_are_exact() {
        assert_eq!(exact("v3.32.1").ok().as_deref(), Some("3.32.1"));
        assert_eq!(exact("2.3.0-rc.1").ok().as_deref(), Some("2.3.0-rc.1"));
        assert_eq!(
            exact("3.30").err().and_then(|c| c.suggestion).as_deref(),
            Some("3.30.0")
        );
        for text in ["", "latest", "3", "3.1.x", "../../etc", "3.1.2 "] {
            assert!(exact(text).is_err(), "{text}");
        }
    }
}
