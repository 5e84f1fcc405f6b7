//! How long each phase of a run took.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::plan::{Plan, millis};
use crate::event::{Body, Event, PhaseTime};
use crate::names::StepKey;

/// Measures phases: from the first start to the last end of their steps.
pub(crate) struct Phases {
    of_step: BTreeMap<StepKey, String>,
    order: Vec<String>,
    spans: BTreeMap<String, (Duration, Duration)>,
    begun: BTreeSet<StepKey>,
}

impl Phases {
    pub fn new(plan: &Plan) -> Self {
        let of_step = plan
            .lanes
            .iter()
            .flat_map(|lane| lane.steps.iter().map(move |planned| (lane, planned)))
            .map(|(lane, planned)| {
                let key = StepKey {
                    lane: lane.name.clone(),
                    step: planned.step.id(),
                };
                (key, planned.step.phase().to_owned())
            })
            .collect();
        Self {
            of_step,
            order: Vec::new(),
            spans: BTreeMap::new(),
            begun: BTreeSet::new(),
        }
    }

    pub fn note(&mut self, event: &Event, now: Duration) {
        let (Body::StepStarted { lane, step, .. }
        | Body::StepFinished { lane, step, .. }
        | Body::StepFailed { lane, step, .. }
        | Body::StepCancelled { lane, step, .. }) = &event.body
        else {
            return;
        };
        let key = StepKey {
            lane: lane.clone(),
            step: step.clone(),
        };
        let Some(phase) = self.of_step.get(&key) else {
            return;
        };
        if matches!(event.body, Body::StepStarted { .. }) {
            self.begun.insert(key);
        } else if !self.begun.contains(&key) {
            // What was cancelled before it began took no time.
            return;
        }
        if let Some(span) = self.spans.get_mut(phase) {
            span.1 = now;
        } else {
            self.order.push(phase.clone());
            self.spans.insert(phase.clone(), (now, now));
        }
    }

    pub fn times(&self) -> Vec<PhaseTime> {
        self.order
            .iter()
            .filter_map(|phase| {
                let (start, end) = self.spans.get(phase)?;
                Some(PhaseTime {
                    phase: phase.clone(),
                    took_ms: millis(end.saturating_sub(*start)),
                })
            })
            .collect()
    }
}
