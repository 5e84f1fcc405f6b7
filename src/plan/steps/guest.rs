//! A step that is one script on its node; most are.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;

use crate::channel::{Effect, Mode, Os, Report, Script};
use crate::config::model::Timeouts;
use crate::engine::step::{Context, Done, Limits, OnChange, Probe, Step, fingerprint};
use crate::error::{Failure, Kind, Result};
use crate::names::StepId;

/// A step that is one script on its node.
#[derive(Debug, Clone)]
pub struct GuestStep {
    /// See [`Step::id`].
    pub id: String,
    /// See [`Step::title`].
    pub title: String,
    /// See [`Step::purpose`].
    pub purpose: String,
    /// See [`Step::phase`].
    pub phase: &'static str,
    /// See [`Step::inputs`]; the script's text is added.
    pub inputs: BTreeMap<String, String>,
    /// See [`Step::limits`].
    pub limits: Limits,
    /// The operating system that the script is for.
    pub os: Os,
    /// The script, or nothing while this version of wdev has none: then only the simulator can.
    pub text: Option<String>,
    /// What the script changes.
    pub effects: Vec<Effect>,
    /// See [`Step::on_change`].
    pub on_change: OnChange,
}

impl GuestStep {
    /// The script of this step, for running or for probing.
    #[must_use]
    pub fn script_for(&self, mode: Mode) -> Script {
        Script {
            name: self.id.clone(),
            os: self.os,
            mode,
            text: self.text.clone(),
            effects: self.effects.clone(),
            fingerprint: fingerprint(self),
            secrets: BTreeMap::new(),
        }
    }

    /// Asks the node whether the script's change is in place.
    ///
    /// # Errors
    /// When the node could not be asked.
    pub async fn ask(&self, cx: &Context) -> Result<Probe> {
        let report = cx
            .channel()
            .run(&self.script_for(Mode::Probe), &cx.io)
            .await?;
        Ok(judge(report))
    }

    /// Holds that the change is in place: the run has proven it, or the node says so when it is asked.
    ///
    /// # Errors
    /// `Step` when nothing came of a script that ran to its end; when the node could not be asked.
    pub async fn proven(
        &self,
        done: &Done,
        ask: impl Future<Output = Result<Probe>> + Send,
    ) -> Result<()> {
        if done.proven {
            return Ok(());
        }
        match ask.await? {
            Probe::InPlace => Ok(()),
            Probe::Missing(why) | Probe::RebootPending(why) => Err(Box::new(
                Failure::new(
                    Kind::Step,
                    format!("`{}` ran, but the node says it is not done", self.title),
                )
                .because(why),
            )),
        }
    }
}

/// What a probe's report says.
#[must_use]
pub fn judge(report: Report) -> Probe {
    let why = report.why.unwrap_or_else(|| "the node says so".to_owned());
    match (report.in_place, report.reboot_wanted) {
        (true, _) => Probe::InPlace,
        (false, true) => Probe::RebootPending(why),
        (false, false) => Probe::Missing(why),
    }
}

#[async_trait]
impl Step for GuestStep {
    fn id(&self) -> StepId {
        StepId::new(&self.id)
    }

    fn title(&self) -> String {
        self.title.clone()
    }

    fn purpose(&self) -> String {
        self.purpose.clone()
    }

    fn phase(&self) -> &'static str {
        self.phase
    }

    fn inputs(&self) -> BTreeMap<String, String> {
        let mut inputs = self.inputs.clone();
        if let Some(text) = &self.text {
            inputs.insert("script".to_owned(), text.clone());
        }
        inputs
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn on_change(&self, _changed: &[String]) -> OnChange {
        self.on_change
    }

    fn script(&self) -> Option<Script> {
        Some(self.script_for(Mode::Run))
    }

    async fn probe(&self, cx: &Context) -> Result<Probe> {
        self.ask(cx).await
    }

    async fn run(&self, cx: &Context) -> Result<Done> {
        let report = cx
            .channel()
            .run(&self.script_for(Mode::Run), &cx.io)
            .await?;
        Ok(done(report))
    }

    async fn verify(&self, cx: &Context, done: &Done) -> Result<()> {
        self.proven(done, self.ask(cx)).await
    }
}

/// What a script that ran to its end achieved.
#[must_use]
pub fn done(report: Report) -> Done {
    Done {
        facts: report.facts,
        machine: None,
        reboot_wanted: report.reboot_wanted,
        proven: report.in_place && !report.reboot_wanted,
    }
}

/// The limits of an ordinary script that usually takes `expected`.
#[must_use]
pub fn limits(timeouts: &Timeouts, expected: Duration) -> Limits {
    Limits {
        expected,
        deadline: timeouts.step,
        attempts: 3,
        pause: Duration::from_secs(5),
    }
}

/// Inputs from pairs.
#[must_use]
pub fn inputs<const N: usize>(pairs: [(&str, String); N]) -> BTreeMap<String, String> {
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
