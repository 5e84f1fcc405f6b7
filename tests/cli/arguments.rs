//! Commands, flags, help, completion and manual pages.

use crate::env::Env;

const COMMANDS: &[&str] = &[
    "up",
    "halt",
    "destroy",
    "status",
    "plan",
    "render",
    "validate",
    "config",
    "list",
    "exec",
    "ssh",
    "completion",
    "man",
];

#[test]
fn validate_finds_what_an_exact_version_says_of_the_rest() {
    let env = Env::new();
    for (text, words) in [
        (
            "kubernetes: {version: 1.25.0}",
            "does not support Kubernetes 1.25",
        ),
        (
            "kubernetes: {version: \"1.10\"}",
            "does not support Kubernetes 1.10",
        ),
        ("kubernetes: {version: 1.20.0}", "variables.yml:1:23"),
        (
            "kubernetes: {version: 1.36.4, extra_args: {kubelet: {node-ip: 1.2.3.4}}}",
            "`node-ip` is set by wdev",
        ),
        (
            "kubernetes: {version: 1.36.4, extra_args: {kubelet: {v: \"%a%\"}}}",
            "variables.yml:1:57",
        ),
        (
            "kubernetes: {version: 1.36.4}\nworkers: [{windows: 2019}]",
            "variables.yml:2:21",
        ),
        (
            "kubernetes: {version: 1.36.4}\nworkers: [{labels: {node-role.kubernetes.io/worker: \"\"}}]",
            "cannot give itself the label",
        ),
    ] {
        env.write("variables.yml", text);
        env.run(&["validate", "--cni", "none"]).exits(3).says(words);
        let report = env.run(&["validate", "-o", "json"]);
        assert_eq!(report.exits(3).json()["valid"], false, "{text}");
    }
}

#[test]
fn what_cannot_be_understood_is_2() {
    let env = Env::new();
    for (args, words) in [
        (
            &["frobnicate"] as &[&str],
            "unrecognized subcommand 'frobnicate'",
        ),
        (&["stauts"], "a similar subcommand exists: 'status'"),
        (&["up", "--frob"], "unexpected argument '--frob'"),
        (&["plan", "-o", "xml"], "possible values: text, json, yaml"),
        (&["exec"], "<NODE>"),
        (&["exec", "cp"], "<COMMAND>"),
        (
            &["exec", "cp", "hostname"],
            "unexpected argument 'hostname'",
        ),
        (&["ssh"], "<NODE>"),
        (&["up", "--set"], "a value is required for '--set"),
        (&["up", "--set", "cni"], "write it as `--set KEY=VALUE`"),
        (&["up", "-q", "-v"], "cannot be used with"),
        (&["completion", "cmd"], "possible values: bash"),
        (&["man", "frobnicate"], "there is no command `frobnicate`"),
        (&["config"], "Usage: wdev config"),
        (&[], "Usage: wdev"),
    ] {
        env.run(args).exits(2).says(words);
    }
}

#[test]
fn a_mistake_in_a_flag_is_shown_as_it_was_typed() {
    let env = Env::new();
    for (set, caret) in [("workers[0].name=x", 6), ("control_plane.memory=lots", 27)] {
        let shown = format!("| --set {set}\n  | {}^", " ".repeat(caret));
        let run = env.run(&["validate", "--set", set]);
        assert!(run.exits(3).err.contains(&shown), "no `{shown}` in {run}");
    }
}

#[test]
fn wrong_arguments_are_refused_before_anything_is_made() {
    let env = Env::new();
    for (args, words) in [
        (&["--sim-speed", "0"] as &[&str], "is not a factor above 0"),
        (&["--sim-speed", "inf"], "is not a factor above 0"),
        (&["--sim-speed", "NaN"], "is not a factor above 0"),
        (&["--sim-speed", "1e300"], "it may be 0.01 to 1000000"),
        (&["--sim-speed", "1e-300"], "it may be 0.01 to 1000000"),
        (&["--sim-speed", "fast"], "invalid value 'fast'"),
        (&["--sim-seed", "-1"], "unexpected argument"),
        (
            &["--sim-fault", "winw1"],
            "cannot understand the fault `winw1`",
        ),
        (
            &["--sim-fault", "winw1/features=dye"],
            "did you mean `die`?",
        ),
        (
            &["--sim-fault", "winw9/features=die"],
            "there is no node `winw9`",
        ),
        (
            &["--sim-fault", "winw1/featured=die"],
            "there is no step `featured` there",
        ),
        (&["-o", "yaml"], "it knows `text`, `json`"),
    ] {
        env.up(args).exits(2).says(words);
        assert!(!env.project.join(".wdev").exists(), "{args:?}");
        assert!(!env.home.exists(), "{args:?}");
    }
}

