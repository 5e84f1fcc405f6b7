//! How a script ends, and what it tells.

use std::path::Path;

use wdev::channel::wrap::{BY_HAND, End};
use wdev::channel::{Mode, Secret};

use crate::common::wrapped;
use crate::node::{Node, body, done, script};

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
    let run = node.run(&script(Mode::Run, &text), "n1");
    wrapped::assert_refused(&run, "it's no good");
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
