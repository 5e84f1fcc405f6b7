//! Workers that are added and removed.

use std::fs;

use crate::env::{Env, Running};

const TWO: &str = "provider: sim\n# ours\nworkers:\n  - name: winw1  # the first\n  - name: winw2\n\
                   cni: calico  # as in production\n";

fn standing() -> Env {
    let env = Env::new();
    env.write("variables.yml", TWO);
    env.run(&["up", "-q"]).exits(0);
    env
}

fn variables(env: &Env) -> String {
    fs::read_to_string(env.project.join("variables.yml")).unwrap()
}

/// The nodes that the sandbox has, and those that its cluster knows.
fn nodes(env: &Env) -> (Vec<String>, Vec<String>) {
    let status = env.status();
    let nodes = status["nodes"].as_array().unwrap();
    let has = nodes
        .iter()
        .map(|node| node["name"].as_str().unwrap().to_owned());
    let known = env.run(&["exec", "cp", "--", "kubectl", "get", "nodes"]);
    let rows = known.exits(0).out.lines().skip(1).map(|row| {
        let words: Vec<&str> = row.split_whitespace().take(2).collect();
        words.join(" ")
    });
    (has.collect(), rows.collect())
}

#[test]
fn a_worker_is_added_and_the_others_stay_as_they_are() {
    let env = standing();
    env.run(&[
        "node",
        "add",
        "big",
        "--windows",
        "2025",
        "--memory",
        "8GiB",
        "--label",
        "size=big",
        "--taint",
        "os=Win1809:NoSchedule",
    ])
    .exits(0)
    .says("`big` stands in")
    .says("winw2 features skipped: in place")
    .says("big join done");
    let wanted = TWO.replace(
        "cni:",
        "  - {name: big, windows: \"2025\", memory: 8GiB, labels: {size: big}, \
         taints: [\"os=Win1809:NoSchedule\"]}\ncni:",
    );
    assert_eq!(variables(&env), wanted);
    let (has, known) = nodes(&env);
    assert_eq!(has, ["cp", "winw1", "winw2", "big"]);
    assert_eq!(
        known,
        ["big Ready", "cp Ready", "winw1 Ready", "winw2 Ready"]
    );
    env.run(&["node", "add", "big"])
        .exits(2)
        .says("there is a node `big` already");
}

#[test]
fn the_first_worker_that_is_added_is_the_second_one() {
    let env = Env::new();
    env.run(&["up", "-q", "--provider", "sim"]).exits(0);
    env.run(&["node", "add", "winw2", "--provider", "sim"])
        .exits(0);
    assert_eq!(
        variables(&env),
        "workers:\n  - {name: winw1}\n  - {name: winw2}\n"
    );
    assert_eq!(nodes(&env).0, ["cp", "winw1", "winw2"]);
}

#[test]
fn an_empty_list_of_workers_gets_its_first_one() {
    let env = Env::new();
    let empty = "provider: sim\nworkers: []\n";
    env.write("variables.yml", empty);
    env.run(&["up"]).exits(3).says("there is no worker");
    env.run(&["node", "add", "big"])
        .exits(0)
        .says("big join done");
    assert_eq!(
        variables(&env),
        "provider: sim\nworkers:\n  - {name: big}\n"
    );
    assert_eq!(nodes(&env).1, ["big Ready", "cp Ready"]);
}

#[test]
fn a_second_run_is_told_that_a_worker_is_being_added() {
    let env = standing();
    let add = ["node", "add", "big", "-o", "json", "--sim-speed", "60"];
    let running = Running::of(env.wdev(&add));
    running.until("run_started", "");
    env.run(&["node", "remove", "big", "--yes"])
        .exits(11)
        .says(&format!(
            "`wdev node add` with process id {}",
            running.pid()
        ));
}

#[test]
fn what_cannot_be_added_changes_nothing() {
    let env = standing();
    for (args, code, words) in [
        (&["sixteen-letters-"] as &[&str], 3, "at most 15"),
        (&["w", "--address", "192.168.56.12"], 2, "that of `winw2`"),
        (&["w", "--address", "10.9.9.9"], 3, "10.9.9.9"),
        (&["w", "--taint", "x"], 3, "x"),
        (&["w", "--label", "x"], 2, "has no value"),
        (&["w", "--windows", "2016"], 2, "2019"),
        (&["w", "--set", "workers=[{name: a}]"], 3, "--set workers"),
    ] {
        let before = fs::read(env.journal()).unwrap();
        env.run(&[&["node", "add"], args].concat())
            .exits(code)
            .says(words);
        assert_eq!(variables(&env), TWO, "{args:?}");
        assert_eq!(fs::read(env.journal()).unwrap(), before, "{args:?}");
    }
}

