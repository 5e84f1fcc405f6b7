//! Ctrl-C, SIGTERM and kill.

use crate::env::Env;

fn resumes(env: &Env) {
    let status = env.status();
    assert_eq!(status["running"], serde_json::Value::Null);
    env.up(&["-q"]).exits(0);
    let status = env.status();
    assert_eq!(status["last_run"]["outcome"], "done");
    for node in status["nodes"].as_array().unwrap() {
        assert_eq!(
            (&node["power"], &node["phase"]),
            (&"running".into(), &"done".into())
        );
    }
}

#[test]
fn one_signal_stops_in_order_and_the_next_run_goes_on() {
    for (signal, word) in [("INT", "Ctrl-C"), ("TERM", "SIGTERM")] {
        let env = Env::new();
        let run = env.start(&[]);
        run.until("step_started", "cp/machine");
        run.signal(signal);
        assert_eq!(run.until("interrupting", "")["signal"], word);
        assert_eq!(run.until("run_finished", "")["outcome"], "interrupted");
        let (code, err) = run.end();
        assert_eq!(code, Some(130), "{err}");
        assert!(!err.contains("panicked"), "{err}");
        let status = env.status();
        assert_eq!(status["last_run"]["outcome"], "interrupted");
        assert_eq!(status["nodes"][0]["phase"], "interrupted");
        resumes(&env);
    }
}

#[test]
fn a_run_that_was_stopped_names_the_command_that_goes_on() {
    let env = Env::new();
    let run = env.shell(
        "\"$@\" & run=$!; until grep -qs step_started .wdev/other/journal.jsonl; do sleep 0.01; done; \
         kill -TERM $run; wait $run",
        &["up", "--provider", "sim", "--sim-speed", "1", "--sandbox", "other"],
    );
    run.exits(130).prints("next wdev up --sandbox other");
}

#[test]
fn the_time_of_what_was_stopped_counts() {
    let env = Env::new();
    let run = crate::env::Running::of(env.wdev(&[
        "up",
        "--provider",
        "sim",
        "--sim-speed",
        "20",
        "-o",
        "json",
    ]));
    // Takes 20 simulated seconds, and a machine takes longer.
    run.until("step_finished", "host/download");
    run.signal("INT");
    let end = run.until("run_finished", "");
    run.end();
    let phases = end["summary"]["phases"].as_array().unwrap();
    let machine = phases.iter().find(|p| p["phase"] == "machine").unwrap();
    assert!(machine["took_ms"].as_u64().unwrap() >= 10_000, "{end}");
}

#[test]
fn a_signal_to_the_whole_group_counts_once() {
    let env = Env::new();
    let run = env.start(&[]);
    run.until("step_started", "cp/machine");
    run.signal_group("INT");
    assert_eq!(run.until("run_finished", "")["outcome"], "interrupted");
    assert_eq!(run.end().0, Some(130));
    resumes(&env);
}

#[test]
fn a_second_signal_ends_the_run_too() {
    let env = Env::new();
    let run = env.start(&[]);
    run.until("step_started", "cp/machine");
    run.signal("INT");
    // The first may have ended it already.
    let _ = std::process::Command::new("kill")
        .args(["-INT", &run.pid().to_string()])
        .output();
    assert_eq!(run.end().0, Some(130));
    resumes(&env);
}

#[test]
fn killed_in_the_middle_it_goes_on_where_it_was() {
    let env = Env::new();
    env.write("variables.yml", "provider: sim\n");
    for step in ["cp/machine", "winw1/machine"] {
        let run = env.start(&[]);
        run.until("step_started", step);
        run.kill();
        assert_eq!(env.status()["last_run"]["outcome"], "cut off");
    }
    env.run(&["plan"])
        .exits(0)
        .prints("it was cut off in the middle");
    resumes(&env);
}

#[test]
fn a_destroy_that_is_interrupted_keeps_what_it_needs() {
    let env = Env::new();
    env.up(&["-q"]).exits(0);
    let run = crate::env::Running::of(env.wdev(&[
        "destroy",
        "--yes",
        "--sim-speed",
        "0.01",
        "-o",
        "json",
    ]));
    run.until("step_started", "cp/destroy");
    run.signal("INT");
    assert_eq!(run.end().0, Some(130));
    assert!(env.journal().exists());
    env.run(&["destroy", "--yes"]).exits(0);
    assert!(!env.project.join(".wdev").exists());
}
