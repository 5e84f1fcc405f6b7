//! What the tests across modules share.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file is a crate of its own and uses a part of this"
)]

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The path of the program `tool`, or nothing when the machine does not have it. Then the test that
/// asked returns; what it needed is on stderr, and with `WDEV_TEST_STRICT=1` it fails.
pub fn need(tool: &str) -> Option<PathBuf> {
    let found = which::which(tool).ok();
    if found.is_none() {
        skip(&format!("the program `{tool}`"));
    }
    found
}

/// Says on stderr that the running test is skipped for want of `what`; fails it when skipping is not
/// allowed.
pub fn skip(what: &str) {
    let test = test_name();
    assert!(
        std::env::var("WDEV_TEST_STRICT").as_deref() != Ok("1"),
        "{test} needs {what}, and WDEV_TEST_STRICT=1 allows no skipped test"
    );
    allowed_skip(what);
}

/// Says on stderr that a part of the running test is skipped, also where skipping is not allowed: for
/// programs that no test machine is promised to have.
pub fn allowed_skip(what: &str) {
    // Not `eprintln!`: that is captured, and this must be seen.
    let _ = writeln!(std::io::stderr(), "skipped: {}: needs {what}", test_name());
}

fn test_name() -> String {
    let thread = std::thread::current();
    thread.name().unwrap_or("a test").to_owned()
}

/// Runs a program to its end with `input` on its stdin, and returns its stdout.
///
/// # Panics
/// When it cannot be started or fails.
pub fn run(command: &mut Command, input: &[u8]) -> Vec<u8> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    let input = input.to_vec();
    // A child that does not read its input must not block the test.
    let feeder = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("the child can be waited for");
    let _ = feeder.join();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr),
        String::from_utf8_lossy(&output.stdout)
    );
    output.stdout
}
