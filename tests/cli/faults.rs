//! What goes wrong on the nodes, injected into the simulator.

use crate::env::{Env, Ran};

fn with(faults: &[&str], more: &[&str]) -> (Env, Ran) {
    let env = Env::new();
    let mut args = more.to_vec();
    for fault in faults {
        args.extend(["--sim-fault", fault]);
    }
    let ran = env.up(&args);
    (env, ran)
}

#[test]
fn a_failure_that_passes_is_tried_again() {
    for fault in [
        "winw1/features=fail:once",
        "winw1/features=die:once",
        "winw1/features=stall:once",
        "winw1/features=cut-lost:once",
        "winw1/create=fail:once",
        "cp/create=half:once",
        "cp/control-plane=die:once",
        "winw1/reboot=never:once",
        "winw1/reboot=lost:once",
        "winw1/reboot=twice:once",
        "*/*=cut:once",
    ] {
        let (env, ran) = with(&[fault], &[]);
        ran.exits(0);
        assert_eq!(env.status()["last_run"]["outcome"], "done", "{fault}");
    }
}

#[test]
fn a_failure_that_stays_names_all_that_helps() {
    let (env, ran) = with(&["winw1/features=fail:always"], &[]);
    let log = format!("{}/logs/", env.sandbox().display());
    ran.exits(6)
        .says("error: script `features` on `winw1` ended with exit code 1")
        .says("node winw1")
        .says("step features")
        .says(&log)
        .says("winw1-features.log")
        .says("| injected fault: exit 1")
        .says("to go on: wdev up")
        .prints("winw1 failed");
    let shown = ran
        .err
        .lines()
        .find(|line| line.contains("  log "))
        .unwrap();
    let path = shown.trim().trim_start_matches("log").trim();
    assert!(
        std::fs::read_to_string(path)
            .unwrap()
            .contains("injected fault")
    );

    let status = env.status();
    assert_eq!(status["last_run"]["outcome"], "failed");
    assert_eq!(status["nodes"][1]["step"], "features");
    assert_eq!(status["nodes"][1]["phase"], "failed");
    env.run(&["status"])
        .exits(0)
        .prints("features failed")
        .prints("log: ");
    env.up(&[]).exits(0);
}

#[test]
fn what_never_ends_meets_its_deadline() {
    let (_env, ran) = with(
        &["winw1/features=stall:always"],
        &["--set", "timeouts.step=2m"],
    );
    ran.exits(10)
        .says("did not end in time")
        .says("it may take 120 s")
        .says("under `timeouts`");
    let (_env, ran) = with(&["winw1/reboot=never:always"], &[]);
    ran.exits(10)
        .says("the node `winw1` did not come back from its reboot")
        .says("timeouts.reboot");
}

#[test]
fn each_failure_has_the_code_of_whose_problem_it_is() {
    for (fault, code, words) in [
        (
            "winw1/create=fail:always",
            5,
            "cannot make a simulated machine",
        ),
        ("winw1/features=die:always", 5, "the machine lost its power"),
        (
            "winw1/features=cut-lost:always",
            6,
            "its end could not be proven",
        ),
        ("winw1/node-ready=fail:always", 7, "step node-ready"),
        ("cp/cluster-ready=fail:always", 7, "step cluster-ready"),
        ("winw1/node-ready=stall:always", 10, "did not end in time"),
    ] {
        let (_env, ran) = with(&[fault], &[]);
        ran.exits(code).says(words);
    }
    let (_env, ran) = with(&["winw1/node-ready=fail:always"], &["-o", "json"]);
    let last = ran.out.lines().last().unwrap();
    let event: serde_json::Value = serde_json::from_str(last).unwrap();
    assert_eq!(event["body"]["failure"]["kind"], "not_ready");
}

#[test]
fn the_first_error_is_the_one_shown() {
    let faults = ["cp/kernel=fail:always", "winw1/features=fail:always"];
    let (_env, ran) = with(&faults, &[]);
    ran.exits(6);
    let (others, first) = ran.err.rsplit_once("error: ").unwrap();
    assert!(first.starts_with("script `kernel` on `cp`"), "{ran}");
    assert!(
        others.contains("error: script `features` on `winw1`"),
        "{ran}"
    );
}

#[test]
fn others_finish_unless_they_are_told_not_to() {
    let fault = "winw1/first-contact=fail:always";
    let (env, ran) = with(&[fault], &[]);
    ran.exits(6).prints("winw1 failed");
    let done = env.status()["nodes"][0]["done"].as_u64().unwrap();
    assert_eq!(done, 14, "all but `cluster-ready`: {ran}");

    let (env, ran) = with(&[fault], &["--fail-fast"]);
    ran.exits(6)
        .says("error: script `first-contact` on `winw1`");
    let status = env.status();
    assert!(status["nodes"][0]["done"].as_u64().unwrap() < done, "{ran}");
    assert_eq!(status["last_run"]["outcome"], "failed");
    env.up(&[]).exits(0);
}

#[test]
fn a_seed_gives_the_same_run_again() {
    let times = |seed: &str| {
        let env = Env::new();
        let ran = env.up(&["--sim-seed", seed]);
        let from = ran.exits(0).out.find("done in").unwrap();
        let to = ran.out.find("kubeconfig").unwrap();
        ran.out[from..to].to_owned()
    };
    assert_eq!(times("7"), times("7"));
    assert_ne!(times("7"), times("8"));
}
