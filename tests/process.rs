//! Child processes end when they are told to, with all that they have started, and what they print is
//! fit to be shown. Fakes play the children.
#![allow(clippy::unwrap_used, reason = "tests")]

mod fakes;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use fakes::{Fake, ended, within};
use wdev::error::{Failure, Kind};
use wdev::event::Stream;
use wdev::process::{Command, Finished, run};
use wdev::stop::{Level, Stop, StopSource};

type Lines = Arc<Mutex<Vec<(Stream, String)>>>;

async fn start(command: Command, stop: Stop, lines: Lines) -> Result<Finished, Box<Failure>> {
    let mut take = |stream: Stream, text: &str| {
        lines.lock().unwrap().push((stream, text.to_owned()));
    };
    run(command, &stop, &mut take).await
}

/// Runs to the end and returns what was printed.
async fn all(command: Command) -> (Result<Finished, Box<Failure>>, Vec<(Stream, String)>) {
    let lines = Lines::default();
    let finished = start(command, Stop::never(), Arc::clone(&lines)).await;
    let lines = lines.lock().unwrap().clone();
    (finished, lines)
}

fn texts(lines: &[(Stream, String)]) -> Vec<&str> {
    lines.iter().map(|(_, text)| text.as_str()).collect()
}

#[tokio::test]
async fn output_exit_code_and_tail_arrive() {
    let fake = Fake::new("tool", "expect a b\nprint one\nerror two\nexit 7\n");
    let (finished, mut lines) = all(Command::new(&fake.program).args(["a", "b"])).await;
    let finished = finished.unwrap();
    assert_eq!((finished.code, finished.signal), (Some(7), None));
    lines.sort_by_key(|(stream, _)| *stream == Stream::Stderr);
    assert_eq!(
        lines,
        [
            (Stream::Stdout, "one".to_owned()),
            (Stream::Stderr, "two".to_owned())
        ]
    );
    assert_eq!(finished.tail.len(), 2);
}

#[tokio::test]
async fn the_tail_is_the_last_lines_and_no_more() {
    use std::fmt::Write as _;
    let mut script = String::new();
    for line in 0..100 {
        writeln!(script, "print {line}").unwrap();
    }
    let fake = Fake::new("tool", &script);
    let (finished, lines) = all(Command::new(&fake.program)).await;
    let tail = finished.unwrap().tail;
    assert_eq!(lines.len(), 100);
    assert_eq!((tail.len(), tail.first().unwrap().as_str()), (40, "60"));
}

#[tokio::test]
async fn garbage_and_invalid_utf8_are_shown_as_far_as_they_can_be() {
    let fake = Fake::new(
        "tool",
        "bytes ff fe 00 0a 1b 5b 33 31 6d c3 a9 1b 5b 30 6d 0a c3\nexit 0\n",
    );
    let (finished, lines) = all(Command::new(&fake.program)).await;
    assert!(finished.unwrap().ok());
    let lines = texts(&lines);
    assert!(lines[0].starts_with("\u{fffd}\u{fffd}"), "{lines:?}");
    assert_eq!(lines[1..], ["é", "\u{fffd}"]);
}

#[tokio::test]
async fn standard_input_is_empty_so_that_a_reader_ends() {
    let fake = Fake::new("tool", "stdin\nprint done\n");
    let (finished, lines) = all(Command::new(&fake.program)).await;
    assert!(finished.unwrap().ok());
    assert_eq!(texts(&lines), ["done"]);
}

