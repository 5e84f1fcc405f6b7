//! What servers, proxies and networks do to a download.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Barrier};

use wdev::artifacts::{Limits, Settings};
use wdev::channel::Io;
use wdev::error::{Failure, Kind};

use crate::common::sha256;
use crate::server::{Gate, Reply, Request, Server};
use crate::{body, bring, listening, names, settings, store, text, wanted};

/// The failure of a download whose hash is known, from a server that answers so.
async fn failure(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> (Failure, usize) {
    let server = Server::new(answer);
    let hash = sha256(&body(1000));
    let failure = bring(&server.url("tool"), Some(hash)).await.unwrap_err();
    assert_eq!(failure.kind, Kind::Host, "{failure}");
    assert!(
        failure.message.contains(&server.host()),
        "it does not say from where: {failure}"
    );
    assert!(!failure.advice.is_empty(), "no advice: {failure}");
    (*failure, server.requests().len())
}

#[track_caller]
fn says(failure: &Failure, parts: &[&str]) {
    let text = text(failure);
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

#[tokio::test]
async fn a_file_comes_once_and_then_from_the_cache() {
    let file = body(300_000);
    let server = Server::of_file(file.clone());
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), settings());
    for hash in [
        None,
        Some(sha256(&file)),
        Some(sha256(&file).to_uppercase()),
    ] {
        let stored = store
            .ensure(&wanted(&server.url("tool"), hash), &Io::silent())
            .await
            .unwrap();
        assert_eq!(std::fs::read(&stored.path).unwrap(), file);
        assert_eq!(stored.bytes, 300_000);
        assert_eq!(store.find(&stored.sha256), Some(stored.path));
    }
    assert_eq!(server.requests().len(), 1);
    assert_eq!(names(&folder.path().join("cache/partial")), [] as [&str; 0]);
}

#[tokio::test]
async fn a_web_page_is_no_file() {
    for reply in [
        Reply::ok("<!DOCTYPE html><p>Welcome to our hotel"),
        Reply::ok("\n<HTML><body>Sign in"),
        Reply::ok("<p>blocked").with("Content-Type", "text/html; charset=utf-8"),
        Reply::new(511, ""),
    ] {
        let (failure, requests) = failure(move |_| reply.clone()).await;
        says(&failure, &["sign in"]);
        assert_eq!(requests, 1);
    }
}

#[tokio::test]
async fn a_portal_that_sends_elsewhere_is_named() {
    let portal = Server::new(|_| Reply::ok("<html>"));
    let elsewhere = portal.url("login?for=you");
    let to = elsewhere.clone();
    let (failure, _) = failure(move |_| Reply::new(302, "").with("Location", &to)).await;
    says(&failure, &["a web page came", &elsewhere]);
}

#[tokio::test]
async fn a_wrong_hash_is_shown_beside_the_right_one() {
    let other = body(999);
    let got = sha256(&other);
    let (failure, requests) = failure(move |_| Reply::ok(other.clone())).await;
    says(&failure, &[&got, &sha256(&body(1000)), "999 bytes"]);
    assert_eq!(requests, 1, "the same would come again");
}

#[tokio::test]
async fn a_cut_file_goes_on_where_it_stopped() {
    let file = body(500_000);
    let whole = file.clone();
    let server = Server::new(move |request| {
        let reply = Reply::file(request, &whole, "\"one\"");
        match request.earlier {
            0 | 1 => reply.cut_after(100_000),
            _ => reply,
        }
    });
    // The hash is not known: only what the server says tells that the pieces fit.
    assert_eq!(bring(&server.url("tool"), None).await.unwrap(), file);
    let requests = server.requests();
    let starts: Vec<_> = requests.iter().map(Request::start).collect();
    assert_eq!(starts, [None, Some(100_000), Some(200_000)]);
    assert_eq!(requests[1].header("if-range"), Some("\"one\""));
}

#[tokio::test]
async fn a_file_that_lies_elsewhere_goes_on_there() {
    let file = body(1000);
    let whole = file.clone();
    let store = Server::new(move |request| {
        let reply = Reply::file(request, &whole, "\"one\"");
        match request.earlier {
            0 => reply.cut_after(300),
            _ => reply,
        }
    });
    let to = store.url("signed?for=a+while");
    let site = Server::new(move |_| Reply::new(302, "").with("Location", &to));
    assert_eq!(bring(&site.url("tool"), None).await.unwrap(), file);
    assert_eq!(store.requests()[1].start(), Some(300));
}

