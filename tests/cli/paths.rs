//! Folders and files that make trouble.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::env::Env;

/// A whole life of a sandbox.
fn lives(env: &Env) {
    env.up(&["-q"]).exits(0);
    env.run(&["status"]).exits(0).prints("winw1");
    env.run(&["list"]).exits(0).prints("default sim");
    env.run(&["render", "--provider", "docker", "--sandbox", "rendered"])
        .exits(0)
        .prints("Vagrantfile");
    env.run(&["destroy", "--yes", "--sandbox", "rendered"])
        .exits(0);
    env.run(&["destroy", "--yes"]).exits(0);
    assert!(!env.project.join(".wdev").exists());
    env.run(&["list"])
        .exits(0)
        .prints("no sandbox on this host");
}

#[cfg(unix)]
#[test]
fn any_folder_will_do() {
    for name in [
        "a b",
        "it's",
        "say \"hi\"",
        "#{File.write('canary', '')}",
        "$(touch canary)",
        "`touch canary`; touch canary & |",
        "é 漢字 🦀",
        "-rf",
        "a\nb",
        "%s%n{{ x }}",
        "back\\slash",
    ] {
        let env = Env::named(name);
        lives(&env);
        assert!(!env.project.join("canary").exists());
        env.up(&["--sim-fault", "cp/kernel=fail:always"]).exits(6);
    }
}

#[cfg(unix)]
#[test]
fn one_folder_is_one_sandbox_whatever_way_leads_there() {
    let env = Env::new();
    env.write("variables.yml", "provider: sim\n");
    fs::create_dir(env.project.join("deep")).unwrap();
    std::os::unix::fs::symlink(&env.project, env.root().join("link")).unwrap();
    env.up(&["-q"]).exits(0);
    let record = || fs::read_to_string(env.sandbox().join("sandbox.json")).unwrap();
    let before = record();
    for way in ["deep/../variables.yml", "../link/variables.yml"] {
        env.run(&["up", "-q", "--config", way]).exits(0);
        assert_eq!(record(), before, "the machines keep their names");
        let list = env.run(&["list", "-o", "json"]).exits(0).json();
        assert_eq!(list["sandboxes"].as_array().unwrap().len(), 1, "{list}");
    }
    env.run(&["destroy", "--yes", "--config", "../link/variables.yml"])
        .exits(0);
    env.run(&["list"])
        .exits(0)
        .prints("no sandbox on this host");
}

