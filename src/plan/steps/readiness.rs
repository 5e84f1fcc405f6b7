//! A step that waits for the cluster: when it fails, the cluster did not become ready.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::guest::GuestStep;
use crate::channel::Script;
use crate::engine::step::{Context, Done, Limits, OnChange, Probe, Step};
use crate::error::{Failure, Kind, Result};
use crate::names::StepId;

/// A [`GuestStep`] whose failures are [`Kind::NotReady`] rather than [`Kind::Step`].
#[derive(Debug, Clone)]
pub struct Readiness(pub GuestStep);

fn not_ready(mut failure: Box<Failure>) -> Box<Failure> {
    // What is permanent was not waited for: this version cannot do it at all.
    if failure.kind == Kind::Step && !failure.permanent {
        failure.kind = Kind::NotReady;
    }
    failure
}

#[async_trait]
impl Step for Readiness {
    fn id(&self) -> StepId {
        self.0.id()
    }

    fn title(&self) -> String {
        self.0.title()
    }

    fn purpose(&self) -> String {
        self.0.purpose()
    }

    fn phase(&self) -> &'static str {
        self.0.phase()
    }

    fn inputs(&self) -> BTreeMap<String, String> {
        self.0.inputs()
    }

    fn limits(&self) -> Limits {
        self.0.limits()
    }

    fn on_change(&self, changed: &[String]) -> OnChange {
        self.0.on_change(changed)
    }

    fn script(&self) -> Option<Script> {
        self.0.script()
    }

    async fn probe(&self, cx: &Context) -> Result<Probe> {
        self.0.probe(cx).await
    }

    async fn run(&self, cx: &Context) -> Result<Done> {
        self.0.run(cx).await.map_err(not_ready)
    }

    async fn verify(&self, cx: &Context, done: &Done) -> Result<()> {
        self.0.verify(cx, done).await.map_err(not_ready)
    }

    async fn undo(&self, cx: &Context) -> Result<()> {
        self.0.undo(cx).await
    }
}