#[tokio::test]
async fn a_server_that_sends_in_circles_is_given_up() {
    let (failure, _) = failure(|_| Reply::new(302, "").with("Location", "/tool")).await;
    says(&failure, &["without end"]);
}

#[tokio::test]
async fn some_files_come_at_a_time_and_no_more() {
    let parallel = Limits::default().parallel;
    let (now, most) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let (together, seen) = (Barrier::new(parallel), Arc::clone(&most));
    let server = Server::new(move |request| {
        seen.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
        // Answers only when as many as allowed have asked.
        together.wait();
        now.fetch_sub(1, SeqCst);
        Reply::ok(request.path.clone())
    });
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), settings());
    let all: Vec<_> = (0..3 * parallel)
        .map(|number| wanted(&server.url(&number.to_string()), None))
        .collect();
    let stored = store.ensure_all(&all, &Io::silent()).await.unwrap();
    assert_eq!(most.load(SeqCst), parallel);
    for (number, stored) in stored.iter().enumerate() {
        let path = std::fs::read_to_string(&stored.path).unwrap();
        assert_eq!(path, format!("/{number}"), "another order");
    }
}

#[tokio::test]
async fn a_server_without_ranges_starts_again() {
    let file = body(1000);
    let whole = file.clone();
    let server = Server::new(move |request| {
        let reply = Reply::ok(whole.clone()).with("ETag", "\"one\"");
        if request.earlier == 0 {
            reply.cut_after(600)
        } else {
            reply
        }
    });
    let came = bring(&server.url("tool"), Some(sha256(&file))).await;
    assert_eq!(came.unwrap(), file);
    assert_eq!(server.requests()[1].start(), Some(600));
}

#[tokio::test]
async fn a_file_that_changes_between_two_pieces_is_fetched_anew() {
    let (old, new) = (body(1000), body(2000)[1000..].to_vec());
    let hash = sha256(&new);
    // A good server, one that does not know `If-Range`, and one that says nothing of the file's state.
    for kind in 0..3 {
        let (old, whole) = (old.clone(), new.clone());
        let server = Server::new(move |request| {
            if request.earlier == 0 {
                return match kind {
                    2 => Reply::ok(old.clone()),
                    _ => Reply::file(request, &old, "\"old\""),
                }
                .cut_after(600);
            }
            let mut request = request.clone();
            if kind > 0 {
                request.headers.remove("if-range");
            }
            let mut reply = Reply::file(&request, &whole, "\"new\"");
            if kind == 2 {
                reply.headers.retain(|(name, _)| name != "ETag");
            }
            reply
        });
        let came = bring(&server.url("tool"), Some(hash.clone())).await;
        assert_eq!(came.unwrap(), new, "{kind}");
    }
}

#[tokio::test]
async fn what_is_cut_each_time_ends_with_what_came() {
    let (failure, requests) = failure(|_| Reply::ok(body(1000)).cut_after(400)).await;
    says(&failure, &["400 of 1000 bytes"]);
    assert_eq!(requests, Limits::default().attempts as usize);
}

#[tokio::test]
async fn a_part_of_another_length_is_no_whole_file() {
    // Without a length nothing but the hash can tell.
    let (failure, _) =
        failure(|_| Reply::ok(body(700)).with("Transfer-Encoding", "identity")).await;
    says(&failure, &["700 bytes came"]);
}

#[tokio::test]
async fn what_does_not_exist_is_said_at_once() {
    let (failure, requests) = failure(|_| Reply::new(404, "")).await;
    says(&failure, &["404", "check that this version exists"]);
    assert_eq!(requests, 1);
}

#[tokio::test]
async fn a_busy_server_is_left_alone_for_as_long_as_it_asks() {
    let file = body(1000);
    for (status, after) in [(429, "7"), (503, "Fri, 31 Dec 1999 23:59:59 GMT")] {
        let whole = file.clone();
        let server = Server::new(move |request| match request.earlier {
            0 => Reply::new(status, "").with("Retry-After", after),
            _ => Reply::ok(whole.clone()),
        });
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path(), settings());
        let (io, said) = listening(Io::silent().stop);
        let wanted = wanted(&server.url("tool"), None);
        store.ensure(&wanted, &io).await.unwrap();
        let said = said.lock().unwrap().join("\n");
        let pause = if status == 429 { "in 7 s" } else { "in 0 s" };
        assert!(said.contains(pause), "{said}");
    }
}

#[tokio::test]
async fn a_server_that_asks_for_too_much_patience_gets_none() {
    let (failure, requests) = failure(|_| Reply::new(429, "").with("Retry-After", "86400")).await;
    says(&failure, &["429", "86400 s", "600 s at most"]);
    assert_eq!(requests, 1);
}