#[test]
fn what_was_only_rendered_is_listed() {
    let env = Env::new();
    env.run(&["render", "--provider", "docker"]).exits(0);
    env.run(&["list"]).exits(0).prints("default");
    env.run(&["destroy", "--yes"]).exits(0);
    env.run(&["list"])
        .exits(0)
        .prints("no sandbox on this host");
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_no_text_is_refused_before_anything_is_made() {
    use std::os::unix::ffi::OsStrExt;
    let env = Env::named(std::ffi::OsStr::from_bytes(b"latin-\xe9"));
    env.up(&[])
        .exits(4)
        .says("is not UTF-8")
        .says("rename the folder");
    env.run(&["render", "--provider", "docker"]).exits(4);
    env.run(&["plan", "--provider", "sim"]).exits(0);
    env.run(&["validate"]).exits(0);
    assert!(!env.project.join(".wdev").exists());
}

#[test]
fn a_configuration_elsewhere_is_where_the_sandbox_is() {
    let env = Env::new();
    let elsewhere = env.root().join("else where");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("my.yml"), "provider: sim\n").unwrap();
    let config = "../else where/my.yml";
    env.run(&[
        "up",
        "--config",
        config,
        "--sim-fault",
        "cp/kernel=fail:always",
    ])
    .exits(6)
    .says("to go on: wdev up --config '../else where/my.yml'");
    env.run(&["up", "-q", "--config", config]).exits(0);
    assert!(elsewhere.join(".wdev/default/journal.jsonl").exists());
    assert!(!env.project.join(".wdev").exists());
    env.run(&["status", "--config", config]).exits(0);
    env.run(&["destroy", "--yes", "--config", config]).exits(0);
    assert!(!elsewhere.join(".wdev").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_long_path_will_do_and_one_too_long_is_refused() {
    let part = "x".repeat(200);
    let deep = |parts: usize| vec![part.as_str(); parts].join("/");
    lives(&Env::named(deep(5)));
    lives(&Env::named(deep(18)));

    // The longest path that Linux takes has 4096 bytes: the project's fits, what is made in it does not.
    let env = Env::named(deep(19));
    let rest = 4085_usize.saturating_sub(env.project.as_os_str().len() + 1);
    let part = "x".repeat(rest);
    let shell = env.shell(
        &format!("mkdir -p {part} && cd {part} && exec \"$@\""),
        &["up", "--provider", "sim"],
    );
    shell.exits(4).says("File name too long");
}

#[test]
fn a_home_that_cannot_be_written_is_named() {
    let env = Env::new();
    fs::write(&env.home, "").unwrap();
    env.up(&[])
        .exits(4)
        .says("cannot create the folder")
        .says("set `WDEV_HOME` to a folder that wdev may use");
    env.run(&["plan", "--provider", "sim"]).exits(0);
    env.run(&["list"]).exits(0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_project_that_cannot_be_written_is_named() {
    let env = Env::new();
    let mut command = env.wdev(&["up", "--provider", "sim"]);
    // Nobody can make a folder here, not even root.
    crate::env::Ran::of(command.current_dir("/proc/sys"))
        .exits(4)
        .says("cannot create the folder `/proc/sys/.wdev/default`");
    let mut command = env.wdev(&["plan", "--provider", "sim"]);
    crate::env::Ran::of(command.current_dir("/proc/sys")).exits(0);

    if crate::env::is_root() {
        crate::common::allowed_skip("a user who is not root, for a folder of another user");
        return;
    }
    fs::set_permissions(&env.project, fs::Permissions::from_mode(0o500)).unwrap();
    env.up(&[]).exits(4).says("check who owns it");
}

#[test]
fn a_file_in_wdevs_place_is_named() {
    let env = Env::new();
    env.write(".wdev", "");
    env.up(&[]).exits(4).says(".wdev");
    env.run(&["destroy", "--yes"]).exits(0);
    assert!(env.project.join(".wdev").is_file());
}

#[cfg(unix)]
#[test]
fn a_linked_folder_without_a_sandbox_is_not_emptied() {
    let env = Env::new();
    let precious = env.root().join("precious");
    fs::create_dir_all(precious.join("deep")).unwrap();
    fs::write(precious.join("deep/file"), "mine").unwrap();
    fs::create_dir(env.project.join(".wdev")).unwrap();
    std::os::unix::fs::symlink(&precious, env.sandbox()).unwrap();
    env.run(&["destroy", "--yes"])
        .exits(4)
        .says("is a link to a folder that holds no sandbox")
        .says("remove the link");
    assert!(precious.join("deep/file").exists());
    assert_eq!(fs::read_dir(&precious).unwrap().count(), 1);

    // One's own disk for the machines is another matter.
    fs::remove_dir_all(precious.join("deep")).unwrap();
    env.up(&["-q"]).exits(0);
    env.run(&["destroy", "--yes"]).exits(0);
    assert_eq!(fs::read_dir(&precious).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn a_current_folder_that_is_gone_is_said() {
    let env = Env::new();
    env.shell(
        "mkdir gone && cd gone && rmdir ../gone && exec \"$@\"",
        &["plan", "--provider", "sim"],
    )
    .exits(4)
    .says("cannot tell what the current folder is")
    .says("change to a folder that exists");
}

#[test]
fn a_configuration_that_cannot_be_read_is_named() {
    let env = Env::new();
    fs::create_dir(env.project.join("variables.yml")).unwrap();
    env.up(&[]).exits(3).says("`variables.yml` is a folder");
    fs::remove_dir(env.project.join("variables.yml")).unwrap();
    fs::write(
        env.project.join("variables.yml"),
        b"\x7fELF\x02\x01\xff\xfe\0\0",
    )
    .unwrap();
    env.up(&[]).exits(3).says("variables.yml");
    fs::remove_file(env.project.join("variables.yml")).unwrap();
    env.run(&["validate", "--config", "nope.yml"])
        .exits(3)
        .says("`nope.yml`");
    assert!(!env.project.join(".wdev").exists());
}

#[cfg(unix)]
#[test]
fn a_configuration_that_is_no_file_does_not_hang() {
    let env = Env::new();
    env.shell("mkfifo variables.yml && exec \"$@\"", &["validate"])
        .exits(3)
        .says("is not a regular file");
    env.run(&["validate", "--config", "/dev/zero"]).exits(3);
    env.shell(
        "rm variables.yml; ln -s variables.yml variables.yml; exec \"$@\"",
        &["validate"],
    )
    .exits(3)
    .says("symbolic links");
}
