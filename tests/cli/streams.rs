//! stdout and stderr that are closed, full or left early.

use std::fs;

use crate::env::Env;

const RESULTS: &[&[&str]] = &[
    &["plan"],
    &["status"],
    &["list"],
    &["validate"],
    &["config", "show"],
    &["config", "schema"],
    &["completion", "bash"],
    &["man"],
    &["--help"],
    &["help", "up"],
    &["--version"],
    &["up"],
    &["up", "-o", "json"],
    &["exec", "cp", "--", "hostname"],
    &["render"],
    &["halt"],
];

fn standing() -> Env {
    let env = Env::new();
    env.write("variables.yml", "provider: sim\n");
    env.run(&["up", "-q"]).exits(0);
    env
}

/// A pipe that nobody reads: the reader closes its end before wdev is started.
const UNREAD: &str = "{ read -r go; \"$@\" >&3 3>&-; echo $? >code; } 3>pipe <start";

/// Runs wdev with a stdout whose reader is gone for certain; gives its exit code and stderr.
fn unread(env: &Env, args: &[&str]) -> (String, String) {
    let line = format!(
        "rm -f pipe start code; mkfifo pipe start; {UNREAD} & exec 4<pipe; exec 4<&-; echo go >start; wait"
    );
    let ran = env.shell(&line, args);
    let code = fs::read_to_string(env.project.join("code")).unwrap();
    (code.trim().to_owned(), ran.err)
}

#[test]
fn a_reader_that_is_gone_is_no_error() {
    let env = standing();
    for args in RESULTS {
        let (code, err) = unread(&env, args);
        assert_eq!(code, "0", "{args:?}: {err}");
        assert!(
            !err.contains("error") && !err.contains("panicked"),
            "{args:?}: {err}"
        );
    }
}

#[test]
fn a_full_stdout_is_one() {
    if !std::path::Path::new("/dev/full").exists() {
        crate::common::allowed_skip("/dev/full");
        return;
    }
    let env = standing();
    for args in RESULTS {
        env.shell("exec \"$@\" >/dev/full", args)
            .exits(4)
            .says("to stdout because No space left on device");
    }
}

#[test]
fn a_closed_stdout_or_stderr_stops_nothing() {
    let env = standing();
    for args in RESULTS {
        for closed in [">&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full"] {
            if closed.contains("full") && !std::path::Path::new("/dev/full").exists() {
                continue;
            }
            env.shell(&format!("exec \"$@\" {closed}"), args).exits(0);
        }
    }
}

#[test]
fn a_run_goes_on_without_its_reader() {
    for args in [&["up"] as &[&str], &["up", "-o", "json"]] {
        let env = Env::new();
        env.write("variables.yml", "provider: sim\n");
        let (code, err) = unread(&env, args);
        assert_eq!(code, "0", "{err}");
        assert_eq!(env.status()["last_run"]["outcome"], "done");
    }
}

#[test]
fn a_failed_run_fails_though_nobody_reads() {
    for more in [&[] as &[&str], &["-o", "json"]] {
        let env = Env::new();
        env.write("variables.yml", "provider: sim\n");
        let args = [&["up", "--sim-fault", "cp/kernel=fail:always"], more].concat();
        assert_eq!(unread(&env, &args).0, "6");
    }
}

#[test]
fn destroy_leaves_nothing_though_nobody_reads() {
    for more in [&[] as &[&str], &["-o", "json"]] {
        let env = standing();
        let (code, err) = unread(&env, &[&["destroy", "--yes"], more].concat());
        assert_eq!(code, "0", "{err}");
        assert!(!env.project.join(".wdev").exists());
    }
}
