//! `wdev plan`

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use clap::Args;

use super::release::Effort;
use super::{Format, Globals, Overrides, session, up};
use crate::engine::decide::decide;
use crate::error::{Failure, Kind, Result};
use crate::event::report::duration_text;
use crate::event::{Decision, LaneInfo, StepInfo};
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  wdev plan --cni antrea\n  wdev plan -o json | jq '.lanes[].steps[] | select(.decision == \"run\")'"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    overrides: Overrides,
}

pub(super) fn run(globals: &Globals, arguments: &Arguments, ui: &Ui) -> Result<u8> {
    let format = globals.format(&[Format::Text, Format::Json])?;
    let session = session::load(globals, &arguments.overrides, ui)?;
    let up::Prepared {
        plan,
        record,
        why_provider,
        warning: _,
        state,
    } = up::prepare(&session, Effort::Assume, ui)?;
    let lanes = plan.describe(&decide(&plan, &state));
    let simulated = record.provider == crate::config::model::ProviderName::Sim;
    let expected = expected(&lanes);
    if format == Format::Json {
        let report = serde_json::json!({
            "version": 1,
            "command": plan.command,
            "sandbox": plan.sandbox,
            "provider": record.provider,
            "why_provider": why_provider,
            "simulated": simulated,
            "expected_ms": u64::try_from(expected.as_millis()).unwrap_or(u64::MAX),
            "lanes": lanes,
        });
        let text = serde_json::to_string_pretty(&report)
            .map_err(|error| Failure::new(Kind::Bug, "cannot write JSON").because(error))?;
        ui.out(&format!("{text}\n"))?;
        return Ok(0);
    }
    let mut text = format!("sandbox {} on {}", plan.sandbox, record.provider);
    if let Some(why) = why_provider {
        let _ = write!(text, " ({why})");
    }
    if simulated {
        text.push_str(" (a simulation: no machine is real)");
    }
    text.push('\n');
    for lane in &lanes {
        lane_text(lane, &mut text);
    }
    closing_text(&lanes, expected, &mut text);
    ui.out(&text)?;
    Ok(0)
}

fn lane_text(lane: &LaneInfo, text: &mut String) {
    let _ = writeln!(text, "\n{}  ({})", lane.lane, lane.title);
    let width = lane
        .steps
        .iter()
        .map(|step| step.step.as_str().len())
        .max()
        .unwrap_or(0);
    for StepInfo {
        step,
        title,
        decision,
        why,
        expected_ms,
        after,
        ..
    } in &lane.steps
    {
        let (word, time) = match decision {
            Decision::Run | Decision::Unknown => ("run", about(*expected_ms)),
            Decision::Probe => ("check", String::new()),
            Decision::Skip => ("skip", String::new()),
            Decision::Recreate => ("RECREATE", about(*expected_ms)),
        };
        let _ = writeln!(text, "  {word:8}  {step:width$}  {title}{time}");
        let indent = 2 + 8 + 2 + width + 2;
        if *decision != Decision::Probe {
            let _ = writeln!(text, "{:indent$}{why}", "");
        }
        if !after.is_empty() {
            let _ = writeln!(
                text,
                "{:indent$}waits for {}",
                "",
                crate::event::lines::on_text(after)
            );
        }
    }
}

/// An expectation needs no tenths of a second.
fn whole(duration: Duration) -> String {
    duration_text(Duration::from_secs(duration.as_secs())).replace(".0 s", " s")
}

fn about(ms: u64) -> String {
    format!(", about {}", whole(Duration::from_millis(ms)))
}

fn closing_text(lanes: &[LaneInfo], expected: Duration, text: &mut String) {
    if lanes
        .iter()
        .flat_map(|lane| &lane.steps)
        .any(|step| step.decision == Decision::Probe)
    {
        text.push_str("\ncheck: done before; the node is asked whether it still is\n");
    }
    let _ = writeln!(
        text,
        "\n{}{}",
        crate::event::lines::plan_text(lanes),
        if expected.is_zero() {
            String::new()
        } else {
            format!("; about {} in all", whole(expected))
        }
    );
    let recreated: Vec<&str> = lanes
        .iter()
        .filter(|lane| {
            lane.steps
                .iter()
                .any(|step| step.decision == Decision::Recreate)
        })
        .map(|lane| lane.lane.as_str())
        .collect();
    if !recreated.is_empty() {
        let _ = writeln!(
            text,
            "`up` will touch nothing: {} must be recreated first; `wdev up --recreate` does that",
            recreated.join(", ")
        );
    }
}

/// How long the longest way through the plan takes: lanes run side by side, and wait for each other.
fn expected(lanes: &[LaneInfo]) -> Duration {
    let mut ends: BTreeMap<String, u64> = BTreeMap::new();
    let total = lanes.iter().map(|lane| lane.steps.len()).sum::<usize>();
    // A plan is checked to have no circles: each pass settles at least one step more.
    for _ in 0..=total {
        let before = ends.clone();
        for lane in lanes {
            let mut now = 0;
            for step in &lane.steps {
                let joined = step
                    .after
                    .iter()
                    .filter_map(|on| ends.get(on))
                    .max()
                    .copied()
                    .unwrap_or(0);
                let takes = match step.decision {
                    Decision::Run | Decision::Recreate | Decision::Unknown => step.expected_ms,
                    Decision::Probe | Decision::Skip => 0,
                };
                now = now.max(joined) + takes;
                ends.insert(format!("{}/{}", lane.lane, step.step), now);
            }
        }
        if ends == before {
            break;
        }
    }
    Duration::from_millis(ends.values().max().copied().unwrap_or(0))
}
