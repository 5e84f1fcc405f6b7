//! The runner of one lane: its steps in order, to the first that does not end well.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::board::{Board, Waited};
use super::decide::Verdict;
use super::plan::{Lane, Planned};
use super::recorder::Recorder;
use super::runner::{End, Runner};
use super::step::Known;
use crate::clock::Clock;
use crate::error::Result;
use crate::event::Body;
use crate::names::{LaneName, StepId, StepKey};
use crate::provider::Provider;
use crate::stop::Stop;

/// Tells where the log of a step is.
pub type LogPath = Box<dyn Fn(&LaneName, &StepId) -> PathBuf + Send + Sync>;

/// What all lanes of a run share.
pub(crate) struct Shared {
    pub provider: Arc<dyn Provider>,
    pub clock: Clock,
    pub recorder: Recorder,
    pub known: Known,
    pub board: Board,
    pub stop: Stop,
    pub verdicts: BTreeMap<StepKey, Verdict>,
    pub limits: MachineLimits,
    pub log_path: LogPath,
}

/// How long machines may take.
#[derive(Debug, Clone, Copy)]
pub struct MachineLimits {
    /// From the start of a machine until it answers.
    pub boot: Duration,
    /// From a reboot until it is proven.
    pub reboot: Duration,
}

/// Runs one lane to its end.
///
/// # Errors
/// Only when the journal could not be written; all else is recorded and ends the lane.
pub(crate) async fn run(shared: Arc<Shared>, lane: Lane) -> Result<()> {
    for (position, planned) in lane.steps.iter().enumerate() {
        let runner = Runner::new(&shared, &lane, planned);
        let end = match runner.join().await {
            Waited::Ready => runner.step().await?,
            Waited::Stopped => End::Stopped,
            Waited::Blocked(on) => {
                blocked(&shared, &lane.name, &lane.steps[position..], &on).await?;
                return Ok(());
            }
        };
        match end {
            End::Done => shared.board.end(&runner.key, true),
            End::Failed => {
                shared.board.end(&runner.key, false);
                let rest = &lane.steps[position + 1..];
                blocked(&shared, &lane.name, rest, std::slice::from_ref(&runner.key)).await?;
                return Ok(());
            }
            End::Stopped => {
                cancelled(&shared, &lane.name, &lane.steps[position..]).await?;
                return Ok(());
            }
        }
    }
    Ok(())
}

async fn blocked(
    shared: &Shared,
    lane: &LaneName,
    steps: &[Planned],
    on: &[StepKey],
) -> Result<()> {
    let on: Vec<String> = on.iter().map(ToString::to_string).collect();
    ended(shared, lane, steps, |lane, step| {
        let on = on.clone();
        Body::StepBlocked { lane, step, on }
    })
    .await
}

async fn cancelled(shared: &Shared, lane: &LaneName, steps: &[Planned]) -> Result<()> {
    ended(shared, lane, steps, |lane, step| {
        let why = "the run was asked to stop".to_owned();
        Body::StepCancelled { lane, step, why }
    })
    .await
}

/// Records of steps that they did not run, and lets nobody wait for them.
async fn ended(
    shared: &Shared,
    lane: &LaneName,
    steps: &[Planned],
    body: impl Fn(LaneName, StepId) -> Body,
) -> Result<()> {
    for planned in steps {
        let step = planned.step.id();
        let key = StepKey::new(lane, step.as_str());
        shared.board.end(&key, false);
        shared.recorder.record(body(lane.clone(), step)).await?;
    }
    Ok(())
}
