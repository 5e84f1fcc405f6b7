//! One run at a time.

use crate::env::Env;

#[test]
fn a_second_run_is_told_who_has_the_sandbox() {
    let env = Env::new();
    let first = env.start(&[]);
    first.until("step_started", "cp/machine");
    let who = format!("`wdev up` with process id {}", first.pid());
    for args in [
        &["up", "--provider", "sim"] as &[&str],
        &["halt"],
        &["render", "--provider", "sim"],
        &["destroy", "--yes"],
        // Whatever they would find: the other run may be changing just that.
        &["node", "remove", "winw1", "--yes"],
        &["node", "remove", "winw1", "--no-input"],
        &["node", "remove", "cp", "--yes"],
        &["node", "remove", "nobody", "--yes"],
        &["node", "add", "winw1"],
        &["node", "add", "winw2", "--provider", "sim"],
    ] {
        env.run(args)
            .exits(11)
            .says("another run holds the sandbox")
            .says(&who);
    }
    assert!(env.journal().exists());
    assert!(!env.project.join("variables.yml").exists());
}

/// What the question tells is what is removed, however long it waits.
#[cfg(target_os = "linux")]
#[test]
fn nobody_changes_what_destroy_asks_about() {
    use std::io::{Read as _, Write as _};
    let Some(script) = crate::common::need("script") else {
        return;
    };
    let env = Env::new();
    env.up(&["-q"]).exits(0);
    let destroy = format!("'{}' destroy", env!("CARGO_BIN_EXE_wdev"));
    let mut asking = env
        .program(&script)
        .args(["-qefc", &destroy, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut shown = Vec::new();
    let mut out = asking.stdout.take().unwrap();
    while !String::from_utf8_lossy(&shown).contains("Remove all of it?") {
        let mut some = [0; 256];
        let count = out.read(&mut some).unwrap();
        assert_ne!(count, 0, "{}", String::from_utf8_lossy(&shown));
        shown.extend_from_slice(&some[..count]);
    }
    env.run(&["node", "add", "winw2", "--provider", "sim"])
        .exits(11)
        .says("`wdev destroy` with process id");
    env.up(&[]).exits(11);
    let mut input = asking.stdin.take().unwrap();
    input.write_all(b"y\n").unwrap();
    out.read_to_end(&mut shown).unwrap();
    assert!(asking.wait().unwrap().success());
    assert!(!env.sandbox().exists());
}

#[test]
fn a_run_that_goes_on_is_seen() {
    let env = Env::new();
    let first = env.start(&[]);
    first.until("step_started", "cp/machine");
    let status = env.status();
    assert_eq!(status["running"]["pid"], first.pid());
    assert_eq!(status["running"]["command"], "up");
    assert_eq!(status["last_run"]["outcome"], "going on");
    assert_eq!(status["nodes"][0]["step"], "machine");
    assert_eq!(status["nodes"][0]["phase"], "running");
    env.run(&["status"])
        .exits(0)
        .prints("`wdev up` is going on");
    env.run(&["list"])
        .exits(0)
        .prints("default sim")
        .prints("going on");
    env.run(&["plan", "--provider", "sim"]).exits(0);
}

#[test]
fn who_holds_the_lock_is_only_told_to_people() {
    let env = Env::new();
    env.up(&["-q"]).exits(0);
    let holder = env.sandbox().join("holder.json");
    std::fs::remove_file(&holder).unwrap();
    // Nothing can be written there, as on a full disk.
    std::fs::create_dir(&holder).unwrap();
    let first = env.start(&[]);
    first.until("run_started", "");
    env.run(&["halt"])
        .exits(11)
        .says("another run holds the sandbox")
        .does_not_say("process id 0");
    first.kill();
    env.run(&["destroy", "--yes"]).exits(0);
    assert!(!env.project.join(".wdev").exists());
}

#[test]
fn a_lock_dies_with_its_run() {
    let env = Env::new();
    let first = env.start(&[]);
    first.until("step_started", "cp/machine");
    first.kill();
    assert!(env.sandbox().join("holder.json").exists());
    let status = env.status();
    assert_eq!(status["running"], serde_json::Value::Null);
    assert_eq!(status["last_run"]["outcome"], "cut off");
    env.run(&["list"]).exits(0).prints("cut off");
    env.up(&[]).exits(0);
    assert_eq!(env.status()["last_run"]["outcome"], "done");
}

#[test]
fn sandboxes_of_one_project_do_not_hinder_each_other() {
    let env = Env::new();
    let first = env.start(&[]);
    first.until("step_started", "cp/machine");
    env.up(&["-q", "--sandbox", "other"]).exits(0);
    env.run(&["list"])
        .exits(0)
        .prints("default sim")
        .prints("other sim");
    env.run(&["destroy", "--yes", "--sandbox", "other"])
        .exits(0);
    assert!(env.sandbox().exists());
}