#[tokio::test]
async fn a_server_that_stays_broken_is_asked_a_few_times() {
    let (failure, requests) = failure(|_| Reply::new(500, "")).await;
    says(&failure, &["500"]);
    assert_eq!(requests, Limits::default().attempts as usize);
}

#[tokio::test]
async fn a_server_that_falls_silent_is_given_up() {
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::new(move |request| {
        Reply::file(request, &body(1000), "\"one\"").hold_after(1, &held)
    });
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings();
    // An hour of this clock is 36 ms.
    settings.limits.stall = std::time::Duration::from_hours(1);
    settings.limits.attempts = 2;
    let store = store(folder.path(), settings);
    let hash = Some(sha256(&body(1000)));
    let wanted = wanted(&server.url("tool"), hash);
    let failure = store.ensure(&wanted, &Io::silent()).await.unwrap_err();
    says(&failure, &["nothing came for 3600 s"]);
    gate.open();
}

#[tokio::test]
async fn a_mirror_stands_for_every_site_and_its_password_is_shown_nowhere() {
    let file = body(1000);
    let whole = file.clone();
    let server = Server::new(move |request| match request.path.as_str() {
        "/all/dl.k8s.io/v1/tool" => Reply::ok(whole.clone()),
        "/all/dl.k8s.io/late" => Reply::new(503, ""),
        _ => Reply::new(404, ""),
    });
    let folder = tempfile::tempdir().unwrap();
    let store = store(
        folder.path(),
        Settings {
            mirror: format!("http://me:s3cr%2Ft@{}/all/", server.host()),
            ..settings()
        },
    );
    let (io, said) = listening(Io::silent().stop);
    let from = |path: &str| wanted(&format!("https://dl.k8s.io/{path}"), None);
    let stored = store.ensure(&from("v1/tool"), &io).await.unwrap();
    assert_eq!(std::fs::read(stored.path).unwrap(), file);
    // me:s3cr/t
    let request = &server.requests()[0];
    assert_eq!(request.header("authorization"), Some("Basic bWU6czNjci90"));
    assert_eq!(
        store.hash_of("https://dl.k8s.io/v1/tool"),
        Some(sha256(&file))
    );

    let mut shown = said.lock().unwrap().join("\n");
    for path in ["missing", "late"] {
        let failure = store.ensure(&from(path), &io).await.unwrap_err();
        shown += &text(&failure);
        shown += &said.lock().unwrap().join("\n");
    }
    assert!(shown.contains("http://me:***@"), "{shown}");
    assert!(shown.contains("`https://dl.k8s.io/missing`"), "{shown}");
    assert!(!shown.contains("s3cr"), "{shown}");
}

#[tokio::test]
async fn nothing_is_asked_for_offline_and_everything_that_is_missing_is_named() {
    let file = body(1000);
    let server = Server::of_file(file.clone());
    let folder = tempfile::tempdir().unwrap();
    let there = wanted(&server.url("there"), None);
    let with_network = store(folder.path(), settings());
    with_network.ensure(&there, &Io::silent()).await.unwrap();
    let asked = server.requests().len();

    let offline = Settings {
        offline: true,
        ..settings()
    };
    let store = store(folder.path(), offline);
    assert!(
        store
            .ensure(&there, &Io::silent())
            .await
            .unwrap()
            .from_cache
    );
    let gone = [
        there,
        wanted(&server.url("a"), None),
        wanted(&server.url("b"), None),
    ];
    let failure = store.ensure_all(&gone, &Io::silent()).await.unwrap_err();
    says(
        &failure,
        &[&server.url("a"), &server.url("b"), "wdev fetch"],
    );
    assert!(!failure.to_string().contains("there"), "{failure}");
    assert_eq!(server.requests().len(), asked);
}

#[tokio::test]
async fn what_is_damaged_in_the_cache_comes_again() {
    let file = body(1000);
    let server = Server::of_file(file.clone());
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), settings());
    let wanted = wanted(&server.url("tool"), Some(sha256(&file)));
    let stored = store.ensure(&wanted, &Io::silent()).await.unwrap();
    std::fs::write(&stored.path, "rotten").unwrap();
    let (io, said) = listening(Io::silent().stop);
    let again = store.ensure(&wanted, &io).await.unwrap();
    assert!(!again.from_cache);
    assert_eq!(std::fs::read(again.path).unwrap(), file);
    assert!(said.lock().unwrap()[0].contains("damaged"));
}
