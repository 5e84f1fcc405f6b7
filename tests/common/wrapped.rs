//! Scripts in their wrapper, for the tests of both wrappers.

use std::collections::BTreeMap;
use std::process::Output;

use wdev::channel::wrap::{End, Reader, Said};
use wdev::channel::{Mode, Os, Report, Script};

/// A script with this body.
pub fn script(os: Os, mode: Mode, text: &str) -> Script {
    Script {
        name: "a-step".to_owned(),
        os,
        mode,
        text: Some(text.to_owned()),
        effects: Vec::new(),
        fingerprint: "f1".to_owned(),
        secrets: BTreeMap::new(),
    }
}

/// What a wrapper has proven, and what it has shown.
pub fn read(output: &Output, nonce: &str, mode: Mode) -> (Option<(End, Report)>, String) {
    let mut reader = Reader::new(nonce);
    let mut shown = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        for said in reader.line(line) {
            if let Said::Output(text) = said {
                shown.push(text);
            }
        }
    }
    (reader.finish(mode), shown.join("\n"))
}

/// Holds that a script refused its node for this reason, and did nothing after that.
pub fn assert_refused(run: &(Option<(End, Report)>, String, Output), why: &str) {
    let (end, shown, output) = run;
    let end = end.as_ref().map(|(end, _)| end);
    assert_eq!(end, Some(&End::Refused(why.to_owned())));
    assert!(!output.status.success() && !shown.contains("on\n"));
}
