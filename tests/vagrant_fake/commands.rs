//! Commands and files over direct SSH.

use std::time::Duration;

use wdev::error::Kind;

use crate::world::{SSH_CONFIG, World, blocks, says};

const REFUSED: &str =
    "error ssh: connect to host 127.0.0.1 port 2222: Connection refused\nexit 255\n";

#[tokio::test]
async fn a_command_returns_its_own_exit_code_and_output() {
    let world = World::with_machine(SSH_CONFIG);
    world
        .ssh
        .script(&blocks(&["print out\nexit 3\n", "exit 255\n"]));
    let channel = world.channel();
    let argv = ["echo", "it's", "$(id)"].map(str::to_owned);
    assert_eq!(channel.exec(&argv, &world.io()).await.unwrap(), 3);
    assert_eq!(world.shown(), "out");
    let call = world.ssh.calls().remove(0);
    let (_, line) = call.split_once(" cp -- ").unwrap();
    assert_eq!(shlex::split(line).unwrap(), argv);
    assert_eq!(channel.exec(&argv, &world.io()).await.unwrap(), 255);
    assert_eq!(world.calls(), ["ssh-config cp"], "asked once");
}

#[tokio::test]
async fn a_way_that_has_changed_is_asked_for_once_more() {
    let world = World::with_machine(&blocks(&[SSH_CONFIG, SSH_CONFIG]));
    world.ssh.script(&blocks(&[REFUSED, "exit 0\n"]));
    let argv = ["true".to_owned()];
    assert_eq!(world.channel().exec(&argv, &world.io()).await.unwrap(), 0);
    assert_eq!(world.calls().len(), 2);

    let world = World::with_machine(&blocks(&[SSH_CONFIG, SSH_CONFIG]));
    world.ssh.script(&blocks(&[REFUSED, REFUSED]));
    let failure = world.channel().exec(&argv, &world.io()).await.unwrap_err();
    assert_eq!(failure.kind, Kind::Provider);
    says(&failure, "Connection refused");
}

#[tokio::test]
async fn a_command_whose_connection_is_cut_is_not_run_twice() {
    let world = World::with_machine(SSH_CONFIG);
    world
        .ssh
        .script("error Connection to 127.0.0.1 closed by remote host.\nexit 255\n");
    let failure = world
        .channel()
        .exec(&["x".to_owned()], &world.io())
        .await
        .unwrap_err();
    says(&failure, "the connection was cut");
    assert_eq!(world.ssh.calls().len(), 1);
}

#[tokio::test]
async fn a_file_is_sent_with_its_hash() {
    let world = World::with_machine(SSH_CONFIG);
    world
        .ssh
        .script(&blocks(&["stdin\nexit 0\n", "print disk full\nexit 1\n"]));
    let file = world.path("a file");
    std::fs::write(&file, "abc").unwrap();
    let channel = world.channel();
    channel
        .upload(&file, "/opt/it's", &world.io())
        .await
        .unwrap();
    let call = world.ssh.calls().remove(0);
    let (_, line) = call.split_once(" cp -- ").unwrap();
    let words = shlex::split(line).unwrap();
    assert_eq!(words[words.len() - 2], "/opt/it's");
    assert_eq!(
        words[words.len() - 1],
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
    let failure = channel
        .upload(&file, "/opt/x", &world.io())
        .await
        .unwrap_err();
    assert_eq!(failure.output, ["disk full"]);
}

#[tokio::test]
async fn a_machine_is_known_by_its_boot() {
    let world = World::with_machine(SSH_CONFIG);
    world.ssh.script(&blocks(&["print 1b2c-3d\n", "exit 1\n"]));
    let channel = world.channel();
    let patience = Duration::from_mins(1);
    let identity = channel.boot_identity(patience, &world.io()).await.unwrap();
    assert_eq!(identity, "1b2c-3d");
    channel
        .boot_identity(patience, &world.io())
        .await
        .unwrap_err();
}
