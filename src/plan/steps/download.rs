//! Everything that the nodes need, brought to the host.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;

use super::guest::inputs;
use super::host::not_built;
use crate::artifacts::Store;
use crate::engine::step::{Context, Done, Limits, Probe, Step};
use crate::error::Result;
use crate::names::StepId;
use crate::plan::fetch;
use crate::release::{Artifact, Proof, Release};

/// The step's id: nodes wait for it.
pub const ID: &str = "download";

/// Brings every artifact of a release into the cache and leaves a fact for each: its SHA-256.
pub struct Download {
    /// What is fetched.
    pub release: Release,
    /// The cache; none in a simulation, and where nothing is ever run.
    pub store: Option<Store>,
}

impl Download {
    /// What of the artifacts is missing in the cache, if anything.
    fn missing(&self, store: &Store, cx: &Context) -> Option<String> {
        let lacks = |artifact: &&Artifact| {
            let hash = cx.fact(&cx.lane, ID, &fetch::name(artifact));
            // The user's own build may have been made anew.
            artifact.proof == Proof::Own || hash.is_none_or(|hash| store.find(&hash).is_none())
        };
        let first = self.release.artifacts.iter().find(lacks)?;
        Some(format!("{} is to be looked at", fetch::name(first)))
    }
}

#[async_trait]
impl Step for Download {
    fn id(&self) -> StepId {
        StepId::from(ID)
    }

    fn title(&self) -> String {
        format!(
            "download Kubernetes {} and what it needs",
            self.release.kubernetes.bare()
        )
    }

    fn purpose(&self) -> String {
        "the nodes get everything from the host".to_owned()
    }

    fn phase(&self) -> &'static str {
        "artifacts"
    }

    fn inputs(&self) -> BTreeMap<String, String> {
        let artifacts = &self.release.artifacts;
        let of = |one: &Artifact| format!("{} {} {}", fetch::name(one), one.url, one.sha256);
        let all: Vec<String> = artifacts.iter().map(of).collect();
        inputs([
            ("kubernetes.version", self.release.kubernetes.bare()),
            ("artifacts", all.join("\n")),
        ])
    }

    fn limits(&self) -> Limits {
        Limits {
            expected: Duration::from_secs(20),
            deadline: Duration::from_hours(1),
            attempts: 2,
            pause: Duration::from_secs(5),
        }
    }

    async fn probe(&self, cx: &Context) -> Result<Probe> {
        let missing = match &self.store {
            Some(store) if !cx.provider.features().simulated => self.missing(store, cx),
            _ => None,
        };
        Ok(missing.map_or(Probe::InPlace, Probe::Missing))
    }

    async fn run(&self, cx: &Context) -> Result<Done> {
        if cx.provider.features().simulated {
            cx.io.note(format!("simulated: {}", self.title()));
            cx.clock.sleep(self.limits().expected).await;
            return Ok(Done {
                proven: true,
                ..Done::default()
            });
        }
        let store = self
            .store
            .as_ref()
            .ok_or_else(|| not_built(&self.title()))?;
        let all = fetch::all(&self.release.artifacts, store, &cx.io).await?;
        let fact = |artifact: Artifact| (fetch::name(&artifact), artifact.sha256);
        Ok(Done {
            facts: all.into_iter().map(fact).collect(),
            proven: true,
            ..Done::default()
        })
    }
}
