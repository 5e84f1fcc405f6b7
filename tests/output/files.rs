//! JSON lines and log files.

use std::sync::{Arc, Mutex};

use wdev::error::Kind;
use wdev::event::json::Json;
use wdev::event::logs::{Logs, RUN_LOG, step_log_name};
use wdev::event::{Event, Sink};

use crate::sample::{Text, event, play, sample_run, step_finished, step_started};

#[test]
fn json_is_one_event_a_line() {
    let text = Text::default();
    let mut json = Json::new(Box::new(text.clone()));
    let end = json.end();
    play(&mut json, &sample_run());
    let read: Vec<Event> = text
        .get()
        .lines()
        .map(|line| serde_json::from_str(line).expect("an event"))
        .collect();
    assert_eq!(read, sample_run());
    assert!(end.check().is_ok());
}

#[test]
fn a_reader_that_leaves_is_no_error_of_the_run() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut json = Json::new(Box::new(writer));
    let end = json.end();
    play(&mut json, &sample_run());
    assert!(end.reader_gone());
    assert_eq!(end.check().expect_err("gone").kind.exit_code(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn events_lost_on_a_full_disk_are_an_error() {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full");
    let mut json = Json::new(Box::new(full));
    let end = json.end();
    play(&mut json, &sample_run());
    assert!(!end.reader_gone());
    let failure = end.check().expect_err("full");
    assert_eq!(failure.kind, Kind::Host);
    assert!(!failure.advice.is_empty());
}

#[test]
fn each_step_has_its_log_and_the_run_too() {
    let dir = tempfile::tempdir().expect("a folder");
    let logs_dir = dir.path().join("logs").join("a run");
    let mut logs = Logs::new(logs_dir.clone()).warnings_to(|text| panic!("{text}"));
    assert!(!logs_dir.exists(), "made only when needed");
    play(&mut logs, &sample_run());
    let mut names: Vec<_> = std::fs::read_dir(&logs_dir)
        .expect("a folder")
        .map(|entry| {
            entry
                .expect("a file")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "cp-kernel.log",
            "cp-machine.log",
            RUN_LOG,
            "winw1-containerd.log",
            "winw1-features.log"
        ]
    );
    let read = |name: &str| std::fs::read_to_string(logs_dir.join(name)).expect("a log");
    insta::assert_snapshot!("cp_kernel_log", read("cp-kernel.log"));
    insta::assert_snapshot!("winw1_containerd_log", read("winw1-containerd.log"));
    // Everything that happened is in it, one line an event.
    assert_eq!(read(RUN_LOG).lines().count(), sample_run().len());
}

#[test]
fn logs_that_cannot_be_written_are_one_warning() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("logs");
    std::fs::write(&file, "in the way").expect("writes");
    let warnings = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&warnings);
    let mut logs = Logs::new(file)
        .warnings_to(move |text| heard.lock().expect("no panic").push(text.to_owned()));
    play(&mut logs, &sample_run());
    let warnings = warnings.lock().expect("no panic");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("warning: cannot write the log"));
    assert!(warnings[0].contains(RUN_LOG));
}

#[test]
fn more_lanes_than_open_files_lose_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut logs = Logs::new(dir.path().to_owned()).warnings_to(|text| panic!("{text}"));
    let lanes: Vec<_> = (0..200).map(|i| format!("w{i}")).collect();
    for lane in &lanes {
        logs.event(&event(0, 0, step_started(lane, "boot", 1)));
    }
    for lane in &lanes {
        logs.event(&event(1, 0, step_finished(lane, "boot", 1)));
    }
    for lane in &lanes {
        let name = step_log_name(&lane.as_str().into(), &"boot".into());
        let log = std::fs::read_to_string(dir.path().join(name)).expect("a log");
        assert_eq!(log.lines().count(), 2, "{log}");
    }
}

#[test]
fn names_of_logs_are_safe_and_never_the_same() {
    let name = |lane: &str, step: &str| step_log_name(&lane.into(), &step.into());
    assert_eq!(name("winw1", "kubeadm-join"), "winw1-kubeadm-join.log");
    let hard = [
        name("w", "hook/../../etc"),
        name("w", "hook:a"),
        name("w", "hook?a"),
        name("w", "Hook_a"),
        name("w", "hook_a"),
        name("con.x", "y"),
        name("w", &"long".repeat(100)),
        name("w", &"longer".repeat(100)),
        name("grün", "a"),
    ];
    for name in &hard {
        assert!(name.len() <= 100, "{name}");
        assert!(
            name.chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)),
            "{name}"
        );
        assert!(
            !name.starts_with("con.") && !name.starts_with('.'),
            "{name}"
        );
    }
    let different: std::collections::BTreeSet<_> =
        hard.iter().map(|name| name.to_ascii_lowercase()).collect();
    assert_eq!(different.len(), hard.len(), "{hard:?}");
}
