//! Scripts through Vagrant's provisioners, where there is no SSH client, and what proves their end.

use wdev::channel::{Mode, Os, Secret};
use wdev::error::Kind;

use crate::common::need;
use crate::world::{World, print_all, says, script};

/// Lets the fake play a node: `body` is bash that finds the nonce in `$nonce` and the file in `$file`.
fn node(world: &World, file: &str, body: &str) -> String {
    let played = world.path("node.sh");
    let file = world.path(&format!("steps/cp/{file}.sh"));
    let find = "sed -n \"s/^wdev_nonce='\\(.*\\)'$/\\1/p\" \"$file\"";
    std::fs::write(
        &played,
        format!("file='{}'\nnonce=$({find})\n{body}", file.display()),
    )
    .unwrap();
    format!("run {}\n", played.display())
}

#[tokio::test]
async fn a_script_that_proves_its_end_is_believed() {
    if need("bash").is_none() {
        return;
    }
    let world = World::with_machine("");
    let played = node(
        &world,
        "a-step",
        "echo a, b\necho \"::wdev $nonce fact key dg==\"\necho \"::wdev $nonce end ok\"\n",
    );
    world.vagrant.script(&format!(
        "expect provision cp --provision-with a-step\n{played}"
    ));
    let report = world
        .channel_without_ssh()
        .run(&script(Mode::Run), &world.io())
        .await
        .unwrap();
    assert_eq!(report.facts["key"], "v");
    assert_eq!(world.shown(), "a, b");
}

#[tokio::test]
async fn a_probe_has_a_provisioner_of_its_own() {
    if need("bash").is_none() {
        return;
    }
    let world = World::with_machine("");
    let played = node(&world, "probe", "echo \"::wdev $nonce end ok\"\n");
    world.vagrant.script(&format!(
        "expect provision cp --provision-with probe\n{played}"
    ));
    let report = world
        .channel_without_ssh()
        .run(&script(Mode::Probe), &world.io())
        .await
        .unwrap();
    assert!(report.in_place);
}

#[tokio::test]
async fn exit_code_0_without_the_marker_is_a_failure_that_tells_the_cause() {
    let fixture = |name: &str| {
        let path = format!(
            "{}/tests/fixtures/vagrant/{name}",
            env!("CARGO_MANIFEST_DIR")
        );
        let text = std::fs::read_to_string(path).unwrap();
        print_all("print", &text)
    };
    for (script_of_fake, cause) in [
        (fixture("provision-cut-rc0.out"), "the connection was cut"),
        (
            fixture("provision-stopped-rc0.out"),
            "The container is not currently running.",
        ),
        (
            "print 1,cp,action,provision,start\nprint 1,cp,action,provision,end\n".to_owned(),
            "never ran it",
        ),
        (String::new(), "never ran it"),
        (
            "print 1,cp,ui,info,==> cp: Running provisioner: a-step (shell)...\n\
          print 1,cp,ui,detail,    cp: ::wdev 0123 end ok\n"
                .to_owned(),
            "the connection was cut",
        ),
    ] {
        let world = World::with_machine(&script_of_fake);
        let failure = world
            .channel_without_ssh()
            .run(&script(Mode::Run), &world.io())
            .await
            .unwrap_err();
        assert_eq!(failure.kind, Kind::Step);
        says(&failure, "could not be proven");
        says(&failure, cause);
        assert!(!failure.permanent);
    }
}

#[tokio::test]
async fn a_script_that_fails_shows_its_exit_code_its_output_and_the_command() {
    if need("bash").is_none() {
        return;
    }
    let world = World::with_machine("");
    let played = node(
        &world,
        "a-step",
        "echo last words\necho \"::wdev $nonce failed 7 \"\nexit 1\n",
    );
    world.vagrant.script(&played);
    let failure = world
        .channel_without_ssh()
        .run(&script(Mode::Run), &world.io())
        .await
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Step);
    says(&failure, "exit code 7");
    assert_eq!(failure.output, ["last words"]);
    assert!(!failure.permanent);
    assert!(
        failure
            .command
            .unwrap()
            .contains("provision cp --provision-with a-step")
    );
}

