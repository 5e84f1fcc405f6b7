//! Takes a worker out of the cluster, through the control plane.

use std::time::Duration;

use async_trait::async_trait;

use super::guest::{GuestStep, done, inputs, judge};
use crate::channel::{Effect, Mode, Os};
use crate::engine::step::{Context, Done, Limits, OnChange, Probe, Step};
use crate::error::{Failure, Kind, Result};
use crate::event::Body;
use crate::names::LaneName;
use crate::render::linux_cluster;

/// The step's id.
pub const ID: &str = "leave";

/// How long pods may take to end where nobody insists on it.
const SHORT: Duration = Duration::from_secs(30);
/// What asking and deleting may take beside the pods.
const BESIDE: Duration = Duration::from_mins(2);

/// Drains the worker whose lane it is in, and deletes its node object.
pub struct Leave {
    script: GuestStep,
    control_plane: LaneName,
    /// Goes on whatever comes of it.
    force: bool,
}

/// The step for `node`. Its pods have `patience` to end; with `force` less, and what fails is only told.
///
/// # Errors
/// When the script cannot be rendered.
pub fn step(
    node: &LaneName,
    control_plane: &LaneName,
    patience: Duration,
    force: bool,
) -> Result<Leave> {
    let patience = if force { patience.min(SHORT) } else { patience };
    let script = GuestStep {
        id: ID.to_owned(),
        title: "drain the node and take it out of the cluster".to_owned(),
        purpose: "its pods are to end before its machine does".to_owned(),
        phase: "cluster",
        inputs: inputs([("node", node.to_string())]),
        limits: Limits {
            expected: Duration::from_secs(40),
            deadline: patience + BESIDE,
            // What has not ended by now will not end soon.
            attempts: 1,
            pause: Duration::ZERO,
        },
        os: Os::Linux,
        on_change: OnChange::Rerun,
        text: Some(linux_cluster::leave(
            node.as_str(),
            patience.as_secs(),
            force,
        )?),
        effects: vec![
            Effect::Takes(5_000),
            Effect::Left {
                node: node.to_string(),
                force,
            },
        ],
    };
    Ok(Leave {
        script,
        control_plane: control_plane.clone(),
        force,
    })
}

impl Leave {
    async fn ask(&self, mode: Mode, cx: &Context) -> Result<crate::channel::Report> {
        let mut script = self.script.script_for(mode);
        // For this time alone: an earlier end says nothing of a node that has come back.
        script.fingerprint = format!("{}-{}", cx.lane, jiff::Timestamp::now().as_nanosecond());
        let channel = cx.provider.channel(&self.control_plane);
        channel.run(&script, &cx.io).await
    }

    /// With `force` a failure is told and passed over.
    fn unless_forced<T>(&self, result: Result<T>, instead: T, cx: &Context) -> Result<T> {
        match result {
            Err(failure) if self.force && failure.kind != Kind::Interrupted => {
                cx.recorder.tell(Body::Warning {
                    message: format!("`{}` could not leave the cluster: {failure}", cx.lane),
                    advice: Some(format!(
                        "see whether `wdev kubectl get nodes` still shows it; `wdev kubectl delete node {}` \
                         removes it",
                        cx.lane
                    )),
                });
                Ok(instead)
            }
            other => other,
        }
    }
}

#[async_trait]
impl Step for Leave {
    told_by!(script);

    async fn probe(&self, cx: &Context) -> Result<Probe> {
        Ok(judge(self.ask(Mode::Probe, cx).await?))
    }

    async fn run(&self, cx: &Context) -> Result<Done> {
        let ran = self.ask(Mode::Run, cx).await.map_err(|failure| {
            Box::new(
                failure
                    .advise(format!(
                        "see what stands in the way: `wdev kubectl get pods -A --field-selector \
                         spec.nodeName={}`",
                        cx.lane
                    ))
                    .advise("or go on whatever it says: add `--force`"),
            )
        });
        let left = Done {
            proven: true,
            ..Done::default()
        };
        self.unless_forced(ran.map(done), left, cx)
    }

    async fn verify(&self, cx: &Context, done: &Done) -> Result<()> {
        if done.proven {
            return Ok(());
        }
        let proven = match self.probe(cx).await {
            Ok(Probe::InPlace) => Ok(()),
            Ok(Probe::Missing(why) | Probe::RebootPending(why)) => Err(Box::new(
                Failure::new(
                    Kind::Step,
                    format!("`{}` did not leave the cluster", cx.lane),
                )
                .because(why)
                .advise("go on whatever it says: add `--force`"),
            )),
            Err(failure) => Err(failure),
        };
        self.unless_forced(proven, (), cx)
    }
}
