//! `wdev halt` and `wdev destroy`: one step for each machine, whatever else is true of it.

use std::sync::Arc;

use super::node::Node;
use super::steps::power::{Action, PowerStep};
use crate::engine::plan::{Lane, Plan, Planned};

/// The plan that shuts down or removes the machines of `nodes`.
#[must_use]
pub fn plan(sandbox: &str, nodes: &[Node], action: Action) -> Plan {
    let lanes = nodes
        .iter()
        .map(|node| {
            let step = Arc::new(PowerStep {
                action,
                unique_name: node.unique_name.clone(),
            });
            Lane {
                title: node.title(),
                name: node.name.clone(),
                steps: vec![Planned {
                    step,
                    after: Vec::new(),
                    skip: None,
                }],
            }
        })
        .collect();
    Plan {
        command: action.id(),
        sandbox: sandbox.to_owned(),
        lanes,
        resumes: false,
    }
}
