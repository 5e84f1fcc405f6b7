//! Reads Vagrant's `--machine-readable` output.
//!
//! A record is `SECONDS,TARGET,TYPE,DATA…`; commas and line ends inside data are escaped, backslashes
//! are not. Lines that are no records occur between them. (lib/vagrant/ui.rb, class `MachineReadable`.)

/// One line of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A record.
    Record(Record),
    /// A line that is no record, such as the text that `ssh-config` prints after its record.
    Raw(String),
}

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The machine's name; empty for the whole environment.
    pub target: String,
    /// What it is, such as `ui` or `state`.
    pub kind: String,
    /// Its values, unescaped.
    pub data: Vec<String>,
}

impl Record {
    /// The value at `index`, or an empty text.
    #[must_use]
    pub fn value(&self, index: usize) -> &str {
        self.data.get(index).map_or("", String::as_str)
    }

    /// For a record that talks to the user: how loud (`info`, `detail`, `output`, `warn`, `error`,
    /// `success`), and its lines without the machine's name in front.
    #[must_use]
    pub fn talk(&self) -> Option<(&str, Vec<&str>)> {
        if self.kind != "ui" {
            return None;
        }
        let lines = self.value(1).split('\n');
        Some((
            self.value(0),
            lines.map(|line| without_name(line, &self.target)).collect(),
        ))
    }
}

/// Parses one line, which holds no line end and no terminal escapes.
#[must_use]
pub fn parse(line: &str) -> Entry {
    let mut fields = line.split(',');
    let (Some(seconds), Some(target), Some(kind)) = (fields.next(), fields.next(), fields.next())
    else {
        return Entry::Raw(line.to_owned());
    };
    let is_kind = !kind.is_empty() && kind.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    if seconds.is_empty() || !seconds.bytes().all(|b| b.is_ascii_digit()) || !is_kind {
        return Entry::Raw(line.to_owned());
    }
    Entry::Record(Record {
        target: target.to_owned(),
        kind: kind.to_owned(),
        data: fields.map(unescape).collect(),
    })
}

fn unescape(data: &str) -> String {
    data.replace("%!(VAGRANT_COMMA)", ",")
        .replace("\\n", "\n")
        .replace("\\r", "\r")
}

