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
