//! Failures and summaries.

use std::time::Duration;

use wdev::error::{Failure, Kind};
use wdev::event::Outcome;
use wdev::event::report::{duration_text, failure_text, other_failures_text, summary_text};
use wdev::event::text::{clean, cut, fit, width};

use crate::sample::{failure, summary};

#[test]
fn a_failure_at_80_columns() {
    insta::assert_snapshot!(failure_text(&failure(), 80, false, "wdev up --cni calico"));
}

#[test]
fn a_failure_with_nothing_but_a_message() {
    let failure = Failure::new(Kind::Host, "cannot find `vagrant`");
    assert_eq!(
        failure_text(&failure, 80, false, ""),
        "error: cannot find `vagrant`\n"
    );
}

#[test]
fn what_one_pastes_is_never_wrapped() {
    let mut failure = failure();
    let command = format!("vagrant ssh cp -c '{}'", "very long ".repeat(20));
    failure.command = Some(command.clone());
    let text = failure_text(
        &failure,
        40,
        false,
        "wdev up --provider virtualbox --cni calico",
    );
    assert!(text.contains(&command));
    assert!(text.contains("to go on: wdev up --provider virtualbox --cni calico\n"));
    assert!(text.contains(" .wdev/default/logs/20260301-090000-1/winw1-containerd.log\n"));
}

#[test]
fn output_of_a_guest_cannot_steer_the_terminal() {
    let failure = Failure::new(Kind::Step, "a\u{1b}]0;title\u{7}b\nc")
        .output(["\u{1b}[2J\u{202e}evil\u{8}\tx\r".to_owned()]);
    let text = failure_text(&failure, 80, false, "");
    assert!(text.contains("    | evil    x\n"), "{text}");
    assert!(
        text.chars().all(|c| c == '\n' || !c.is_control()),
        "{text:?}"
    );
}

#[test]
fn a_hundred_failures_stay_readable() {
    let all: Vec<_> = (0..100)
        .map(|i| {
            let mut failure = failure();
            failure.lane = Some(format!("w{i}").as_str().into());
            failure
        })
        .collect();
    let text = other_failures_text(&all, all.first(), 80, false);
    assert_eq!(text.matches("error:").count(), 2);
    assert_eq!(text.matches("also failed:").count(), 10);
    assert!(
        text.ends_with("and 87 more failed; see the logs\n"),
        "{text}"
    );
}

#[test]
fn a_summary_at_80_columns() {
    let took = Duration::from_secs(254);
    insta::assert_snapshot!(summary_text(&summary(), Outcome::Failed, took, true, 80));
}

#[test]
fn a_real_summary_says_nothing_of_simulation() {
    let text = summary_text(&summary(), Outcome::Done, Duration::from_secs(1), false, 80);
    assert!(!text.to_lowercase().contains("simulation"));
}

#[test]
fn the_table_of_nodes_fits_into_40_columns() {
    let mut summary = summary();
    summary.logs = None;
    let text = summary_text(&summary, Outcome::Done, Duration::ZERO, true, 40);
    for line in text.lines() {
        assert!(width(line) <= 40, "{line}");
    }
    assert!(
        text.contains("winw1  failed  192.168.56.11  worker"),
        "{text}"
    );
}

#[test]
fn of_many_nodes_those_in_trouble_are_listed() {
    let mut summary = summary();
    let template = summary.nodes.pop().expect("a node");
    for i in 0..200 {
        let mut node = template.clone();
        node.name = format!("w{i}");
        node.state = if i == 150 { "failed" } else { "ready" }.to_owned();
        summary.nodes.push(node);
    }
    let text = summary_text(&summary, Outcome::Failed, Duration::ZERO, false, 80);
    assert!(text.contains("w150"), "{text}");
    assert!(text.contains("and 171 more, 171 of them ready\n"), "{text}");
}

#[test]
fn durations_read_well() {
    let text = |ms| duration_text(Duration::from_millis(ms));
    let texts = [
        0, 99, 100, 1_249, 59_949, 59_960, 192_000, 3_599_600, 3_900_000,
    ]
    .map(text);
    assert_eq!(
        texts,
        [
            "0 ms",
            "99 ms",
            "0.1 s",
            "1.2 s",
            "59.9 s",
            "1 min 0 s",
            "3 min 12 s",
            "1 h 0 min",
            "1 h 5 min"
        ]
    );
}

#[test]
fn text_is_cut_by_columns_not_by_letters() {
    assert_eq!(cut("日本語のテキスト", 9), "日本語..");
    assert_eq!(fit("日本", 6), "日本  ");
    assert_eq!(width(&fit("日本語のテキスト", 8)), 8);
    assert_eq!(cut("abc", 1), "");
    assert_eq!(clean("10%\r20%\r\n"), "20%");
}
