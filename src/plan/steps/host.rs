//! Work on the host itself.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;

use crate::engine::step::{Context, Done, Limits, Probe, Step};
use crate::error::{Failure, Kind, Result};
use crate::names::StepId;

/// A step on the host that only the simulator can do in this version of wdev: there it takes its time
/// and reports what it stands for.
pub struct SimulatedHostStep {
    /// See [`Step::id`].
    pub id: &'static str,
    /// See [`Step::title`].
    pub title: String,
    /// See [`Step::purpose`].
    pub purpose: String,
    /// See [`Step::inputs`].
    pub inputs: BTreeMap<String, String>,
    /// How long it takes.
    pub takes: Duration,
}

#[async_trait]
impl Step for SimulatedHostStep {
    fn id(&self) -> StepId {
        StepId::from(self.id)
    }

    fn title(&self) -> String {
        self.title.clone()
    }

    fn purpose(&self) -> String {
        self.purpose.clone()
    }

    fn phase(&self) -> &'static str {
        "artifacts"
    }

    fn inputs(&self) -> BTreeMap<String, String> {
        self.inputs.clone()
    }

    fn limits(&self) -> Limits {
        Limits {
            expected: self.takes,
            deadline: Duration::from_mins(30),
            attempts: 2,
            pause: Duration::from_secs(5),
        }
    }

    async fn probe(&self, _cx: &Context) -> Result<Probe> {
        Ok(Probe::InPlace)
    }

    async fn run(&self, cx: &Context) -> Result<Done> {
        if !cx.provider.features().simulated {
            return Err(not_built(&self.title));
        }
        cx.io.note(format!("simulated: {}", self.title));
        cx.clock.sleep(self.takes).await;
        Ok(Done {
            proven: true,
            ..Done::default()
        })
    }
}

/// The failure of a step that this version of wdev can only simulate.
#[must_use]
pub fn not_built(title: &str) -> Box<Failure> {
    Box::new(
        Failure::new(
            Kind::Step,
            format!("`{title}` is not built yet in this version of wdev"),
        )
        .because("on machines it would have to be skipped, and nothing is skipped silently")
        .advise(
            "everything before it is done and stays; `wdev up --provider sim` shows the whole flow",
        )
        .permanent(),
    )
}