#[tokio::test]
async fn a_question_is_an_error_that_says_what_was_asked() {
    let fake = Fake::new(
        "tool",
        "pid\nprompt Really destroy it? [y/N] \nsleep-forever\n",
    );
    let command = Command::new(&fake.program)
        .question_after(Some(Duration::from_millis(100)))
        .blame(Kind::Provider);
    let (finished, lines) = all(command).await;
    let failure = finished.unwrap_err();
    assert_eq!(failure.kind, Kind::Provider);
    assert!(
        failure.to_string().contains("Really destroy it? [y/N]"),
        "{failure}"
    );
    assert_eq!(texts(&lines), ["Really destroy it? [y/N] "]);
    assert!(ended(fake.pid("pid")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_on_stderr_after_a_long_silence_is_seen() {
    let fake = Fake::new("tool", "");
    let go = fake.beside(".go");
    fake.script(&format!(
        "print working\npid\nwait {}\nprompt-error Password: \nsleep-forever\n",
        go.display()
    ));
    let after = Duration::from_millis(20);
    let command = Command::new(&fake.program).question_after(Some(after));
    let lines = Lines::default();
    let running = tokio::spawn(start(command, Stop::never(), Arc::clone(&lines)));
    assert!(within(|| (!lines.lock().unwrap().is_empty()).then_some(())).is_some());
    // The child has been silent for so long that its output was looked at before.
    tokio::time::sleep(after * 10).await;
    std::fs::write(&go, "").unwrap();
    let failure = running.await.unwrap().unwrap_err();
    assert!(failure.to_string().contains("Password:"), "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unfinished_output_that_is_no_question_is_waited_for() {
    let fake = Fake::new("tool", "");
    let go = fake.beside(".go");
    fake.script(&format!(
        "prompt 42%\npid\nwait {}\nprint \nexit 0\n",
        go.display()
    ));
    let command = Command::new(&fake.program).question_after(Some(Duration::from_millis(1)));
    let running = tokio::spawn(all(command));
    fake.pid("pid");
    std::fs::write(&go, "").unwrap();
    let (finished, lines) = running.await.unwrap();
    assert!(finished.unwrap().ok());
    assert_eq!(texts(&lines), ["42%"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_hangs_dies_with_its_tree_when_its_run_is_dropped() {
    let fake = Fake::new("tool", "pid\ngrandchild\nsleep-forever\n");
    let running = tokio::spawn(all(Command::new(&fake.program)));
    let (child, grandchild) = (fake.pid("pid"), fake.pid("grandchild"));
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    assert!(ended(child));
    assert!(ended(grandchild));
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_reaches_the_child() {
    // A background job of a shell starts with SIGINT ignored, and so would its children. A handler, as
    // every run of wdev has one, gives them the default back.
    let _handler = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt());
    let fake = Fake::new("tool", "pid\nprint before\nsleep-forever\n");
    let source = StopSource::new();
    let lines = Lines::default();
    let command = Command::new(&fake.program).grace(Duration::from_hours(1));
    let running = tokio::spawn(start(command, source.stop(), Arc::clone(&lines)));
    let child = fake.pid("pid");
    assert!(within(|| (!lines.lock().unwrap().is_empty()).then_some(())).is_some());
    source.raise(Level::Interrupt);
    // Ends although the grace period is an hour: the child obeys.
    let failure = running.await.unwrap().unwrap_err();
    assert_eq!(failure.kind, Kind::Interrupted);
    assert_eq!(failure.output, ["before"]);
    assert!(ended(child));
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_ignores_the_interrupt_is_killed_with_its_tree_after_its_grace() {
    let fake = Fake::new("tool", "ignore-sigint\ngrandchild\npid\nsleep-forever\n");
    let source = StopSource::new();
    let command = Command::new(&fake.program).grace(Duration::from_millis(200));
    let running = tokio::spawn(start(command, source.stop(), Lines::default()));
    let (child, grandchild) = (fake.pid("pid"), fake.pid("grandchild"));
    source.raise(Level::Interrupt);
    assert_eq!(running.await.unwrap().unwrap_err().kind, Kind::Interrupted);
    assert!(ended(child));
    assert!(ended(grandchild));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_request_to_stop_kills_at_once() {
    let fake = Fake::new("tool", "ignore-sigint\ngrandchild\npid\nsleep-forever\n");
    let source = StopSource::new();
    let command = Command::new(&fake.program).grace(Duration::from_hours(1));
    let running = tokio::spawn(start(command, source.stop(), Lines::default()));
    let (child, grandchild) = (fake.pid("pid"), fake.pid("grandchild"));
    source.raise(Level::Interrupt);
    source.raise(Level::Kill);
    assert_eq!(running.await.unwrap().unwrap_err().kind, Kind::Interrupted);
    assert!(ended(child));
    assert!(ended(grandchild));
}

#[tokio::test]
async fn a_grandchild_that_holds_the_output_open_neither_hangs_the_run_nor_survives() {
    let fake = Fake::new("tool", "grandchild\nprint last words\nexit 3\n");
    let command = Command::new(&fake.program).drain(Duration::from_millis(100));
    let (finished, lines) = all(command).await;
    let finished = finished.unwrap();
    assert_eq!(finished.code, Some(3));
    assert!(finished.leftovers_killed);
    assert_eq!(texts(&lines), ["last words"]);
    assert!(ended(fake.pid("grandchild")));
}

#[tokio::test]
async fn nothing_is_started_after_a_request_to_stop() {
    let fake = Fake::new("tool", "exit 0\n");
    let source = StopSource::new();
    source.raise(Level::Interrupt);
    let command = Command::new(&fake.program);
    let failure = start(command, source.stop(), Lines::default())
        .await
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Interrupted);
    assert!(fake.calls().is_empty());
}

#[tokio::test]
async fn a_program_that_cannot_be_started_says_why_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tool");
    let mut cases = vec![(dir.path().join("nowhere"), "no such program", "install")];
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let write = |name: &str, text: &str, mode: u32| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        cases.push((
            write("plain", "#!/bin/sh\n", 0o644),
            "not executable",
            "chmod +x",
        ));
        cases.push((
            write("lost", "#!/no/such/shell\n", 0o755),
            "interpreter",
            "first line",
        ));
        cases.push((dir.path().to_owned(), "a folder", "program itself"));
    }
    for (program, why, advice) in cases {
        let (finished, _) = all(Command::new(&program)).await;
        let failure = finished.unwrap_err();
        assert_eq!(failure.kind, Kind::Host, "{failure}");
        assert!(failure.to_string().contains(why), "{failure}");
        assert!(failure.advice.join(" ").contains(advice), "{failure:?}");
    }
    let (finished, _) = all(Command::new(file).dir(dir.path().join("gone"))).await;
    assert!(finished.unwrap_err().to_string().contains("gone"));
}
