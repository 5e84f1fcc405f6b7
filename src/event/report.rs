//! What a person reads at the end: the failure, and what stands.

use std::fmt::Write;
use std::time::Duration;

use owo_colors::OwoColorize;

use super::lines::SIMULATION;
use super::text::{clean, count, fit, ms_text, width as columns_of};
use super::{NodeSummary, Outcome, Summary};
use crate::error::Failure;

pub use super::lines::event_line;
pub use super::text::duration_text;

/// The last lines of output that a failure shows.
const OUTPUT_LINES: usize = 20;

/// The nodes that a summary lists; those that are not ready come first when there are more.
const NODES_SHOWN: usize = 30;

/// Failures beside the first that are shown in full, and as one line each.
const OTHERS_IN_FULL: usize = 2;
const OTHERS_IN_LINES: usize = 10;

/// Narrower than this nothing can be laid out; the terminal wraps it.
const LEAST_WIDTH: usize = 30;

/// Everything about a failure that helps to go on: the step, the node, the command, the tail of its
/// output, the log, the advice, and `next`, the command to go on with (left out when empty). Prose is
/// wrapped at `width` columns; commands, paths and output are left whole, so that they can be pasted.
/// Ends with a newline.
#[must_use]
pub fn failure_text(failure: &Failure, width: usize, colored: bool, next: &str) -> String {
    let width = width.max(LEAST_WIDTH);
    let paint = Paint { colored };
    let mut text = String::new();
    wrap(
        &mut text,
        width,
        "error: ",
        "       ",
        &clean(&failure.message),
    );
    let mut text = text.replacen("error:", &paint.bad("error:"), 1);
    for cause in &failure.causes {
        wrap(&mut text, width, "  because ", "    ", &clean(cause));
    }
    let mut field = |name: &str, value: &str| {
        let name = paint.strong(&format!("{name:<9}"));
        let _ = writeln!(text, "  {name}{value}");
    };
    if let Some(lane) = &failure.lane {
        field("node", lane.as_str());
    }
    if let Some(step) = &failure.step {
        field("step", step.as_str());
    }
    if let Some(command) = &failure.command {
        field("command", &clean(command));
    }
    if let Some(log) = &failure.log {
        field("log", &log.display().to_string());
    }
    if !failure.output.is_empty() {
        let skipped = failure.output.len().saturating_sub(OUTPUT_LINES);
        let shown = count(failure.output.len() - skipped, "line");
        field("output", &format!("the last {shown}"));
        for line in failure.output.iter().skip(skipped) {
            let line = format!("    | {}", clean(line));
            let _ = writeln!(text, "{}", paint.dim(line.trim_end()));
        }
    }
    for advice in &failure.advice {
        wrap(&mut text, width, "  try: ", "       ", &clean(advice));
    }
    if !next.is_empty() {
        let _ = writeln!(text, "  to go on: {}", paint.strong(next));
    }
    text
}

/// The failures of a run beside the `first`, which is shown by itself: a few in full, then a line each.
/// Empty when there are none.
#[must_use]
pub fn other_failures_text(
    all: &[Failure],
    first: Option<&Failure>,
    width: usize,
    colored: bool,
) -> String {
    let is_first = |other: &Failure| {
        first.is_some_and(|first| {
            (&first.lane, &first.step) == (&other.lane, &other.step)
                || (first.lane.is_none() && first.message == other.message)
        })
    };
    let others: Vec<_> = all.iter().filter(|other| !is_first(other)).collect();
    let mut text = String::new();
    for (i, other) in others.iter().enumerate() {
        if i < OTHERS_IN_FULL {
            text.push('\n');
            text.push_str(&failure_text(other, width, colored, ""));
        } else if i < OTHERS_IN_FULL + OTHERS_IN_LINES {
            let lane = other.lane.as_ref().map_or("", |lane| lane.as_str());
            let step = other.step.as_ref().map_or("", |step| step.as_str());
            let _ = writeln!(
                text,
                "also failed: {lane}/{step}: {}",
                clean(&other.message)
            );
        } else {
            let _ = writeln!(text, "and {} more failed; see the logs", others.len() - i);
            break;
        }
    }
    text
}

