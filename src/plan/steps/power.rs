//! Halts or destroys a node's machine.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;

use crate::engine::state::MACHINE;
use crate::engine::step::{Context, Done, Limits, Probe, Step};
use crate::error::{Failure, Kind, Result};
use crate::event::Body;
use crate::names::StepId;
use crate::provider::Power;

/// What is done to the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It is shut down.
    Halt,
    /// It is removed.
    Destroy,
}

impl Action {
    /// The id of its step, which is also the command.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Halt => "halt",
            Self::Destroy => "destroy",
        }
    }
}

/// Whether the step is a command of its own rather than a part of what makes a sandbox.
#[must_use]
pub fn is_action(step: &StepId) -> bool {
    [Action::Halt.id(), Action::Destroy.id(), super::leave::ID].contains(&step.as_str())
}

/// Halts or destroys a node's machine.
pub struct PowerStep {
    /// Which.
    pub action: Action,
    /// The name that the provider knows the machine by on this host.
    pub unique_name: String,
}

#[async_trait]
impl Step for PowerStep {
    fn id(&self) -> StepId {
        StepId::from(self.action.id())
    }

    fn title(&self) -> String {
        match self.action {
            Action::Halt => "shut the machine down",
            Action::Destroy => "remove the machine",
        }
        .to_owned()
    }

    fn purpose(&self) -> String {
        "you asked for it".to_owned()
    }

    fn phase(&self) -> &'static str {
        "machine"
    }

    fn inputs(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn limits(&self) -> Limits {
        Limits {
            expected: Duration::from_secs(20),
            // A Vagrant that an earlier run left behind may first have to end its boot; and removing a
            // machine has limits of its own.
            deadline: Duration::from_mins(45),
            attempts: 3,
            pause: Duration::from_secs(5),
        }
    }

    async fn probe(&self, cx: &Context) -> Result<Probe> {
        let power = cx.provider.inspect(&cx.lane, &cx.io).await?.power;
        let there = match self.action {
            Action::Halt => matches!(power, Power::Off | Power::Absent),
            Action::Destroy => power == Power::Absent,
        };
        Ok(if there {
            Probe::InPlace
        } else {
            Probe::Missing("it is still there".to_owned())
        })
    }

    async fn run(&self, cx: &Context) -> Result<Done> {
        match self.action {
            Action::Halt => cx.provider.halt(&cx.lane, &cx.io).await?,
            Action::Destroy => cx.provider.destroy(&cx.lane, &cx.io).await?,
        }
        Ok(Done::default())
    }

    async fn verify(&self, cx: &Context, _done: &Done) -> Result<()> {
        if let Probe::Missing(_) = self.probe(cx).await? {
            let what = self.title();
            return Err(Box::new(
                Failure::new(Kind::Provider, format!("could not {what} of `{}`", cx.lane))
                    .because("the provider reports success, but the machine is still there"),
            ));
        }
        if self.action == Action::Destroy {
            let (lane, what, name) = (
                cx.lane.clone(),
                MACHINE.to_owned(),
                self.unique_name.clone(),
            );
            cx.recorder
                .record(Body::Removed { lane, what, name })
                .await?;
        }
        Ok(())
    }
}
