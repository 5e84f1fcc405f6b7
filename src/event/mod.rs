//! The event stream: the one account of a run, from which the journal, the terminal, plain lines,
//! JSON lines and log files are all made.
//!
//! The format is versioned and documented in `docs/events.md`. A reader must survive a newer writer:
//! unknown event types become [`Body::Unknown`] and unknown fields are ignored.

mod bars;
pub mod board;
mod canvas;
pub mod json;
pub mod lines;
pub mod logs;
pub mod plain;
pub mod report;
pub mod row;
pub mod terminal;
pub mod text;

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::Failure;
use crate::names::{LaneName, RunId, StepId};

/// The version of the event format that this wdev writes.
pub const EVENT_VERSION: u32 = 1;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The version of the format, [`EVENT_VERSION`] when written by this wdev.
    pub v: u32,
    /// Counts up by one within a run, from 0.
    pub seq: u64,
    /// When it happened; in a simulation, by the simulated clock.
    pub at: Timestamp,
    /// The run that it belongs to.
    pub run: RunId,
    /// What happened.
    pub body: Body,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(
    missing_docs,
    reason = "the fields that recur in every variant speak for themselves"
)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Body {
    /// A run began. Comes first, with every step that the run may take.
    RunStarted {
        /// The command, such as `up`.
        command: String,
        /// The sandbox's name.
        sandbox: String,
        /// The provider's name.
        provider: String,
        /// True when no machine is real.
        simulated: bool,
        /// The version of wdev.
        wdev: String,
        /// Every lane with every step, in order.
        lanes: Vec<LaneInfo>,
    },
    /// A step is about to be probed although the journal calls it done.
    StepProbing { lane: LaneName, step: StepId },
    /// A step need not run.
    StepSkipped {
        lane: LaneName,
        step: StepId,
        why: String,
    },
    /// A step waits for steps of other lanes.
    StepWaiting {
        lane: LaneName,
        step: StepId,
        on: Vec<String>,
    },
    /// A step begins to run. Recorded before anything is changed.
    StepStarted {
        lane: LaneName,
        step: StepId,
        /// Counts from 1.
        attempt: u32,
        fingerprint: String,
    },
    /// One line of output of a running step.
    StepOutput {
        lane: LaneName,
        step: StepId,
        stream: Stream,
        line: String,
    },
    /// An attempt failed and another follows.
    StepRetry {
        lane: LaneName,
        step: StepId,
        /// The attempt that failed, from 1.
        attempt: u32,
        /// The number of attempts that the step may take.
        of: u32,
        delay_ms: u64,
        failure: Failure,
    },
    /// A node's machine runs another boot than the last one that was known.
    BootSeen {
        lane: LaneName,
        /// What changes with every boot of the node and with nothing else.
        boot: String,
    },
    /// The engine is about to reboot a node because the step asked for it.
    RebootStarted {
        lane: LaneName,
        step: StepId,
        /// The boot identity that must change.
        boot: String,
        /// What the step has learnt before it, without secrets.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        facts: BTreeMap<String, String>,
    },
    /// The node came back with another boot identity and has been steadily ready.
    RebootProven {
        lane: LaneName,
        step: StepId,
        boot: String,
        took_ms: u64,
    },
    /// A step is done and verified.
    StepFinished {
        lane: LaneName,
        step: StepId,
        took_ms: u64,
        fingerprint: String,
        /// A short hash of each input, by the input's name.
        #[serde(default)]
        inputs: BTreeMap<String, String>,
        /// What the step learnt, without secrets; later steps may read it.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        facts: BTreeMap<String, String>,
        /// The identity of the machine that it was done on; none for the host.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        machine: Option<String>,
    },
    /// A step failed for good.
    StepFailed {
        lane: LaneName,
        step: StepId,
        took_ms: u64,
        failure: Failure,
    },
    /// A step was stopped: by the user, or because another one failed with `--fail-fast`.
    StepCancelled {
        lane: LaneName,
        step: StepId,
        why: String,
    },
    /// A step cannot run because a step that it needs did not end well.
    StepBlocked {
        lane: LaneName,
        step: StepId,
        on: Vec<String>,
    },
    /// What earlier runs recorded of a node no longer holds: its machine is gone or another one.
    MachineReplaced {
        lane: LaneName,
        was: String,
        now: Option<String>,
    },
    /// Something is about to be created on the host, so that `destroy` and `gc` find it.
    Intent {
        lane: LaneName,
        what: String,
        name: String,
    },
    /// Something created on the host is gone again.
    Removed {
        lane: LaneName,
        what: String,
        name: String,
    },
    /// The user should know, but the run goes on.
    Warning {
        message: String,
        advice: Option<String>,
    },
    /// The run was asked to stop.
    Interrupting { signal: String },
    /// The run ended. Comes last.
    RunFinished {
        outcome: Outcome,
        took_ms: u64,
        /// True when no machine was real; repeated for whoever reads only the end.
        #[serde(default)]
        simulated: bool,
        /// The first failure.
        failure: Option<Failure>,
        summary: Summary,
    },
    /// An event of a newer wdev.
    #[serde(other)]
    Unknown,
}