/// What stands at the end of a run, how to reach it, where the logs are and how long each phase took,
/// laid out for `width` columns. Without colours, since it is a result. Ends with a newline.
#[must_use]
pub fn summary_text(
    summary: &Summary,
    outcome: Outcome,
    took: Duration,
    simulated: bool,
    width: usize,
) -> String {
    let width = width.max(LEAST_WIDTH);
    let mut text = String::new();
    if simulated {
        let _ = writeln!(text, "*** {SIMULATION} ***");
    }
    let _ = writeln!(text, "{} in {}", outcome.word(), duration_text(took));
    if !summary.nodes.is_empty() {
        text.push('\n');
        node_table(&mut text, &summary.nodes, width);
    }
    let mut phases = String::new();
    let name_width = summary.phases.iter().map(|p| columns_of(&p.phase)).max();
    for phase in &summary.phases {
        let name = fit(&phase.phase, name_width.unwrap_or(0).min(width / 2));
        let _ = writeln!(phases, "  {name}  {:>12}", ms_text(phase.took_ms));
    }
    if !phases.is_empty() {
        let _ = write!(text, "\ntime by phase (phases overlap)\n{phases}");
    }
    if summary.kubeconfig.is_some() || summary.logs.is_some() {
        text.push('\n');
    }
    if let Some(kubeconfig) = &summary.kubeconfig {
        let _ = writeln!(text, "kubeconfig  {}", kubeconfig.display());
    }
    if let Some(logs) = &summary.logs {
        let _ = writeln!(text, "logs        {}", logs.display());
    }
    if !summary.next.is_empty() {
        text.push_str("\nnext\n");
        for next in &summary.next {
            let _ = writeln!(text, "  {next}");
        }
    }
    text
}

fn node_table(text: &mut String, nodes: &[NodeSummary], width: usize) {
    const GAP: usize = 2;
    let mut shown: Vec<&NodeSummary> = nodes.iter().collect();
    if shown.len() > NODES_SHOWN {
        shown.sort_by_key(|node| node.state == "ready");
    }
    let hidden = shown.split_off(shown.len().min(NODES_SHOWN));
    let head = ["NODE", "STATE", "ADDRESS", "ROLE", "OS"].map(str::to_owned);
    let rows: Vec<[String; 5]> = std::iter::once(head)
        .chain(shown.iter().map(|node| {
            [
                clean(&node.name),
                clean(&node.state),
                clean(&node.address),
                clean(&node.role),
                clean(&node.os),
            ]
        }))
        .collect();
    for row in &rows {
        let mut line = String::new();
        let mut used = 0;
        for (i, cell) in row.iter().enumerate() {
            let column = rows.iter().filter_map(|row| row.get(i));
            let needed = column.map(|cell| columns_of(cell)).max().unwrap_or(0);
            let room = width.saturating_sub(used);
            // What matters most stands left; a column that has no room is cut or left out.
            if room < 4 {
                break;
            }
            line.push_str(&fit(cell, needed.min(room)));
            line.push_str(&" ".repeat(GAP));
            used += needed + GAP;
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if !hidden.is_empty() {
        let ready = hidden.iter().filter(|node| node.state == "ready").count();
        let _ = writeln!(text, "and {} more, {ready} of them ready", hidden.len());
    }
}

fn wrap(text: &mut String, width: usize, first: &str, rest: &str, prose: &str) {
    let options = textwrap::Options::new(width)
        .initial_indent(first)
        .subsequent_indent(rest)
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    for line in textwrap::wrap(prose, options) {
        let _ = writeln!(text, "{line}");
    }
}

struct Paint {
    colored: bool,
}

impl Paint {
    fn when(&self, text: &str, painted: impl std::fmt::Display) -> String {
        if self.colored {
            painted.to_string()
        } else {
            text.to_owned()
        }
    }

    fn bad(&self, text: &str) -> String {
        self.when(text, text.red().bold())
    }

    fn strong(&self, text: &str) -> String {
        self.when(text, text.bold())
    }

    fn dim(&self, text: &str) -> String {
        self.when(text, text.dimmed())
    }
}
