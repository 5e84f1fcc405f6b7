//! The event format: what was written once is read for ever, and an old reader survives a new writer.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use wdev::error::Kind;
use wdev::event::{Body, Decision, Event, Outcome, Stream};

use crate::sample::sample_run;

const GOLDEN: &str = include_str!("../fixtures/events/v1.jsonl");
const DOCS: &str = include_str!("../../docs/events.md");

/// The type of the event in JSON. Without a wildcard, so that a new variant must come here, into the
/// sample, the golden file and the documentation.
fn type_of(body: &Body) -> &'static str {
    match body {
        Body::RunStarted { .. } => "run_started",
        Body::StepProbing { .. } => "step_probing",
        Body::StepSkipped { .. } => "step_skipped",
        Body::StepWaiting { .. } => "step_waiting",
        Body::StepStarted { .. } => "step_started",
        Body::StepOutput { .. } => "step_output",
        Body::StepRetry { .. } => "step_retry",
        Body::RebootStarted { .. } => "reboot_started",
        Body::RebootProven { .. } => "reboot_proven",
        Body::StepFinished { .. } => "step_finished",
        Body::StepFailed { .. } => "step_failed",
        Body::StepCancelled { .. } => "step_cancelled",
        Body::StepBlocked { .. } => "step_blocked",
        Body::MachineReplaced { .. } => "machine_replaced",
        Body::BootSeen { .. } => "boot_seen",
        Body::Intent { .. } => "intent",
        Body::Removed { .. } => "removed",
        Body::Warning { .. } => "warning",
        Body::Interrupting { .. } => "interrupting",
        Body::RunFinished { .. } => "run_finished",
        Body::Unknown => "unknown",
    }
}

const TYPES: usize = 21;

fn read(line: &str) -> Event {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// Whether everything in `old` is in `new` too.
fn contains(new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => old
            .iter()
            .all(|(key, old)| new.get(key).is_some_and(|new| contains(new, old))),
        (Value::Array(new), Value::Array(old)) => {
            new.len() == old.len() && new.iter().zip(old).all(|(new, old)| contains(new, old))
        }
        _ => new == old,
    }
}

#[test]
fn every_event_of_the_golden_file_is_read_without_loss() {
    for line in GOLDEN.lines() {
        let event = read(line);
        assert_ne!(event.body, Body::Unknown, "not understood any more: {line}");
        let written = serde_json::to_value(&event).expect("writes");
        let golden: Value = serde_json::from_str(line).expect("JSON");
        assert!(contains(&written, &golden), "{golden}\nbecame\n{written}");
    }
}

#[test]
fn the_golden_file_and_the_documentation_have_every_event() {
    let golden: BTreeSet<_> = GOLDEN
        .lines()
        .map(|line| type_of(&read(line).body))
        .collect();
    let sample: BTreeSet<_> = sample_run().iter().map(|e| type_of(&e.body)).collect();
    assert_eq!(sample.len(), TYPES - 1, "every event but the unknown one");
    assert_eq!(golden, sample);
    for event in sample_run() {
        let name = type_of(&event.body);
        let section = DOCS
            .split("\n### ")
            .find(|section| section.starts_with(&format!("`{name}`")))
            .unwrap_or_else(|| panic!("docs/events.md has no section `{name}`"));
        let written = serde_json::to_value(&event.body).expect("writes");
        assert_eq!(written["type"], name);
        for field in written.as_object().expect("an object").keys() {
            assert!(
                field == "type" || section.contains(&format!("`{field}`")),
                "docs/events.md does not describe `{field}` of `{name}`"
            );
        }
    }
}

#[test]
fn an_event_of_a_newer_writer_is_survived() {
    let event = read(
        r#"{"v":2,"seq":7,"at":"2026-03-01T09:00:00Z","run":"r","mood":"new","body":{"type":"machine_sang","song":{"name":["a"],"n":1}}}"#,
    );
    assert_eq!((event.v, event.seq), (2, 7));
    assert_eq!(event.body, Body::Unknown);
}

#[test]
fn unknown_fields_are_ignored_at_every_depth() {
    for event in sample_run() {
        let mut value = serde_json::to_value(&event).expect("writes");
        add_fields(&mut value, false);
        let read: Event = serde_json::from_value(value).expect("reads");
        assert_eq!(read, event);
    }
}

/// Adds a field to every object, except to those that are maps by themselves.
fn add_fields(value: &mut Value, map: bool) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                add_fields(value, name == "inputs" || name == "facts");
            }
            if !map {
                fields.insert("from_the_future".to_owned(), json!({"a": [1]}));
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| add_fields(value, false)),
        _ => {}
    }
}

#[test]
fn unknown_values_of_every_enum_are_survived() {
    for line in GOLDEN.lines() {
        let newer = line
            .replace(r#""decision":"run""#, r#""decision":"ponder""#)
            .replace(r#""stream":"stderr""#, r#""stream":"tty""#)
            .replace(r#""outcome":"failed""#, r#""outcome":"half_done""#)
            .replace(r#""kind":"step""#, r#""kind":"weather""#);
        let changed = newer != line;
        match read(&newer).body {
            Body::RunStarted { lanes, .. } => {
                let steps = lanes.iter().flat_map(|lane| &lane.steps);
                let unknown = steps.filter(|step| step.decision == Decision::Unknown);
                assert!(changed && unknown.count() > 0);
            }
            Body::StepOutput { stream, .. } if changed => assert_eq!(stream, Stream::Unknown),
            Body::StepFailed { failure, .. } => {
                assert_eq!(failure.kind, Kind::Unknown);
                assert_eq!(failure.kind.exit_code(), 1);
            }
            Body::RunFinished {
                outcome, failure, ..
            } => {
                assert_eq!(outcome, Outcome::Unknown);
                assert_eq!(failure.expect("a failure").kind, Kind::Unknown);
            }
            body => assert_ne!(body, Body::Unknown),
        }
    }
}

#[test]
fn an_end_without_the_later_field_simulated_is_read() {
    let body: Body = serde_json::from_value(json!({
        "type": "run_finished", "outcome": "done", "took_ms": 1, "failure": null,
        "summary": {"nodes": [], "phases": []}
    }))
    .expect("reads");
    assert!(matches!(
        body,
        Body::RunFinished {
            simulated: false,
            ..
        }
    ));
}

#[cfg(unix)]
#[test]
fn a_folder_whose_name_is_no_utf8_loses_no_event() {
    use std::os::unix::ffi::OsStringExt;
    let path = std::path::PathBuf::from(std::ffi::OsString::from_vec(b"/tmp/gr\xfcn/x.log".into()));
    let mut event = sample_run().pop().expect("events");
    if let Body::RunFinished {
        failure, summary, ..
    } = &mut event.body
    {
        failure.as_mut().expect("a failure").log = Some(path.clone());
        summary.logs = Some(path.clone());
        summary.kubeconfig = Some(path);
    }
    let line = serde_json::to_string(&event).expect("writes");
    assert_eq!(line.matches("/tmp/gr\u{fffd}n/x.log").count(), 3);
}
