//! Makes the node's machine, and finds it running and answering.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;

use super::guest::inputs;
use crate::channel::ANSWER;
use crate::engine::state::MACHINE;
use crate::engine::step::{Context, Done, Limits, OnChange, Probe, Step};
use crate::error::Result;
use crate::event::Body;
use crate::names::StepId;
use crate::plan::node::Node;
use crate::provider::{self, Power};

/// The step that makes a machine.
pub const ID: &str = "machine";
/// The fact that names the adapter which the guest itself must give its address.
pub const PRIVATE_MAC: &str = "private_mac";

const NESTED: &str = "nested_virtualization";

/// The first step of every node's lane.
pub struct Machine {
    /// The node.
    pub node: Node,
    /// How long it may take.
    pub deadline: Duration,
    /// Whether a restart can give it another size.
    pub resizable: bool,
    /// The user's own Ruby for it.
    pub extra: String,
}

#[async_trait]
impl Step for Machine {
    fn id(&self) -> StepId {
        StepId::from(ID)
    }

    fn title(&self) -> String {
        "create and start the machine".to_owned()
    }

    fn purpose(&self) -> String {
        format!("there is no machine for `{}` yet", self.node.name)
    }

    fn phase(&self) -> &'static str {
        "machine"
    }

    fn inputs(&self) -> BTreeMap<String, String> {
        let machine = &self.node.machine;
        let mut inputs = inputs([
            ("box", machine.r#box.clone()),
            ("box_version", machine.box_version.clone()),
            ("box_url", machine.box_url.clone()),
            ("cpus", machine.cpus.to_string()),
            ("memory", machine.memory_mib.to_string()),
            ("address", self.node.address.to_string()),
            ("os", self.node.os_title.clone()),
        ]);
        // Only where they say something: a sandbox without them has nothing to compare.
        for (name, value) in [
            ("box_checksum", &machine.box_checksum),
            ("vagrant.extra", &self.extra),
        ] {
            if !value.is_empty() {
                inputs.insert(name.to_owned(), value.clone());
            }
        }
        if machine.nested_virtualization {
            inputs.insert(NESTED.to_owned(), "true".to_owned());
        }
        inputs
    }

    fn limits(&self) -> Limits {
        Limits {
            expected: Duration::from_mins(2),
            deadline: self.deadline,
            attempts: 3,
            pause: Duration::from_secs(5),
        }
    }

    fn on_change(&self, changed: &[String]) -> OnChange {
        let size = |name: &String| ["cpus", "memory", NESTED].contains(&name.as_str());
        // A restart applies a size, and takes nothing away; another box or address makes another machine.
        if self.resizable && changed.iter().all(size) {
            OnChange::Alone
        } else {
            OnChange::Recreate
        }
    }

    async fn probe(&self, cx: &Context) -> Result<Probe> {
        let machine = cx.provider.inspect(&cx.lane, &cx.io).await?;
        if machine.power != Power::Running {
            return Ok(Probe::Missing(format!("the machine is {}", machine.detail)));
        }
        match cx.channel().boot_identity(ANSWER, &cx.io).await {
            Ok(boot) => {
                saw(cx, boot).await?;
                Ok(Probe::InPlace)
            }
            Err(failure) => Ok(Probe::Missing(format!(
                "the machine does not answer: {failure}"
            ))),
        }
    }

    async fn run(&self, cx: &Context) -> Result<Done> {
        let (lane, what, name) = (
            cx.lane.clone(),
            MACHINE.to_owned(),
            self.node.unique_name.clone(),
        );
        cx.recorder
            .record(Body::Intent { lane, what, name })
            .await?;
        if cx.changed && cx.machine.is_some() {
            cx.io
                .note("restarting the machine, so that its new size counts");
            cx.provider.halt(&cx.lane, &cx.io).await?;
        }
        let machine = up(cx).await?;
        let address = machine.address.map(|address| address.to_string());
        let facts = [("address", address), (PRIVATE_MAC, machine.private_mac)]
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect();
        Ok(Done {
            facts,
            machine: machine.id,
            reboot_wanted: false,
            proven: true,
        })
    }
}

/// The node's machine, running and answering, with its boot recorded.
pub(super) async fn up(cx: &Context) -> Result<provider::Machine> {
    let machine = cx.provider.up(&cx.lane, &cx.io).await?;
    // A machine that does not tell yet is asked by the steps that need it.
    if let Ok(boot) = cx.channel().boot_identity(ANSWER, &cx.io).await {
        saw(cx, boot).await?;
    }
    Ok(machine)
}

/// Records the boot that the machine runs, and says when it is not the one that it ran last.
async fn saw(cx: &Context, boot: String) -> Result<()> {
    let boots = cx.known.read(|state| state.boots.get(&cx.lane).cloned());
    let boots = boots.unwrap_or_default();
    if boots.last() == Some(&boot) {
        return Ok(());
    }
    if boots.contains(&boot) {
        cx.io.note(
            "it runs a boot that was seen before: the machine was set back, as by a snapshot; every step \
             is looked at again",
        );
    }
    let lane = cx.lane.clone();
    cx.recorder.record(Body::BootSeen { lane, boot }).await
}
