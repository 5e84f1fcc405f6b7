//! What is to become of each step, from the journal alone; the nodes are asked later, by probes.

use std::collections::BTreeMap;

use super::plan::{Plan, Planned};
use super::state::{DoneRecord, State, Status, changed_inputs};
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
        let mut earlier: Vec<(&Planned, StepKey)> = Vec::new();
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
                match overtaken(plan, planned, &key, &earlier, state) {
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
            if done(&key, state).is_some_and(|done| !done.changed.is_empty()) {
                earlier.push((planned, key.clone()));
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
            OnChange::Rerun | OnChange::Alone => run(format!("changed: {what}")),
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
/// `earlier` are the steps before it in its lane that have ever changed.
fn overtaken(
    plan: &Plan,
    planned: &Planned,
    key: &StepKey,
    earlier: &[(&Planned, StepKey)],
    state: &State,
) -> Option<StepKey> {
    let place = done(key, state)?.place;
    let joined = planned.after.iter().find(|on| {
        done(on, state).is_some_and(|it| it.first > place || !it.changed.is_empty())
            && find(on, plan).is_some_and(|it| changed_since(place, it, on, state))
    });
    let mut earlier = earlier.iter().map(|(planned, on)| (*planned, on));
    let before = earlier.find(|(planned, on)| {
        done(on, state).is_some_and(|it| it.first <= place)
            && changed_since(place, planned, on, state)
    });
    joined.or(before.map(|(_, on)| on)).cloned()
}

/// Whether the step was done for the first time, or with other inputs that others depend on, after
/// `place`.
fn changed_since(place: u64, planned: &Planned, key: &StepKey, state: &State) -> bool {
    let Some(done) = done(key, state) else {
        return false;
    };
    let names = done.changed.iter().filter(|(_, at)| **at > place);
    let names: Vec<String> = names.map(|(name, _)| name.clone()).collect();
    done.first > place || !names.is_empty() && planned.step.on_change(&names) != OnChange::Alone
}

fn find<'a>(key: &StepKey, plan: &'a Plan) -> Option<&'a Planned> {
    plan.lanes
        .iter()
        .filter(|lane| lane.name == key.lane)
        .flat_map(|lane| &lane.steps)
        .find(|planned| planned.step.id() == key.step)
}

fn done<'a>(key: &StepKey, state: &'a State) -> Option<&'a DoneRecord> {
    state.steps.get(key)?.done.as_ref()
}

fn changes(planned: &Planned, done: &DoneRecord) -> Vec<String> {
    changed_inputs(&done.inputs, &hashed_inputs(&*planned.step))
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

/// Whether the step was finished with other inputs before, and others depend on them. What came after
/// it in its lane was then done on top of something that is about to change. A step that was merely cut
/// off while it was done again gives no such reason.
fn outdated(planned: &Planned, key: &StepKey, state: &State) -> bool {
    done(key, state).is_some_and(|done| {
        done.fingerprint != fingerprint(&*planned.step)
            && planned.step.on_change(&changes(planned, done)) != OnChange::Alone
    })
}

/// Whether the step was finished with the same inputs on the machine that is there now. Where it was
/// not, what other lanes did after it was done with something that is gone, such as a cluster.
fn same(key: &StepKey, plan: &Plan, state: &State) -> bool {
    find(key, plan)
        .is_none_or(|planned| done(key, state).is_some() && !outdated(planned, key, state))
}
