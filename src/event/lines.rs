//! One event as one line for people: what plain output, the scroll of the terminal and `run.log` share.

use super::text::{clean, count, ms_text};
use super::{Body, Decision, Event, LaneInfo};
use crate::names::{LaneName, StepId};

/// What every simulated run says, in every kind of output.
pub const SIMULATION: &str = "SIMULATION: no machine is real";

/// How wide the columns for lane and step are, so that lines stand below each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Columns {
    lane: usize,
    step: usize,
}

impl Columns {
    /// Columns that the names of these lanes and steps fit into.
    #[must_use]
    pub fn of(lanes: &[LaneInfo]) -> Self {
        let lane = lanes.iter().map(|lane| lane.lane.as_str().len()).max();
        let steps = lanes.iter().flat_map(|lane| &lane.steps);
        let step = steps.map(|step| step.step.as_str().len()).max();
        Self {
            lane: lane.unwrap_or(0).min(15),
            step: step.unwrap_or(0).min(24),
        }
    }

    /// The lane and the step, padded, with the space that follows them.
    #[must_use]
    pub fn who(self, lane: &LaneName, step: &StepId) -> String {
        format!("{lane:<0$}  {step:<1$}  ", self.lane, self.step)
    }
}

/// The event as one line without its time, or none where there is nothing to say.
#[must_use]
pub fn event_line(event: &Event, columns: Columns) -> Option<String> {
    let text = what_happened(&event.body)?;
    let who = match (event.body.lane(), event.body.step()) {
        (Some(lane), Some(step)) => columns.who(lane, step),
        (Some(lane), None) => format!("{lane:<0$}  ", columns.lane),
        _ => String::new(),
    };
    Some(format!("{who}{text}"))
}

fn what_happened(body: &Body) -> Option<String> {
    Some(match body {
        Body::RunStarted {
            command,
            sandbox,
            provider,
            simulated,
            wdev,
            lanes,
        } => {
            let banner = if *simulated {
                format!("; {SIMULATION}")
            } else {
                String::new()
            };
            let plan = plan_text(lanes);
            format!(
                "wdev {wdev}: {command}, sandbox {sandbox}, provider {provider}: {plan}{banner}"
            )
        }
        Body::StepProbing { .. } => "checking that it is still done".to_owned(),
        Body::StepSkipped { why, .. } => format!("skipped: {}", clean(why)),
        Body::StepWaiting { on, .. } => format!("waiting for {}", on_text(on)),
        Body::StepStarted { attempt: 1, .. } => "started".to_owned(),
        Body::StepStarted { attempt, .. } => format!("started, attempt {attempt}"),
        Body::StepOutput { line, .. } => format!("| {}", clean(line)),
        Body::StepRetry {
            attempt,
            of,
            delay_ms,
            failure,
            ..
        } => format!(
            "attempt {attempt} of {of} failed, again in {}: {}",
            ms_text(*delay_ms),
            clean(&failure.to_string())
        ),
        Body::RebootStarted { .. } => "rebooting".to_owned(),
        Body::RebootProven { took_ms, .. } => format!("rebooted in {}", ms_text(*took_ms)),
        Body::StepFinished { took_ms, .. } => format!("done in {}", ms_text(*took_ms)),
        Body::StepFailed {
            took_ms, failure, ..
        } => format!(
            "FAILED after {}: {}",
            ms_text(*took_ms),
            clean(&failure.to_string())
        ),
        Body::StepCancelled { why, .. } => format!("stopped: {}", clean(why)),
        Body::StepBlocked { on, .. } => {
            format!("not run, because it needs {}", on_text(on))
        }
        Body::MachineReplaced { now: None, .. } => {
            "the machine is gone; what was recorded of it no longer holds".to_owned()
        }
        Body::MachineReplaced { .. } => {
            "the machine is another one; what was recorded of it no longer holds".to_owned()
        }
        Body::BootSeen { boot, .. } => format!("runs the boot {}", clean(boot)),
        Body::Intent { what, name, .. } => format!("about to create {what} `{}`", clean(name)),
        Body::Removed { what, name, .. } => format!("removed {what} `{}`", clean(name)),
        Body::Warning { message, advice } => match advice {
            Some(advice) => format!("warning: {}; {}", clean(message), clean(advice)),
            None => format!("warning: {}", clean(message)),
        },
        Body::Interrupting { signal } => {
            format!("stopping because of {signal}; once more to stop at once")
        }
        Body::RunFinished {
            outcome,
            took_ms,
            simulated,
            ..
        } => {
            let banner = if *simulated {
                format!("; {SIMULATION}")
            } else {
                String::new()
            };
            format!("{} after {}{banner}", outcome.word(), ms_text(*took_ms))
        }
        Body::Unknown => return None,
    })
}

/// How much there is to do: `3 nodes, 24 steps (20 to run, 4 to check)`.
#[must_use]
pub fn plan_text(lanes: &[LaneInfo]) -> String {
    let nodes = lanes.iter().filter(|lane| !lane.lane.is_host()).count();
    let decided = |wanted: &[Decision]| {
        let steps = lanes.iter().flat_map(|lane| &lane.steps);
        steps.filter(|s| wanted.contains(&s.decision)).count()
    };
    let mut parts = vec![format!(
        "{} to run",
        decided(&[Decision::Run, Decision::Recreate, Decision::Unknown])
    )];
    for (decision, text) in [(Decision::Probe, "to check"), (Decision::Skip, "to skip")] {
        let n = decided(&[decision]);
        if n > 0 {
            parts.push(format!("{n} {text}"));
        }
    }
    let steps = lanes.iter().map(|lane| lane.steps.len()).sum();
    format!(
        "{}, {} ({})",
        count(nodes, "node"),
        count(steps, "step"),
        parts.join(", ")
    )
}

/// A list of what is waited for, short enough for one line.
#[must_use]
pub fn on_text(on: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<_> = on.iter().take(SHOWN).map(|name| clean(name)).collect();
    match on.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
