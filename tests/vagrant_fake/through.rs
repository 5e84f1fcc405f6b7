//! Commands and files through Vagrant, where there is no SSH client.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use wdev::clock::Clock;
use wdev::error::Kind;

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

/// Lets the fake Vagrant play a node that carries out the errands it is sent, so many times.
fn obeys(world: &World, times: usize) {
    let played = world.path("node.sh");
    let file = world.path("steps/cp/probe.sh");
    let script = format!(
        "set -euo pipefail\nfile='{}'\n\
         nonce=$(sed -n \"s/^wdev_nonce='\\(.*\\)'$/\\1/p\" \"$file\")\n\
         wdev_fact() {{ echo \"::wdev $nonce fact $1 $(printf %s \"$2\" | base64 -w 0)\"; }}\n\
         eval \"$(sed -n '/^wdev_probe() {{$/,/^}}$/p' \"$file\")\"\n\
         wdev_probe\necho \"::wdev $nonce end ok\"\n",
        file.display()
    );
    std::fs::write(&played, script).unwrap();
    let block = format!(
        "expect provision cp --provision-with probe\nrun {}\n",
        played.display()
    );
    world.vagrant.script(&blocks(&vec![block.as_str(); times]));
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
async fn a_boot_is_known_and_what_does_not_end_is_not_believed() {
    if need("bash").is_none() {
        return;
    }
    let world = World::with_machine("");
    let channel = world.channel_without_ssh();
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

#[tokio::test]
async fn a_file_of_several_pieces_comes_back_whole() {
    if need("bash").is_none() {
        return;
    }
    let world = World::with_machine("");
    let channel = world.channel_without_ssh();
    let (from, to) = (world.path("it's there"), world.path("down"));
    for (length, pieces) in [(5, 1), (262_144, 2), (600_000, 3)] {
        let content: Vec<u8> = (0..length).map(|at: u32| (at % 251) as u8).collect();
        std::fs::write(&from, &content).unwrap();
        obeys(&world, pieces);
        let name = from.to_str().unwrap();
        channel.download(name, &to, &world.io()).await.unwrap();
        assert!(std::fs::read(&to).unwrap() == content, "{length} bytes");
    }
    assert_eq!(world.calls().len(), 6);
}

#[tokio::test]
async fn a_file_that_is_too_large_is_named_with_its_size_and_none_of_it_is_fetched() {
    if need("bash").is_none() {
        return;
    }
    let world = World::with_machine("");
    let (from, to) = (world.path("large"), world.path("down"));
    let file = std::fs::File::create(&from).unwrap();
    file.set_len(20_000_000).unwrap();
    obeys(&world, 1);
    let channel = world.channel_without_ssh();
    let name = from.to_str().unwrap();
    let failure = channel.download(name, &to, &world.io()).await.unwrap_err();
    says(&failure, name);
    says(&failure, "20 MB");
    says(&failure, "OpenSSH");
    assert!(failure.permanent && !to.exists());
}

#[tokio::test]
async fn a_file_that_changes_while_it_is_fetched_is_not_believed() {
    if need("bash").is_none() {
        return;
    }
    let world = World::with_machine("");
    let (from, to) = (world.path("file"), world.path("down"));
    std::fs::write(&from, vec![1_u8; 300_000]).unwrap();
    obeys(&world, 2);
    // Behind the first piece, the node's file becomes another one.
    let played = world.path("node.sh");
    let script = std::fs::read_to_string(&played).unwrap();
    let other = format!("head -c 300000 /dev/zero >'{}'\n", from.display());
    std::fs::write(&played, script + &other).unwrap();
    let channel = world.channel_without_ssh();
    let name = from.to_str().unwrap();
    let failure = channel.download(name, &to, &world.io()).await.unwrap_err();
    says(&failure, "changed meanwhile");
    assert!(!to.exists());
}

#[tokio::test]
async fn an_upload_has_time_by_its_size_and_says_it() {
    let world = World::with_machine("sleep-forever\n");
    let file = world.path("a file");
    std::fs::write(&file, vec![0; 2_000_000]).unwrap();
    let program = world.vagrant.program.clone();
    let channel = world.channel_without_ssh_at(program, Clock::with_speed(2000.0));
    let failure = channel
        .upload(&file, "/opt/x", &world.io())
        .await
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Deadline);
    // Two minutes, and one second for every 16 KiB.
    says(&failure, "took longer than 242 s");
    says(&failure, "2 MB");
}
