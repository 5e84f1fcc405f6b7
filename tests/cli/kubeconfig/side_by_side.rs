//! Others at work on the same file, kills, links, a damaged record, and the real kubectl.

use std::fs;
use std::process::Command;

use super::{Host, KEY, STRANGE, authority, names, value};
use crate::common;

#[test]
fn a_lock_that_another_program_holds_is_waited_for_and_left_alone() {
    let host = Host::new();
    host.write("users: []\n");
    let lock = host.file.with_file_name("config.lock");
    fs::write(&lock, "").unwrap();
    host.merge()
        .exits(11)
        .says("another program is changing")
        .says("config.lock");
    assert!(lock.exists());
    assert_eq!(host.text(), "users: []\n");
    let mut waiting = host.wdev(&["kubeconfig", "--merge"]).spawn().unwrap();
    fs::remove_file(&lock).unwrap();
    assert!(waiting.wait().unwrap().success());
    host.is_tidy();
    // A killed wdev leaves its own, and the next one knows it.
    fs::write(
        &lock,
        format!("wdev {}\n", host.env.home.join("state").display()),
    )
    .unwrap();
    host.remove().exits(0).says("was removed");
    host.is_tidy();
}

#[test]
fn two_at_once_both_come_through() {
    let host = Host::new();
    let other = host.env.root().join("elsewhere");
    host.sandbox(&other, "default");
    host.sandbox(&host.env.project, "second");
    let merges = [
        (&host.env.project, "default"),
        (&other, "default"),
        (&host.env.project, "second"),
    ];
    // The certificates tell them apart.
    Host::cluster(&other, "default", "elsewhere");
    let running: Vec<_> = merges
        .iter()
        .map(|(project, name)| {
            let mut command = host.wdev(&["kubeconfig", "--merge", "--sandbox", name]);
            command.current_dir(project).spawn().unwrap()
        })
        .collect();
    for child in running {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let text = host.text();
    assert_eq!(names(&text, "contexts").len(), 3, "{text}");
    assert!(text.contains(&authority("elsewhere")) && text.contains(&authority("default")));
    host.run_in(&other, &["kubeconfig", "--remove"]).exits(0);
    assert!(!host.text().contains(&authority("elsewhere")));
    assert!(host.text().contains(&authority("default")));
    host.is_tidy();
}

#[test]
fn killed_at_any_moment_the_file_is_whole_and_all_of_it_can_be_removed() {
    let host = Host::new();
    let old = "clusters:\n- name: mine\n  cluster: {server: s}\nusers: []\ncontexts: []\n";
    host.write(old);
    host.merge().exits(0);
    let new = host.text();
    for pause in 0..40_u64 {
        host.write(old);
        let _ = fs::remove_file(host.env.sandbox().join("merged.json"));
        let mut child = host.wdev(&["kubeconfig", "--merge"]).spawn().unwrap();
        // Any moment will do; the test asks nothing of it.
        std::thread::sleep(std::time::Duration::from_micros(pause * 400));
        let _ = child.kill();
        child.wait().unwrap();
        let text = host.text();
        assert!(text == old || text == new, "{text}");
        host.remove().exits(0);
        assert_eq!(host.text(), old, "after {pause}");
        assert!(!host.file.with_file_name("config.lock").exists());
    }
    // Between the record and the file.
    host.merge().exits(0);
    host.write(old);
    host.remove().exits(0);
    assert_eq!(host.text(), old);
}

#[cfg(unix)]
#[test]
fn links_and_permissions_are_kept() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let host = Host::new();
    let real = host.env.root().join("dotfiles");
    fs::create_dir(&real).unwrap();
    let real = real.join("kubeconfig");
    fs::create_dir(host.file.parent().unwrap()).unwrap();
    symlink("../dotfiles/kubeconfig", &host.file).unwrap();
    // A link to nothing yet is the user's wish too.
    host.merge().exits(0).does_not_say("warning");
    assert!(host.file.is_symlink() && real.is_file());
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    Host::cluster(&host.env.project, "default", "again");
    host.merge().exits(0).says("warning: others may read");
    assert!(host.file.is_symlink());
    assert_eq!(
        fs::metadata(&real).unwrap().permissions().mode() & 0o777,
        0o640
    );
    assert!(
        fs::read_to_string(&real)
            .unwrap()
            .contains(&authority("again"))
    );
    host.is_tidy();
}

#[test]
fn a_damaged_record_stops_no_destroy() {
    let host = Host::new();
    host.merge().exits(0);
    fs::write(host.env.sandbox().join("merged.json"), "{").unwrap();
    host.merge().exits(4).says("merged.json` is damaged");
    host.run(&["destroy", "--yes", "-q"])
        .exits(0)
        .says("damaged");
    assert!(!host.env.project.join(".wdev").exists());
}

/// What the real kubectl reads, of every file that is written.
#[cfg(unix)]
#[test]
fn the_real_kubectl_reads_what_was_merged() {
    let name = "testbed/kubernetes/kubernetes-1.20.2-linux-amd64.tar.xz";
    let Some(archive) = common::shared(name) else {
        return;
    };
    let host = Host::new();
    let folder = host.env.root().to_owned();
    let mut unpack = Command::new("tar");
    unpack
        .arg("-xJf")
        .arg(archive)
        .arg("-C")
        .arg(&folder)
        .arg("kubectl");
    common::run(&mut unpack, b"");
    let mut programs = vec![folder.join("kubectl")];
    programs.extend(which::which("kubectl").ok());
    for before in STRANGE.iter().chain(&[""]) {
        host.write(before);
        host.merge().exits(0);
        for program in &programs {
            let view = |args: &[&str]| {
                let mut command = host.env.program(program);
                command
                    .arg("config")
                    .args(args)
                    .arg("--kubeconfig")
                    .arg(&host.file);
                String::from_utf8(common::run(&mut command, b"")).unwrap()
            };
            let shown = value(&view(&["view", "--raw", "-o", "json"]));
            let shown = shown["users"].as_array().unwrap();
            let ours = shown
                .iter()
                .find(|user| user["name"] == "wdev-default")
                .unwrap();
            assert_eq!(ours["user"]["client-key-data"], KEY, "{before}");
            assert!(view(&["get-contexts", "-o", "name"]).contains("wdev-default"));
        }
        host.remove().exits(0);
    }
    // kubectl writes the file anew, and what is ours is still known.
    host.write(STRANGE[0]);
    host.merge().exits(0);
    for program in &programs {
        let mut command = host.env.program(program);
        command
            .args([
                "config",
                "set-context",
                "wdev-default",
                "--namespace",
                "n",
                "--kubeconfig",
            ])
            .arg(&host.file);
        common::run(&mut command, b"");
        host.merge().exits(0).says("has it already");
    }
    host.remove().exits(0);
    assert!(!host.text().contains("wdev"), "{}", host.text());
    assert_eq!(names(&host.text(), "clusters"), ["a"]);
}
