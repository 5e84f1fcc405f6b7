//! Carries out a plan for a command: runtime, clock, journal, sinks, signals.

use std::fmt::Write;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::provider::{self, SimArguments};
use super::{Format, Globals, signals};
use crate::clock::Clock;
use crate::config::model::ProviderName;
use crate::engine::dispatcher::{Engine, Finished, Prepare, node_state};
use crate::engine::journal::{self, Journal};
use crate::engine::lane::MachineLimits;
use crate::engine::plan::Plan;
use crate::engine::state::State;
use crate::error::{Failure, Kind, Result, io_failure};
use crate::event::{NodeSummary, Outcome, Summary};
use crate::home::SandboxFolder;
use crate::names::{RunId, StepKey};
use crate::plan::record::Record;
use crate::plan::steps::power::Action;
use crate::plan::{leave, power};
use crate::ui::{self, Ui};

/// What a command wants carried out. The sandbox's lock is held by the caller.
pub(super) struct Job<'a> {
    pub globals: &'a Globals,
    pub ui: &'a Ui,
    pub folder: &'a SandboxFolder,
    pub record: &'a Record,
    pub plan: Plan,
    pub sim: &'a SimArguments,
    pub fail_fast: bool,
    pub reboot: Duration,
    /// Goes on without a journal that is damaged: only what removes things may do that.
    pub despite_journal: bool,
    /// Done once nothing stands against the plan, before anything of it begins.
    pub prepare: Prepare<'a>,
    /// The command with which the user goes on after a failure.
    pub next: String,
}

impl<'a> Job<'a> {
    /// Halts or removes the machines of a record; `again` is the command that goes on after a failure.
    pub fn power(
        globals: &'a Globals,
        ui: &'a Ui,
        (folder, record): (&'a SandboxFolder, &'a Record),
        sim: &'a SimArguments,
        action: Action,
        again: &str,
    ) -> Self {
        Self {
            globals,
            ui,
            folder,
            record,
            plan: power::plan(&record.sandbox, &record.nodes, action),
            sim,
            fail_fast: false,
            // No step of such a plan reboots anything.
            reboot: Duration::ZERO,
            despite_journal: false,
            prepare: &|| Ok(()),
            next: self::again(globals, again),
        }
    }
}

/// Carries it out and tells how it ended; returns the exit code and the end.
///
/// # Errors
/// When it could not begin, or the result could not be written.
pub(super) fn carry_out(job: Job) -> Result<(u8, Finished)> {
    let format = format(job.globals)?;
    let run = new_run();
    let logs = job.folder.logs(&run);
    if job.despite_journal {
        // What is removed anyway may make room on a full disk for what follows.
        let _ = std::fs::remove_dir_all(job.folder.path().join("logs"));
    }
    match std::fs::create_dir_all(&logs) {
        Err(error) if !job.despite_journal => {
            return Err(io_failure("create the folder", &logs, &error));
        }
        _ => {}
    }
    let (mut journal, recorded) = open_journal(job.folder, job.despite_journal)?;
    if job.despite_journal {
        journal.may_fail();
    }
    let state = State::from_events(&recorded.events);
    let (sinks, json) = job.ui.sinks(format, Some(logs.clone()));
    let speed = job.sim.speed()?;
    let simulated = job.record.provider == ProviderName::Sim;
    let steps: Vec<(NodeSummary, Vec<StepKey>)> = steps_of_nodes(&job);
    let command = job.plan.command;
    let kubeconfig = job.folder.kubeconfig();
    let finished = block_on(simulated && speed.is_none(), async {
        let clock = Clock::with_speed(speed.filter(|_| simulated).unwrap_or(1.0));
        let provider = provider::open(job.record, job.folder, clock, job.sim)?;
        let (folder, of_run) = (job.folder.clone(), run.clone());
        let engine = Engine {
            provider: Arc::clone(&provider),
            clock,
            journal,
            state,
            sinks,
            run,
            fail_fast: job.fail_fast,
            limits: MachineLimits {
                boot: Duration::from_secs(job.record.boot_seconds),
                reboot: job.reboot,
            },
            log_path: Box::new(move |lane, step| folder.step_log(&of_run, lane, step)),
        };
        let summarise = |state: &State, outcome: Outcome| Summary {
            nodes: steps
                .iter()
                // The others are none of its business.
                .filter(|(_, keys)| command != leave::COMMAND || !keys.is_empty())
                .map(|(node, keys)| summary(node, keys, state, command))
                .collect(),
            kubeconfig: (command == "up" && kubeconfig.is_file()).then(|| kubeconfig.clone()),
            // After a whole `destroy` they are gone.
            logs: (command != "destroy" || outcome != Outcome::Done).then(|| logs.clone()),
            phases: Vec::new(),
            next: next_commands(job.globals, command, &job.next, outcome, &steps),
        };
        let requests = signals::requests();
        Ok(engine
            .run_after(job.prepare, job.plan, requests, &summarise)
            .await)
    })?;
    let next = match &finished.failure {
        // The same again would be refused again.
        Some(failure) if failure.kind == Kind::Configuration => "",
        _ => job.next.as_str(),
    };
    let concluded = job.ui.conclude(&finished.last, format, next);
    let told = concluded.and_then(|()| json.map_or(Ok(()), |json| json.check()));
    let code = match (&finished.failure, finished.outcome) {
        (_, Outcome::Interrupted) => Kind::Interrupted.exit_code(),
        (Some(failure), _) => failure.kind.exit_code(),
        (None, _) => 0,
    };
    // How the run ended matters more than whether anyone could be told.
    let untold = told.map_or_else(
        |failure| {
            job.ui.failure(&failure, "");
            failure.kind.exit_code()
        },
        |()| 0,
    );
    Ok((if code == 0 { untold } else { code }, finished))
}

