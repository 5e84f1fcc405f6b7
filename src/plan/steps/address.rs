//! Gives a node its own address from inside, where the provider cannot.

use std::time::Duration;

use async_trait::async_trait;
use ipnet::Ipv4Net;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use super::machine::{self, PRIVATE_MAC};
use crate::channel::{Effect, Os};
use crate::config::model::ProviderName;
use crate::engine::step::{Context, Done, OnChange, Probe, Step};
use crate::error::{Kind, Result};
use crate::plan::node::Node;
use crate::provider::vagrant::hypervisor::features;
use crate::render::vagrantfile::private_mac;
use crate::render::{linux, windows};

/// The step's id.
const ID: &str = "address";
/// The fact that names the machine's adapter at its start, where it has another one since.
const INSTEAD: &str = "instead_of";

/// Why the step is not needed, where the provider sets the address by itself.
///
/// Of Windows guests Vagrant configures no adapter: VMware's plugin cannot, and over SSH nothing can; so
/// the Vagrantfile asks for it nowhere (`auto_config: false`).
#[must_use]
pub fn needless(build: &Build) -> Option<String> {
    let hypervisor = !matches!(
        build.provider,
        ProviderName::Docker | ProviderName::Sim | ProviderName::Auto
    );
    let windows = hypervisor && build.node.os == Os::Windows;
    let by_provider = features(build.provider).static_addresses && !windows;
    by_provider.then(|| "the provider gives the machine its address".to_owned())
}

/// Sets the node's address on the adapter in the nodes' subnet.
///
/// # Errors
/// When the script cannot be rendered.
pub fn step(build: &Build) -> Result<Address> {
    let node = build.node;
    let subnet = build.config.network.nodes;
    let address = format!("{}/{}", node.address, subnet.prefix_len());
    let guest = GuestStep {
        id: ID.to_owned(),
        title: "give the node its own address".to_owned(),
        purpose: "the provider's address changes with every boot of the host".to_owned(),
        phase: match node.os {
            Os::Linux => "machine",
            Os::Windows => "prepare",
        },
        inputs: inputs([("address", address.clone())]),
        limits: limits(&build.config.timeouts, Duration::from_secs(5)),
        os: node.os,
        on_change: OnChange::Rerun,
        text: text(node, subnet, &by_vagrantfile(build))?,
        effects: vec![Effect::Setting {
            key: "address".to_owned(),
            value: address,
        }],
    };
    Ok(Address {
        guest,
        node: node.clone(),
        subnet,
    })
}

/// The hardware address that the Vagrantfile gives the adapter; empty where it is not the one to give it.
fn by_vagrantfile(build: &Build) -> String {
    let windows = build.node.os == Os::Windows;
    let mac = windows.then(|| private_mac(build.provider, &build.node.unique_name));
    mac.flatten().unwrap_or_default()
}

fn text(node: &Node, subnet: Ipv4Net, mac: &str) -> Result<Option<String>> {
    Ok(match node.os {
        Os::Linux => Some(linux::address(node.address, subnet.prefix_len(), mac)?),
        Os::Windows => Some(windows::private_address(
            mac,
            node.address,
            subnet.prefix_len(),
        )?),
    })
}

/// The step; see [`step`].
pub struct Address {
    guest: GuestStep,
    node: Node,
    subnet: Ipv4Net,
}

impl Address {
    /// The MAC address of the machine's adapter, as it was when the machine was started, or as this step
    /// has found it later.
    fn known_mac(cx: &Context) -> String {
        let fact = |step, key| cx.fact(&cx.lane, step, key);
        let first = fact(machine::ID, PRIVATE_MAC);
        let later = fact(ID, PRIVATE_MAC).filter(|_| fact(ID, INSTEAD) == first);
        later.or(first).unwrap_or_default()
    }

    /// The script for the adapter with this MAC address; the one of the Vagrantfile where none is known.
    fn with_mac(&self, mac: &str) -> Result<GuestStep> {
        if mac.is_empty() {
            return Ok(self.guest.clone());
        }
        Ok(GuestStep {
            text: text(&self.node, self.subnet, mac)?,
            ..self.guest.clone()
        })
    }

    async fn run_with(&self, mac: &str, cx: &Context) -> Result<Done> {
        let mut done = self.with_mac(mac)?.run(cx).await?;
        let first = cx.fact(&cx.lane, machine::ID, PRIVATE_MAC);
        if first.as_deref() != Some(mac) {
            let facts = [
                (PRIVATE_MAC, mac.to_owned()),
                (INSTEAD, first.unwrap_or_default()),
            ];
            done.facts
                .extend(facts.map(|(key, value)| (key.to_owned(), value)));
        }
        Ok(done)
    }
}

#[async_trait]
impl Step for Address {
    told_by!(guest);
    run_as!(guest);

    /// Another adapter than the one that the machine has now is not in place.
    async fn probe(&self, cx: &Context) -> Result<Probe> {
        let asked = self.with_mac(&Self::known_mac(cx))?.ask(cx).await?;
        if asked != Probe::InPlace {
            return Ok(asked);
        }
        let address = self.node.address;
        let reached = cx.provider.use_address(&cx.lane, address, &cx.io).await;
        Ok(match reached {
            Ok(()) => Probe::InPlace,
            Err(failure) => Probe::Missing(failure.to_string()),
        })
    }

