//! Texts of download sites.

use wdev::artifacts::{Settings, checksum};
use wdev::channel::Io;
use wdev::release::Site;

use crate::common::sha256;
use crate::server::{Reply, Server};
use crate::{settings, store, text};

fn site() -> Server {
    Server::new(|request| match request.path.as_str() {
        "/stable.txt" => Reply::ok(format!("v1.36.{}", request.earlier)),
        "/tool.sha256" => Reply::ok(format!("{}  tool\n", sha256(b"tool"))),
        "/portal.sha256" => Reply::ok("<html>"),
        "/endless.sha256" => Reply::ok(vec![b'a'; 3 << 20]),
        "/late.txt" if request.earlier == 0 => Reply::new(503, "").with("Retry-After", "3"),
        "/late.txt" => Reply::ok("v1.35.0"),
        _ => Reply::new(404, "<html>no such file"),
    })
}

#[tokio::test]
async fn markers_are_asked_for_each_time_and_checksums_once() {
    let server = site();
    let folder = tempfile::tempdir().unwrap();
    let site = store(folder.path(), settings()).site(Io::silent());
    for answer in ["v1.36.0", "v1.36.1"] {
        let text = site.text(&server.url("stable.txt")).await.unwrap();
        assert_eq!(text.as_deref(), Some(answer));
    }
    for _ in 0..2 {
        let text = site
            .text(&server.url("tool.sha256"))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(checksum::find(&text, "tool"), Some(sha256(b"tool")));
    }
    assert_eq!(server.requests().len(), 3);
    assert_eq!(site.text(&server.url("none")).await.unwrap(), None);
    let late = site.text(&server.url("late.txt")).await.unwrap();
    assert_eq!(late.as_deref(), Some("v1.35.0"));

    // Offline: what was learnt, and not a single request.
    let asked = server.requests().len();
    let offline = Settings {
        offline: true,
        ..settings()
    };
    let site = store(folder.path(), offline).site(Io::silent());
    for (path, answer) in [("stable.txt", "v1.36.1"), ("late.txt", "v1.35.0")] {
        let text = site.text(&server.url(path)).await.unwrap();
        assert_eq!(text.as_deref(), Some(answer));
    }
    assert!(
        site.text(&server.url("tool.sha256"))
            .await
            .unwrap()
            .is_some()
    );
    let failure = site.text(&server.url("other.txt")).await.unwrap_err();
    assert!(text(&failure).contains("wdev fetch"), "{failure}");
    assert_eq!(server.requests().len(), asked);
}

#[tokio::test]
async fn what_is_no_text_of_the_site_is_an_error() {
    let server = site();
    let folder = tempfile::tempdir().unwrap();
    let site = store(folder.path(), settings()).site(Io::silent());
    for (path, said) in [
        ("portal.sha256", "a web page"),
        ("endless.sha256", "longer than"),
    ] {
        let failure = site.text(&server.url(path)).await.unwrap_err();
        assert!(text(&failure).contains(said), "{failure}");
    }
}
