//! Follows a script while it runs: what it says, what it proves, and what of it outlives wdev.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::node::{Node, read, write};
use crate::channel::wrap::{End, Reader, Said};
use crate::channel::{Io, Line, Mode, Os, Report, Script, Secret};
use crate::error::{Failure, Kind, Result};
use crate::event::Stream;
use crate::home::remove_file;

/// Shorter secrets are not looked for in the output: that would only maim it.
const SHORTEST_SECRET: usize = 6;

/// Takes a script's output, shows what is to be shown, and keeps what it proves.
pub(super) struct Listener<'a> {
    reader: Reader,
    hidden: Hidden,
    /// The last lines that the user saw.
    pub tail: Vec<String>,
    io: &'a Io,
}

impl<'a> Listener<'a> {
    pub fn new(script: &Script, nonce: &str, io: &'a Io) -> Self {
        Self {
            reader: Reader::new(nonce),
            hidden: Hidden::new(script),
            tail: Vec::new(),
            io,
        }
    }

    /// Takes a line of the wrapped script.
    pub fn line(&mut self, line: &str) {
        let said = self.reader.line(line);
        for made in self.reader.secrets() {
            self.hidden.add(made);
        }
        for said in said {
            match said {
                Said::Output(text) => self.show(&text),
                Said::Waiting(seconds) => self.io.note(format!(
                    "waiting for a script that an earlier run left behind ({seconds} s)"
                )),
                Said::Protocol => {}
            }
        }
    }

    /// Shows a line, without the secrets that the script was given or has made.
    pub fn show(&mut self, text: &str) {
        let text = self.hidden.hide(text);
        if self.tail.len() == crate::process::TAIL {
            self.tail.remove(0);
        }
        self.tail.push(text.clone());
        (self.io.output)(Line {
            stream: Stream::Stdout,
            text,
        });
    }

    /// How the script ended, when it proved its end, the last lines that it said, and what no message
    /// about it may hold.
    pub fn finish(self, mode: Mode) -> (Option<(End, Report)>, Vec<String>, Hidden) {
        (self.reader.finish(mode), self.tail, self.hidden)
    }
}

/// What is never shown of a script: its secrets, as they are and in Base64, as they stand in the wrapped
/// script and in its report.
#[derive(Debug, Default)]
pub(super) struct Hidden(Vec<Secret>);

impl Hidden {
    fn new(script: &Script) -> Self {
        let mut hidden = Self::default();
        for secret in script.secrets.values() {
            hidden.add(secret);
        }
        hidden
    }

    fn add(&mut self, secret: &Secret) {
        let text = secret.reveal();
        if text.len() < SHORTEST_SECRET || self.0.contains(secret) {
            return;
        }
        self.0.push(secret.clone());
        self.0.push(Secret::new(BASE64.encode(text)));
    }

    /// The text without them.
    pub fn hide(&self, text: &str) -> String {
        let secrets = self.0.iter().map(Secret::reveal);
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
    }
}

/// A script that proved how it ended: its report, or its failure.
pub(super) fn judge(
    node: &Node,
    script: &Script,
    (end, report): (End, Report),
    io: &Io,
) -> Result<Report> {
    let (name, on) = (&script.name, node.name());
    let failure = match end {
        End::Done => return Ok(report),
        End::Earlier => {
            io.note("finished by an earlier run");
            return Ok(report);
        }
        End::Failed(code, why) if why.is_empty() => Failure::new(
            Kind::Step,
            format!("the script `{name}` failed on `{on}` with exit code {code}"),
        ),
        End::Failed(_, why) => {
            Failure::new(Kind::Step, format!("the script `{name}` failed on `{on}`")).because(why)
        }
        End::Refused(why) => {
            let message = format!("the script `{name}` cannot do its work on `{on}`");
            Failure::new(Kind::Step, message).because(why).permanent()
        }
        End::Busy(seconds) => Failure::new(
            Kind::Step,
            format!(
                "another script of wdev is at work on `{on}` and did not end within {seconds} s"
            ),
        )
        .advise(format!(
            "see what it does: `wdev exec {on} -- {}`; restarting the node ends it",
            match script.os {
                Os::Linux => "ps -ef",
                Os::Windows => "tasklist",
            }
        )),
    };
    Err(Box::new(failure))
}

/// Remembers, across the death of wdev, that a script was begun and its end not seen.
pub(super) struct Unseen {
    path: Option<PathBuf>,
    fingerprint: String,
}

impl Unseen {
    pub fn new(node: &Node, script: &Script) -> Self {
        Self {
            path: (script.mode == Mode::Run).then(|| node.own(&format!("{}.unseen", script.name))),
            fingerprint: script.fingerprint.clone(),
        }
    }

    /// The nonces of earlier runs with the same inputs whose end was not seen.
    pub fn earlier(&self) -> Result<Vec<String>> {
        let Some(path) = &self.path else {
            return Ok(Vec::new());
        };
        let text = read(path)?.unwrap_or_default();
        let mut words = text.split_whitespace().map(str::to_owned);
        if words.next().as_ref() == Some(&self.fingerprint) {
            Ok(words.collect())
        } else {
            Ok(Vec::new())
        }
    }

    pub fn begins(&self, nonce: &str, earlier: &[String]) -> Result<()> {
        match &self.path {
            Some(path) => write(
                path,
                &format!("{} {} {nonce}", self.fingerprint, earlier.join(" ")),
            ),
            None => Ok(()),
        }
    }

    pub fn was_seen(&self) -> Result<()> {
        self.path.as_ref().map_or(Ok(()), |path| remove_file(path))
    }
}

/// What only a script that ran to its end can print: 128 random bits.
pub(super) fn nonce() -> Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        Failure::new(Kind::Host, "the host has no random numbers").because(error)
    })?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::channel::Os;

    #[test]
    fn neither_what_a_script_was_given_nor_what_it_made_is_shown() {
        let shown = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&shown);
        let io = Io {
            output: Arc::new(move |line: Line| sink.lock().unwrap().push(line.text)),
            ..Io::silent()
        };
        let script = Script {
            name: "join".to_owned(),
            os: Os::Linux,
            mode: Mode::Run,
            text: None,
            effects: Vec::new(),
            fingerprint: "f".to_owned(),
            secrets: BTreeMap::from([("given".to_owned(), Secret::new("it was given"))]),
        };
        let mut listener = Listener::new(&script, "n", &io);
        for line in [
            "given: it was given".to_owned(),
            format!("line 7: {}: not found", BASE64.encode("it was given")),
            format!(
                "::wdev n secret token {}",
                BASE64.encode("abcdef.0123456789")
            ),
            "made: abcdef.0123456789, and more".to_owned(),
            format!("again {}", BASE64.encode("abcdef.0123456789")),
        ] {
            listener.line(&line);
        }
        assert_eq!(
            *shown.lock().unwrap(),
            [
                "given: ***",
                "line 7: ***: not found",
                "made: ***, and more",
                "again ***"
            ]
        );
        let (_, tail, hidden) = listener.finish(Mode::Run);
        assert!(
            tail.iter().all(|line| !line.contains("0123456789")),
            "{tail:?}"
        );
        assert_eq!(hidden.hide("x abcdef.0123456789"), "x ***");
    }
}
