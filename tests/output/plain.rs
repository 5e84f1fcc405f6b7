//! Plain lines.

use jiff::tz::TimeZone;
use wdev::event::plain::Plain;
use wdev::event::{Body, Decision, Event, Outcome, Sink, Stream, Summary};
use wdev::ui::Verbosity;

use crate::sample::{
    Text, after_ms, event, events, failure, lane_info, output, play, sample_run, started_with,
    step_info, step_started,
};

fn lines(verbosity: Verbosity, colored: bool, run: &[Event]) -> String {
    let text = Text::default();
    let writer = Box::new(text.clone());
    let mut plain = Plain::new(writer, verbosity, colored).in_zone(TimeZone::UTC);
    play(&mut plain, run);
    text.get()
}

#[test]
fn a_run_in_lines() {
    insta::assert_snapshot!(lines(Verbosity::Normal, false, &sample_run()));
}

#[test]
fn a_run_in_verbose_lines_shows_output_cleaned() {
    let normal = lines(Verbosity::Normal, false, &sample_run());
    let verbose = lines(Verbosity::Verbose, false, &sample_run());
    let added: Vec<_> = verbose
        .lines()
        .filter(|line| !normal.contains(line))
        .collect();
    insta::assert_snapshot!(added.join("\n"));
}

#[test]
fn quiet_tells_failures_warnings_and_that_nothing_is_real() {
    insta::assert_snapshot!(lines(Verbosity::Quiet, false, &sample_run()));
}

#[test]
fn colours_change_nothing_but_colours() {
    let colored = lines(Verbosity::Verbose, true, &sample_run());
    assert!(colored.contains("\u{1b}["));
    let stripped = console::strip_ansi_codes(&colored);
    assert_eq!(stripped, lines(Verbosity::Verbose, false, &sample_run()));
}

#[test]
fn a_silent_step_is_mentioned_every_half_minute() {
    let text = Text::default();
    let mut plain =
        Plain::new(Box::new(text.clone()), Verbosity::Normal, false).in_zone(TimeZone::UTC);
    let steps = vec![step_info("machine", "Create the machine", Decision::Run)];
    let lane = lane_info("cp", "control plane", steps);
    plain.event(&event(0, 0, started_with(vec![lane], false)));
    plain.event(&event(1, 0, step_started("cp", "machine", 1)));
    // Output that is not shown is silence to the reader.
    plain.event(&event(
        2,
        20_000,
        output("cp", "machine", Stream::Stdout, "x"),
    ));
    for second in 0..=95 {
        plain.tick(after_ms(second * 1000));
    }
    let beats: Vec<_> = text.get().lines().skip(2).map(str::to_owned).collect();
    assert_eq!(
        beats,
        [
            "09:00:30 cp  machine  still running, 30.0 s so far",
            "09:01:00 cp  machine  still running, 1 min 0 s so far",
            "09:01:30 cp  machine  still running, 1 min 30 s so far",
        ]
    );
}

#[test]
fn many_silent_steps_are_one_line() {
    let text = Text::default();
    let mut plain =
        Plain::new(Box::new(text.clone()), Verbosity::Normal, false).in_zone(TimeZone::UTC);
    for i in 0..200 {
        plain.event(&event(i, 0, step_started(&format!("w{i}"), "boot", 1)));
    }
    let before = text.get().lines().count();
    plain.tick(after_ms(31_000));
    let text = text.get();
    let beat: Vec<_> = text.lines().skip(before).collect();
    assert_eq!(
        beat,
        ["09:00:31 200 steps still running; longest w0/boot, 31.0 s so far"]
    );
}

#[test]
fn the_first_failure_is_left_to_the_end_and_the_others_are_told_in_full() {
    let mut other = failure();
    other.lane = Some("winw2".into());
    other.message = "`containerd` did not start on winw2".to_owned();
    let failed = |failure: &wdev::error::Failure| Body::StepFailed {
        lane: failure.lane.clone().expect("a lane"),
        step: failure.step.clone().expect("a step"),
        took_ms: 1,
        failure: failure.clone(),
    };
    let end = Body::RunFinished {
        outcome: Outcome::Failed,
        took_ms: 2,
        simulated: false,
        failure: Some(failure()),
        summary: Summary::default(),
    };
    let run = events(vec![(0, failed(&failure())), (1, failed(&other)), (2, end)]);
    let text = lines(Verbosity::Normal, false, &run);
    assert_eq!(
        text.matches("error: `containerd` did not start on winw2")
            .count(),
        1
    );
    assert_eq!(
        text.matches("error: `containerd` did not start on winw1")
            .count(),
        0
    );
}