/// Cuts `==> NAME: ` or `    NAME: `, which Vagrant puts before every line of a machine.
fn without_name<'a>(line: &'a str, target: &str) -> &'a str {
    let cut = || {
        let line = line
            .strip_prefix("==> ")
            .or_else(|| line.strip_prefix("    "))?;
        let line = line.strip_prefix(target)?.strip_prefix(':')?;
        Some(line.strip_prefix(' ').unwrap_or(line))
    };
    if target.is_empty() {
        return line;
    }
    cut().unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::lines::clean;

    fn fixture(name: &str) -> Vec<Entry> {
        let path = format!(
            "{}/tests/fixtures/vagrant/{name}",
            env!("CARGO_MANIFEST_DIR")
        );
        let bytes = std::fs::read(path).unwrap();
        bytes
            .split(|byte| *byte == b'\n')
            .map(|line| parse(&clean(line)))
            .collect()
    }

    fn record(line: &str) -> Record {
        match parse(line) {
            Entry::Record(record) => record,
            Entry::Raw(text) => panic!("no record: {text}"),
        }
    }

    #[test]
    fn states_of_machines_are_read() {
        for (file, states) in [
            (
                "status-running.out",
                vec![("cp", "running"), ("w1", "running")],
            ),
            ("status-stopped.out", vec![("cp", "stopped")]),
            (
                "status-not-created.out",
                vec![("cp", "not_created"), ("w1", "not_created")],
            ),
        ] {
            let entries = fixture(file);
            let read: Vec<_> = entries
                .iter()
                .filter_map(|entry| match entry {
                    Entry::Record(r) if r.kind == "state" => Some((r.target.as_str(), r.value(0))),
                    _ => None,
                })
                .collect();
            assert_eq!(read, states, "{file}");
        }
    }

    #[test]
    fn guest_output_arrives_as_it_was_printed() {
        let entries = fixture("provision-special.out");
        let lines: Vec<&str> = entries
            .iter()
            .filter_map(|entry| match entry {
                Entry::Record(record) => record.talk(),
                Entry::Raw(_) => None,
            })
            .filter(|(loudness, _)| *loudness == "detail")
            .flat_map(|(_, lines)| lines)
            .collect();
        for line in ["a,b", "utf8 é", "\u{fffd}bad", "esc red", "no-eol", ""] {
            assert!(lines.contains(&line), "{line:?} is not in {lines:?}");
        }
    }

    #[test]
    fn lines_that_are_no_records_are_kept_as_they_are() {
        let entries = fixture("ssh-config.out");
        assert!(entries.contains(&Entry::Raw("  HostName 127.0.0.1".to_owned())));
        let config = record("1,cp,ssh-config,Host cp\\n  Port 2201\\n");
        assert_eq!(config.value(0), "Host cp\n  Port 2201\n");
        for line in [
            "",
            "Vagrant 2.3.4",
            "a,b,c,d",
            "1,cp",
            "1,cp,Kind,x",
            "1,2,,x",
        ] {
            assert_eq!(parse(line), Entry::Raw(line.to_owned()));
        }
    }

    #[test]
    fn the_machines_name_is_cut_from_every_line() {
        let said = record("1,w1,ui,info,==> w1: one\\n==> w1: two");
        assert_eq!(said.talk(), Some(("info", vec!["one", "two"])));
        assert_eq!(
            record("1,cp,ui,detail,    cp: ").talk(),
            Some(("detail", vec![""]))
        );
        // Another machine's name, and text that only looks like one, stay.
        assert_eq!(
            record("1,cp,ui,detail,    cp: ==> w1: x").talk(),
            Some(("detail", vec!["==> w1: x"]))
        );
        assert_eq!(
            record("1,,ui,error,    cp: x").talk(),
            Some(("error", vec!["    cp: x"]))
        );
    }

    #[test]
    fn unknown_records_and_missing_values_do_no_harm() {
        let new = record("1,cp,of-tomorrow");
        assert_eq!((new.value(0), new.talk()), ("", None));
        assert_eq!(record("1,cp,ui").talk(), Some(("", vec![""])));
    }

    #[test]
    fn every_captured_output_ends_as_vagrant_ended() {
        let class = |file: &str| {
            fixture(file).into_iter().find_map(|entry| match entry {
                Entry::Record(r) if r.kind == "error-exit" => Some(r.value(0).to_owned()),
                _ => None,
            })
        };
        for (file, ended) in [
            ("box-not-found.out", "BoxAddShortNotFound"),
            ("destroy-needs-force.out", "UIExpectsTTY"),
            ("locked-action.out", "MachineActionLockedError"),
            ("provider-not-found-vmware.out", "ProviderNotFound"),
            ("provider-not-usable-hyperv.out", "ProviderNotUsable"),
            ("provision-fail.out", "VagrantError"),
            ("snapshot-unsupported.out", "SnapshotNotSupported"),
            ("status-machine-locked.out", "MachineLocked"),
            ("unknown-machine.out", "MachineNotFound"),
            ("up-batch-fail.out", "BatchMultiError"),
            ("up-killed-by-status-poll.out", "MachineLocked"),
        ] {
            assert_eq!(
                class(file),
                Some(format!("Vagrant::Errors::{ended}")),
                "{file}"
            );
        }
        for file in [
            "provision-cut-rc0.out",
            "provision-stopped-rc0.out",
            "up-again.out",
            "halt.out",
            "halt-notcreated-rc0.out",
            "destroy.out",
            "up-parallel.out",
        ] {
            assert_eq!(class(file), None, "{file}");
        }
    }
}
