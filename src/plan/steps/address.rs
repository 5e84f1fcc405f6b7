//! Gives a node its own address from inside, where the provider cannot.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use ipnet::Ipv4Net;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use super::machine::{self, PRIVATE_MAC};
use crate::channel::{Effect, Os, Script};
use crate::config::model::ProviderName;
use crate::engine::step::{Context, Done, Limits, OnChange, Probe, Step};
use crate::error::Result;
use crate::names::StepId;
use crate::plan::node::Node;
use crate::provider::vagrant::hypervisor::features;
use crate::render::vagrantfile::private_mac;
use crate::render::{linux, windows};

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
        id: "address".to_owned(),
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
    /// The script with the MAC address that was learnt when the machine was started.
    fn with_mac(&self, cx: &Context) -> Result<GuestStep> {
        let Some(mac) = cx.fact(&cx.lane, machine::ID, PRIVATE_MAC) else {
            return Ok(self.guest.clone());
        };
        Ok(GuestStep {
            text: text(&self.node, self.subnet, &mac)?,
            ..self.guest.clone()
        })
    }
}

#[async_trait]
impl Step for Address {
    fn id(&self) -> StepId {
        self.guest.id()
    }

    fn title(&self) -> String {
        self.guest.title()
    }

    fn purpose(&self) -> String {
        self.guest.purpose()
    }

    fn phase(&self) -> &'static str {
        self.guest.phase()
    }

    fn inputs(&self) -> BTreeMap<String, String> {
        self.guest.inputs()
    }

    fn limits(&self) -> Limits {
        self.guest.limits()
    }

    fn on_change(&self, changed: &[String]) -> OnChange {
        self.guest.on_change(changed)
    }

    fn script(&self) -> Option<Script> {
        self.guest.script()
    }

    /// Another adapter than the one that the machine has now is not in place.
    async fn probe(&self, cx: &Context) -> Result<Probe> {
        let asked = self.with_mac(cx)?.ask(cx).await?;
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
        self.with_mac(cx)?.run(cx).await
    }

    async fn verify(&self, cx: &Context, done: &Done) -> Result<()> {
        self.with_mac(cx)?.verify(cx, done).await?;
        let address = self.node.address;
        cx.provider.use_address(&cx.lane, address, &cx.io).await
    }
}
