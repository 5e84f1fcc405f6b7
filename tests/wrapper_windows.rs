//! The wrapper around scripts for Windows nodes, and what runs beside it, under real PowerShell.
//!
//! PowerShell 7 here, Windows PowerShell 5.1 on the nodes: `powershell_rules.rs` holds what they have in
//! common.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use common::wrapped::{self, read};
use wdev::channel::powershell::{self, Ending};
use wdev::channel::wrap::{BY_HAND, End, Layout};
use wdev::channel::wrap_windows::{layout, wrap_windows_in};
use wdev::channel::{Mode, Os, Report, Script, Secret};

/// A node: a folder that is its `C:`, and the programs of Windows that scripts of ours call.
struct Node {
    dir: tempfile::TempDir,
    pwsh: PathBuf,
}

impl Node {
    /// None without PowerShell, which has been said then.
    fn new() -> Option<Self> {
        let node = Self {
            dir: tempfile::tempdir().unwrap(),
            pwsh: common::pwsh()?,
        };
        std::fs::create_dir(node.path("bin")).unwrap();
        node.program("icacls.exe", "echo \"$@\" >>\"$0.asked\"");
        Some(node)
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    fn program(&self, name: &str, text: &str) {
        let path = self.path(&format!("bin/{name}"));
        std::fs::write(&path, format!("#!/bin/bash\n{text}\n")).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn layout(&self) -> Layout {
        Layout {
            lock: self.path("it's wdev/lock"),
            state: self.path("it's wdev/steps"),
            work: self.path("it's wdev/run"),
            ..layout()
        }
    }

    fn command(&self) -> Command {
        let mut path = std::ffi::OsString::from(self.path("bin:"));
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut command = Command::new(&self.pwsh);
        command
            .args(["-NoProfile", "-NonInteractive"])
            .env("PATH", path)
            .env("HOME", self.dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts the script as Vagrant would: uploaded under a name, run by it.
    fn start(&self, script: &Script, nonce: &str, layout: &Layout) -> Child {
        let uploaded = self.path("uploaded.ps1");
        std::fs::write(&uploaded, wrap_windows_in(script, nonce, layout).unwrap()).unwrap();
        self.command().args(["-File", &uploaded]).spawn().unwrap()
    }

    fn run(&self, script: &Script, nonce: &str) -> (Option<(End, Report)>, String, Output) {
        let output = self
            .start(script, nonce, &self.layout())
            .wait_with_output()
            .unwrap();
        let (end, shown) = read(&output, nonce, script.mode);
        (end, shown, output)
    }

    /// Runs the words that wdev sends over SSH, `input` on standard input; a long text goes as a file.
    fn line(&self, text: &str, input: &[u8]) -> Output {
        let line = powershell::line(text).unwrap_or_else(|| {
            let uploaded = self.path("long.ps1");
            std::fs::write(&uploaded, text).unwrap();
            powershell::file_line(&uploaded).unwrap()
        });
        // Behind the program's name.
        let words: Vec<_> = line.split(' ').skip(1).collect();
        let mut child = self
            .command()
            .args(words)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let feeder = std::thread::spawn(move || {
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        output
    }
}

fn script(mode: Mode, text: &str) -> Script {
    wrapped::script(Os::Windows, mode, text)
}

/// A body whose run does `run` and whose probe asks for the stamp.
fn body(run: &str) -> String {
    format!(
        "function Invoke-WdevRun {{\n{run}\n}}\n\
         function Invoke-WdevProbe {{ if (-not (Test-WdevStamp)) {{ Stop-WdevProbe -Reason \"it's not\" }} }}\n"
    )
}

fn done(result: (Option<(End, Report)>, String, Output)) -> Report {
    match result.0 {
        Some((End::Done, report)) => report,
        other => panic!("not done: {other:?}\n{}\n{:?}", result.1, result.2),
    }
}

#[test]
fn a_script_that_ends_well_reports_and_is_stamped() {
    let Some(node) = Node::new() else { return };
    let odd = "it's \"$(id)\" \\n `x`\nline two é 🦀 {{ name }}";
    let mut it = script(
        Mode::Run,
        &body(
            "Write-WdevLog -Text ('h' + [char]233 + 'llo'); Write-Warning -Message 'loud'\n\
             Write-Verbose -Message 'quiet'\n\
             Add-WdevFact -Key key -Value (Get-WdevSecret -Name odd)\n\
             Add-WdevSecret -Name token -Value (Get-WdevSecret -Name odd)\n\
             Invoke-WdevNative -FilePath sh -ArgumentList '-c', 'echo out; echo err >&2'\n\
             Request-WdevReboot\n[pscustomobject]@{ Name = 'an object' }; 1 | Format-List",
        ),
    );
    it.secrets.insert("odd".to_owned(), Secret::new(odd));
    let result = node.run(&it, "n1");
    let shown = result.1.clone();
    let report = done(result);
    assert!(shown.contains(" info: héllo\nloud\n"), "{shown}");
    for words in ["out\n", "err\n", "an object"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(!shown.contains("quiet"), "{shown}");
    assert_eq!(report.facts["key"], odd);
    assert_eq!(report.secrets["token"].reveal(), odd);
    assert!(report.reboot_wanted && !report.in_place);
    let stamp = std::fs::read_to_string(node.path("it's wdev/steps/a-step")).unwrap();
    assert_eq!(stamp, "f1\nn1\n");
    assert!(
        !Path::new(&node.path("uploaded.ps1")).exists(),
        "the uploaded file holds secrets"
    );
    let asked = std::fs::read_to_string(node.path("bin/icacls.exe.asked")).unwrap();
    let wanted = format!(
        "{} /inheritance:r /grant:r *S-1-5-18:(OI)(CI)F *S-1-5-32-544:(OI)(CI)F /q\n",
        node.path("it's wdev")
    );
    assert_eq!(
        asked, wanted,
        "once, before anything was laid into the folder"
    );
}

#[test]
fn a_probe_tells_whether_and_why_not_and_a_good_run_asks_it_at_once() {
    let Some(node) = Node::new() else { return };
    let body = body("'x'");
    let report = done(node.run(&script(Mode::Probe, &body), "n1"));
    assert_eq!(
        (report.in_place, report.why.as_deref()),
        (false, Some("it's not"))
    );
    assert!(done(node.run(&script(Mode::Run, &body), "n2")).in_place);
    let report = done(node.run(&script(Mode::Probe, &body), "n3"));
    assert_eq!((report.in_place, report.why), (true, None));
    let mut changed = script(Mode::Probe, &body);
    changed.fingerprint = "f2".to_owned();
    assert!(!done(node.run(&changed, "n4")).in_place);
    let broken = body.replace("Test-WdevStamp", "Get-Nothing");
    let (end, _, _) = node.run(&script(Mode::Probe, &broken), "n5");
    assert!(
        matches!(&end, Some((End::Failed(1, why), _)) if why.contains("Get-Nothing") && why.contains(" (line ")),
        "a probe that cannot tell is no answer: {end:?}"
    );
}

#[test]
fn a_node_that_a_script_refuses_is_told_from_one_on_which_it_failed() {
    let Some(node) = Node::new() else { return };
    let text = body("Deny-WdevNode -Reason 'it''s no good'; 'on'");
    let (end, shown, output) = node.run(&script(Mode::Run, &text), "n1");
    let refused = End::Refused("it's no good".to_owned());
    assert_eq!(end.map(|(end, _)| end), Some(refused));
    assert!(!output.status.success() && !shown.contains("on\n"));
}

#[test]
fn whoever_runs_a_script_by_hand_gets_words_keeps_the_file_and_sees_no_secret() {
    let Some(node) = Node::new() else { return };
    let by_hand = |run: &str| {
        let (end, shown, _) = node.run(&script(Mode::Run, &body(run)), BY_HAND);
        assert_eq!(end, None);
        assert!(Path::new(&node.path("uploaded.ps1")).exists());
        shown
    };
    let told = by_hand(
        "Add-WdevFact -Key key -Value ('a  value ' + [char]233)\nAdd-WdevSecret -Name token -Value s3cret",
    );
    assert_eq!(
        told,
        "\nwdev: fact key: a  value é\nwdev: secret token: (kept secret)\nwdev: end proven"
    );
    assert_eq!(
        by_hand("Request-WdevReboot"),
        "\nwdev: reboot\nwdev: end ok"
    );
    let refused = by_hand("Deny-WdevNode -Reason 'no good'");
    assert_eq!(refused, "\nwdev: refused: no good");
    let failed = by_hand("throw 'my reason'");
    assert_eq!(failed, "\nwdev: failed 1: my reason");
    let missing = by_hand("Get-WdevSecret -Name join_token");
    assert_eq!(
        missing,
        "\nwdev: failed 1: join_token was not given: put it into the environment variable WDEV_GIVEN_join_token"
    );
}

#[test]
fn a_script_that_fails_says_so_and_loses_its_stamp() {
    let Some(node) = Node::new() else { return };
    done(node.run(&script(Mode::Run, &body("")), "n1"));
    for (text, code, reason) in [
        ("throw 'my reason'; 'on'", 1, "my reason"),
        (
            "try { $unset } catch { throw ('mine: ' + $_) }; 'on'",
            1,
            "mine: ",
        ),
        ("Get-Item -LiteralPath /none; 'on'", 1, "/none"),
        ("$unset; 'on'", 1, "unset"),
        ("try { $unset } catch { throw }; 'on'", 1, "unset"),
        ("[void][int]'x'; 'on'", 1, "Int32"),
        ("[void][IO.File]::ReadAllText('/none'); 'on'", 1, "/none"),
        (
            "Invoke-WdevNative -FilePath sh -ArgumentList '-c', 'echo why >&2; exit 7'; 'on'",
            7,
            "sh ended with exit code 7: why",
        ),
        (
            "Invoke-WdevNative -FilePath sh -ArgumentList '-c', 'echo \"x\"'",
            1,
            "double quote",
        ),
        ("exit 0", 1, "ended early"),
    ] {
        let (end, shown, output) = node.run(&script(Mode::Run, &body(text)), "n2");
        assert!(
            matches!(&end, Some((End::Failed(c, why), _)) if *c == code && why.contains(reason)),
            "{text}: {end:?} {shown}"
        );
        assert!(text == "exit 0" || !output.status.success(), "{text}");
        // What the script says in words of its own needs no line; what it did not expect does.
        let own = ["throw '", "throw (", "Invoke-WdevNative", "exit 0"];
        assert_eq!(
            format!("{end:?}").contains(" (line "),
            !own.iter().any(|words| text.contains(words)),
            "{text}: {end:?}"
        );
        assert!(!shown.contains("on\n"), "{text}: {shown}");
        assert!(!Path::new(&node.path("it's wdev/steps/a-step")).exists());
    }
}

#[test]
fn an_installer_that_wants_a_reboot_is_no_failure() {
    let Some(node) = Node::new() else { return };
    node.program("setup", "exit $1");
    let install = |code: &str, installer: &str| {
        format!("Invoke-WdevNative -FilePath setup -ArgumentList '{code}' {installer}")
    };
    for code in ["3010", "1641"] {
        // Linux has exit codes up to 255 only.
        let text = install("0", "-Installer").replace(
            "Invoke-WdevNative",
            &format!("function setup {{ $global:LASTEXITCODE = {code} }}\nInvoke-WdevNative"),
        );
        let report = done(node.run(&script(Mode::Run, &body(&text)), "n1"));
        assert!(report.reboot_wanted, "{code}");
    }
    let report = done(node.run(&script(Mode::Run, &body(&install("0", "-Installer"))), "n2"));
    assert!(!report.reboot_wanted);
    let (end, _, _) = node.run(&script(Mode::Run, &body(&install("5", "-Installer"))), "n3");
    assert!(matches!(end, Some((End::Failed(5, _), _))), "{end:?}");
}

#[test]
fn a_script_that_is_no_powershell_or_ends_the_wrapper_has_no_proven_end() {
    let Some(node) = Node::new() else { return };
    for text in [
        "function Invoke-WdevRun {",
        "exit 0",
        "[Environment]::Exit(0)",
        "'::wdev n2 end ok'; exit 0",
    ] {
        let (end, _, output) = node.run(&script(Mode::Run, text), "n1");
        assert!(!matches!(end, Some((End::Done, _))), "{text}: {output:?}");
    }
}

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

#[test]
fn a_script_that_is_not_ascii_is_refused() {
    assert!(wrap_windows_in(&script(Mode::Run, "'é'"), "n1", &layout()).is_err());
    let mut linux = script(Mode::Run, "");
    linux.os = Os::Linux;
    assert!(wrap_windows_in(&linux, "n1", &layout()).is_err());
}

#[test]
fn a_program_gets_every_argument_as_it_was_given() {
    let Some(node) = Node::new() else { return };
    node.program(
        "show",
        "printf '%s\\0' \"$@\"; printf 'no line end' >&2; exit 200",
    );
    for words in common::nasty_texts().chunks(100) {
        let mut argv = vec!["show".to_owned()];
        argv.extend(words.iter().cloned());
        let output = node.line(&powershell::exec(&argv, "n1").unwrap(), b"");
        let (got, end) = String::from_utf8(output.stdout).unwrap().split_at_end();
        assert_eq!(got, words);
        assert_eq!(end, "");
        let mut ending = Ending::new("n1");
        let stderr = String::from_utf8(output.stderr).unwrap();
        let shown: Vec<_> = stderr
            .lines()
            .filter_map(|line| ending.line(line))
            .collect();
        assert_eq!(shown, ["no line end"]);
        assert_eq!(ending.exit_code(), Some(200));
        assert_eq!(output.status.code(), Some(200));
    }
}

trait SplitAtEnd {
    fn split_at_end(&self) -> (Vec<String>, String);
}

impl SplitAtEnd for String {
    /// The texts that end with a NUL, and what is behind the last one.
    fn split_at_end(&self) -> (Vec<String>, String) {
        let mut texts: Vec<_> = self.split('\0').map(str::to_owned).collect();
        let end = texts.pop().unwrap_or_default();
        (texts, end)
    }
}

#[test]
fn a_program_that_is_not_there_or_a_batch_file_that_would_misread_is_told() {
    let Some(node) = Node::new() else { return };
    node.program("build.cmd", "echo ran");
    let exec = |argv: &[&str]| {
        let argv: Vec<_> = argv.iter().map(|word| (*word).to_owned()).collect();
        let output = node.line(&powershell::exec(&argv, "n1").unwrap(), b"");
        let said = String::from_utf8(output.stderr).unwrap();
        let mut ending = Ending::new("n1");
        let shown: Vec<_> = said.lines().filter_map(|line| ending.line(line)).collect();
        (ending.exit_code(), shown.join("\n"))
    };
    let (code, said) = exec(&["Get-Item", "/"]);
    assert_eq!(code, Some(127));
    assert!(said.contains("no program Get-Item"), "{said}");
    assert_eq!(exec(&["*"]).0, Some(127));
    assert_eq!(exec(&["build.cmd", "a b"]).0, Some(0));
    let (code, said) = exec(&["build.cmd", "%PATH%"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("batch file"), "{said}");
}

/// Every byte, many times over, without any order.
fn bytes() -> Vec<u8> {
    (0..3_000_000_u32)
        .map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3])
        .chain(*b"\xff\xfe\r\n\x1a\0")
        .collect()
}

#[test]
fn a_file_arrives_and_comes_back_byte_for_byte_or_not_at_all() {
    let Some(node) = Node::new() else { return };
    let bytes = bytes();
    let to = node.path("a new folder/it's [x] é.bin");
    for _ in 0..2 {
        let text = powershell::receive(&to, &common::sha256(&bytes)).unwrap();
        let output = node.line(&text, &bytes);
        assert!(output.status.success(), "{output:?}");
        assert!(std::fs::read(&to).unwrap() == bytes);
    }
    let cut = node.line(
        &powershell::receive(&to, &common::sha256(&bytes)).unwrap(),
        &bytes[1..],
    );
    assert_eq!(cut.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&cut.stderr).contains("another hash"));
    assert!(std::fs::read(&to).unwrap() == bytes);
    let folder = Path::new(&to).parent().unwrap();
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1);

    let output = node.line(&powershell::send(&to).unwrap(), b"");
    assert!(output.status.success() && output.stdout == bytes);
    let about = format!("{} {}\n", bytes.len(), common::sha256(&bytes));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), about);
    let missing = node.line(&powershell::send(&node.path("none")).unwrap(), b"");
    assert_eq!(missing.status.code(), Some(1));
}

#[test]
fn a_script_that_is_sent_runs_when_it_is_whole_and_leaves_no_file() {
    let Some(node) = Node::new() else { return };
    let root = node.path("it's wdev");
    let it = script(
        Mode::Run,
        &body("Write-WdevLog -Text 'ran'; Write-Error -Message 'why'"),
    );
    let text = wrap_windows_in(&it, "n1", &node.layout()).unwrap();
    let run = powershell::run(&root, text.len() as u64).unwrap();
    // Left by a run that was ended before it had set who may read it.
    std::fs::create_dir(&root).unwrap();
    let cut = node.line(&run, &text.as_bytes()[1..]);
    assert_eq!(cut.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&cut.stderr).contains("whole"));
    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0);
    let output = node.line(&run, text.as_bytes());
    let (end, shown) = read(&output, "n1", Mode::Run);
    assert!(
        matches!(&end, Some((End::Failed(1, why), _)) if why.contains("why")),
        "{end:?} {output:?}"
    );
    assert!(shown.ends_with(" info: ran"), "{shown}");
    let left = std::fs::read_dir(&root).unwrap().flatten();
    let sent: Vec<_> = left.filter(|e| e.path().extension().is_some()).collect();
    assert!(sent.is_empty(), "{sent:?}");
    let asked = std::fs::read_to_string(node.path("bin/icacls.exe.asked")).unwrap();
    let rights =
        format!("{root} /inheritance:r /grant:r *S-1-5-18:(OI)(CI)F *S-1-5-32-544:(OI)(CI)F /q");
    // For each script that was sent, and by the wrapper.
    assert_eq!(asked.lines().collect::<Vec<_>>(), [rights.as_str(); 3]);
}

#[test]
fn the_boot_identity_is_when_the_first_process_began() {
    let Some(node) = Node::new() else { return };
    let double = "function Get-CimInstance { param($ClassName, $Filter)\n\
        if ($ClassName -ne 'Win32_Process' -or $Filter -ne \"Name = 'wininit.exe'\") { throw 'no' }\n\
        [pscustomobject]@{ ProcessId = 620; CreationDate = [datetimeoffset]::new(2026, 3, 1, 10, 0, 1, 5, [timespan]::FromHours(2)) } }\n";
    let output = node.line(&format!("{double}{}", powershell::boot_identity()), b"");
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "20260301080001.005000-620\n"
    );
}
