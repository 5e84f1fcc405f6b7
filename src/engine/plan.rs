//! A plan: lanes of steps, and the points where lanes wait for each other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::decide::Verdict;
use super::step::Step;
use crate::error::{Failure, Kind, Result};
use crate::event::{LaneInfo, StepInfo};
use crate::names::{LaneName, StepKey};

/// All lanes and their join points. `plan` prints it, the engine runs the same object.
#[derive(Clone)]
pub struct Plan {
    /// The command that it is for, such as `up`.
    pub command: &'static str,
    /// The sandbox's name.
    pub sandbox: String,
    /// The lanes, `host` first.
    pub lanes: Vec<Lane>,
    /// Whether what the journal calls done may be left alone. Without it every step runs.
    pub resumes: bool,
}

/// The steps of one node, or of the host, in order.
#[derive(Clone)]
pub struct Lane {
    /// The node's name, or `host`.
    pub name: LaneName,
    /// What it is, such as `control plane, Linux`.
    pub title: String,
    /// The steps in order.
    pub steps: Vec<Planned>,
}

/// A step in its lane.
#[derive(Clone)]
pub struct Planned {
    /// The step.
    pub step: Arc<dyn Step>,
    /// Steps of other lanes that must be done before it starts.
    pub after: Vec<StepKey>,
    /// Why the configuration makes it needless, if it does.
    pub skip: Option<String>,
}

impl Plan {
    /// Checks that the plan can end: every join point exists and no steps wait for each other.
    ///
    /// # Errors
    /// `Bug`: plans are built by wdev.
    pub fn check(&self) -> Result<()> {
        let bug = |text: String| Box::new(Failure::new(Kind::Bug, text));
        let mut waits: BTreeMap<StepKey, Vec<StepKey>> = BTreeMap::new();
        for lane in &self.lanes {
            let mut previous: Option<StepKey> = None;
            for planned in &lane.steps {
                let key = StepKey {
                    lane: lane.name.clone(),
                    step: planned.step.id(),
                };
                let mut on = planned.after.clone();
                on.extend(previous.take());
                if waits.insert(key.clone(), on).is_some() {
                    return Err(bug(format!("the plan has the step `{key}` twice")));
                }
                previous = Some(key);
            }
        }
        let mut done: BTreeSet<StepKey> = BTreeSet::new();
        while done.len() < waits.len() {
            let ready: Vec<StepKey> = waits
                .iter()
                .filter(|(key, on)| !done.contains(*key) && on.iter().all(|key| done.contains(key)))
                .map(|(key, _)| key.clone())
                .collect();
            if ready.is_empty() {
                let stuck: Vec<String> = waits
                    .keys()
                    .filter(|key| !done.contains(*key))
                    .map(ToString::to_string)
                    .collect();
                return Err(bug(format!(
                    "the plan cannot end: {} wait for each other",
                    stuck.join(", ")
                )));
            }
            done.extend(ready);
        }
        Ok(())
    }

    /// The plan as the first event and `wdev plan` show it.
    #[must_use]
    pub fn describe(&self, verdicts: &BTreeMap<StepKey, Verdict>) -> Vec<LaneInfo> {
        self.lanes
            .iter()
            .map(|lane| LaneInfo {
                lane: lane.name.clone(),
                title: lane.title.clone(),
                steps: lane
                    .steps
                    .iter()
                    .map(|planned| describe(lane, planned, verdicts))
                    .collect(),
            })
            .collect()
    }
}

fn describe(lane: &Lane, planned: &Planned, verdicts: &BTreeMap<StepKey, Verdict>) -> StepInfo {
    let step = planned.step.id();
    let key = StepKey {
        lane: lane.name.clone(),
        step: step.clone(),
    };
    let verdict = verdicts.get(&key).cloned().unwrap_or_default();
    StepInfo {
        step,
        title: planned.step.title(),
        phase: planned.step.phase().to_owned(),
        decision: verdict.decision,
        why: verdict.why,
        expected_ms: millis(planned.step.limits().expected),
        after: planned.after.iter().map(ToString::to_string).collect(),
    }
}

/// Whole milliseconds, as events count them.
pub(crate) fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
