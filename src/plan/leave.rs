//! `wdev node remove`: one worker leaves its cluster, then its machine goes.

use std::sync::Arc;
use std::time::Duration;

use super::node::Node;
use super::record::Record;
use super::steps::control_plane;
use super::steps::leave;
use super::steps::power::{Action, PowerStep};
use crate::engine::plan::{Lane, Plan, Planned};
use crate::engine::state::State;
use crate::error::Result;
use crate::names::StepKey;

/// The command.
pub const COMMAND: &str = "node remove";

/// The plan that takes `node` out of the sandbox. See [`leave::step`] for `patience` and `force`.
///
/// # Errors
/// When a script cannot be rendered.
pub fn plan(
    record: &Record,
    node: &Node,
    state: &State,
    patience: Duration,
    force: bool,
) -> Result<Plan> {
    let mut steps = Vec::new();
    let control_plane = record.nodes.iter().find(|node| node.is_control_plane());
    if let Some(control_plane) = control_plane {
        let made = state
            .steps
            .get(&StepKey::new(&control_plane.name, control_plane::ID));
        let cluster = made.is_some_and(|record| record.done.is_some());
        steps.push(Planned {
            step: Arc::new(leave::step(
                &node.name,
                &control_plane.name,
                patience,
                force,
            )?),
            after: Vec::new(),
            skip: (!cluster).then(|| "there is no cluster yet".to_owned()),
        });
    }
    steps.push(Planned {
        step: Arc::new(PowerStep {
            action: Action::Destroy,
            unique_name: node.unique_name.clone(),
        }),
        after: Vec::new(),
        skip: None,
    });
    Ok(Plan {
        command: COMMAND,
        sandbox: record.sandbox.clone(),
        lanes: vec![Lane {
            name: node.name.clone(),
            title: node.title(),
            steps,
        }],
        resumes: false,
    })
}