#[tokio::test]
async fn a_node_that_a_script_refuses_is_not_tried_again() {
    if need("bash").is_none() {
        return;
    }
    let world = World::with_machine("");
    // "no good"
    let line = "echo \"::wdev $nonce refused - bm8gZ29vZA==\"\nexit 1\n";
    let played = node(&world, "a-step", line);
    world.vagrant.script(&played);
    let channel = world.channel_without_ssh();
    let ran = channel.run(&script(Mode::Run), &world.io()).await;
    let failure = ran.unwrap_err();
    assert!(failure.permanent);
    assert_eq!(failure.kind, Kind::Step);
    says(&failure, "no good");
}

#[tokio::test]
async fn secrets_reach_the_node_and_nothing_else() {
    if need("bash").is_none() {
        return;
    }
    let world = World::with_machine("");
    let played = node(
        &world,
        "a-step",
        "cp -p \"$file\" \"$file.seen\"\necho it is hunter2hunter2\necho \"::wdev $nonce end ok\"\n",
    );
    world.vagrant.script(&played);
    let mut it = script(Mode::Run);
    it.secrets
        .insert("password".to_owned(), Secret::new("hunter2hunter2"));
    world
        .channel_without_ssh()
        .run(&it, &world.io())
        .await
        .unwrap();
    let read = |name: &str| std::fs::read_to_string(world.path(name)).unwrap();
    let encoded = "aHVudGVyMmh1bnRlcjI=";
    assert!(read("steps/cp/a-step.sh.seen").contains(encoded));
    assert!(
        !read("steps/cp/a-step.sh").contains(encoded),
        "the file is left without it"
    );
    assert_eq!(world.shown(), "it is ***");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let seen = std::fs::metadata(world.path("steps/cp/a-step.sh.seen")).unwrap();
        assert_eq!(seen.permissions().mode() & 0o077, 0);
    }
}

#[tokio::test]
async fn a_run_that_was_cut_off_is_named_to_the_next_one() {
    if need("bash").is_none() {
        return;
    }
    let world = World::with_machine("");
    let save = "cp \"$file\" \"$file.first\"\n";
    let played = node(&world, "a-step", save);
    world.vagrant.script(&played);
    world
        .channel_without_ssh()
        .run(&script(Mode::Run), &world.io())
        .await
        .unwrap_err();
    let first = std::fs::read_to_string(world.path("steps/cp/a-step.sh.first")).unwrap();
    let nonce = first
        .lines()
        .find_map(|line| line.strip_prefix("wdev_nonce='")?.strip_suffix('\''))
        .unwrap();
    let played = node(&world, "a-step", "echo \"::wdev $nonce end earlier\"\n");
    world.vagrant.script(&played);
    world
        .channel_without_ssh()
        .run(&script(Mode::Run), &world.io())
        .await
        .unwrap();
    let second = std::fs::read_to_string(world.path("steps/cp/a-step.sh")).unwrap();
    assert!(second.contains(&format!("wdev_unseen=' {nonce} '")));
    assert!(world.shown().contains("finished by an earlier run"));
}

#[tokio::test]
async fn what_is_not_built_yet_fails_and_names_the_simulator() {
    let world = World::with_machine("");
    let mut unbuilt = script(Mode::Run);
    unbuilt.text = None;
    let mut windows = script(Mode::Run);
    windows.os = Os::Windows;
    for it in [unbuilt, windows] {
        let failure = world
            .channel_without_ssh()
            .run(&it, &world.io())
            .await
            .unwrap_err();
        assert_eq!((failure.kind, failure.permanent), (Kind::Step, true));
        says(&failure, "`a-step` is not built yet");
        says(&failure, "--provider sim");
    }
    assert!(world.calls().is_empty());
}
