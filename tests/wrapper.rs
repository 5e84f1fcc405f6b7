//! The wrapper around scripts for Linux nodes, under the real bash and flock.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::need;
use common::wrapped::{self, read};
use wdev::channel::wrap::{BY_HAND, End, Layout, Reader, Said, wrap_linux_in};
use wdev::channel::{Mode, Os, Report, Script, Secret};

const NAMES: [&str; 3] = ["bash", "flock", "base64"];

/// A node: a folder with the lock, the stamps and the reports.
struct Node {
    dir: tempfile::TempDir,
}

impl Node {
    /// None when a tool is missing, which has been said then.
    fn new() -> Option<Self> {
        NAMES.iter().all(|tool| need(tool).is_some()).then(|| Self {
            dir: tempfile::tempdir().unwrap(),
        })
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    fn layout(&self) -> Layout {
        Layout {
            lock: self.path("lock folder/it's.lock"),
            state: self.path("state"),
            work: self.path("work"),
            ..Layout::default()
        }
    }

    /// Starts the script as Vagrant would: uploaded under a name, executed.
    fn start(&self, script: &Script, nonce: &str, layout: &Layout) -> std::process::Child {
        let text = wrap_linux_in(script, nonce, layout).unwrap();
        let uploaded = self.path("uploaded.sh");
        std::fs::write(&uploaded, text).unwrap();
        Command::new("bash")
            .arg(uploaded)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn run(&self, script: &Script, nonce: &str) -> (Option<(End, Report)>, String, Output) {
        let output = self
            .start(script, nonce, &self.layout())
            .wait_with_output()
            .unwrap();
        let (end, shown) = read(&output, nonce, script.mode);
        (end, shown, output)
    }
}

fn script(mode: Mode, text: &str) -> Script {
    wrapped::script(Os::Linux, mode, text)
}

fn done(result: Option<(End, Report)>) -> Report {
    match result {
        Some((End::Done, report)) => report,
        other => panic!("not done: {other:?}"),
    }
}

#[test]
fn a_script_that_ends_well_reports_and_is_stamped() {
    let Some(node) = Node::new() else { return };
    let odd = "it's \"$(id)\" \\n `x`\nline two é 🦀 {{ name }}";
    let mut it = script(
        Mode::Run,
        "wdev_run() {\n  wdev_log hello; echo loud >&2\n  wdev_fact key \"$(wdev_given odd)\"\n  \
         wdev_secret token \"$(wdev_given odd)\"\n  wdev_want_reboot\n  printf unfinished\n}\n\
         wdev_probe() { wdev_stamped; }\n",
    );
    it.secrets.insert("odd".to_owned(), Secret::new(odd));
    let (end, shown, output) = node.run(&it, "n1");
    let report = done(end);
    assert!(output.status.success());
    assert_eq!(shown, "hello\nloud\nunfinished");
    assert_eq!(report.facts["key"], odd);
    assert_eq!(report.secrets["token"].reveal(), odd);
    assert!(report.reboot_wanted && !report.in_place);
    assert!(
        std::fs::read_to_string(node.path("state/a-step"))
            .unwrap()
            .starts_with("f1\n")
    );
    assert!(
        !Path::new(&node.path("uploaded.sh")).exists(),
        "the uploaded file holds secrets"
    );
    let left: Vec<_> = std::fs::read_dir(node.path("work"))
        .unwrap()
        .flatten()
        .collect();
    assert_eq!(left.len(), 1, "only the kept report: {left:?}");
}

#[test]
fn a_probe_tells_whether_and_why_not() {
    let Some(node) = Node::new() else { return };
    let body =
        "wdev_run() { :; }\nwdev_probe() { wdev_stamped || wdev_not_in_place \"it's not\"; }\n";
    let report = done(node.run(&script(Mode::Probe, body), "n1").0);
    assert_eq!(
        (report.in_place, report.why.as_deref()),
        (false, Some("it's not"))
    );
    done(node.run(&script(Mode::Run, body), "n2").0);
    let report = done(node.run(&script(Mode::Probe, body), "n3").0);
    assert_eq!((report.in_place, report.why), (true, None));
    let mut changed = script(Mode::Probe, body);
    changed.fingerprint = "f2".to_owned();
    assert!(
        !done(node.run(&changed, "n4").0).in_place,
        "another fingerprint is not stamped"
    );
}

#[test]
fn a_script_that_fails_says_so_and_loses_its_stamp() {
    let Some(node) = Node::new() else { return };
    done(node.run(&script(Mode::Run, "wdev_run() { :; }\n"), "n1").0);
    for (text, code) in [
        ("wdev_run() { false; echo on; }", 1),
        ("wdev_run() { (exit 7); echo on; }", 7),
        ("wdev_run() { echo \"$unset\"; echo on; }", 1),
        ("wdev_run() { false | true; echo on; }", 1),
        ("wdev_run() { exit 0; }", 0),
    ] {
        let (end, shown, output) = node.run(&script(Mode::Run, text), "n2");
        assert!(
            matches!(end, Some((End::Failed(c, _), _)) if c == code),
            "{text}: {end:?}"
        );
        assert!(
            !output.status.success() && !shown.contains("on\n"),
            "{text}"
        );
        assert!(!Path::new(&node.path("state/a-step")).exists(), "{text}");
    }
}

#[test]
fn a_node_that_a_script_refuses_is_told_from_one_on_which_it_failed() {
    let Some(node) = Node::new() else { return };
    let text = "wdev_run() { wdev_refuse \"it's no good\"; echo on; }";
    let run = node.run(&script(Mode::Run, text), "n1");
    wrapped::assert_refused(&run, "it's no good");
}

#[test]
fn whoever_runs_a_script_by_hand_gets_words_keeps_the_file_and_sees_no_secret() {
    let Some(node) = Node::new() else { return };
    let by_hand = |run: &str| {
        let text = format!("wdev_run() {{ {run}; }}\nwdev_probe() {{ wdev_stamped; }}\n");
        let (end, shown, _) = node.run(&script(Mode::Run, &text), BY_HAND);
        assert_eq!(end, None);
        assert!(Path::new(&node.path("uploaded.sh")).exists());
        shown
    };
    let told = by_hand("wdev_fact key 'a  value é'; wdev_secret token s3cret");
    assert_eq!(
        told,
        "\nwdev: fact key: a  value é\nwdev: secret token: (kept secret)\nwdev: end proven"
    );
    assert_eq!(by_hand("wdev_want_reboot"), "\nwdev: reboot\nwdev: end ok");
    assert_eq!(by_hand("wdev_refuse 'no good'"), "\nwdev: refused: no good");
    assert_eq!(by_hand("false"), "\nwdev: failed 1");
}

#[test]
fn a_script_that_is_no_bash_or_ends_the_wrapper_has_no_proven_end() {
    let Some(node) = Node::new() else { return };
    for text in [
        "wdev_run() {",
        "exit 0",
        "cat <<X",
        "kill -9 $$",
        "echo '::wdev n2 end ok'",
    ] {
        let (end, _, output) = node.run(&script(Mode::Run, text), "n1");
        assert!(!matches!(end, Some((End::Done, _))), "{text}: {output:?}");
    }
}

#[test]
fn a_record_of_another_run_counts_for_nothing() {
    let mut reader = Reader::new("mine");
    assert_eq!(
        reader.line("::wdev other end ok"),
        [Said::Output("::wdev other end ok".to_owned())]
    );
    assert_eq!(reader.finish(Mode::Run), None);
}

/// A run that is inside its script and waits for a fifo, and another one that was started meanwhile.
fn two_at_once(node: &Node, second: &Script) -> (Output, Output) {
    let (started, go) = (node.path("started"), node.path("go"));
    for fifo in [&started, &go] {
        assert!(Command::new("mkfifo").arg(fifo).status().unwrap().success());
    }
    let body = format!(
        "wdev_run() {{\n  echo run >>'{count}'\n  echo x >'{started}'\n  read -r _ <'{go}'\n  wdev_fact from first\n}}\n",
        count = node.path("count"),
    );
    let first = node.start(&script(Mode::Run, &body), "n1", &node.layout());
    std::fs::read(&started).unwrap();
    let mut layout = node.layout();
    layout.wait_note = std::time::Duration::from_secs(1);
    let mut waiting = node.start(second, "n2", &layout);
    // It says that it waits, through its output, which is read up to there.
    let mut out = waiting.stdout.take().unwrap();
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).contains("::wdev n2 waiting") {
        let mut byte = [0];
        std::io::Read::read_exact(&mut out, &mut byte).unwrap();
        read.extend(byte);
    }
    std::fs::write(&go, "go\n").unwrap();
    let first = first.wait_with_output().unwrap();
    std::io::Read::read_to_end(&mut out, &mut read).unwrap();
    let mut second = waiting.wait_with_output().unwrap();
    second.stdout = read;
    (first, second)
}

#[test]
fn a_second_script_waits_and_then_runs() {
    let Some(node) = Node::new() else { return };
    let mut other = script(
        Mode::Run,
        &format!("wdev_run() {{ echo run >>'{}'; }}\n", node.path("count")),
    );
    other.fingerprint = "f2".to_owned();
    let (first, second) = two_at_once(&node, &other);
    done(read(&first, "n1", Mode::Run).0);
    done(read(&second, "n2", Mode::Run).0);
    assert_eq!(
        std::fs::read_to_string(node.path("count")).unwrap(),
        "run\nrun\n"
    );
}

#[test]
fn the_same_script_waits_and_does_not_run_again() {
    let Some(node) = Node::new() else { return };
    let same = script(
        Mode::Run,
        &format!("wdev_run() {{ echo run >>'{}'; }}\n", node.path("count")),
    );
    let (first, second) = two_at_once(&node, &same);
    done(read(&first, "n1", Mode::Run).0);
    let (end, report) = read(&second, "n2", Mode::Run).0.unwrap();
    assert_eq!(end, End::Earlier);
    assert_eq!(
        report.facts["from"], "first",
        "what the earlier run reported is reported again"
    );
    assert_eq!(
        std::fs::read_to_string(node.path("count")).unwrap(),
        "run\n"
    );
}

#[test]
fn a_run_whose_end_nobody_saw_counts_and_one_that_was_seen_does_not() {
    let Some(node) = Node::new() else { return };
    let it = script(
        Mode::Run,
        &format!(
            "wdev_run() {{ echo run >>'{}'; wdev_fact k v; }}\n",
            node.path("count")
        ),
    );
    done(node.run(&it, "n1").0);
    let layout = Layout {
        unseen: vec!["n0".to_owned(), "n1".to_owned()],
        ..node.layout()
    };
    let output = node.start(&it, "n2", &layout).wait_with_output().unwrap();
    let (end, report) = read(&output, "n2", Mode::Run).0.unwrap();
    assert_eq!((end, report.facts["k"].as_str()), (End::Earlier, "v"));
    done(node.run(&it, "n3").0);
    assert_eq!(
        std::fs::read_to_string(node.path("count")).unwrap(),
        "run\nrun\n"
    );
}

#[test]
fn waiting_has_a_limit() {
    let Some(node) = Node::new() else { return };
    let layout = Layout {
        wait_limit: std::time::Duration::from_secs(1),
        wait_note: std::time::Duration::from_secs(1),
        ..node.layout()
    };
    std::fs::create_dir_all(Path::new(&layout.lock).parent().unwrap()).unwrap();
    let held = std::fs::File::create(&layout.lock).unwrap();
    held.lock().unwrap();
    let it = script(Mode::Run, "wdev_run() { echo never; }\n");
    let output = node.start(&it, "n1", &layout).wait_with_output().unwrap();
    let (end, shown) = read(&output, "n1", Mode::Run);
    assert!(matches!(end, Some((End::Busy(1), _))), "{end:?}");
    assert!(!shown.contains("never"));
}

#[test]
fn whoever_waits_without_a_reader_ends_and_leaves_nothing() {
    let Some(node) = Node::new() else { return };
    let layout = Layout {
        wait_note: std::time::Duration::from_secs(1),
        ..node.layout()
    };
    std::fs::create_dir_all(Path::new(&layout.lock).parent().unwrap()).unwrap();
    let held = std::fs::File::create(&layout.lock).unwrap();
    held.lock().unwrap();
    let mut it = script(Mode::Run, "wdev_run() { :; }\n");
    it.secrets.insert("s".to_owned(), Secret::new("secret"));
    let mut waiting = node.start(&it, "n1", &layout);
    drop(waiting.stdout.take());
    assert!(!waiting.wait().unwrap().success());
    let left = std::fs::read_dir(node.path("work")).unwrap().count();
    assert_eq!(left, 0, "a copy with secrets is left");
}

#[test]
fn a_script_ends_although_nobody_reads_its_output_any_more() {
    let Some(node) = Node::new() else { return };
    let (started, go) = (node.path("started"), node.path("go"));
    for fifo in [&started, &go] {
        assert!(Command::new("mkfifo").arg(fifo).status().unwrap().success());
    }
    let body = format!(
        "wdev_run() {{\n  echo x >'{started}'\n  read -r _ <'{go}'\n  for i in 1 2 3; do echo \"$i\"; done\n}}\n"
    );
    let mut child = node.start(&script(Mode::Run, &body), "n1", &node.layout());
    std::fs::read(&started).unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    std::fs::write(&go, "go\n").unwrap();
    child.wait().unwrap();
    let stamp = std::fs::read_to_string(node.path("state/a-step")).unwrap();
    assert!(stamp.starts_with("f1\n"));
}

#[test]
fn what_is_left_running_does_not_hold_the_lock() {
    let Some(node) = Node::new() else { return };
    let pid = node.path("pid");
    let body = format!("wdev_run() {{ sleep 1000 >/dev/null 2>&1 & echo $! >'{pid}'; }}\n");
    done(node.run(&script(Mode::Run, &body), "n1").0);
    done(node.run(&script(Mode::Run, "wdev_run() { :; }\n"), "n2").0);
    let pid = std::fs::read_to_string(pid).unwrap();
    assert!(
        Command::new("kill")
            .arg(pid.trim())
            .status()
            .unwrap()
            .success()
    );
}

#[test]
fn the_wrapper_is_clean_for_shellcheck() {
    let Some(node) = Node::new() else { return };
    let Some(shellcheck) = need("shellcheck") else {
        return;
    };
    for mode in [Mode::Run, Mode::Probe] {
        let mut it = script(
            mode,
            "wdev_run() { wdev_log x; }\nwdev_probe() { wdev_stamped; }",
        );
        it.secrets.insert("a b".to_owned(), Secret::new("x"));
        let file = node.path("checked.sh");
        std::fs::write(&file, wrap_linux_in(&it, "n1", &node.layout()).unwrap()).unwrap();
        let checked = Command::new(&shellcheck).arg(&file).output().unwrap();
        assert!(
            checked.status.success(),
            "{}",
            String::from_utf8_lossy(&checked.stdout)
        );
    }
}

#[test]
fn names_that_could_be_misread_are_refused() {
    for (name, nonce) in [
        ("a b", "n"),
        ("../x", "n"),
        ("", "n"),
        ("-x", "n"),
        ("x", "n'"),
    ] {
        let mut it = script(Mode::Run, "");
        it.name = name.to_owned();
        assert!(
            wrap_linux_in(&it, nonce, &Layout::default()).is_err(),
            "{name} {nonce}"
        );
    }
}
