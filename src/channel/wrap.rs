//! Puts a script for a Linux node into the wrapper that proves its end, and reads what the wrapper
//! prints.
//!
//! The script's text is bash that defines `wdev_run` and `wdev_probe`. It may use:
//!
//! | function | does |
//! | --- | --- |
//! | `wdev_fact KEY VALUE` | reports something learnt, without secrets |
//! | `wdev_secret NAME VALUE` | reports a secret that was made; it is shown nowhere |
//! | `wdev_given NAME` | prints a secret that was given to this run |
//! | `wdev_want_reboot` | asks for a reboot; in a probe that ends with "not in place": one is still pending |
//! | `wdev_not_in_place REASON` | ends a probe with "not in place" |
//! | `wdev_stamped` | true when a run with the same fingerprint has ended well on this node |
//! | `wdev_log TEXT` | says something |
//!
//! After a good run that wants no reboot, the wrapper asks `wdev_probe` at once: a "yes" is reported as
//! [`Report::in_place`] and saves a second way to the node.
//!
//! Both run as root in a subshell with `set -euo pipefail`, without standard input, and with both
//! output streams in one. A process that is left running must not keep the output open.
//!
//! On the node, `/run/lock/wdev.lock` is held while a script runs; `/var/lib/wdev/steps/NAME` is the
//! stamp of its last good end; `/run/wdev` holds private copies and reports, readable by root only.

use std::fmt::Write as _;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::{Mode, Os, Report, Script, Secret};
use crate::error::{Failure, Kind, Result};
use crate::render::quote::SH;

const TEMPLATE: &str = include_str!("../../templates/linux/wrapper.sh.in");
/// How a line of the protocol begins, wherever on a line of output.
const TAG: &str = "::wdev ";

/// Where the wrapper keeps its things on the node, and how long it waits.
#[derive(Debug, Clone)]
pub struct Layout {
    /// The lock that every script of wdev takes.
    pub lock: String,
    /// The folder of the stamps; it survives reboots.
    pub state: String,
    /// The folder of private copies and reports; a reboot may empty it.
    pub work: String,
    /// How long to wait for a script that an earlier run left behind.
    pub wait_limit: Duration,
    /// How often to say that it waits.
    pub wait_note: Duration,
    /// The nonces of earlier runs with the same inputs whose end nobody saw. When one of them has ended
    /// well, it counts, and the script does not run again.
    pub unseen: Vec<String>,
}

impl Default for Layout {
    fn default() -> Self {
        Self {
            lock: "/run/lock/wdev.lock".to_owned(),
            state: "/var/lib/wdev/steps".to_owned(),
            work: "/run/wdev".to_owned(),
            wait_limit: Duration::from_hours(1),
            wait_note: Duration::from_secs(5),
            unseen: Vec::new(),
        }
    }
}

/// What stands for the one-time text in a script that a person runs by hand.
pub const BY_HAND: &str = "by-hand";

/// The script with its wrapper, ready to be run by bash as root. `nonce` must be new for every run.
///
/// # Errors
/// `Step`, permanent, when the script has no text yet or is not for Linux; `Bug` when its name, its
/// fingerprint or the nonce hold anything but letters, digits, `.`, `_` and `-`.
pub fn wrap_linux(script: &Script, nonce: &str) -> Result<String> {
    wrap_linux_in(script, nonce, &Layout::default())
}

/// As [`wrap_linux`], with other places and times.
pub fn wrap_linux_in(script: &Script, nonce: &str, layout: &Layout) -> Result<String> {
    let text = checked(script, Os::Linux, nonce)?;
    let mut secrets = String::new();
    for (name, secret) in &script.secrets {
        let _ = writeln!(
            secrets,
            "    {}) printf '%s' {} | base64 -d ;;",
            crate::process::quote(name),
            SH.quote(&BASE64.encode(secret.reveal()))?,
        );
    }
    let values = [
        ("name", SH.quote(&script.name)?),
        ("nonce", SH.quote(nonce)?),
        ("by_hand", SH.quote(BY_HAND)?),
        ("fingerprint", SH.quote(&script.fingerprint)?),
        (
            "mode",
            SH.quote(match script.mode {
                Mode::Run => "run",
                Mode::Probe => "probe",
            })?,
        ),
        (
            "unseen",
            SH.quote(&format!(" {} ", layout.unseen.join(" ")))?,
        ),
        ("lock", SH.quote(&layout.lock)?),
        ("state", SH.quote(&layout.state)?),
        ("work", SH.quote(&layout.work)?),
        ("wait_limit", layout.wait_limit.as_secs().max(1).to_string()),
        ("wait_note", layout.wait_note.as_secs().max(1).to_string()),
        ("secrets", secrets),
        ("body", text.to_owned()),
    ];
    Ok(fill(TEMPLATE, &values))
}

