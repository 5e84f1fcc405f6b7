//! Damage to the journal and to what lies beside it.

use std::fs;

use crate::env::Env;

/// A sandbox that is up, with one byte in the middle of its journal changed.
fn damaged() -> Env {
    let env = Env::new();
    env.up(&["-q"]).exits(0);
    let mut bytes = fs::read(env.journal()).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(env.journal(), bytes).unwrap();
    env
}

#[test]
fn a_torn_last_line_is_ignored() {
    let env = Env::new();
    env.up(&["-q"]).exits(0);
    let bytes = fs::read(env.journal()).unwrap();
    for cut in [1, 2, 30, 200] {
        fs::write(env.journal(), &bytes[..bytes.len() - cut]).unwrap();
        assert_eq!(env.status()["last_run"]["outcome"], "cut off");
        env.up(&["-q"]).exits(0);
        assert_eq!(env.status()["last_run"]["outcome"], "done");
    }
}

#[test]
fn damage_in_the_middle_stops_everything_but_destroy_and_is_kept() {
    let env = damaged();
    let before = fs::read(env.journal()).unwrap();
    for args in [
        &["up", "--provider", "sim"] as &[&str],
        &["up", "--provider", "sim", "--recreate"],
        &["plan"],
        &["status"],
        &["halt"],
    ] {
        env.run(args)
            .exits(4)
            .says("is damaged in line")
            .says("its checksum is wrong")
            .says("wdev destroy");
        assert_eq!(fs::read(env.journal()).unwrap(), before, "{args:?}");
    }
    env.run(&["list"]).exits(0).prints("unreadable");
    env.run(&["destroy", "--yes"]).exits(0);
    assert!(!env.project.join(".wdev").exists());
    env.up(&["-q"]).exits(0);
}

#[test]
fn a_newer_journal_is_refused_and_kept() {
    for line in [
        "{\"v\":2,\"shape\":\"unknown\"}",
        "{\"v\":2,\"sum\":\"0123456789abcdef\"}",
    ] {
        let env = Env::new();
        env.up(&["-q"]).exits(0);
        let mut text = fs::read_to_string(env.journal()).unwrap();
        text.push_str(line);
        text.push('\n');
        fs::write(env.journal(), &text).unwrap();
        for args in [
            &["up", "--provider", "sim"] as &[&str],
            &["status"],
            &["halt"],
        ] {
            env.run(args)
                .exits(4)
                .says("was written by a newer wdev")
                .says("its format is version 2, this wdev knows 1");
        }
        assert_eq!(fs::read_to_string(env.journal()).unwrap(), text);
        env.run(&["destroy", "--yes"]).exits(0);
        assert!(!env.project.join(".wdev").exists());
    }
}

#[test]
fn an_empty_journal_is_a_new_one() {
    let env = Env::new();
    env.up(&["-q"]).exits(0);
    fs::write(env.journal(), "").unwrap();
    assert_eq!(env.status()["last_run"], serde_json::Value::Null);
    env.up(&["-q"]).exits(0);
    assert_eq!(env.status()["last_run"]["outcome"], "done");
}

#[test]
fn a_folder_in_the_journals_place_is_named() {
    let env = Env::new();
    env.up(&["-q"]).exits(0);
    fs::remove_file(env.journal()).unwrap();
    fs::create_dir(env.journal()).unwrap();
    let run = env.up(&[]);
    run.exits(4).says("the journal").says("journal.jsonl");
    env.run(&["destroy", "--yes"]).exits(0);
    assert!(!env.project.join(".wdev").exists());
}

#[cfg(unix)]
#[test]
fn a_journal_that_may_not_be_written_is_named() {
    use std::os::unix::fs::PermissionsExt;
    if crate::env::is_root() {
        crate::common::allowed_skip("a user who is not root");
        return;
    }
    let env = Env::new();
    env.up(&["-q"]).exits(0);
    fs::set_permissions(env.journal(), fs::Permissions::from_mode(0o400)).unwrap();
    env.up(&[])
        .exits(4)
        .says("cannot open the journal")
        .says("check who owns it");
}

