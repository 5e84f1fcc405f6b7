//! A node that was given an address of its own is reached by it.

use std::net::Ipv4Addr;

use wdev::error::Kind;
use wdev::provider::Provider as _;

use crate::world::{SSH_CONFIG, World, blocks, cp, says};

const OWN: Ipv4Addr = Ipv4Addr::new(192, 168, 56, 10);
const ANSWERS: &str = "exit 0\n";
const SILENT: &str =
    "error ssh: connect to host 192.168.56.10 port 22: No route to host\nexit 255\n";

/// The addresses in the file that tells the way, in the order in which the client takes them.
fn way(world: &World) -> Vec<String> {
    let text = std::fs::read_to_string(world.path(".driver/cp.ssh")).unwrap_or_default();
    let lines = text.lines().map(str::trim);
    let names = lines.filter_map(|line| line.strip_prefix("HostName "));
    names.map(str::to_owned).collect()
}

fn vagrant_says(address: &str) -> String {
    SSH_CONFIG.replace(
        "  Port 2222",
        &format!("  HostName {address}\\n  Port 2222"),
    )
}

#[tokio::test]
async fn it_is_used_at_once_and_after_every_other_word_of_vagrants() {
    let told = [vagrant_says("172.29.0.7"), vagrant_says("172.29.0.99")];
    let world = World::with_machine(&blocks(&[&told[0], &told[1]]));
    world.ssh.script(&blocks(&[ANSWERS; 5]));
    let provider = world.provider();
    provider.use_address(&cp(), OWN, &world.io()).await.unwrap();
    assert_eq!(way(&world), ["192.168.56.10", "172.29.0.7"]);
    // Known already: nothing is asked of Vagrant.
    provider.use_address(&cp(), OWN, &world.io()).await.unwrap();
    assert_eq!(world.calls(), ["ssh-config cp"]);

    // After another boot Vagrant tells another address of the first adapter.
    std::fs::remove_file(world.path(".driver/cp.ssh")).unwrap();
    let provider = world.provider();
    provider.use_address(&cp(), OWN, &world.io()).await.unwrap();
    assert_eq!(way(&world), ["192.168.56.10", "172.29.0.99"]);
}

#[tokio::test]
async fn a_node_that_does_not_answer_there_stays_reachable_by_vagrants_word() {
    let world = World::with_machine(&vagrant_says("172.29.0.7"));
    // It is silent there, answers at the other address, and is silent there for ever.
    world.ssh.script(&blocks(&[SILENT, SILENT, ANSWERS]));
    let provider = world.provider();
    let failure = provider
        .use_address(&cp(), OWN, &world.io())
        .await
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Provider);
    says(
        &failure,
        "`cp` does not answer at its own address 192.168.56.10",
    );
    says(&failure, "`wdev exec cp -- ip address`");
    assert_eq!(way(&world), ["172.29.0.7"]);
}

#[tokio::test]
async fn a_node_that_was_silent_there_while_it_booted_is_asked_there_again() {
    let world = World::with_machine(&vagrant_says("172.29.0.7"));
    std::fs::create_dir_all(world.path(".driver")).unwrap();
    std::fs::write(world.path(".driver/cp.address"), "uuid-1 192.168.56.10").unwrap();
    // Silent there, then a command at the other address; the next time it answers there.
    world
        .ssh
        .script(&blocks(&[SILENT, ANSWERS, ANSWERS, ANSWERS]));
    let argv = ["true".to_owned()];
    world.channel().exec(&argv, &world.io()).await.unwrap();
    assert_eq!(way(&world), ["172.29.0.7"]);
    world.channel().exec(&argv, &world.io()).await.unwrap();
    assert_eq!(way(&world), ["192.168.56.10", "172.29.0.7"]);
    assert_eq!(world.calls(), ["ssh-config cp"]);
}

#[tokio::test]
async fn the_address_of_an_earlier_machine_is_not_tried() {
    let world = World::with_machine(&vagrant_says("172.29.0.7"));
    std::fs::create_dir_all(world.path(".driver")).unwrap();
    std::fs::write(world.path(".driver/cp.address"), "uuid-0 192.168.56.10").unwrap();
    world.ssh.script(ANSWERS);
    let argv = ["true".to_owned()];
    let code = world.channel().exec(&argv, &world.io()).await.unwrap();
    assert_eq!((code, way(&world)), (0, vec!["172.29.0.7".to_owned()]));
    assert_eq!(world.ssh.calls().len(), 1);
}
