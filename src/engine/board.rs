//! Where lanes learn how the steps ended that they wait for.

use std::collections::BTreeMap;

use tokio::sync::watch;

use super::plan::Plan;
use crate::names::StepKey;
use crate::stop::{Level, Stop};

/// One place for each step that some lane waits for.
pub(crate) struct Board {
    ends: BTreeMap<StepKey, watch::Sender<Option<bool>>>,
}

/// How waiting ended.
pub(crate) enum Waited {
    /// Everything that was waited for is done.
    Ready,
    /// These did not end well.
    Blocked(Vec<StepKey>),
    /// The run was asked to stop.
    Stopped,
}

impl Board {
    pub fn new(plan: &Plan) -> Self {
        let ends = plan
            .lanes
            .iter()
            .flat_map(|lane| &lane.steps)
            .flat_map(|planned| &planned.after)
            .map(|key| (key.clone(), watch::Sender::new(None)))
            .collect();
        Self { ends }
    }

    /// Notes how a step ended.
    pub fn end(&self, key: &StepKey, well: bool) {
        if let Some(end) = self.ends.get(key) {
            end.send_replace(Some(well));
        }
    }

    /// Those of `keys` that have not ended.
    pub fn open(&self, keys: &[StepKey]) -> Vec<StepKey> {
        keys.iter()
            .filter(|key| {
                self.ends
                    .get(*key)
                    .is_some_and(|end| end.borrow().is_none())
            })
            .cloned()
            .collect()
    }

    /// Waits until all of `keys` have ended.
    pub async fn wait(&self, keys: &[StepKey], stop: &Stop) -> Waited {
        let mut blocked = Vec::new();
        for key in keys {
            let Some(end) = self.ends.get(key) else {
                continue;
            };
            let mut end = end.subscribe();
            let ended = tokio::select! {
                biased;
                ended = end.wait_for(Option::is_some) => ended.ok().and_then(|ended| *ended),
                () = stop.reached(Level::Interrupt) => return Waited::Stopped,
            };
            if ended != Some(true) {
                blocked.push(key.clone());
            }
        }
        if blocked.is_empty() {
            Waited::Ready
        } else {
            Waited::Blocked(blocked)
        }
    }
}
