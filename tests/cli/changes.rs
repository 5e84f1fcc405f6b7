//! A configuration that changes under a sandbox.

use std::fs;

use crate::env::Env;

fn standing() -> Env {
    let env = Env::new();
    env.write(
        "variables.yml",
        "provider: sim\nworkers: [{name: winw1}, {name: winw2}]\n",
    );
    env.run(&["up", "-q"]).exits(0);
    env
}

/// What the plan decides for a step.
fn decision(env: &Env, lane: &str, step: &str) -> String {
    let plan = env.run(&["plan", "-o", "json"]).exits(0).json();
    let lanes = plan["lanes"].as_array().unwrap();
    let lane = lanes.iter().find(|found| found["lane"] == lane).unwrap();
    let steps = lane["steps"].as_array().unwrap();
    let step = steps.iter().find(|found| found["step"] == step).unwrap();
    step["decision"].as_str().unwrap().to_owned()
}

#[test]
fn more_memory_restarts_the_machine_in_place() {
    let env = standing();
    let id = env.status()["nodes"][1]["id"].clone();
    env.write(
        "variables.yml",
        "provider: sim\nworkers: [{name: winw1, memory: 7GiB}, {name: winw2}]\n",
    );
    env.run(&["plan"]).exits(0).prints("changed: memory");
    assert_eq!(decision(&env, "winw1", "machine"), "run");
    assert_eq!(decision(&env, "winw2", "machine"), "probe");
    env.run(&["up"])
        .exits(0)
        .says("winw2 machine skipped: in place")
        .says("winw1 features skipped: in place");
    assert_eq!(env.status()["nodes"][1]["id"], id);
    assert_eq!(decision(&env, "winw1", "machine"), "probe");
}

#[test]
fn a_new_worker_leaves_the_control_plane_as_it_is() {
    let env = standing();
    env.write(
        "variables.yml",
        "provider: sim\nworkers: [{name: winw1}, {name: winw2}, {name: winw3}]\n",
    );
    assert_eq!(decision(&env, "cp", "hosts"), "run");
    assert_eq!(decision(&env, "cp", "control-plane"), "probe");
    env.run(&["up"])
        .exits(0)
        .says("cp hosts done")
        .says("cp control-plane skipped: in place")
        .says("winw2 features skipped: in place")
        .says("winw3 join done");
    // Nor does a later run find that something was left to do.
    assert_eq!(decision(&env, "cp", "kernel"), "probe");
}

#[test]
fn another_box_needs_the_users_word() {
    let env = standing();
    let before = env.status();
    let record = || fs::read_to_string(env.sandbox().join("sandbox.json")).unwrap();
    let recorded = record();
    env.write(
        "variables.yml",
        "provider: sim\nworkers: [{name: winw1, box: other/box}, {name: winw2}]\n",
    );
    env.run(&["plan"])
        .exits(0)
        .prints("RECREATE machine")
        .prints("changed: box")
        .prints("`up` will touch nothing: winw1 must be recreated first");
    let refused = env.run(&["up"]);
    refused
        .exits(3)
        .says("the node `winw1` would have to be recreated, so nothing was touched")
        .says("wdev up --recreate")
        .does_not_say("to go on: wdev up");
    let after = env.status();
    assert_eq!(after["nodes"], before["nodes"]);
    assert_eq!(record(), recorded);

    env.run(&["up", "--recreate"]).exits(0);
    let after = env.status();
    assert_ne!(after["nodes"][1]["id"], before["nodes"][1]["id"]);
    assert_eq!(after["nodes"][2]["id"], before["nodes"][2]["id"]);
    assert_eq!(after["nodes"][1]["done"], before["nodes"][1]["done"]);
}

#[test]
fn a_worker_that_is_taken_out_is_not_forgotten() {
    let env = standing();
    env.write("variables.yml", "provider: sim\nworkers: [{name: winw1}]\n");
    let up = env.run(&["up"]);
    up.exits(0)
        .says("`winw2` is no longer in the configuration")
        .says("`wdev node remove winw2` removes it")
        .prints("winw2 left over")
        .prints("wdev exec winw1 -- hostname");
    assert_eq!(env.status()["nodes"][2]["power"], "running");
    env.run(&["destroy", "--yes"])
        .exits(0)
        .prints("winw2 absent");
    assert!(!env.project.join(".wdev").exists());
}

#[test]
fn a_new_worker_with_the_name_of_one_that_is_left_over_is_told_the_way_out() {
    let env = standing();
    let one = "provider: sim\nworkers: [{name: winw1}]\n";
    env.write("variables.yml", one);
    env.run(&["up"]).exits(0);
    let add = ["node", "add", "winw2", "--windows", "2025"];
    env.run(&add)
        .exits(3)
        .says("the machine of an earlier worker `winw2` is still there")
        .says("wdev node remove winw2")
        .does_not_say("--recreate");
    let file = env.project.join("variables.yml");
    assert_eq!(fs::read_to_string(file).unwrap(), one);
    env.run(&["node", "remove", "winw2", "--yes"]).exits(0);
    env.run(&add).exits(0);
}