#[test]
fn a_worker_leaves_its_cluster_before_its_machine_goes() {
    let env = standing();
    env.run(&["node", "remove", "winw1", "--no-input"])
        .exits(2)
        .says("must be confirmed");
    let second = env.status()["nodes"][2].clone();
    env.run(&["node", "remove", "winw1", "--yes"])
        .exits(0)
        .says("winw1 leave done")
        .says("winw1 destroy done")
        .says("address: 192.168.56.12 of `winw2`");
    assert_eq!(
        variables(&env),
        "provider: sim\n# ours\nworkers:\n  - name: winw2\n    address: 192.168.56.12\n\
         cni: calico  # as in production\n"
    );
    let (has, known) = nodes(&env);
    assert_eq!(has, ["cp", "winw2"]);
    assert_eq!(known, ["cp Ready", "winw2 Ready"]);
    assert_eq!(env.status()["nodes"][1], second);
    env.run(&["node", "remove", "winw1", "--yes"])
        .exits(12)
        .says("there is no worker `winw1`");
    env.run(&["node", "remove", "cp", "--yes"])
        .exits(2)
        .says("the control plane");
    env.run(&["node", "remove", "winw2", "--yes"])
        .exits(2)
        .says("the only worker");
    env.run(&["up"])
        .exits(0)
        .says("winw2 machine skipped: in place");
    // The name is free again.
    env.run(&["node", "add", "winw1"])
        .exits(0)
        .says("winw1 join done");
}

#[test]
fn a_worker_that_does_not_answer_goes_when_somebody_insists() {
    let env = standing();
    env.run(&["halt", "-q"]).exits(0);
    env.run(&["node", "remove", "winw2", "--yes"])
        .exits(5)
        .says("does not answer")
        .says("--force");
    assert_eq!(variables(&env), TWO);
    env.run(&["node", "remove", "winw2", "--yes", "--force"])
        .exits(0)
        .says("winw2 destroy done");
    env.run(&["up"]).exits(0);
    // Nobody could tell the cluster; it is not counted as one of the sandbox any more.
    assert_eq!(nodes(&env).0, ["cp", "winw1"]);
}

#[test]
fn a_worker_that_the_file_no_longer_names_can_be_removed() {
    let env = standing();
    let one = TWO.replace("  - name: winw2\n", "");
    env.write("variables.yml", &one);
    env.run(&["node", "remove", "winw2", "--yes"]).exits(0);
    assert_eq!(variables(&env), one);
    assert_eq!(nodes(&env).1, ["cp Ready", "winw1 Ready"]);
}

#[test]
fn a_worker_that_would_change_the_others_is_not_written_down() {
    let env = standing();
    let version = ["--kubernetes-version", "1.35"];
    env.run(&[&["node", "add", "winw3"], &version[..]].concat())
        .exits(3)
        .says("would have to be recreated, so nothing was touched");
    assert_eq!(variables(&env), TWO);
    env.run(&["node", "add", "winw3"]).exits(0);
}

#[test]
fn an_addition_that_is_killed_anywhere_is_finished_by_the_next_up() {
    for (kind, step) in [
        ("run_started", ""),
        ("step_started", "winw3/machine"),
        ("step_finished", "winw3/features"),
        ("step_started", "winw3/join"),
    ] {
        let env = standing();
        let add = ["node", "add", "winw3"];
        let watched = [&add[..], &["-o", "json", "--sim-speed", "60"]].concat();
        let running = Running::of(env.wdev(&watched));
        running.until(kind, step);
        running.kill();
        // It stands in the file already; the same command again says what finishes it.
        env.run(&add)
            .exits(2)
            .says("`wdev up` makes what is missing");
        env.run(&["up"]).exits(0);
        let (has, known) = nodes(&env);
        assert_eq!(has, ["cp", "winw1", "winw2", "winw3"], "{kind} {step}");
        let ready = ["cp Ready", "winw1 Ready", "winw2 Ready", "winw3 Ready"];
        assert_eq!(known, ready, "{kind} {step}");
        assert_eq!(variables(&env).matches("winw3").count(), 1, "{kind} {step}");
    }
}

#[test]
fn a_removal_that_is_killed_anywhere_is_finished_by_the_next() {
    for (kind, step) in [
        ("run_started", ""),
        ("step_started", "winw2/leave"),
        ("step_finished", "winw2/leave"),
        ("step_started", "winw2/destroy"),
        ("step_finished", "winw2/destroy"),
    ] {
        let env = standing();
        let remove = ["node", "remove", "winw2", "--yes"];
        let watched = [&remove[..], &["-o", "json", "--sim-speed", "60"]].concat();
        let running = Running::of(env.wdev(&watched));
        running.until(kind, step);
        running.kill();
        // The kill may come when all is over: then there is no such worker.
        let over = !variables(&env).contains("winw2");
        env.run(&remove).exits(if over { 12 } else { 0 });
        let (has, known) = nodes(&env);
        assert_eq!(has, ["cp", "winw1"], "{kind} {step}");
        assert_eq!(known, ["cp Ready", "winw1 Ready"], "{kind} {step}");
        assert!(!variables(&env).contains("winw2"), "{kind} {step}");
    }
}