#[test]
fn formats_that_a_command_cannot_write_are_refused() {
    let env = Env::new();
    env.up(&["-q"]).exits(0);
    for args in [
        &["status"] as &[&str],
        &["plan"],
        &["list"],
        &["halt"],
        &["render"],
        &["validate"],
        &["config", "schema"],
        &["completion", "bash"],
        &["man"],
        &["destroy", "--yes"],
        &["exec", "cp", "--", "true"],
    ] {
        let args = [&["-o", "yaml"], args].concat();
        env.run(&args)
            .exits(2)
            .says("this command cannot write that format");
    }
    assert!(env.journal().exists());
}

#[test]
fn a_value_that_is_not_allowed_is_3() {
    let env = Env::new();
    env.run(&["up", "--provider", "vmware"])
        .exits(3)
        .says("flag `--provider`")
        .says("vmware_desktop");
    env.up(&["--cni", "cilium"]).exits(3).says("allowed: ");
    env.up(&["--set", "nonsense=1"]).exits(3).says("nonsense");
    assert!(!env.project.join(".wdev").exists());
}

#[test]
fn without_a_sandbox_commands_say_how_to_make_one() {
    let env = Env::new();
    for args in [
        &["status"] as &[&str],
        &["halt"],
        &["ssh", "cp"],
        &["exec", "cp", "--", "true"],
        &["status", "--sandbox", "other"],
    ] {
        env.run(args)
            .exits(12)
            .says("there is no sandbox")
            .says("make it with `wdev up`");
    }
    env.run(&["destroy"]).exits(0).says("nothing to destroy");
    env.run(&["list"])
        .exits(0)
        .prints("no sandbox on this host");

    env.up(&["-q"]).exits(0);
    env.run(&["status", "--sandbox", "other"])
        .exits(12)
        .says("there are: default");
    env.run(&["exec", "winw9", "--", "true"])
        .exits(12)
        .says("no node `winw9`")
        .says("cp, winw1");
    env.run(&["ssh", "winw9"]).exits(12).says("cp, winw1");
}

#[test]
fn exec_passes_the_exit_code_on() {
    let env = Env::new();
    env.up(&["-q"]).exits(0);
    env.run(&["exec", "winw1", "--", "hostname"])
        .exits(0)
        .prints("winw1");
    env.run(&["exec", "cp", "--", "false"]).exits(1);
    env.run(&["exec", "cp", "--", "nonsense"]).exits(127);
    env.run(&["halt"]).exits(0);
    env.run(&["exec", "cp", "--", "true"]).exits(5).says("cp");
    env.run(&["ssh", "cp"])
        .exits(2)
        .says("a simulated node has no shell");
}

#[test]
fn destroy_is_confirmed() {
    let env = Env::new();
    env.up(&["-q"]).exits(0);
    for args in [&["destroy"] as &[&str], &["--no-input", "destroy"]] {
        env.run(args)
            .exits(2)
            .says("nobody can be asked")
            .says("wdev destroy --yes");
        assert!(env.journal().exists());
    }
    let done = env.run(&["destroy", "--yes"]);
    done.exits(0).prints("winw1 absent");
    assert!(!done.out.contains("logs"), "they are gone: {done}");
    assert!(!env.project.join(".wdev").exists());
    env.run(&["list"])
        .exits(0)
        .prints("no sandbox on this host");
    env.run(&["destroy", "--yes"])
        .exits(0)
        .says("nothing to destroy");
}

