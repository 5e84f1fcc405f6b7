//! wdev.exe as its users run it on Windows, as far as Wine can show it. Run by `make test-real`; what
//! Wine cannot show is named by `what_wine_cannot_show`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code, reason = "a part of it is used here")]
#[path = "../cli/env.rs"]
mod env;
mod host;

use std::fs;
use std::path::Path;
use std::time::Duration;

use env::{Ran, Running};
use host::{Host, until, windows};

const SIM: [&str; 5] = ["up", "--provider", "sim", "--sim-speed", "1000"];
const DOCKER: [&str; 3] = ["up", "--provider", "docker"];

/// A Vagrant that knows of no machine, and whose every other call goes on as `rest` says.
fn vagrant(rest: &str) -> String {
    format!(
        "answer --version => Vagrant 2.4.9\n\
         answer status => 1,cp,state,not_created\n\
         pid\ngrandchild\n{rest}"
    )
}

/// Waits until a Vagrant with a child of its own is at work.
fn until_vagrant_works(host: &Host) {
    until("Vagrant works", || {
        host.log("vagrant").contains("grandchild")
    });
    assert!(host.fakes().len() >= 2, "{:?}", host.fakes());
}

#[test]
fn the_simulator_goes_to_its_end_in_a_folder_with_any_name() {
    let Some(host) = Host::new() else { return };
    host.run(&SIM).exits(0);
    host.run(&["list"])
        .exits(0)
        .prints(r"\クラスタ x64\.wdev\default");
    let status = host.run(&["status", "-o", "json"]).exits(0).json();
    assert_eq!(status["last_run"]["outcome"], "done", "{status}");
    // What is rendered and recorded a second time replaces what is there.
    host.run(&SIM).exits(0).says("0 to run");
    host.run(&["exec", "w1", "--", "hostname"]).exits(0);
    host.run(&["destroy", "--yes"]).exits(0);
    assert!(!host.env.project.join(".wdev").exists());
    host.run(&["list"]).exits(0);
}

#[test]
fn a_second_run_is_told_who_has_the_sandbox_and_a_killed_one_lets_go() {
    let Some(host) = Host::new() else { return };
    let slow = ["up", "--provider", "sim", "--sim-speed", "1", "-o", "json"];
    let first = Running::of(host.wdev(&slow));
    first.until("step_started", "cp/machine");
    host.run(&SIM)
        .exits(11)
        .says("another run holds the sandbox")
        .says("`wdev up` with process id");
    host.run(&["status"])
        .exits(0)
        .prints("`wdev up` is going on");
    first.kill();
    host.run(&SIM).exits(0);
}

/// The folder by another case, as `cd` takes it, is the same sandbox.
#[test]
fn a_folder_has_one_name_in_any_case() {
    let Some(host) = Host::new() else { return };
    host.run(&SIM).exits(0);
    let other = windows(&host.env.project.join("variables.yml")).to_uppercase();
    host.run(&["--config", &other, "up", "--provider", "sim"])
        .exits(0)
        .says("0 to run");
    let listed = host.run(&["list", "-o", "json"]).exits(0).json();
    assert_eq!(
        listed["sandboxes"].as_array().map(Vec::len),
        Some(1),
        "{listed}"
    );
}

#[test]
fn mistakes_have_their_places_whatever_the_editor() {
    let Some(host) = Host::new() else { return };
    // As Notepad writes it.
    host.env.write(
        "variables.yml",
        "\u{feff}cni: calico\r\nworkers:\r\n  - {name: w1, memry: 6GiB}\r\n",
    );
    for command in [&["validate"] as &[&str], &SIM] {
        host.run(command)
            .exits(3)
            .says("variables.yml:3:16")
            .says("memry")
            .says("memory");
    }
    host.env.write("variables.yml", "\u{feff}cni: calico\r\n");
    host.run(&["validate"]).exits(0);
}

/// What Windows renders is what Linux renders.
#[test]
fn rendering_does_not_depend_on_the_host() {
    let Some(host) = Host::new() else { return };
    host.env.write(
        "variables.yml",
        "cni: calico\nworkers: [{name: w1}, {name: w2}]\n",
    );
    for provider in ["hyperv", "virtualbox"] {
        let args = ["render", "--provider", provider];
        host.run(&args).exits(0);
        let windows = rendered(&host);
        assert!(windows.iter().any(|(name, _)| name == "Vagrantfile"));
        host.run(&["destroy", "--yes"]).exits(0);
        host.env.run(&args).exits(0);
        assert_eq!(windows, rendered(&host), "{provider}");
        host.env.run(&["destroy", "--yes"]).exits(0);
    }
}

/// The rendered files by their names, without what is made from the folder's name.
fn rendered(host: &Host) -> Vec<(String, String)> {
    fn walk(root: &Path, folder: &Path, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(root, &path, found);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap();
                found.push((
                    name.to_owned(),
                    anywhere(&fs::read_to_string(&path).unwrap()),
                ));
            }
        }
    }
    let root = host.env.sandbox().join("rendered");
    let mut found = Vec::new();
    walk(&root, &root, &mut found);
    found.sort();
    found
}

/// The text without what is made from the folder's name: unique names, ports, MAC addresses and the
/// fingerprint of what these stand in.
fn anywhere(text: &str) -> String {
    ["wdev-default-", "host: ", "080027", "Fingerprint = '"]
        .iter()
        .fold(text.to_owned(), |text, mark| {
            let parts: Vec<&str> = text
                .split(mark)
                .enumerate()
                .map(|(n, part)| match n {
                    0 => part,
                    _ => part.trim_start_matches(|c: char| c.is_ascii_alphanumeric()),
                })
                .collect();
            parts.join(mark)
        })
}

