//! Forms that upstream's download site answers.

use wdev::error::{Failure, Kind};
use wdev::release::{Origin, Version, assumed};

use crate::site::Recorded;

const CI: &str = "v1.38.0-alpha.1.12+0123456789abcd";

/// The site as it was on one day: 1.37 is released, 1.38 is developed and has no branch yet.
fn site() -> Recorded {
    Recorded::default()
        .marker("release/stable", "v1.37.1\n")
        .marker("release/stable-1", "v1.37.1")
        .marker("release/stable-1.37", "v1.37.1")
        .marker("release/stable-1.36", "v1.36.5")
        .marker("release/latest", "v1.38.0-alpha.1")
        .marker("release/latest-1", "v1.38.0-alpha.1")
        .marker("release/latest-1.38", "v1.38.0-alpha.1")
        .marker("release/latest-1.37", "v1.37.2-rc.0")
        .marker("ci/latest", CI)
        .marker("ci/latest-1", CI)
        .marker("ci/latest-1.37", "v1.37.1-9+fedcba98765432")
        .published("release/v1.37.1")
        .published("release/v1.36.5")
        .published("release/v1.38.0-alpha.1")
        .published("release/v1.37.2-rc.0")
        .published("release/v1.20.2")
        .published(&format!("ci/{CI}"))
        .published("ci/v1.37.1-9+fedcba98765432")
}

fn failure(site: &Recorded, asked: &str) -> Box<Failure> {
    let failure = site.resolve(asked).unwrap_err();
    assert!(!failure.advice.is_empty(), "{failure}");
    failure
}

fn whole(failure: &Failure) -> String {
    format!("{failure}\n{}", failure.advice.join("\n"))
}

#[test]
fn every_form_becomes_one_exact_version_with_the_answer_that_says_so() {
    for (asked, version, origin, marker) in [
        (
            "1.37",
            "v1.37.1",
            Origin::Release,
            Some("release/stable-1.37"),
        ),
        (
            "v1.36",
            "v1.36.5",
            Origin::Release,
            Some("release/stable-1.36"),
        ),
        ("1.37.1", "v1.37.1", Origin::Release, None),
        ("v1.20.2", "v1.20.2", Origin::Release, None),
        ("v1.38.0-alpha.1", "v1.38.0-alpha.1", Origin::Release, None),
        ("stable", "v1.37.1", Origin::Release, Some("release/stable")),
        (
            "stable-1",
            "v1.37.1",
            Origin::Release,
            Some("release/stable-1"),
        ),
        (
            "stable-1.36",
            "v1.36.5",
            Origin::Release,
            Some("release/stable-1.36"),
        ),
        (
            "latest",
            "v1.38.0-alpha.1",
            Origin::Release,
            Some("release/latest"),
        ),
        (
            "latest-1",
            "v1.38.0-alpha.1",
            Origin::Release,
            Some("release/latest-1"),
        ),
        (
            "latest-1.37",
            "v1.37.2-rc.0",
            Origin::Release,
            Some("release/latest-1.37"),
        ),
        ("ci/latest", CI, Origin::Ci, Some("ci/latest")),
        ("ci/latest-1", CI, Origin::Ci, Some("ci/latest-1")),
        (
            "ci/latest-1.37",
            "v1.37.1-9+fedcba98765432",
            Origin::Ci,
            Some("ci/latest-1.37"),
        ),
        ("ci/v1.38.0-alpha.1.12+0123456789abcd", CI, Origin::Ci, None),
    ] {
        let resolved = site().resolve(asked).unwrap();
        assert!(resolved.notes.is_empty(), "{asked}");
        let resolved = resolved.exact;
        assert_eq!(resolved.version.to_string(), version, "{asked}");
        assert_eq!(resolved.origin, origin, "{asked}");
        let answers: Vec<(String, String)> = resolved.answers.into_iter().collect();
        let marker = marker.map(|marker| {
            (
                format!("https://dl.k8s.io/{marker}.txt"),
                version.to_owned(),
            )
        });
        assert_eq!(answers, Vec::from_iter(marker), "{asked}");
    }
}

#[test]
fn a_plus_stays_in_the_address_and_leaves_the_tag() {
    let site = site();
    let resolved = site.resolve(&format!("ci/{CI}")).unwrap();
    assert_eq!(
        site.asked(),
        [format!(
            "https://dl.k8s.io/ci/{CI}/bin/linux/amd64/kubeadm.sha256"
        )]
    );
    assert_eq!(resolved.exact.version.image_tag(), CI.replace('+', "_"));
}

#[test]
fn a_minor_whose_branch_is_not_cut_is_what_ci_builds_now() {
    let resolved = site().resolve("ci/latest-1.38").unwrap();
    assert_eq!(resolved.exact.version.to_string(), CI);
    assert_eq!(resolved.exact.origin, Origin::Ci);
    let urls: Vec<&String> = resolved.exact.answers.keys().collect();
    assert_eq!(urls, ["https://dl.k8s.io/ci/latest.txt"]);
    assert!(
        resolved.notes[0].contains("`ci/latest-1.38`"),
        "{:?}",
        resolved.notes
    );
    // But never another minor than the one asked for.
    let failure = failure(&site(), "ci/latest-1.34");
    assert_eq!(failure.kind, Kind::Configuration);
    assert!(whole(&failure).contains(CI), "{}", whole(&failure));
}

