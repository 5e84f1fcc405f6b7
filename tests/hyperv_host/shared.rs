//! What wdev shares on a Hyper-V host, with a fake PowerShell: the switches, and the scripts' parameters.

use std::path::PathBuf;

use serde_json::{Value, json};
use wdev::channel::{Io, Os};
use wdev::clock::Clock;
use wdev::ledger::Ledger;
use wdev::names::LaneName;
use wdev::provider::vagrant::MachineRef;
use wdev::provider::vagrant::hypervisor::hyperv::HyperV;
use wdev::provider::vagrant::hypervisor::{Choices, Hypervisor as _, Site};

use crate::common::shown::Shown;
use crate::fakes::Fake;

const DONE: &str = "print {\"type\": \"result\"}\n";
const IN_USE: &str = "print {\"type\": \"failure\", \"id\": \"switch-in-use\", \"message\": \"machines are \
     connected to it\", \"why\": \"theirs\", \"advice\": []}\nexit 4\n";

struct World {
    powershell: Fake,
    dir: tempfile::TempDir,
    shown: Shown,
}

impl World {
    fn new() -> Self {
        let world = Self {
            powershell: Fake::new("powershell", ""),
            dir: tempfile::tempdir().unwrap(),
            shown: Shown::default(),
        };
        std::fs::create_dir(world.path("a")).unwrap();
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The sandbox with its nodes in this subnet.
    fn sandbox(&self, subnet: &str) -> HyperV {
        let site = Site {
            sandbox: self.path("a"),
            dir: self.path("a/rendered"),
            network: "wdev".to_owned(),
            subnet: subnet.parse().unwrap(),
            choices: Choices::default(),
            ledger: Ledger::new(self.path("state")),
            clock: Clock::new(),
        };
        HyperV::on(site, self.powershell.program.clone())
    }

    fn io(&self) -> Io {
        self.shown.io()
    }

    fn shown(&self) -> String {
        self.shown.text()
    }

    fn ledger(&self) -> String {
        std::fs::read_to_string(self.path("state/ledger.json")).unwrap_or_default()
    }

    /// The parameters that each call was given: as they are in the end.
    fn given(&self) -> Vec<Value> {
        let read = |call: String| {
            let file = call.rsplit_once(' ').unwrap().1.to_owned();
            serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
        };
        self.powershell.calls().into_iter().map(read).collect()
    }
}

fn machine(name: &str) -> MachineRef {
    MachineRef {
        lane: LaneName::new(name),
        os: Os::Linux,
        unique: format!("wdev-a-{name}"),
    }
}

#[tokio::test]
async fn machines_that_are_tended_at_the_same_time_keep_their_parameters_apart() {
    let world = World::new();
    let tended = "print {\"type\": \"result\", \"mac\": \"00:15:5d:00:00:01\", \"off\": false}\n";
    world.powershell.script(&format!("{tended}next\n{tended}"));
    let sandbox = world.sandbox("192.168.57.0/24");
    let (cp, w1, io) = (machine("cp"), machine("w1"), world.io());
    let (first, second) = tokio::join!(
        sandbox.after_start(&cp, "id-cp", &io),
        sandbox.after_start(&w1, "id-w1", &io)
    );
    assert_eq!(first.unwrap().as_deref(), Some("00:15:5d:00:00:01"));
    second.unwrap();
    let given = world.given();
    let mut machines: Vec<_> = given.iter().map(|it| it["machine"].to_string()).collect();
    machines.sort();
    assert_eq!(machines, ["\"id-cp\"", "\"id-w1\""]);
}

#[tokio::test]
async fn a_switch_in_use_stays_noted_and_every_switch_of_the_sandbox_goes() {
    let world = World::new();
    world.powershell.script(&format!("{DONE}next\n{DONE}"));
    let (old, new) = (world.sandbox("10.9.0.0/24"), world.sandbox("10.8.0.0/24"));
    for sandbox in [&old, &new] {
        sandbox
            .before_start(&machine("cp"), &world.io())
            .await
            .unwrap();
    }
    // A machine of somebody else's is connected to the first.
    world.powershell.script(&format!("{IN_USE}next\n{DONE}"));
    new.after_last(&world.io()).await.unwrap();
    let shown = world.shown();
    assert!(
        shown.contains("the switch `wdev-10.9.0.0-24` stays") && shown.contains("theirs"),
        "{shown}"
    );
    assert!(world.ledger().contains("wdev-10.9.0.0-24"));
    assert!(!world.ledger().contains("wdev-10.8.0.0-24"));

    // Of a later end it is taken along.
    world.powershell.script(DONE);
    new.after_last(&world.io()).await.unwrap();
    assert_eq!(
        world.given().last(),
        Some(&json!({"switch": "wdev-10.9.0.0-24"}))
    );
    assert!(
        !world.ledger().contains("hyperv-switch"),
        "{}",
        world.ledger()
    );
}
