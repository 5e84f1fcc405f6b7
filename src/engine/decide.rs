//! What is to become of each step, from the journal alone; the nodes are asked later, by probes.

use std::collections::BTreeMap;

use super::plan::{Plan, Planned};
use super::state::{DoneRecord, State, Status};
use super::step::{OnChange, fingerprint, hashed_inputs};
use crate::event::Decision;
use crate::names::StepKey;

/// What is to become of a step, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What.
    pub decision: Decision,
    /// Why, in a few words.
    pub why: String,
}

impl Default for Verdict {
    fn default() -> Self {
        Self {
            decision: Decision::Run,
            why: String::new(),
        }
    }
}

/// Decides every step of a plan.
///
/// A step whose inputs changed runs again, and so does what comes after it: in its own lane, and in
/// other lanes where a join point names it, also when an earlier run got no further than the change.
#[must_use]
pub fn decide(plan: &Plan, state: &State) -> BTreeMap<StepKey, Verdict> {
    let mut verdicts = BTreeMap::new();
    for lane in &plan.lanes {
        let mut changed: Option<(u64, StepKey)> = None;
        for planned in &lane.steps {
            let key = StepKey {
                lane: lane.name.clone(),
                step: planned.step.id(),
            };
            let verdict = if let Some(why) = &planned.skip {
                Verdict {
                    decision: Decision::Skip,
                    why: why.clone(),
                }
            } else if plan.resumes {
                let verdict = alone(planned, &key, state);
                match overtaken(planned, &key, changed.as_ref(), state) {
                    Some(on) if verdict.decision == Decision::Probe => Verdict {
                        decision: Decision::Run,
                        why: format!("`{on}` has changed since it was done"),
                    },
                    _ => verdict,
                }
            } else {
                Verdict {
                    decision: Decision::Run,
                    why: planned.step.purpose(),
                }
            };
            let at = done(&key, state).map_or(0, |done| done.changed);
            if at > changed.as_ref().map_or(0, |(newest, _)| *newest) {
                changed = Some((at, key.clone()));
            }
            verdicts.insert(key, verdict);
        }
    }
    if plan.resumes {
        // Each pass carries a change over one more join point; a plan has few of them in a row.
        while carry_over(plan, state, &mut verdicts) {}
    }
    verdicts
}

fn alone(planned: &Planned, key: &StepKey, state: &State) -> Verdict {
    let run = |why: String| Verdict {
        decision: Decision::Run,
        why,
    };
    let Some(record) = state.steps.get(key) else {
        return run(planned.step.purpose());
    };
    if let Some(done) = &record.done
        && done.fingerprint != fingerprint(&*planned.step)
    {
        let changed = changes(planned, done);
        let what = if changed.is_empty() {
            "its inputs".to_owned()
        } else {
            changed.join(", ")
        };
        return match planned.step.on_change(&changed) {
            OnChange::Rerun => run(format!("changed: {what}")),
            OnChange::Recreate => Verdict {
                decision: Decision::Recreate,
                why: format!("changed: {what}; that needs a new machine"),
            },
        };
    }
    match &record.status {
        Status::Started => run("it was cut off in the middle".to_owned()),
        Status::Failed(failure) => run(format!("it failed: {}", failure.message)),
        Status::Cancelled => run("it was interrupted".to_owned()),
        Status::Done => Verdict {
            decision: Decision::Probe,
            why: "done before; the node is asked whether it still is".to_owned(),
        },
    }
}

/// The step that was changed after this one was done, by a run that did not live to do this one again.
/// `changed` is the last of its lane's earlier steps that changed, and its place.
fn overtaken(
    planned: &Planned,
    key: &StepKey,
    changed: Option<&(u64, StepKey)>,
    state: &State,
) -> Option<StepKey> {
    let place = done(key, state)?.place;
    let joined = planned
        .after
        .iter()
        .find(|on| done(on, state).is_some_and(|on| on.renewed > place));
    let earlier = changed.filter(|(at, _)| *at > place).map(|(_, on)| on);
    joined.or(earlier).cloned()
}

fn done<'a>(key: &StepKey, state: &'a State) -> Option<&'a DoneRecord> {
    state.steps.get(key)?.done.as_ref()
}

fn changes(planned: &Planned, done: &DoneRecord) -> Vec<String> {
    let now = hashed_inputs(&*planned.step);
    let mut names: Vec<String> = now
        .iter()
        .filter(|(name, hash)| done.inputs.get(*name) != Some(hash))
        .map(|(name, _)| name)
        .chain(done.inputs.keys().filter(|name| !now.contains_key(*name)))
        .cloned()
        .collect();
    names.sort_unstable();
    names
}

/// One pass; tells whether anything changed.
fn carry_over(plan: &Plan, state: &State, verdicts: &mut BTreeMap<StepKey, Verdict>) -> bool {
    let mut changed = false;
    for lane in &plan.lanes {
        let mut cause: Option<StepKey> = None;
        for (position, planned) in lane.steps.iter().enumerate() {
            let key = StepKey {
                lane: lane.name.clone(),
                step: planned.step.id(),
            };
            let joined = planned
                .after
                .iter()
                .find(|on| runs(on, verdicts) && !same(on, plan, state));
            // The first step makes the machine: what happens to others does not make it run again.
            if let (Some(on), Some(verdict)) = (joined.or(cause.as_ref()), verdicts.get_mut(&key))
                && verdict.decision == Decision::Probe
                && position > 0
            {
                *verdict = Verdict {
                    decision: Decision::Run,
                    why: format!("`{on}` runs again"),
                };
                changed = true;
            }
            if runs(&key, verdicts) && outdated(planned, &key, state) {
                cause = Some(key);
            }
        }
    }
    changed
}

fn runs(key: &StepKey, verdicts: &BTreeMap<StepKey, Verdict>) -> bool {
    verdicts
        .get(key)
        .is_some_and(|verdict| matches!(verdict.decision, Decision::Run | Decision::Recreate))
}

/// Whether the step was finished with other inputs before. What came after it in its lane was then
/// done on top of something that is about to change. A step that was merely cut off while it was done
/// again gives no such reason.
fn outdated(planned: &Planned, key: &StepKey, state: &State) -> bool {
    done(key, state).is_some_and(|done| done.fingerprint != fingerprint(&*planned.step))
}

/// Whether the step was finished with the same inputs on the machine that is there now. Where it was
/// not, what other lanes did after it was done with something that is gone, such as a cluster.
fn same(key: &StepKey, plan: &Plan, state: &State) -> bool {
    let planned = plan
        .lanes
        .iter()
        .filter(|lane| lane.name == key.lane)
        .flat_map(|lane| &lane.steps)
        .find(|planned| planned.step.id() == key.step);
    planned.is_none_or(|planned| done(key, state).is_some() && !outdated(planned, key, state))
}
