//! `wdev status`

use std::fmt::Write as _;

use clap::Args;
use serde::Serialize;

use super::licence::{self, Licence};
use super::provider::{self, SimArguments};
use super::run::block_on;
use super::{Format, Globals, session};
use crate::channel::Io;
use crate::clock::Clock;
use crate::config::model::ProviderName;
use crate::engine::journal;
use crate::engine::state::{State, Status};
use crate::error::{Failure, Result};
use crate::event::{Outcome, lines::SIMULATION};
use crate::home::{Holder, SandboxFolder};
use crate::names::StepId;
use crate::plan::node::Node;
use crate::plan::record::Record;
use crate::plan::steps::power::is_action;
use crate::provider::{Machine, Power};
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  wdev status\n  wdev status -o json | jq -r '.nodes[] | [.name, .power] | @tsv'"
)]
pub(super) struct Arguments {}

/// The machine-readable status; its format is versioned.
#[derive(Serialize)]
struct Report {
    version: u32,
    sandbox: String,
    provider: ProviderName,
    simulated: bool,
    /// The run that is going on, if one is.
    running: Option<Holder>,
    last_run: Option<LastRun>,
    nodes: Vec<NodeReport>,
}

#[derive(Serialize)]
struct LastRun {
    command: String,
    started: jiff::Timestamp,
    /// `done`, `failed`, `interrupted`, or `cut off` when it did not live to say.
    outcome: &'static str,
    failure: Option<Failure>,
}

#[derive(Serialize)]
struct NodeReport {
    name: String,
    role: &'static str,
    os: String,
    address: String,
    /// What the provider says now, or `unknown` while a run goes on.
    power: &'static str,
    detail: String,
    id: Option<String>,
    /// How many steps are done.
    done: usize,
    /// The step that was begun last and is not done.
    step: Option<StepId>,
    /// `running`, `failed`, `interrupted` or `done`.
    phase: &'static str,
    failure: Option<Failure>,
    /// Of a Windows node that has told.
    licence: Option<Licence>,
}

pub(super) fn run(globals: &Globals, _arguments: &Arguments, ui: &Ui) -> Result<u8> {
    let format = globals.format(&[Format::Text, Format::Json])?;
    let (folder, record) = session::recorded(globals)?;
    let state = State::from_events(&journal::read(&folder.journal())?.events);
    let running = folder.holder();
    // A question to the provider can disturb a run that is going on.
    let (machines, unasked) = if running.is_some() {
        (Vec::new(), None)
    } else {
        match look(&record, &folder) {
            Ok(machines) => (machines, None),
            Err(failure) => (Vec::new(), Some(failure)),
        }
    };
    let nodes = record.nodes.iter().enumerate();
    let report = Report {
        version: 1,
        sandbox: record.sandbox.clone(),
        provider: record.provider,
        simulated: record.provider == ProviderName::Sim,
        last_run: state.last_run.as_ref().map(|last| LastRun {
            command: last.command.clone(),
            started: last.started,
            outcome: if running.is_some() {
                "going on"
            } else {
                last_word(&state)
            },
            failure: last.failure.clone(),
        }),
        nodes: nodes
            .map(|(index, node)| describe(node, machines.get(index), &state, running.is_some()))
            .collect(),
        running,
    };
    let text = match format {
        Format::Json => serde_json::to_string_pretty(&report)
            .map(|json| json + "\n")
            .map_err(|error| {
                Failure::new(crate::error::Kind::Bug, "cannot write JSON").because(error)
            })?,
        _ => text(&report),
    };
    ui.out(&text)?;
    // What the journal knows is shown also where the machines could not be asked.
    unasked.map_or(Ok(0), Err)
}

/// How the last run ended, in a word or two.
pub(super) fn last_word(state: &State) -> &'static str {
    match state.last_run.as_ref().map(|last| last.outcome) {
        None => "none",
        Some(None) => "cut off",
        Some(Some(Outcome::Done)) => "done",
        Some(Some(Outcome::Failed)) => "failed",
        Some(Some(Outcome::Interrupted)) => "interrupted",
        Some(Some(Outcome::Unknown)) => "unknown",
    }
}