    async fn run(&self, cx: &Context) -> Result<Done> {
        let known = Self::known_mac(cx);
        let failure = match self.run_with(&known, cx).await {
            Err(failure) if failure.kind == Kind::Step => failure,
            ended => return ended,
        };
        // Somebody may have taken the adapter away, or put another in its place.
        let machine = machine::up(cx).await?;
        match machine.private_mac {
            Some(mac) if mac != known => {
                cx.io.note(format!("its adapter is another one now: {mac}"));
                self.run_with(&mac, cx).await
            }
            _ => Err(failure),
        }
    }

    async fn verify(&self, cx: &Context, done: &Done) -> Result<()> {
        let first = || cx.fact(&cx.lane, machine::ID, PRIVATE_MAC);
        let mac = done.facts.get(PRIVATE_MAC).cloned().or_else(first);
        self.with_mac(&mac.unwrap_or_default())?
            .verify(cx, done)
            .await?;
        let address = self.node.address;
        cx.provider.use_address(&cx.lane, address, &cx.io).await
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::net::Ipv4Addr;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::channel::{Io, Mode, Report, Script};
    use crate::clock::Clock;
    use crate::config::model::MachineSpec;
    use crate::engine::recorder::Recorder;
    use crate::engine::state::{DoneRecord, Status, StepRecord};
    use crate::engine::step::{Known, Limits};
    use crate::error::Failure;
    use crate::names::{LaneName, StepKey};
    use crate::plan::node::Role;
    use crate::provider::double::{Acts, Double};

    /// A machine whose adapter has this address, and how often it was brought up.
    #[derive(Default)]
    struct Host(Mutex<(String, u32)>);

    impl Host {
        fn set(&self, mac: &str) {
            mac.clone_into(&mut self.0.lock().unwrap().0);
        }

        fn ups(&self) -> u32 {
            self.0.lock().unwrap().1
        }
    }

    impl Acts for Host {
        fn private_mac(&self) -> Option<String> {
            Some(self.0.lock().unwrap().0.clone())
        }

        fn up(&self) {
            self.0.lock().unwrap().1 += 1;
        }

        fn run(&self, script: &Script) -> Result<Report> {
            let text = script.text.as_deref().unwrap_or_default();
            let in_place = text.contains(self.0.lock().unwrap().0.as_str());
            if !in_place && script.mode == Mode::Run {
                return Err(Box::new(Failure::new(Kind::Step, "there is no adapter")));
            }
            Ok(Report {
                in_place,
                ..Report::default()
            })
        }
    }

    fn address(os: Os) -> Address {
        let node = Node {
            name: LaneName::new("w1"),
            role: Role::Worker,
            os,
            os_title: String::new(),
            address: Ipv4Addr::new(192, 168, 56, 11),
            machine: MachineSpec::default(),
            unique_name: "wdev-w1".to_owned(),
        };
        let subnet = "192.168.56.0/24".parse().unwrap();
        let guest = GuestStep {
            id: ID.to_owned(),
            title: String::new(),
            purpose: String::new(),
            phase: "machine",
            inputs: BTreeMap::new(),
            limits: Limits {
                expected: Duration::ZERO,
                deadline: Duration::from_mins(1),
                attempts: 1,
                pause: Duration::ZERO,
            },
            os,
            on_change: OnChange::Rerun,
            text: None,
            effects: Vec::new(),
        };
        Address {
            guest,
            node,
            subnet,
        }
    }

    fn finish(cx: &Context, step: &str, facts: BTreeMap<String, String>) {
        let done = DoneRecord {
            fingerprint: String::new(),
            inputs: BTreeMap::new(),
            facts,
            machine: None,
            took_ms: 0,
            place: 1,
            first: 1,
            changed: BTreeMap::new(),
        };
        let record = StepRecord {
            status: Status::Done,
            done: Some(done),
        };
        cx.known.write(|state| {
            state.steps.insert(StepKey::new(&cx.lane, step), record);
        });
    }

    #[tokio::test]
    async fn an_adapter_that_somebody_put_in_the_others_place_gets_the_address() {
        for os in [Os::Linux, Os::Windows] {
            let host = Arc::new(Host::default());
            let cx = Context {
                lane: LaneName::new("w1"),
                provider: Arc::new(Double(Arc::clone(&host))),
                io: Io::silent(),
                clock: Clock::new(),
                recorder: Recorder::new().0,
                known: Known::default(),
                machine: None,
                changed: false,
            };
            let started = |mac: &str| {
                let facts = BTreeMap::from([(PRIVATE_MAC.to_owned(), mac.to_owned())]);
                finish(&cx, machine::ID, facts);
            };
            let step = address(os);
            started("00:15:5d:00:00:01");
            host.set("00:15:5d:00:00:01");
            let done = step.run(&cx).await.unwrap();
            assert_eq!((host.ups(), done.facts.len()), (0, 0));
            finish(&cx, ID, done.facts);

            host.set("00:15:5d:00:00:02");
            assert_ne!(step.probe(&cx).await.unwrap(), Probe::InPlace);
            let done = step.run(&cx).await.unwrap();
            step.verify(
                &cx,
                &Done {
                    proven: false,
                    ..done.clone()
                },
            )
            .await
            .unwrap();
            finish(&cx, ID, done.facts);
            // The next runs of wdev know it.
            assert_eq!(step.probe(&cx).await.unwrap(), Probe::InPlace);
            finish(&cx, ID, step.run(&cx).await.unwrap().facts);
            assert_eq!(step.probe(&cx).await.unwrap(), Probe::InPlace);
            assert_eq!(host.ups(), 1);

            // What a later start of the machine has learnt counts again.
            host.set("00:15:5d:00:00:03");
            started("00:15:5d:00:00:03");
            assert_eq!(step.probe(&cx).await.unwrap(), Probe::InPlace);
        }
    }
}