#[test]
fn a_control_plane_keeps_its_name() {
    let env = standing();
    env.write(
        "variables.yml",
        "provider: sim\ncontrol_plane: {name: main}\n",
    );
    for command in ["up", "plan"] {
        env.run(&[command])
            .exits(3)
            .says("the control plane of this sandbox is `cp`")
            .says("control_plane: {name: cp}");
    }
    env.run(&["destroy", "--yes"]).exits(0);
    env.run(&["up"]).exits(0);
}

#[test]
fn a_new_worker_at_an_old_address_is_warned_of() {
    let env = standing();
    env.write(
        "variables.yml",
        "provider: sim\nworkers: [{name: winw1}, {name: winw3}]\n",
    );
    env.run(&["up"])
        .exits(0)
        .says("still has the address 192.168.56.12, which `winw3` is to have now");
}

#[test]
fn another_provider_is_refused_while_machines_stand() {
    let env = standing();
    env.write("variables.yml", "provider: docker\n");
    for command in ["up", "plan", "render"] {
        env.run(&[command])
            .exits(3)
            .says("the sandbox `default` stands on `sim`")
            .says("`docker` is asked for now")
            .says("wdev destroy")
            .says("--sandbox NAME");
    }
    env.run(&["status"]).exits(0);
    fs::remove_file(env.sandbox().join("sandbox.json")).unwrap();
    env.run(&["up"]).exits(3).says("stands on `sim`");
}

#[test]
fn what_was_rendered_alone_binds_nobody_to_its_provider() {
    let env = Env::new();
    env.run(&["render", "--provider", "virtualbox"]).exits(0);
    env.run(&["render", "--provider", "hyperv"]).exits(0);
    env.run(&["up", "--provider", "sim"]).exits(0);
    env.run(&["render", "--provider", "virtualbox"])
        .exits(3)
        .says("stands on `sim`");
}

#[test]
fn another_network_plugin_is_refused_once_the_cluster_has_one() {
    let env = Env::new();
    env.write("variables.yml", "provider: sim\n");
    env.run(&[
        "up",
        "--cni",
        "flannel",
        "--sim-fault",
        "cp/cni=fail:always",
    ])
    .exits(6);
    // It has none yet.
    env.run(&["up", "--cni", "antrea"]).exits(0);
    let before = fs::read(env.journal()).unwrap();
    for arguments in [&["up"][..], &["plan"], &["node", "add", "winw2"]] {
        env.run(arguments)
            .exits(3)
            .says("has the network plugin `antrea`")
            .says("`--cni antrea`")
            .says("wdev destroy");
    }
    assert_eq!(fs::read(env.journal()).unwrap(), before);
    let file = fs::read_to_string(env.root().join("project/variables.yml")).unwrap();
    assert_eq!(
        file, "provider: sim\n",
        "the worker was written down all the same"
    );
    env.run(&["node", "add", "winw2", "--cni", "antrea"])
        .exits(0);
}

#[test]
fn a_machine_removed_behind_wdevs_back_is_made_anew_alone() {
    let env = standing();
    fs::remove_file(env.sandbox().join("sim/nodes/winw1.json")).unwrap();
    let before = env.status();
    assert_eq!(before["nodes"][1]["power"], "absent");
    let up = env.run(&["up"]);
    up.exits(0)
        .says("winw1 machine done")
        .says("winw1 features done")
        .says("winw2 machine skipped: in place")
        .says("winw2 features skipped: in place")
        .says("cp control-plane skipped: in place");
    let after = env.status();
    assert_eq!(after["nodes"][2]["id"], before["nodes"][2]["id"]);
}

#[test]
fn a_machine_that_was_switched_off_is_only_started() {
    let env = standing();
    let done = env.status()["nodes"][1]["done"].clone();
    env.run(&["halt", "-q"]).exits(0);
    let halted = env.status();
    assert_eq!(halted["nodes"][1]["power"], "off");
    assert_eq!(halted["nodes"][1]["done"], done);
    env.run(&["up"])
        .exits(0)
        .says("winw1 features skipped: in place");
    assert_eq!(env.status()["nodes"][1]["power"], "running");
}

#[test]
fn a_broken_configuration_hides_no_sandbox() {
    let env = standing();
    env.write("variables.yml", "provider: [\n");
    env.run(&["up"]).exits(3).says("variables.yml:1:11");
    env.run(&["plan"]).exits(3);
    env.run(&["status"]).exits(0).prints("winw2");
    env.run(&["exec", "cp", "--", "hostname"])
        .exits(0)
        .prints("cp");
    env.run(&["halt"]).exits(0).prints("winw2 stopped");
    env.run(&["destroy", "--yes"]).exits(0);
    assert!(!env.project.join(".wdev").exists());
}
