//! A small run, scripted with fixed times, and what the tests of sinks share.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};
use wdev::error::{Failure, Kind};
use wdev::event::{
    Body, Decision, EVENT_VERSION, Event, LaneInfo, NodeSummary, Outcome, PhaseTime, Sink,
    StepInfo, Stream, Summary,
};
use wdev::names::{LaneName, RunId, StepId};

/// 2026-03-01 09:00:00 UTC, when every sample run starts.
pub fn start() -> Timestamp {
    "2026-03-01T09:00:00Z".parse().expect("a time")
}

pub fn after_ms(ms: i64) -> Timestamp {
    start() + SignedDuration::from_millis(ms)
}

pub fn event(seq: u64, ms: i64, body: Body) -> Event {
    Event {
        v: EVENT_VERSION,
        seq,
        at: after_ms(ms),
        run: RunId::from("20260301-090000-1"),
        body,
    }
}

pub fn events(script: Vec<(i64, Body)>) -> Vec<Event> {
    script
        .into_iter()
        .zip(0..)
        .map(|((ms, body), seq)| event(seq, ms, body))
        .collect()
}

pub fn step_info(step: &str, title: &str, decision: Decision) -> StepInfo {
    StepInfo {
        step: StepId::from(step),
        title: title.to_owned(),
        phase: "machines".to_owned(),
        decision,
        why: "never done".to_owned(),
        expected_ms: 30_000,
        after: Vec::new(),
    }
}

pub fn lane_info(lane: &str, title: &str, steps: Vec<StepInfo>) -> LaneInfo {
    LaneInfo {
        lane: LaneName::from(lane),
        title: title.to_owned(),
        steps,
    }
}

pub fn started_with(lanes: Vec<LaneInfo>, simulated: bool) -> Body {
    Body::RunStarted {
        command: "up".to_owned(),
        sandbox: "default".to_owned(),
        provider: if simulated { "sim" } else { "virtualbox" }.to_owned(),
        simulated,
        wdev: "0.1.0".to_owned(),
        lanes,
    }
}

pub fn step_started(lane: &str, step: &str, attempt: u32) -> Body {
    Body::StepStarted {
        lane: lane.into(),
        step: step.into(),
        attempt,
        fingerprint: "f00d".to_owned(),
    }
}

pub fn output(lane: &str, step: &str, stream: Stream, text: &str) -> Body {
    Body::StepOutput {
        lane: lane.into(),
        step: step.into(),
        stream,
        line: text.to_owned(),
    }
}

pub fn step_finished(lane: &str, step: &str, took_ms: u64) -> Body {
    Body::StepFinished {
        lane: lane.into(),
        step: step.into(),
        took_ms,
        fingerprint: "f00d".to_owned(),
        inputs: [("script".to_owned(), "0a1b".to_owned())].into(),
        facts: [("kernel".to_owned(), "6.1".to_owned())].into(),
        machine: Some("m-1".to_owned()),
    }
}

pub fn failure() -> Failure {
    let mut failure = Failure::new(Kind::Step, "`containerd` did not start on winw1")
        .because("the service ended with exit code 1067")
        .because("plugin io.containerd.grpc.v1.cri: address already in use")
        .advise("look for another container runtime on the machine with `wdev exec winw1 -- sc query`, and stop it before the next attempt")
        .command("vagrant winrm winw1 --command 'Start-Service containerd'")
        .output((1..=23).map(|i| format!("line {i} of the output")));
    failure.lane = Some("winw1".into());
    failure.step = Some("containerd".into());
    failure.log = Some(".wdev/default/logs/20260301-090000-1/winw1-containerd.log".into());
    failure
}

pub fn summary() -> Summary {
    let node = |name: &str, role: &str, os: &str, address: &str, state: &str| NodeSummary {
        name: name.to_owned(),
        role: role.to_owned(),
        os: os.to_owned(),
        address: address.to_owned(),
        state: state.to_owned(),
    };
    Summary {
        nodes: vec![
            node("cp", "control plane", "Debian 12", "192.168.56.10", "ready"),
            node(
                "winw1",
                "worker",
                "Windows Server 2022",
                "192.168.56.11",
                "failed",
            ),
        ],
        kubeconfig: Some(".wdev/default/kubeconfig".into()),
        logs: Some(".wdev/default/logs/20260301-090000-1".into()),
        phases: vec![
            PhaseTime {
                phase: "machines".to_owned(),
                took_ms: 62_000,
            },
            PhaseTime {
                phase: "container runtime".to_owned(),
                took_ms: 192_000,
            },
        ],
        next: vec!["wdev status".to_owned()],
    }
}

