//! Scripts over direct SSH.

use wdev::channel::{Mode, Secret};
use wdev::error::Kind;

use crate::common::need;
use crate::world::{SSH_CONFIG, World, blocks, says, script};

const OTHER_KEY: &str = "error Host key verification failed.\nexit 255\n";

/// Lets the fake client play a node: `body` is bash that finds the script that was sent in the file
/// `$sent` and its nonce in `$nonce`.
fn node(world: &World, name: &str, body: &str) -> String {
    let played = world.path(&format!("{name}.bash"));
    let sent = world.path(&format!("{name}.sent"));
    let find = "sed -n \"s/^wdev_nonce='\\(.*\\)'$/\\1/p\" \"$sent\"";
    std::fs::write(
        &played,
        format!(
            "sent='{}'\ncat >\"$sent\"\nnonce=$({find})\n{body}",
            sent.display()
        ),
    )
    .unwrap();
    format!("bash {}\n", played.display())
}

#[tokio::test]
async fn a_script_goes_over_standard_input_and_proves_its_end() {
    if need("bash").is_none() {
        return;
    }
    let world = World::with_machine(SSH_CONFIG);
    let said = "echo a, b\necho hunter2hunter2 >&2\n\
                echo \"::wdev $nonce fact key dg==\"\necho \"::wdev $nonce end ok\"\n";
    world.ssh.script(&node(&world, "node", said));
    let mut it = script(Mode::Run);
    it.secrets
        .insert("password".to_owned(), Secret::new("hunter2hunter2"));
    let report = world.channel().run(&it, &world.io()).await.unwrap();
    assert_eq!(report.facts["key"], "v");
    let shown = world.shown();
    assert!(shown.contains("a, b") && shown.contains("***"), "{shown}");
    assert!(!shown.contains("hunter2"), "{shown}");

    // The secret is in what was sent, and in no argument list and no file of the host.
    let encoded = "aHVudGVyMmh1bnRlcjI=";
    let sent = std::fs::read_to_string(world.path("node.sent")).unwrap();
    assert!(sent.contains(encoded));
    let call = world.ssh.calls().remove(0);
    assert!(
        !call.contains(encoded) && call.contains(&sent.len().to_string()),
        "{call}"
    );
    // Nothing was written for Vagrant.
    let for_vagrant = std::fs::read_to_string(world.path("steps/cp/a-step.sh"));
    assert_eq!(for_vagrant.unwrap(), "");
    assert_eq!(world.calls(), ["ssh-config cp"]);
}

#[tokio::test]
async fn a_script_whose_connection_is_cut_is_gone_back_to_under_its_old_name() {
    if need("bash").is_none() {
        return;
    }
    let world = World::with_machine(SSH_CONFIG);
    let cut = "echo before\necho 'Connection to 127.0.0.1 closed by remote host.' >&2\nexit 255\n";
    let earlier = "echo \"::wdev $nonce end earlier\"\n";
    world.ssh.script(&blocks(&[
        &node(&world, "first", cut),
        &node(&world, "second", earlier),
    ]));
    let channel = world.channel();
    channel.run(&script(Mode::Run), &world.io()).await.unwrap();
    let read = |name: &str| std::fs::read_to_string(world.path(name)).unwrap();
    let first = read("first.sent");
    let nonce = first
        .lines()
        .find_map(|line| line.strip_prefix("wdev_nonce='")?.strip_suffix('\''))
        .unwrap();
    assert!(read("second.sent").contains(&format!("wdev_unseen=' {nonce} '")));
    assert!(world.shown().contains("finished by an earlier run"));
}

#[tokio::test]
async fn a_connection_that_is_cut_again_and_again_is_given_up_with_its_cause() {
    let world = World::with_machine(&blocks(&[SSH_CONFIG; 20]));
    let cut = "stdin\nerror client_loop: send disconnect: Broken pipe\nexit 255\n";
    world.ssh.script(&blocks(&[cut; 20]));
    let failure = world
        .channel()
        .run(&script(Mode::Run), &world.io())
        .await
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Provider);
    says(&failure, "the connection was cut");
    says(&failure, "Broken pipe");
    assert!(world.ssh.calls().len() < 10);
}