/// Files may not grow beyond a limit, as on a full disk: writing fails half-way through a record.
#[cfg(unix)]
#[test]
fn a_full_disk_stops_the_run_and_the_next_goes_on() {
    // The journal must be longer than any other file.
    let many = |env: Env| {
        env.write("variables.yml", "workers: [{}, {}, {}, {}, {}, {}]\n");
        env
    };
    let whole = many(Env::new());
    whole.up(&["-q"]).exits(0);
    let journal = fs::metadata(whole.journal()).unwrap().len();
    let largest = ["cp", "winw1"]
        .into_iter()
        .flat_map(|node| fs::read_dir(whole.sandbox().join("rendered/steps").join(node)).unwrap())
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .max()
        .unwrap();
    let blocks = largest.max(journal * 2 / 3).div_ceil(512);
    assert!(
        blocks * 512 < journal,
        "the journal is too short for this test"
    );

    let env = many(Env::new());
    let line = format!("ulimit -f {blocks}; trap '' XFSZ; exec \"$@\"");
    env.shell(&line, &["up", "--provider", "sim"])
        .exits(4)
        .says("cannot write to the journal");
    let kept = fs::metadata(env.journal()).unwrap().len();
    assert!(kept > blocks * 512 / 2 && kept <= blocks * 512, "{kept}");
    assert_eq!(env.status()["last_run"]["outcome"], "cut off");

    let resumed = env.up(&[]);
    resumed.exits(0).says("skipped: in place");
    assert_eq!(env.status()["last_run"]["outcome"], "done");
}

#[test]
fn a_record_that_is_damaged_or_lost_is_made_again_from_the_journal() {
    for spoil in [
        (|path| fs::write(path, "{").unwrap()) as fn(std::path::PathBuf),
        |path| fs::write(path, "").unwrap(),
        |path| fs::remove_file(path).unwrap(),
    ] {
        let env = Env::new();
        env.up(&["-q"]).exits(0);
        spoil(env.sandbox().join("sandbox.json"));
        let status = env.status();
        assert_eq!(status["provider"], "sim");
        assert_eq!(status["nodes"][1]["name"], "winw1");
        assert_eq!(status["nodes"][1]["power"], "running");
        env.run(&["halt"]).exits(0);
        env.up(&["-q"]).exits(0);
        assert_eq!(env.status()["nodes"][1]["address"], "192.168.56.11");

        spoil(env.sandbox().join("sandbox.json"));
        let destroyed = env.run(&["destroy", "--yes"]);
        destroyed.exits(0).prints("winw1 absent");
        assert!(!env.project.join(".wdev").exists());
    }
}

#[test]
fn without_record_and_journal_nothing_is_guessed() {
    let env = damaged();
    fs::write(env.sandbox().join("sandbox.json"), "{").unwrap();
    for args in [
        &["up", "--provider", "sim"] as &[&str],
        &["destroy", "--yes"],
    ] {
        env.run(args)
            .exits(4)
            .says("cannot tell what")
            .says("sandbox.json` is damaged")
            .says("is damaged in line")
            .says("their names begin with `wdev-`");
    }
    assert!(env.journal().exists());
}

#[test]
fn a_newer_record_is_refused() {
    let env = Env::new();
    env.up(&["-q"]).exits(0);
    let path = env.sandbox().join("sandbox.json");
    fs::write(&path, "{\"version\": 2, \"shape\": \"unknown\"}").unwrap();
    for args in [
        &["up", "--provider", "sim"] as &[&str],
        &["status"],
        &["destroy", "--yes"],
    ] {
        env.run(args).exits(4).says("was written by a newer wdev");
    }
}

#[test]
fn a_simulated_world_that_is_damaged_does_not_hinder_destroy() {
    let env = Env::new();
    env.up(&["-q"]).exits(0);
    fs::write(env.sandbox().join("sim/nodes/winw1.json"), "{").unwrap();
    env.up(&[])
        .exits(5)
        .says("cannot understand the simulator's file");
    env.run(&["destroy", "--yes"]).exits(0).says("winw1.json");
    assert!(!env.project.join(".wdev").exists());
}

/// Unmounts when the test ends, however it ends.
#[cfg(target_os = "linux")]
struct Mounted(std::path::PathBuf);

#[cfg(target_os = "linux")]
impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).status();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_does_not_hinder_destroy() {
    use std::io::Write as _;
    let env = Env::new();
    let mut mount = std::process::Command::new("mount");
    mount
        .args(["-t", "tmpfs", "-o", "size=2m", "none"])
        .arg(&env.project);
    if !mount.output().is_ok_and(|mounted| mounted.status.success()) {
        return crate::common::allowed_skip("the right to mount a tmpfs, for a full disk");
    }
    let _mounted = Mounted(env.project.clone());
    env.run(&["up", "--provider", "sim"]).exits(0);
    let mut fill = std::fs::File::create(env.project.join("fill")).unwrap();
    while fill.write_all(&[0; 512]).is_ok() {}
    env.run(&["destroy", "--yes"]).exits(0);
    assert!(!env.project.join(".wdev").exists());
}
