//! Sandboxes that earlier versions of wdev left behind. They must resume for ever: see the README
//! beside them.

use std::fs;
use std::path::{Path, PathBuf};

use wdev::engine::journal;
use wdev::engine::state::State;

use crate::env::Env;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/journal")
        .join(name)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A project with that sandbox.
fn project(name: &str) -> Env {
    let env = Env::new();
    copy(&fixture(name), &env.project.join(".wdev/default"));
    fs::rename(
        env.sandbox().join("variables.yml"),
        env.project.join("variables.yml"),
    )
    .unwrap();
    env
}

fn state(name: &str) -> State {
    let read = journal::read(&fixture(name).join("journal.jsonl")).unwrap();
    assert!(!read.torn);
    State::from_events(&read.events)
}

/// What a journal adds up to, in a form that does not depend on how wdev names its own types.
fn told(state: &State) -> String {
    let mut lines = Vec::new();
    for (key, record) in &state.steps {
        let status = format!("{:?}", record.status).to_lowercase();
        let done = record.done.as_ref().map(|done| {
            let machine = done.machine.as_deref().unwrap_or("no machine");
            format!(" {} on {machine} in {} ms", done.fingerprint, done.took_ms)
        });
        lines.push(format!("{key} {status}{}", done.unwrap_or_default()));
    }
    for (lane, machine) in &state.machines {
        lines.push(format!("machine of {lane}: {machine}"));
    }
    for (lane, pending) in &state.reboots {
        lines.push(format!(
            "reboot of {lane} from {} for {}",
            pending.boot, pending.step
        ));
    }
    for (lane, what, name) in &state.created {
        lines.push(format!("created for {lane}: {what} {name}"));
    }
    let provider = state.provider.as_deref().unwrap_or("none");
    let last = state
        .last_run
        .as_ref()
        .map(|last| (&last.command, last.outcome));
    lines.push(format!("provider {provider}, last run {last:?}"));
    lines.join("\n")
}

/// Nothing of the sandbox must be made anew, and what was done stays done.
fn resumes(name: &str, word: &str) {
    let env = project(name);
    let before = env.status();
    assert_eq!(before["last_run"]["outcome"], word, "{before:#}");
    let plan = env.run(&["plan"]);
    plan.exits(0).prints("check machine").prints("done before");
    assert!(!plan.out.contains("RECREATE"), "{plan}");

    env.run(&["up"]).exits(0).prints("winw1 ready");
    let after = env.status();
    assert_eq!(after["last_run"]["outcome"], "done");
    for node in [0, 1] {
        assert_eq!(after["nodes"][node]["id"], before["nodes"][node]["id"]);
        assert_eq!(after["nodes"][node]["phase"], "done");
    }
    env.run(&["destroy", "--yes"]).exits(0);
    assert!(!env.project.join(".wdev").exists());
}

#[test]
fn a_finished_sandbox_of_version_1() {
    insta::assert_snapshot!(told(&state("v1-finished")));
    resumes("v1-finished", "done");
}

#[test]
fn a_sandbox_of_version_1_cut_off_in_a_step() {
    insta::assert_snapshot!(told(&state("v1-cut")));
    resumes("v1-cut", "cut off");
}

#[test]
fn a_sandbox_of_version_1_cut_off_in_a_reboot() {
    let read = state("v1-rebooting");
    assert_eq!(read.reboots.len(), 1);
    insta::assert_snapshot!(told(&read));
    resumes("v1-rebooting", "cut off");
}

/// The sandbox's folder is all that is needed, but not all of it is: the world can be gone.
#[test]
fn a_sandbox_of_version_1_whose_machines_are_gone() {
    let env = project("v1-finished");
    fs::remove_dir_all(env.sandbox().join("sim")).unwrap();
    env.run(&["up"])
        .exits(0)
        .says("machine is gone")
        .prints("winw1 ready");
}
