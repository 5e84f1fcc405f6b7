//! Commands and files through Vagrant, where there is no SSH client.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::common::need;
use crate::world::{World, blocks, says};

/// Lets the fake Vagrant play a node that runs a probe which reports a fact and ends.
fn reports(world: &World, key: &str, value: &str) -> String {
    let played = world.path("node.sh");
    let file = world.path("steps/cp/probe.sh");
    std::fs::write(
        &played,
        format!(
            "nonce=$(sed -n \"s/^wdev_nonce='\\(.*\\)'$/\\1/p\" '{}')\necho out\n\
             echo \"::wdev $nonce fact {key} {}\"\necho \"::wdev $nonce end ok\"\n",
            file.display(),
            BASE64.encode(value)
        ),
    )
    .unwrap();
    format!(
        "expect provision cp --provision-with probe\nrun {}\n",
        played.display()
    )
}

fn probe(world: &World) -> String {
    std::fs::read_to_string(world.path("steps/cp/probe.sh")).unwrap()
}

#[tokio::test]
async fn a_command_has_its_output_and_its_exit_code() {
    if need("bash").is_none() {
        return;
    }
    let world = World::with_machine("");
    world.vagrant.script(&reports(&world, "code", "7"));
    let argv = ["echo", "it's", "$(id)"].map(str::to_owned);
    let channel = world.channel_without_ssh();
    assert_eq!(channel.exec(&argv, &world.io()).await.unwrap(), 7);
    assert_eq!(world.shown(), "out");
    assert!(world.ssh.calls().is_empty());
}

#[tokio::test]
async fn a_file_is_uploaded_beside_its_place_and_moved_when_it_is_whole() {
    if need("bash").is_none() {
        return;
    }
    let world = World::with_machine("");
    let place = reports(&world, "none", "");
    world.vagrant.script(&blocks(&["expect upload\n", &place]));
    let file = world.path("a file");
    std::fs::write(&file, "abc").unwrap();
    let channel = world.channel_without_ssh();
    channel.upload(&file, "/opt/x", &world.io()).await.unwrap();
    let upload = world.vagrant.calls().remove(0);
    let landed = upload
        .split(' ')
        .find(|word| word.starts_with("/tmp/wdev-"))
        .unwrap();
    let moved = probe(&world);
    assert!(
        moved.contains(landed) && moved.contains("/opt/x"),
        "{moved}"
    );
    assert!(moved.contains("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
}

#[tokio::test]
async fn a_small_file_comes_back_and_a_boot_is_known() {
    if need("bash").is_none() {
        return;
    }
    let world = World::with_machine("");
    let channel = world.channel_without_ssh();
    let content = BASE64.encode("a\nfile\n");
    world.vagrant.script(&reports(&world, "content", &content));
    let to = world.path("down");
    channel.download("/etc/x", &to, &world.io()).await.unwrap();
    assert_eq!(std::fs::read_to_string(&to).unwrap(), "a\nfile\n");

    world.vagrant.script(&reports(&world, "identity", "1b2c"));
    let patience = Duration::from_mins(10);
    let identity = channel.boot_identity(patience, &world.io()).await.unwrap();
    assert_eq!(identity, "1b2c");

    world.vagrant.script("expect provision\n");
    let failure = channel
        .exec(&["x".to_owned()], &world.io())
        .await
        .unwrap_err();
    says(&failure, "could not be proven");
}
