//! What `wdev status` knows of the licences of Windows nodes, from what their first contact has told.

use jiff::Timestamp;
use serde::Serialize;

use crate::engine::state::State;
use crate::names::LaneName;
use crate::plan::steps::first_contact;

/// From how many days on the end of a licence is warned of.
const SOON_DAYS: i64 = 14;

/// The licence of a Windows node.
#[derive(Debug, Serialize)]
pub(super) struct Licence {
    /// `licensed`, `evaluation`, `grace`, `expired`, `unlicensed` or `unknown`, as it was when the node was asked.
    pub(super) state: String,
    /// When it ends, where it does.
    pub(super) ends: Option<Timestamp>,
    /// Whole days until then; negative afterwards.
    pub(super) days_left: Option<i64>,
}

/// The licence of a node, where it has told of one.
pub(super) fn licence(state: &State, node: &LaneName, now: Timestamp) -> Option<Licence> {
    let fact = |key| state.fact(node, first_contact::ID, key);
    let ends: Option<Timestamp> =
        fact(first_contact::LICENCE_ENDS).and_then(|text| text.parse().ok());
    Some(Licence {
        state: fact(first_contact::LICENCE)?.to_owned(),
        ends,
        days_left: ends.map(|ends| (ends.as_second() - now.as_second()).div_euclid(86_400)),
    })
}

impl Licence {
    /// What the user should know of it.
    pub(super) fn warning(&self) -> Option<String> {
        let what = match self.state.as_str() {
            "unlicensed" => return Some("its Windows has no licence".to_owned()),
            "evaluation" => "the evaluation of its Windows",
            _ => "the licence of its Windows",
        };
        match self.days_left? {
            left if left < 0 => Some(format!(
                "{what} has ended, so that it may shut itself down every hour: `slmgr.vbs /rearm` on the node and a reboot prolong it"
            )),
            left if left <= SOON_DAYS => Some(format!(
                "{what} ends in {left} days: `slmgr.vbs /rearm` on the node and a reboot prolong it"
            )),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warning(state: &str, days_left: Option<i64>) -> Option<String> {
        Licence {
            state: state.to_owned(),
            ends: None,
            days_left,
        }
        .warning()
    }

    #[test]
    fn only_an_end_that_is_near_is_warned_of() {
        assert_eq!(warning("licensed", None), None);
        assert_eq!(warning("evaluation", Some(15)), None);
        let soon = warning("evaluation", Some(14)).unwrap();
        assert!(
            soon.contains("evaluation") && soon.contains("ends in 14 days"),
            "{soon}"
        );
        let over = warning("evaluation", Some(-1)).unwrap();
        assert!(
            over.contains("has ended") && over.contains("/rearm"),
            "{over}"
        );
        assert!(warning("grace", Some(0)).is_some() && warning("unlicensed", None).is_some());
    }
}