/// One of every event that this version writes, in an order that could happen.
#[expect(clippy::too_many_lines, reason = "a script, one event after the other")]
pub fn sample_run() -> Vec<Event> {
    let lanes = vec![
        lane_info(
            "cp",
            "control plane, Linux",
            vec![
                step_info("box", "Download the box", Decision::Skip),
                step_info("machine", "Create the machine", Decision::Probe),
                step_info("kernel", "Kernel modules", Decision::Run),
            ],
        ),
        lane_info(
            "winw1",
            "worker, Windows Server 2022",
            vec![
                step_info("features", "Windows features", Decision::Run),
                step_info("containerd", "Container runtime", Decision::Run),
                step_info("join", "Join the cluster", Decision::Run),
                step_info("labels", "Labels and taints", Decision::Run),
            ],
        ),
    ];
    let (cp, winw1) = (LaneName::from("cp"), LaneName::from("winw1"));
    let retry = Failure::new(Kind::Deadline, "no answer within 5 s");
    events(vec![
        (0, started_with(lanes, true)),
        (
            10,
            Body::StepSkipped {
                lane: cp.clone(),
                step: "box".into(),
                why: "it is there already".to_owned(),
            },
        ),
        (
            20,
            Body::StepProbing {
                lane: cp.clone(),
                step: "machine".into(),
            },
        ),
        (
            30,
            Body::MachineReplaced {
                lane: cp.clone(),
                was: "m-0".to_owned(),
                now: None,
            },
        ),
        (40, step_started("cp", "machine", 1)),
        (
            41,
            Body::Intent {
                lane: cp.clone(),
                what: "machine".to_owned(),
                name: "wdev-default-cp".to_owned(),
            },
        ),
        (
            41,
            Body::BootSeen {
                lane: cp.clone(),
                boot: "boot-0".to_owned(),
            },
        ),
        (
            42,
            Body::Removed {
                lane: cp.clone(),
                what: "machine".to_owned(),
                name: "wdev-default-cp-old".to_owned(),
            },
        ),
        (50, step_started("winw1", "features", 1)),
        (
            900,
            output(
                "cp",
                "machine",
                Stream::Stdout,
                "10%\r50%\r\u{1b}[32mImported\u{1b}[0m\tbox",
            ),
        ),
        (2_140, step_finished("cp", "machine", 2_100)),
        (2_150, step_started("cp", "kernel", 1)),
        (
            2_160,
            output("cp", "kernel", Stream::Stderr, "modprobe: busy"),
        ),
        (
            2_170,
            Body::StepRetry {
                lane: cp.clone(),
                step: "kernel".into(),
                attempt: 1,
                of: 3,
                delay_ms: 5_000,
                failure: retry,
            },
        ),
        (
            3_000,
            Body::RebootStarted {
                lane: winw1.clone(),
                step: "features".into(),
                boot: "boot-1".to_owned(),
                facts: BTreeMap::new(),
            },
        ),
        (7_170, step_started("cp", "kernel", 2)),
        (
            63_000,
            Body::RebootProven {
                lane: winw1.clone(),
                step: "features".into(),
                boot: "boot-2".to_owned(),
                took_ms: 60_000,
            },
        ),
        (63_010, step_finished("winw1", "features", 62_960)),
        (63_020, step_started("winw1", "containerd", 1)),
        (
            63_030,
            Body::Warning {
                message: "the host has little memory left".to_owned(),
                advice: Some("close something".to_owned()),
            },
        ),
        (
            90_000,
            Body::StepFailed {
                lane: winw1.clone(),
                step: "containerd".into(),
                took_ms: 26_980,
                failure: failure(),
            },
        ),
        (
            90_001,
            Body::StepWaiting {
                lane: winw1.clone(),
                step: "join".into(),
                on: vec!["cp/init".to_owned()],
            },
        ),
        (
            90_002,
            Body::StepBlocked {
                lane: winw1,
                step: "join".into(),
                on: vec!["winw1/containerd".to_owned()],
            },
        ),
        (
            91_000,
            Body::Interrupting {
                signal: "SIGINT".to_owned(),
            },
        ),
        (
            92_000,
            Body::StepCancelled {
                lane: cp,
                step: "kernel".into(),
                why: "interrupted".to_owned(),
            },
        ),
        (
            92_100,
            Body::RunFinished {
                outcome: Outcome::Failed,
                took_ms: 92_100,
                simulated: true,
                failure: Some(failure()),
                summary: summary(),
            },
        ),
    ])
}

/// A writer whose text the test can read.
#[derive(Clone, Default)]
pub struct Text(Arc<Mutex<Vec<u8>>>);

impl Text {
    pub fn get(&self) -> String {
        String::from_utf8(self.0.lock().expect("no panic").clone()).expect("UTF-8")
    }
}

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

pub fn play(sink: &mut dyn Sink, events: &[Event]) {
    for event in events {
        sink.event(event);
    }
}