/// The form of a run's output.
///
/// # Errors
/// `Arguments` when a run cannot be told in the format that was asked for.
pub(super) fn format(globals: &Globals) -> Result<ui::Format> {
    Ok(match globals.format(&[Format::Text, Format::Json])? {
        Format::Json => ui::Format::Json,
        Format::Text | Format::Yaml => ui::Format::Text,
    })
}

/// Runs a future to its end. With `virtual_time` the clock jumps to the next timer whenever nothing
/// else can run, so that a simulation takes no longer than its computation.
///
/// # Errors
/// What the future returns, or `Host` when the system refuses a runtime.
pub(super) fn block_on<T>(
    virtual_time: bool,
    future: impl Future<Output = Result<T>>,
) -> Result<T> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().start_paused(virtual_time);
    let runtime = builder.build().map_err(|error| {
        Failure::new(
            Kind::Host,
            "cannot start: the system refuses timers or signals",
        )
        .because(error)
    })?;
    runtime.block_on(future)
}

fn open_journal(folder: &SandboxFolder, despite: bool) -> Result<(Journal, journal::Recorded)> {
    let path = folder.journal();
    match Journal::open(&path) {
        Err(failure) if despite => {
            std::fs::rename(&path, folder.damaged_journal()).map_err(|_| failure)?;
            Journal::open(&path)
        }
        opened => opened,
    }
}

/// A name for this run: unique, in order of time, safe as a folder name.
fn new_run() -> RunId {
    // To the millisecond: `up --recreate` is two runs of one process.
    let now = Timestamp::now().strftime("%Y%m%dT%H%M%S.%3f");
    RunId::new(format!("{now}-{}", std::process::id()))
}

fn steps_of_nodes(job: &Job) -> Vec<(NodeSummary, Vec<StepKey>)> {
    let nodes = &job.record.nodes;
    nodes
        .iter()
        .map(|node| {
            let lanes = job.plan.lanes.iter().filter(|lane| lane.name == node.name);
            let steps = lanes
                .flat_map(|lane| &lane.steps)
                .filter(|planned| planned.skip.is_none());
            let keys = steps
                .map(|planned| StepKey {
                    lane: node.name.clone(),
                    step: planned.step.id(),
                })
                .collect();
            let summary = NodeSummary {
                name: node.name.to_string(),
                role: node.role.title().to_owned(),
                os: node.os_title.clone(),
                address: node.address.to_string(),
                state: String::new(),
            };
            (summary, keys)
        })
        .collect()
}

fn summary(node: &NodeSummary, keys: &[StepKey], state: &State, command: &str) -> NodeSummary {
    let exists = state.machines.contains_key(node.name.as_str());
    let word = match command {
        // The plan has nothing for it: it is no longer in the configuration.
        "up" if keys.is_empty() && exists => "left over",
        "up" => node_state(keys, state),
        _ if !exists => "absent",
        "halt" if node_state(keys, state) == "ready" => "stopped",
        _ => "failed",
    };
    NodeSummary {
        state: word.to_owned(),
        ..node.clone()
    }
}

/// `wdev COMMAND` with the options that lead to the same sandbox.
pub(super) fn again(globals: &Globals, command: &str) -> String {
    let mut text = format!("wdev {command}");
    if let Some(config) = &globals.config {
        let _ = write!(text, " --config {}", crate::process::word(config));
    }
    if let Some(sandbox) = &globals.sandbox {
        let _ = write!(text, " --sandbox {}", crate::process::word(sandbox));
    }
    text
}

fn next_commands(
    globals: &Globals,
    command: &str,
    same: &str,
    outcome: Outcome,
    nodes: &[(NodeSummary, Vec<StepKey>)],
) -> Vec<String> {
    // What is left over is none of this run's.
    let last = nodes.iter().rev().find(|(_, keys)| !keys.is_empty());
    match (command, outcome, last) {
        ("up", Outcome::Done, Some((node, _))) => {
            vec![
                again(globals, "status"),
                format!(
                    "{} -- hostname",
                    again(globals, &format!("exec {}", node.name))
                ),
            ]
        }
        ("halt", Outcome::Done, _) => vec![again(globals, "up")],
        // After a failure the same stands below the failure.
        (_, Outcome::Interrupted, _) => vec![same.to_owned()],
        _ => Vec::new(),
    }
}
