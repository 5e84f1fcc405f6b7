//! Scripts that wait for each other, that are cut off, and that nobody listens to.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Output};

use wdev::channel::wrap::{End, Layout};
use wdev::channel::{Mode, Script};

use crate::common::wrapped::read;
use crate::node::{Node, body, done, script};

/// A run that is inside its script and waits for a fifo, and another one that was started meanwhile.
fn two_at_once(node: &Node, second: &Script) -> (Output, Output) {
    let (started, go) = (node.path("started"), node.path("go"));
    for fifo in [&started, &go] {
        assert!(Command::new("mkfifo").arg(fifo).status().unwrap().success());
    }
    let run = format!(
        "Add-Content -LiteralPath '{}' -Value 'run'\n[IO.File]::WriteAllText('{started}', 'x')\n\
         [void][IO.File]::ReadAllText('{go}')\nAdd-WdevFact -Key from -Value first",
        node.path("count"),
    );
    let first = node.start(&script(Mode::Run, &body(&run)), "n1", &node.layout());
    std::fs::read(&started).unwrap();
    let mut layout = node.layout();
    layout.wait_note = std::time::Duration::from_secs(1);
    let mut waiting = node.start(second, "n2", &layout);
    let mut out = waiting.stdout.take().unwrap();
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).contains("::wdev n2 waiting") {
        let mut byte = [0];
        out.read_exact(&mut byte).unwrap();
        read.extend(byte);
    }
    std::fs::write(&go, "go\n").unwrap();
    let first = first.wait_with_output().unwrap();
    out.read_to_end(&mut read).unwrap();
    let mut second = waiting.wait_with_output().unwrap();
    second.stdout = read;
    (first, second)
}

fn counting(node: &Node) -> String {
    body(&format!(
        "Add-Content -LiteralPath '{}' -Value 'run'\nAdd-WdevFact -Key k -Value v",
        node.path("count")
    ))
}

#[test]
fn a_second_script_waits_and_then_runs() {
    let Some(node) = Node::new() else { return };
    let mut other = script(Mode::Run, &counting(&node));
    other.fingerprint = "f2".to_owned();
    let (first, second) = two_at_once(&node, &other);
    for (output, nonce) in [(first, "n1"), (second, "n2")] {
        let end = read(&output, nonce, Mode::Run).0;
        assert!(matches!(end, Some((End::Done, _))), "{end:?} {output:?}");
    }
    assert_eq!(
        std::fs::read_to_string(node.path("count")).unwrap(),
        "run\nrun\n"
    );
}

#[test]
fn the_same_script_waits_and_does_not_run_again() {
    let Some(node) = Node::new() else { return };
    let (_, second) = two_at_once(&node, &script(Mode::Run, &counting(&node)));
    let (end, report) = read(&second, "n2", Mode::Run).0.unwrap();
    assert_eq!(end, End::Earlier);
    assert_eq!(report.facts["from"], "first");
    assert_eq!(
        std::fs::read_to_string(node.path("count")).unwrap(),
        "run\n"
    );
}

#[test]
fn a_run_whose_end_nobody_saw_counts_and_one_that_was_seen_does_not() {
    let Some(node) = Node::new() else { return };
    let it = script(Mode::Run, &counting(&node));
    done(node.run(&it, "n1"));
    let layout = Layout {
        unseen: vec!["n0".to_owned(), "n1".to_owned()],
        ..node.layout()
    };
    let output = node.start(&it, "n2", &layout).wait_with_output().unwrap();
    let (end, report) = read(&output, "n2", Mode::Run).0.unwrap();
    assert_eq!((end, report.facts["k"].as_str()), (End::Earlier, "v"));
    done(node.run(&it, "n3"));
    assert_eq!(
        std::fs::read_to_string(node.path("count")).unwrap(),
        "run\nrun\n"
    );
}

#[test]
fn a_killed_script_lets_go_of_the_node_and_is_done_again() {
    let Some(node) = Node::new() else { return };
    let started = node.path("started");
    assert!(
        Command::new("mkfifo")
            .arg(&started)
            .status()
            .unwrap()
            .success()
    );
    let run = format!("[IO.File]::WriteAllText('{started}', 'x')\nStart-Sleep -Seconds 1000");
    let mut child = node.start(&script(Mode::Run, &body(&run)), "n1", &node.layout());
    std::fs::read(&started).unwrap();
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(read(&output, "n1", Mode::Run).0, None);
    let layout = Layout {
        unseen: vec!["n1".to_owned()],
        ..node.layout()
    };
    let again = node.start(&script(Mode::Run, &counting(&node)), "n2", &layout);
    let end = read(&again.wait_with_output().unwrap(), "n2", Mode::Run).0;
    assert!(matches!(end, Some((End::Done, _))), "{end:?}");
}

#[test]
fn waiting_has_a_limit() {
    let Some(node) = Node::new() else { return };
    let layout = Layout {
        wait_limit: std::time::Duration::from_secs(1),
        ..node.layout()
    };
    std::fs::create_dir_all(Path::new(&layout.lock).parent().unwrap()).unwrap();
    let held = std::fs::File::create(&layout.lock).unwrap();
    held.lock().unwrap();
    let it = script(Mode::Run, &body("'never'"));
    let output = node.start(&it, "n1", &layout).wait_with_output().unwrap();
    let (end, shown) = read(&output, "n1", Mode::Run);
    assert!(matches!(end, Some((End::Busy(1), _))), "{end:?}");
    assert!(!shown.contains("never"));
}

#[test]
fn a_script_ends_although_nobody_reads_its_output_any_more() {
    let Some(node) = Node::new() else { return };
    let (started, go) = (node.path("started"), node.path("go"));
    for fifo in [&started, &go] {
        assert!(Command::new("mkfifo").arg(fifo).status().unwrap().success());
    }
    let run = format!(
        "[IO.File]::WriteAllText('{started}', 'x')\n[void][IO.File]::ReadAllText('{go}')\n1..9"
    );
    let mut child = node.start(&script(Mode::Run, &body(&run)), "n1", &node.layout());
    std::fs::read(&started).unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    std::fs::write(&go, "go\n").unwrap();
    child.wait().unwrap();
    let stamp = std::fs::read_to_string(node.path("it's wdev/steps/a-step")).unwrap();
    assert!(stamp.starts_with("f1\n"));
}
