//! What wdev shares on a host with Docker: the network that Vagrant makes when machines are started by hand.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod fakes;

use std::fmt::Write as _;

use wdev::channel::{Io, Os};
use wdev::clock::Clock;
use wdev::ledger::Ledger;
use wdev::names::LaneName;
use wdev::provider::vagrant::MachineRef;
use wdev::provider::vagrant::hypervisor::docker::Docker;
use wdev::provider::vagrant::hypervisor::{Choices, Hypervisor as _, Site};

use fakes::Fake;

const OWN: &str = "wdev-a-123456";
const BY_HAND: &str = "vagrant_network_192.168.57.0/24";

struct World {
    docker: Fake,
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let world = Self {
            docker: Fake::new("docker", ""),
            dir: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir(world.dir.path().join("a")).unwrap();
        world
    }

    /// From now on there are these networks, and these machines in Vagrant's.
    fn set(&self, networks: &[&str], machines: &[&str]) {
        let mut script = "by-arguments\n".to_owned();
        let print = |lines: &[&str]| {
            lines
                .iter()
                .fold(String::new(), |all, it| all + "print " + it + "\n")
        };
        for (call, lines) in [
            ("network ls", networks),
            (&format!("ps -a -q --filter network={BY_HAND}"), machines),
            ("ps -a -q", &[]),
            (&format!("ps -a --filter network={BY_HAND}"), machines),
            ("network create", &[]),
            ("network rm", &[]),
        ] {
            let _ = write!(script, "expect {call}\n{}next\n", print(lines));
        }
        self.docker.script(&script);
    }

    fn sandbox(&self) -> Docker {
        let folder = self.dir.path().join("a");
        let site = Site {
            sandbox: folder.clone(),
            dir: folder.join("rendered"),
            network: OWN.to_owned(),
            subnet: "192.168.57.0/24".parse().unwrap(),
            choices: Choices::default(),
            ledger: Ledger::new(self.dir.path().join("state")),
            clock: Clock::new(),
        };
        Docker::by(site, self.docker.program.clone())
    }

    async fn start(&self) {
        let cp = MachineRef {
            lane: LaneName::new("cp"),
            os: Os::Linux,
            unique: format!("{OWN}-cp"),
        };
        self.sandbox()
            .before_start(&cp, &Io::silent())
            .await
            .unwrap();
    }

    async fn end(&self) {
        self.sandbox().after_last(&Io::silent()).await.unwrap();
    }

    /// The networks that were removed.
    fn removed(&self) -> Vec<String> {
        let removed = |call: String| call.strip_prefix("network rm ").map(str::to_owned);
        self.docker
            .calls()
            .into_iter()
            .filter_map(removed)
            .collect()
    }
}

#[tokio::test]
async fn a_network_of_somebody_elses_project_is_used_and_stays() {
    for theirs in [&[][..], &["theirs"], &["wdev-a-123456-cp", "theirs"]] {
        let world = World::new();
        world.set(&[BY_HAND], theirs);
        world.start().await;
        world.set(&[BY_HAND], &[]);
        world.end().await;
        assert_eq!(world.removed(), [""; 0]);
        let made = |call: &String| call.starts_with("network create");
        assert!(!world.docker.calls().iter().any(made));
    }
}

#[tokio::test]
async fn a_network_that_came_with_a_start_of_our_machines_by_hand_goes_with_the_last() {
    // Before wdev's first start, and after it.
    let world = World::new();
    world.set(&[BY_HAND], &["wdev-a-123456-cp"]);
    world.start().await;
    world.set(&[BY_HAND], &[]);
    world.end().await;
    assert_eq!(world.removed(), [BY_HAND]);

    let world = World::new();
    world.set(&[], &[]);
    world.start().await;
    // Somebody's machine is in it: it goes when that has gone.
    world.set(&[BY_HAND], &["theirs"]);
    world.end().await;
    assert_eq!(world.removed(), [""; 0]);
    world.set(&[BY_HAND], &[]);
    world.end().await;
    assert_eq!(world.removed(), [BY_HAND]);
    world.end().await;
    assert_eq!(world.removed().len(), 1, "what is gone is forgotten");
}
