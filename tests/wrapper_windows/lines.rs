//! What goes over SSH without a wrapper: programs with their arguments, files, questions.

use std::path::Path;

use wdev::channel::powershell::{self, Ending};
use wdev::channel::wrap::End;
use wdev::channel::wrap_windows::{layout, wrap_windows_in};
use wdev::channel::{Mode, Os};

use crate::common;
use crate::common::wrapped::read;
use crate::node::{Node, body, script};

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
