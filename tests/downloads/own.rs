//! Files of the user's own.

use wdev::channel::Io;
use wdev::error::Kind;

use crate::common::sha256;
use crate::{names, settings, store, text, wanted};

#[tokio::test]
async fn a_file_of_ones_own_is_kept_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubelet");
    let url = path.to_str().unwrap();
    let store = store(folder.path(), settings());
    std::fs::write(&path, "first").unwrap();
    let first = store
        .ensure(&wanted(url, None), &Io::silent())
        .await
        .unwrap();
    assert_eq!((&first.sha256, first.bytes), (&sha256(b"first"), 5));
    assert!(
        store
            .ensure(&wanted(url, None), &Io::silent())
            .await
            .unwrap()
            .from_cache
    );

    // Built anew, in place.
    std::fs::write(&path, "second").unwrap();
    let locked = wanted(url, Some(sha256(b"first")));
    let failure = store.ensure(&locked, &Io::silent()).await.unwrap_err();
    assert_eq!(failure.kind, Kind::Host);
    for part in [
        url,
        &sha256(b"first"),
        &sha256(b"second"),
        "wdev lock --update",
    ] {
        assert!(text(&failure).contains(part), "{part}: {failure}");
    }
    let second = store
        .ensure(&wanted(url, None), &Io::silent())
        .await
        .unwrap();
    assert_eq!(std::fs::read(second.path).unwrap(), b"second");
    assert_eq!(std::fs::read(first.path).unwrap(), b"first");

    std::fs::remove_file(&path).unwrap();
    let failure = store
        .ensure(&wanted(url, None), &Io::silent())
        .await
        .unwrap_err();
    assert!(text(&failure).contains(url), "{failure}");
    assert_eq!(names(&folder.path().join("cache/partial")), [] as [&str; 0]);
}
