//! What the integration tests share.

use std::path::PathBuf;

/// Finds a program that a test needs. Without it the test says so and returns, or, with
/// `WDEV_TEST_STRICT=1`, fails.
#[expect(clippy::print_stderr, reason = "a skipped test says what it lacks")]
pub fn need(tool: &str) -> Option<PathBuf> {
    if let Ok(found) = which::which(tool) {
        return Some(found);
    }
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    assert!(
        std::env::var("WDEV_TEST_STRICT").as_deref() != Ok("1"),
        "{test} needs {tool}"
    );
    eprintln!("skipped: {test}: needs {tool}");
    None
}