fn look(record: &Record, folder: &SandboxFolder) -> Result<Vec<Machine>> {
    block_on(record.provider == ProviderName::Sim, async {
        let provider = provider::open(record, folder, Clock::new(), &SimArguments::default())?;
        let looks: Vec<_> = record
            .nodes
            .iter()
            .map(|node| {
                let (provider, name) = (provider.clone(), node.name.clone());
                tokio::spawn(async move { provider.inspect(&name, &Io::silent()).await })
            })
            .collect();
        let mut machines = Vec::new();
        for look in looks {
            let machine = look.await.map_err(|error| {
                Failure::new(crate::error::Kind::Bug, "a part of wdev broke down").because(error)
            })?;
            machines.push(machine?);
        }
        Ok(machines)
    })
}

fn describe(node: &Node, machine: Option<&Machine>, state: &State, running: bool) -> NodeReport {
    let last = state.last_run.as_ref().map(|last| last.command.as_str());
    // How an earlier `halt` went says nothing any more.
    let steps = state.steps.iter().filter(|(key, _)| {
        key.lane == node.name && (!is_action(&key.step) || last == Some(key.step.as_str()))
    });
    let mut report = NodeReport {
        name: node.name.to_string(),
        role: node.role.title(),
        os: node.os_title.clone(),
        address: node.address.to_string(),
        power: machine.map_or("unknown", |machine| power(machine.power)),
        detail: machine
            .map(|machine| machine.detail.clone())
            .unwrap_or_default(),
        id: state.machines.get(&node.name).cloned(),
        done: 0,
        step: None,
        phase: "done",
        failure: None,
        licence: licence::licence(state, &node.name, jiff::Timestamp::now()),
    };
    for (key, record) in steps {
        match &record.status {
            Status::Done => {
                report.done += usize::from(!is_action(&key.step));
                continue;
            }
            Status::Started if running => report.phase = "running",
            Status::Started | Status::Cancelled => report.phase = "interrupted",
            Status::Failed(failure) => {
                report.phase = "failed";
                report.failure = Some(failure.clone());
            }
        }
        report.step = Some(key.step.clone());
    }
    report
}

fn power(power: Power) -> &'static str {
    match power {
        Power::Absent => "absent",
        Power::Off => "off",
        Power::Suspended => "suspended",
        Power::Changing => "changing",
        Power::Running => "running",
        Power::Broken => "broken",
    }
}

fn text(report: &Report) -> String {
    let mut text = String::new();
    if report.simulated {
        let _ = writeln!(text, "*** {SIMULATION} ***");
    }
    let _ = writeln!(text, "sandbox {} on {}", report.sandbox, report.provider);
    let width = |of: fn(&NodeReport) -> usize, least: usize| {
        report.nodes.iter().map(of).max().unwrap_or(0).max(least)
    };
    let (name, os, address) = (
        width(|node| node.name.len(), 4),
        width(|node| node.os.len(), 2),
        width(|node| node.address.len(), 7),
    );
    let _ = writeln!(
        text,
        "\n{:name$}  {:13}  {:os$}  {:address$}  {:9}  STEPS",
        "NODE", "ROLE", "OS", "ADDRESS", "MACHINE"
    );
    for node in &report.nodes {
        let NodeReport {
            name: n,
            role,
            os: o,
            address: a,
            power,
            done,
            ..
        } = node;
        let _ = writeln!(
            text,
            "{n:name$}  {role:13}  {o:os$}  {a:address$}  {power:9}  {done} done"
        );
    }
    text.push('\n');
    for NodeReport {
        name, step, phase, ..
    } in &report.nodes
    {
        // Below the table, which has no room for it on 80 columns.
        if let Some(step) = step {
            let _ = writeln!(text, "{name}: {step} {phase}");
        }
    }
    for NodeReport { name, licence, .. } in &report.nodes {
        if let Some(warning) = licence.as_ref().and_then(Licence::warning) {
            let _ = writeln!(text, "warning: {name}: {warning}");
        }
    }
    if let Some(Holder {
        pid,
        command,
        since,
    }) = &report.running
    {
        let _ = writeln!(
            text,
            "`wdev {command}` is going on (process {pid}, since {since:.0}); machines were not asked"
        );
    } else if let Some(last) = &report.last_run {
        let _ = writeln!(
            text,
            "last run: `wdev {}` at {:.0}: {}",
            last.command, last.started, last.outcome
        );
        if last.command == "up" && last.outcome != "done" {
            text.push_str("to go on: wdev up\n");
        }
        if let Some(failure) = &last.failure {
            let _ = writeln!(text, "  {failure}");
            if let Some(log) = &failure.log {
                let _ = writeln!(text, "  log: {}", log.display());
            }
        }
    }
    text
}