#[test]
fn ctrl_c_asks_vagrant_to_end_and_its_tree_ends_with_it() {
    let Some(host) = Host::new() else { return };
    host.script("vagrant", &vagrant("until-interrupted\nexit 1\n"));
    let run = host.at_console("c", &DOCKER);
    until_vagrant_works(&host);
    host.press();
    let (code, err) = run.end();
    assert_eq!(code, Some(130), "{err}");
    assert!(err.contains("Ctrl-C"), "{err}");
    // Vagrant had its time to end by itself; the child that it left has not outlived it.
    assert!(
        host.log("vagrant").contains("interrupted"),
        "{}",
        host.log("vagrant")
    );
    host.all_gone();
    host.script("vagrant", &vagrant("exit 1\n"));
    host.run(&["status"]).prints("cp control plane");
}

#[test]
fn a_second_ctrl_c_ends_what_does_not_listen() {
    let Some(host) = Host::new() else { return };
    host.script(
        "vagrant",
        &vagrant("ignore-sigint\nmkfile .\\deaf yes\nsleep-forever\n"),
    );
    let run = host.at_console("c", &["up", "--provider", "docker", "-o", "json"]);
    until_vagrant_works(&host);
    let deaf = host.env.sandbox().join("rendered/deaf");
    until("Vagrant is deaf", || {
        deaf.exists() || host.env.project.join("deaf").exists()
    });
    host.press();
    // Two keys that nobody has heard yet count as one.
    run.until("interrupting", "");
    host.press();
    let (code, err) = run.end();
    assert_eq!(code, Some(130), "{err}");
    assert!(!host.log("vagrant").contains("interrupted"));
    host.all_gone();
}

#[test]
fn a_killed_wdev_takes_its_children_along() {
    let Some(host) = Host::new() else { return };
    // Named in `WDEV_VAGRANT`, and not found on the `PATH`.
    host.script("vagrant", &vagrant("sleep-forever\n"));
    let named = host.env.root().join("bin/vagrant.exe");
    let mut command = host.wdev(&DOCKER);
    command.env("WDEV_VAGRANT", windows(&named));
    let run = Running::of(command);
    until_vagrant_works(&host);
    run.kill();
    host.all_gone();
    // Nothing of the dead run is in the way of the next.
    host.script("vagrant", "answer --version => Vagrant 2.4.9\nexit 1\n");
    host.run(&["status"]).does_not_say("another run");
    host.run(&SIM).does_not_say("another run holds");
}

#[test]
fn a_folder_too_deep_for_vagrant_is_told_and_none_is_for_wdev() {
    let Some(host) = Host::new() else { return };
    host.script("vagrant", &vagrant("exit 1\n"));
    let deep = host.env.project.join("d".repeat(100)).join("e".repeat(120));
    fs::create_dir_all(&deep).unwrap();
    let variables = deep.join("variables.yml");
    fs::copy(host.env.project.join("variables.yml"), &variables).unwrap();
    let config = windows(&variables);
    assert!(config.len() > 260);
    host.run(&[&["--config", &config], &DOCKER as &[&str]].concat())
        .exits(4)
        .says("too deep for Vagrant")
        .says("shorter path");
    assert!(!deep.join(".wdev").exists());
    host.run(&[&["--config", &config], &SIM as &[&str]].concat())
        .exits(0);
    assert!(deep.join(".wdev/default/journal.jsonl").exists());
    host.run(&["--config", &config, "destroy", "--yes"])
        .exits(0);
    assert!(!deep.join(".wdev").exists());
}

#[test]
fn the_command_to_repeat_by_hand_is_for_powershell() {
    let Some(host) = Host::new() else { return };
    host.script("vagrant", "error broken\nexit 1\n");
    let named = windows(&host.env.root().join("bin/vagrant.exe"));
    let mut command = host.wdev(&DOCKER);
    let ran = Ran::of(command.env("WDEV_VAGRANT", &named));
    ran.exits(4)
        .says("ended with exit code 1")
        .says("$env:VAGRANT_CWD = 'Z:");
}

/// Each is said, and proven where that is possible, so that a Wine that can do it is noticed.
#[test]
fn what_wine_cannot_show() {
    let Some(host) = Host::new() else { return };
    host.script("vagrant", &vagrant("until-interrupted\n"));

    let run = host.at_console("break", &DOCKER);
    until_vagrant_works(&host);
    host.press();
    // What is just being started then is left waiting for ever by this Wine.
    match run.end_within(Duration::from_secs(20)) {
        Some((Some(125), err)) if err.contains("the key was not taken") => {
            common::allowed_skip("Ctrl-Break, which this Wine does not deliver");
        }
        None => common::allowed_skip("Ctrl-Break, which this Wine does not deliver"),
        Some((code, err)) => {
            assert_eq!(code, Some(130), "{err}");
            assert!(err.contains("Ctrl-Break"), "{err}");
        }
    }
    for what in [
        "a console that is closed, which Wine does not tell of",
        "Hyper-V, its group and an elevated process: Wine has none, and every process is an administrator",
        "Windows' own OpenSSH client and Windows PowerShell 5.1, which Wine lacks",
        "a virus scanner that holds a file which is being replaced",
        "VirtualBox' service, whose machines are no children of Vagrant and not in its job",
    ] {
        common::allowed_skip(what);
    }
}