impl Body {
    /// The lane that the event is about.
    #[must_use]
    pub fn lane(&self) -> Option<&LaneName> {
        match self {
            Self::StepProbing { lane, .. }
            | Self::StepSkipped { lane, .. }
            | Self::StepWaiting { lane, .. }
            | Self::StepStarted { lane, .. }
            | Self::StepOutput { lane, .. }
            | Self::StepRetry { lane, .. }
            | Self::RebootStarted { lane, .. }
            | Self::RebootProven { lane, .. }
            | Self::StepFinished { lane, .. }
            | Self::StepFailed { lane, .. }
            | Self::StepCancelled { lane, .. }
            | Self::StepBlocked { lane, .. }
            | Self::MachineReplaced { lane, .. }
            | Self::BootSeen { lane, .. }
            | Self::Intent { lane, .. }
            | Self::Removed { lane, .. } => Some(lane),
            Self::RunStarted { .. }
            | Self::Warning { .. }
            | Self::Interrupting { .. }
            | Self::RunFinished { .. }
            | Self::Unknown => None,
        }
    }

    /// The step that the event is about.
    #[must_use]
    pub fn step(&self) -> Option<&StepId> {
        match self {
            Self::StepProbing { step, .. }
            | Self::StepSkipped { step, .. }
            | Self::StepWaiting { step, .. }
            | Self::StepStarted { step, .. }
            | Self::StepOutput { step, .. }
            | Self::StepRetry { step, .. }
            | Self::RebootStarted { step, .. }
            | Self::RebootProven { step, .. }
            | Self::StepFinished { step, .. }
            | Self::StepFailed { step, .. }
            | Self::StepCancelled { step, .. }
            | Self::StepBlocked { step, .. } => Some(step),
            _ => None,
        }
    }
}

/// A lane as the first event announces it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneInfo {
    /// The node's name, or `host`.
    pub lane: LaneName,
    /// What the lane is, such as `control plane, Linux`.
    pub title: String,
    /// Its steps in order.
    pub steps: Vec<StepInfo>,
}

/// A step as the first event announces it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepInfo {
    /// The step.
    pub step: StepId,
    /// What it will do, in a few words.
    pub title: String,
    /// The phase that it counts for in the summary.
    pub phase: String,
    /// Whether it will run, be probed, or be skipped.
    pub decision: Decision,
    /// Why.
    pub why: String,
    /// How long it usually takes.
    pub expected_ms: u64,
    /// The steps of other lanes that it waits for, as `lane/step`.
    pub after: Vec<String>,
}

/// What is to become of a step in this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It will run.
    Run,
    /// The journal calls it done: it is probed, and runs when the node disagrees.
    Probe,
    /// It will not run.
    Skip,
    /// The node would have to be recreated first.
    Recreate,
    /// A decision of a newer wdev.
    #[serde(other)]
    Unknown,
}

/// Where a line of output came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// The command's standard output, or both where they cannot be told apart.
    Stdout,
    /// The command's standard error.
    Stderr,
    /// wdev's own remark.
    Note,
    /// A stream of a newer wdev.
    #[serde(other)]
    Unknown,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Everything is done and verified.
    Done,
    /// Something failed.
    Failed,
    /// The run was interrupted.
    Interrupted,
    /// An outcome of a newer wdev.
    #[serde(other)]
    Unknown,
}

impl Outcome {
    /// The outcome in one word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Unknown => "ended",
        }
    }
}

/// What stands at the end of a run, and how to reach it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Every node.
    pub nodes: Vec<NodeSummary>,
    /// The kubeconfig of the cluster, when there is one.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::error::lossy_path"
    )]
    pub kubeconfig: Option<PathBuf>,
    /// The folder with this run's logs.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::error::lossy_path"
    )]
    pub logs: Option<PathBuf>,
    /// The wall time of each phase, in order of first start.
    pub phases: Vec<PhaseTime>,
    /// Commands that are worth trying next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<String>,
}

/// A node in the summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSummary {
    /// The node's name.
    pub name: String,
    /// `control plane` or `worker`.
    pub role: String,
    /// The operating system, such as `Windows Server 2022`.
    pub os: String,
    /// The address inside the sandbox's node subnet.
    pub address: String,
    /// In one word: `ready`, `failed`, `stopped`, `incomplete`, `absent`, `left over`.
    pub state: String,
}

/// How long a phase took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseTime {
    /// The phase's name.
    pub phase: String,
    /// From the first start to the last end of its steps.
    pub took_ms: u64,
}

/// Something that listens to the events of a run.
///
/// A sink must not fail the run because nobody reads any more; one whose loss matters (the journal)
/// is not a sink.
pub trait Sink: Send {
    /// Takes one event, in order.
    fn event(&mut self, event: &Event);

    /// Called about once a second with the time by the run's clock, whether or not anything happened.
    fn tick(&mut self, _now: Timestamp) {}
}