/// On a terminal the user is asked; `script` is one.
#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_destroy_asks() {
    use std::io::Write as _;
    let (Some(script), Some(timeout)) = (
        crate::common::need("script"),
        crate::common::need("timeout"),
    ) else {
        return;
    };
    let env = Env::new();
    env.up(&["-q"]).exits(0);
    // A key alone is no answer; only the whole line is.
    for (answer, code) in [("n\n", 130), ("y\n", 0)] {
        let mut command = env.program(&timeout);
        command
            .arg("30")
            .arg(&script)
            .args([
                "-qefc",
                &format!("'{}' destroy", env!("CARGO_BIN_EXE_wdev")),
                "/dev/null",
            ])
            .env("TERM", "xterm")
            .stdin(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        // `script` passes on what comes before the question, too.
        child
            .stdin
            .take()
            .unwrap()
            .write_all(answer.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{shown}");
        assert!(
            shown.contains("sandbox `default`: 2 machines") && shown.contains("Remove all of it?"),
            "{shown}"
        );
        assert_eq!(env.journal().exists(), answer == "n\n");
    }
}

/// A name is a part of a path, and `destroy` removes what is there.
#[test]
fn a_sandboxs_name_leads_nowhere_else() {
    let env = Env::named("outer/inner");
    env.up(&["-q"]).exits(0);
    std::fs::write(env.root().join("outer/precious"), "").unwrap();
    env.write("precious", "");
    let absolute = env.root().join("outer").display().to_string();
    for name in [
        "..",
        "../..",
        "../../..",
        ".",
        "",
        "default/..",
        "default/",
        &absolute,
        "DEFAULT",
    ] {
        env.run(&["destroy", "--yes", "--sandbox", name])
            .exits(0)
            .says("nothing to destroy");
        env.run(&["status", "--sandbox", name]).exits(12);
        env.up(&["--sandbox", name]).exits(3);
    }
    assert!(env.journal().exists());
    assert!(env.project.join("precious").exists());
    assert!(env.root().join("outer/precious").exists());
}

#[test]
fn every_help_page_has_an_example() {
    let env = Env::new();
    for command in COMMANDS {
        let help = env.run(&["help", command]);
        help.exits(0).prints(&format!("wdev {command}"));
        if *command != "config" {
            assert!(help.out.contains("Example"), "{help}");
        }
    }
    for sub in ["show", "schema", "migrate"] {
        env.run(&["config", sub, "--help"])
            .exits(0)
            .prints("Example");
    }
    let all = env.run(&["--help"]);
    for command in COMMANDS {
        all.exits(0).prints(command);
    }
    env.run(&["--version"]).exits(0).prints("wdev 0.");
}

#[test]
fn every_shell_is_completed_and_every_command_has_a_manual_page() {
    let env = Env::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = env.run(&["completion", shell]);
        for command in COMMANDS {
            script.exits(0).prints(command);
        }
    }
    env.run(&["man"]).exits(0).prints(".TH wdev 1");
    for command in COMMANDS {
        env.run(&["man", command])
            .exits(0)
            .prints(".SH NAME")
            .prints(command);
    }
}

#[test]
fn without_a_terminal_nothing_is_coloured() {
    let env = Env::new();
    for vars in [
        &[] as &[(&str, &str)],
        &[("NO_COLOR", "1")],
        &[("CI", "true")],
    ] {
        for args in [
            &["up", "--provider", "sim"] as &[&str],
            &["status"],
            &["plan"],
            &["up", "--provider", "nonsense"],
            &["--help"],
            &["frobnicate"],
        ] {
            let mut command = env.wdev(args);
            command.envs(vars.iter().copied());
            let ran = crate::env::Ran::of(&mut command);
            assert!(
                !ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'),
                "{ran:?}"
            );
        }
    }
    let colored = env.run(&["--color", "always", "up", "--provider", "nonsense"]);
    assert!(colored.err.contains("\u{1b}["), "{colored}");
}

#[test]
fn json_is_one_document_or_one_event_a_line() {
    let env = Env::new();
    let up = env.up(&["-o", "json"]);
    up.exits(0);
    assert_eq!(up.err, "");
    let events: Vec<serde_json::Value> = up
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(events[0]["body"]["type"], "run_started");
    assert_eq!(events[0]["body"]["simulated"], true);
    assert_eq!(events.last().unwrap()["body"]["outcome"], "done");
    for args in [
        &["status"] as &[&str],
        &["plan"],
        &["list"],
        &["validate"],
        &["config", "show"],
        &["config", "schema"],
        &["render"],
    ] {
        env.run(&[&["-o", "json"], args].concat()).exits(0).json();
    }
}

#[test]
fn names_that_mean_something_else_to_windows_or_to_hosts_files_are_refused() {
    let env = Env::new();
    for name in ["con", "nul", "aux", "prn", "com1", "lpt9", "localhost"] {
        let value = format!("workers=[{{name: {name}}}]");
        env.run(&["validate", "--set", &value])
            .exits(3)
            .says(&format!("no node can be named `{name}`"));
    }
    env.run(&["validate", "--set", "control_plane.name=con"])
        .exits(3);
    env.run(&["validate", "--set", "sandbox=nul"])
        .exits(3)
        .says("no sandbox can be named `nul`");
    env.run(&[
        "validate",
        "--set",
        "workers=[{name: com10}, {name: console}]",
    ])
    .exits(0);
}

#[test]
fn an_empty_variable_for_the_configuration_counts_as_none() {
    let env = Env::new();
    env.write("variables.yml", "provider: sim\n");
    let mut command = env.wdev(&["validate"]);
    crate::env::Ran::of(command.env("WDEV_CONFIG", ""))
        .exits(0)
        .prints("is valid");
}

#[test]
fn the_commands_to_try_next_are_for_the_same_sandbox() {
    let env = Env::new();
    env.up(&["--sandbox", "other"])
        .exits(0)
        .prints("wdev status --sandbox other")
        .prints("wdev exec winw1 --sandbox other -- hostname");
    env.run(&["exec", "winw1", "--sandbox", "other", "--", "hostname"])
        .exits(0);
    env.run(&["halt", "--sandbox", "other"])
        .exits(0)
        .prints("wdev up --sandbox other");
    env.run(&["destroy", "--sandbox", "other"])
        .exits(2)
        .says("run `wdev destroy --yes --sandbox other`");
}