#[test]
fn a_minor_without_a_release_is_never_its_pre_release() {
    let site = site();
    let failure = failure(&site, "1.38");
    assert_eq!(failure.kind, Kind::Configuration);
    assert_eq!(failure.message, "there is no release of Kubernetes 1.38");
    let text = whole(&failure);
    assert!(
        text.contains("`https://dl.k8s.io/release/stable-1.38.txt` does not exist"),
        "{text}"
    );
    assert!(
        text.contains("`v1.38.0-alpha.1`: for that, write `latest-1.38`"),
        "{text}"
    );
}

#[test]
fn a_minor_that_nobody_knows_is_told_what_there_is() {
    for (asked, there) in [
        ("1.99", "`v1.37.1`: for that, write `stable`"),
        ("stable-1.99", "`v1.37.1`: for that, write `stable`"),
        ("latest-1.99", "`v1.38.0-alpha.1`: for that, write `latest`"),
        ("ci/latest-1.99", "write `ci/latest`"),
    ] {
        let failure = failure(&site(), asked);
        assert_eq!(failure.kind, Kind::Configuration, "{asked}");
        assert!(
            whole(&failure).contains(there),
            "{asked}: {}",
            whole(&failure)
        );
    }
}

#[test]
fn a_version_that_upstream_lacks_is_told_what_there_is() {
    for (asked, there) in [
        ("v1.37.9", "`v1.37.1`: for that, write `1.37`"),
        ("1.38.0", "`v1.38.0-alpha.1`: for that, write `latest-1.38`"),
        ("1.37.1+0123456789abcd", "write `ci/v1.37.1+0123456789abcd`"),
        (
            "ci/v1.37.0-alpha.1.5+0123456789abcd",
            "write `ci/latest-1.37`",
        ),
        ("1.99.0", "https://kubernetes.io/releases/"),
    ] {
        let failure = failure(&site(), asked);
        assert_eq!(failure.kind, Kind::Configuration, "{asked}");
        assert!(failure.permanent, "{asked}");
        assert!(
            failure.causes[0].contains("kubeadm.sha256` does not exist"),
            "{failure}"
        );
        assert!(
            whole(&failure).contains(there),
            "{asked}: {}",
            whole(&failure)
        );
    }
}

#[test]
fn answers_that_are_no_versions_are_told_from_versions() {
    for (answer, why) in [
        (
            "<!DOCTYPE html>\n<html><body>Log in</body></html>",
            "a web page",
        ),
        ("<html>", "a web page"),
        ("", "empty"),
        ("  \n", "empty"),
        ("latest", "`latest`"),
        ("v2.0.0", "`v2.0.0`"),
        ("v1.37.1 v1.37.2", "`v1.37.1 v1.37.2`"),
        ("\u{1b}[31mv1", "`[31mv1`"),
    ] {
        let site = Recorded::default().marker("release/stable", answer);
        let failure = failure(&site, "stable");
        assert_eq!(failure.kind, Kind::Host, "{answer}");
        assert!(
            failure
                .message
                .contains("https://dl.k8s.io/release/stable.txt"),
            "{failure}"
        );
        assert!(failure.causes[0].contains(why), "{failure}");
    }
    // A captive portal answers everything, checksums too.
    let site = Recorded::default().checksum("release/v1.37.1", "<html>Log in</html>");
    assert_eq!(failure(&site, "v1.37.1").kind, Kind::Host);
    // A mirror that was filled wrongly.
    let site = Recorded::default().marker("release/stable-1.36", "v1.35.9");
    assert!(
        failure(&site, "1.36")
            .message
            .contains("`v1.35.9`, which is no 1.36")
    );
    // A marker that runs ahead of what it names.
    let site = Recorded::default().marker("ci/latest", CI);
    let failure = failure(&site, "ci/latest");
    assert_eq!(failure.kind, Kind::Host);
    assert!(failure.message.contains(CI), "{failure}");
}

#[test]
fn without_a_site_every_form_stands_for_what_is_known() {
    for (asked, minor, origin) in [
        ("1.36", Some(36), Origin::Release),
        ("stable-1.30", Some(30), Origin::Release),
        ("ci/latest-1.37", Some(37), Origin::Ci),
        ("stable", None, Origin::Release),
        ("latest-1", None, Origin::Release),
        ("ci/latest", None, Origin::Ci),
        ("source", None, Origin::Source),
    ] {
        let known = assumed(asked);
        let newest = wdev::release::supported::newest_minor();
        assert_eq!(known.version.minor(), minor.unwrap_or(newest), "{asked}");
        assert!(!known.version.is_pre_release(), "{asked}");
        assert!(known.version.patch() > 0, "{asked}: {}", known.version);
        assert_eq!(known.origin, origin, "{asked}");
        assert!(known.answers.is_empty());
    }
    let exact = Version::parse("v1.37.0-rc.0").unwrap();
    assert_eq!(assumed("v1.37.0-rc.0").version, exact);
    assert_eq!(assumed("1.99").version.to_string(), "v1.99.0");
}
