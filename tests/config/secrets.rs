//! Passwords in URLs: read, and shown nowhere.

use wdev::config::{Request, load, show_json, show_yaml};

use crate::{flags, folder, pairs, read, request};

const TEXT: &str = "\
network: {proxy: {http: 'http://me:hunter2@proxy:3128', https: 'http://hunter2@proxy'}}
artifacts: {mirror: 'https://me:hunter2@mirror/x'}
control_plane: {box_url: 'https://me:hunter2@boxes/x.box'}
";

#[test]
fn what_was_read_is_whole_and_what_is_shown_is_not() {
    let loaded = read(TEXT).unwrap();
    assert_eq!(
        loaded.config.network.proxy.http.as_deref(),
        Some("http://me:hunter2@proxy:3128")
    );
    let shown = [
        show_yaml(&loaded),
        show_json(&loaded).to_string(),
        serde_json::to_string(&loaded.config).unwrap(),
        format!("{:?}", loaded.config),
        format!("{loaded:?}"),
    ];
    for text in shown {
        assert!(!text.contains("hunter2"), "{text}");
    }
    assert!(show_yaml(&loaded).contains("http://me:***@proxy:3128"));
}

#[test]
fn no_mistake_repeats_a_password() {
    let texts = [
        "network: {proxy: {http: 'ftp://me:hunter2@proxy'}}",
        "network: {proxy: {http: 'me:hunter2@proxy'}}",
        "network: {proxy: {http: ['http://me:hunter2@proxy']}}",
        "network:\n  proxy:\n    http: http://me:hunter2@proxy\n    http: http://me:hunter2@proxy\n",
        "network: {proxy: {htttp: 'http://me:hunter2@proxy'}}",
        "network: {proxy: {http: 'http://me:hunter2@proxy'",
        "artifacts: {mirror: 'smb://me:hunter2@mirror'}",
    ];
    for text in texts {
        let problems = read(text).unwrap_err();
        let all = format!(
            "{problems}{:?}{}",
            problems,
            serde_json::to_string(&problems).unwrap()
        );
        assert!(!all.contains("hunter2"), "{text}: {all}");
    }
    let problems = load(&Request {
        env: pairs([("WDEV_NETWORK_PROXY_HTTPS", "me:hunter2@proxy")]),
        flags: flags([("network.proxy.http", "ftp://me:hunter2@x", "--proxy")]),
        ..request(&folder(&[]))
    })
    .unwrap_err();
    assert!(
        !format!("{problems}{problems:?}").contains("hunter2"),
        "{problems}"
    );
    let failure = problems.into_failure();
    assert!(!format!("{failure:?}").contains("hunter2"), "{failure:?}");
}