/// The text of a script for `os`, once its name, its fingerprint and the nonce can be used.
pub(super) fn checked<'a>(script: &'a Script, os: Os, nonce: &str) -> Result<&'a str> {
    let text = match &script.text {
        Some(text) if script.os == os => text,
        _ => return Err(not_built(script)),
    };
    for (what, value) in [
        ("name", script.name.as_str()),
        ("fingerprint", &script.fingerprint),
        ("nonce", nonce),
    ] {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if value.is_empty() || value.starts_with('-') || !value.chars().all(plain) {
            return Err(Box::new(Failure::new(
                Kind::Bug,
                format!(
                    "the script `{}` has an unusable {what}: `{value}`",
                    script.name
                ),
            )));
        }
    }
    Ok(text)
}

/// Fills each `{{ name }}` once, left to right; what is filled in is never looked at again.
pub(super) fn fill(template: &str, values: &[(&str, String)]) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{ ") {
        filled.push_str(before);
        let Some((name, after)) = after.split_once(" }}") else {
            break;
        };
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
            filled.push_str(value);
        }
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// The failure of a script that this version of wdev cannot run on a real machine.
#[must_use]
pub fn not_built(script: &Script) -> Box<Failure> {
    Box::new(
        Failure::new(
            Kind::Step,
            format!(
                "the step `{}` is not built yet: only the simulator can run it",
                script.name
            ),
        )
        .advise("try it without machines: add `--provider sim`")
        .permanent(),
    )
}

/// How a wrapped script ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It ran to its end.
    Done,
    /// An earlier run of it ended well while this one waited; it did not run again.
    Earlier,
    /// It failed with this exit code, for this reason where one is known.
    Failed(i32, String),
    /// The node is none that it can do its work on, for this reason; another try would end so too.
    Refused(String),
    /// Another script held the node for this many seconds.
    Busy(u64),
}

/// What a line of output was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Output of the script, to be shown.
    Output(String),
    /// It has waited this many seconds for another script to end.
    Waiting(u64),
    /// A line of the protocol; not to be shown.
    Protocol,
}

/// Reads the output of a wrapped script, line by line.
#[derive(Debug)]
pub struct Reader {
    tag: String,
    report: Report,
    missing: bool,
    proven: bool,
    end: Option<End>,
    blank: bool,
}

impl Reader {
    /// Reads the output of the script that was wrapped with this nonce.
    #[must_use]
    pub fn new(nonce: &str) -> Self {
        Self {
            tag: format!("{TAG}{nonce} "),
            report: Report::default(),
            missing: false,
            proven: false,
            end: None,
            blank: false,
        }
    }

    /// Takes a line. What is to be shown comes back, in order; an empty line waits for the next one,
    /// because the wrapper puts one before its report.
    pub fn line(&mut self, line: &str) -> Vec<Said> {
        let Some((before, record)) = line.split_once(&self.tag) else {
            if line.is_empty() && !self.blank {
                self.blank = true;
                return Vec::new();
            }
            let mut said = self.held_back();
            if line.is_empty() {
                self.blank = true;
            } else {
                said.push(Said::Output(line.to_owned()));
            }
            return said;
        };
        self.blank = false;
        let mut said = Vec::new();
        if !before.is_empty() {
            said.push(Said::Output(before.to_owned()));
        }
        said.push(self.record(record.trim_end()));
        said
    }

    fn held_back(&mut self) -> Vec<Said> {
        if std::mem::take(&mut self.blank) {
            vec![Said::Output(String::new())]
        } else {
            Vec::new()
        }
    }

    fn record(&mut self, record: &str) -> Said {
        let mut words = record.splitn(3, ' ');
        let (kind, key, value) = (
            words.next().unwrap_or_default(),
            words.next().unwrap_or_default(),
            words.next().unwrap_or_default(),
        );
        // A record that a cut connection has maimed counts for nothing; the end is then missing too.
        let value = BASE64
            .decode(value)
            .ok()
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        match (kind, value) {
            ("fact", Some(value)) => {
                self.report.facts.insert(key.to_owned(), value);
            }
            ("secret", Some(value)) => {
                self.report
                    .secrets
                    .insert(key.to_owned(), Secret::new(value));
            }
            ("reboot", _) => self.report.reboot_wanted = true,
            ("missing", Some(value)) if !self.missing => {
                self.missing = true;
                self.report.why = Some(value).filter(|why| !why.is_empty());
            }
            ("waiting", _) => return Said::Waiting(key.parse().unwrap_or(0)),
            ("busy", _) => self.end = Some(End::Busy(key.parse().unwrap_or(0))),
            ("failed", why) => {
                let code = key.parse().unwrap_or(1);
                self.end = Some(End::Failed(code, why.unwrap_or_default()));
            }
            ("refused", why) => self.end = Some(End::Refused(why.unwrap_or_default())),
            ("end", _) => {
                self.proven = key == "proven";
                self.end = Some(if key == "earlier" {
                    End::Earlier
                } else {
                    End::Done
                });
            }
            _ => {}
        }
        Said::Protocol
    }

    /// The secrets that the script has reported so far.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.report.secrets.values()
    }

    /// How the script ended, with what it reported; nothing when its end was not proven.
    #[must_use]
    pub fn finish(mut self, mode: Mode) -> Option<(End, Report)> {
        self.report.in_place = match mode {
            Mode::Probe => !self.missing,
            Mode::Run => self.proven,
        };
        self.end.take().map(|end| (end, self.report))
    }
}