#[tokio::test]
async fn an_end_without_the_marker_is_not_believed() {
    let world = World::with_machine(SSH_CONFIG);
    world
        .ssh
        .script("print sudo: a password is required\nexit 0\n");
    let failure = world
        .channel()
        .run(&script(Mode::Run), &world.io())
        .await
        .unwrap_err();
    assert_eq!((failure.kind, failure.permanent), (Kind::Step, false));
    says(&failure, "could not be proven");
    says(&failure, "sudo -n true");
    assert_eq!(failure.output, ["sudo: a password is required"]);
    assert!(failure.command.unwrap().contains("ssh -F"));
}

#[tokio::test]
async fn another_host_key_is_a_clear_error_until_the_machine_is_another_one() {
    let world = World::with_machine(&blocks(&[SSH_CONFIG, SSH_CONFIG]));
    let hosts = world.path(".driver/cp.hosts");
    let key = format!("mkfile {} # uuid-1", hosts.display());
    world.ssh.script(&blocks(&[&key, OTHER_KEY, "exit 0\n"]));
    let channel = world.channel();
    let argv = ["true".to_owned()];
    channel.exec(&argv, &world.io()).await.unwrap();
    std::fs::write(&hosts, "# uuid-1\nwdev-test-cp ssh-ed25519 AAAA\n").unwrap();
    let failure = channel.exec(&argv, &world.io()).await.unwrap_err();
    assert_eq!((failure.kind, failure.permanent), (Kind::Provider, true));
    says(&failure, "another host key");
    says(&failure, "cp.hosts");
    std::fs::write(world.id(), "uuid-2").unwrap();
    channel.exec(&argv, &world.io()).await.unwrap();
    let checks: Vec<_> = world
        .ssh
        .calls()
        .iter()
        .map(|call| call.contains("StrictHostKeyChecking=yes"))
        .collect();
    assert_eq!(checks, [false, true, false]);
    assert_eq!(
        world.calls(),
        ["ssh-config cp"],
        "a key is no reason to ask"
    );
}

#[tokio::test]
async fn where_the_way_cannot_be_asked_a_script_goes_through_vagrant() {
    let world = World::with_machine(&blocks(&[
        "expect ssh-config\nprint 1,,error-exit,Vagrant::Errors::SSHNotReady,not yet\nexit 1\n",
        "expect provision\nexit 0\n",
    ]));
    world
        .channel()
        .run(&script(Mode::Run), &world.io())
        .await
        .unwrap_err();
    assert_eq!(world.calls(), ["ssh-config cp", "provision cp"]);
    assert!(world.shown().contains("going through Vagrant"));
}

#[tokio::test]
async fn a_machine_that_answers_with_its_known_boot_runs_without_asking_vagrant() {
    use wdev::provider::{Power, Provider};

    use crate::world::{RUNNING, cp};
    let world = World::with_machine(&blocks(&[SSH_CONFIG, RUNNING, RUNNING]));
    let boot = |identity: &str| format!("print {identity}\n");
    let (one, two) = (boot("b1"), boot("b2"));
    // For exec; kept after the first question; known; another boot, and kept again.
    world
        .ssh
        .script(&blocks(&["exit 0\n", &one, &one, &two, &two]));
    let channel = world.channel();
    channel
        .exec(&["true".to_owned()], &world.io())
        .await
        .unwrap();
    let provider = world.provider();
    for asked in [1, 1, 2] {
        let machine = provider.inspect(&cp(), &world.io()).await.unwrap();
        assert_eq!(
            (machine.power, machine.id.as_deref()),
            (Power::Running, Some("uuid-1"))
        );
        let calls = world.calls();
        let asked_now = calls.iter().filter(|call| *call == "status cp").count();
        assert_eq!(asked_now, asked, "{calls:?}");
    }
}
