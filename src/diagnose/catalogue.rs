//! The rows of the data files.

use std::sync::LazyLock;

use serde::Deserialize;

use super::text::Haystack;
use crate::error::Kind;

/// The data files: their names and contents.
pub const FILES: &[(&str, &str)] = &[
    ("vagrant", include_str!("vagrant.json")),
    ("box", include_str!("box.json")),
    ("guest", include_str!("guest.json")),
    ("kubelet", include_str!("kubelet.json")),
    ("virtualbox", include_str!("virtualbox.json")),
    ("hyperv", include_str!("hyperv.json")),
    ("vmware", include_str!("vmware.json")),
    ("libvirt", include_str!("libvirt.json")),
    ("docker", include_str!("docker.json")),
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(rename = "source")]
    _source: String,
    failures: Vec<Known>,
}

/// One failure that is known. All that it names must hold.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent fact of the row"
)]
pub struct Known {
    /// Names it in code, tests and documentation; never changes its meaning.
    pub id: String,
    /// The Ruby class of Vagrant's error, any of these, which is enough by itself: its last part, or
    /// more of it where the last part is not unique.
    #[serde(default)]
    classes: Vec<String>,
    /// Classes that also stand for other failures: they count together with the text.
    #[serde(default)]
    shared: Vec<String>,
    /// The text is too common to count without one of the classes.
    #[serde(default)]
    strict: bool,
    /// All stand in the message, in this order.
    #[serde(default)]
    words: Vec<String>,
    /// One of these stands in the message.
    #[serde(default)]
    any: Vec<String>,
    /// The class only wraps a cause: it counts when nothing is known about that.
    #[serde(default)]
    pub(super) wrapper: bool,
    /// Whose problem it is, and with that the exit code.
    pub kind: Kind,
    /// Whether the same command is tried again by the driver itself: nothing was done.
    #[serde(default)]
    pub retry: bool,
    /// Whether trying the step again is pointless.
    #[serde(default)]
    pub permanent: bool,
    /// What it means.
    pub message: String,
    /// What to do next.
    pub advice: Vec<String>,
    /// What lines before the failure tell about it.
    #[serde(default)]
    hints: Vec<Hint>,
    /// Reports of it, as `owner/repository #number`.
    #[serde(default)]
    pub issues: Vec<String>,
    /// Where the class and the text come from.
    pub source: String,
}

/// What a line before a failure tells about it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Hint {
    /// Stands in the line.
    line: String,
    /// What to do then.
    pub advice: Vec<String>,
}

impl Known {
    fn has_text(&self) -> bool {
        !self.words.is_empty() || !self.any.is_empty()
    }

    /// Whether the class alone says that it is this one.
    pub(super) fn is_class(&self, class: &str) -> bool {
        names(&self.classes, class)
    }

    /// Whether the class allows it, and the text says so.
    pub(super) fn is_both(&self, class: &str, text: &Haystack) -> bool {
        (self.is_class(class) || names(&self.shared, class)) && self.is_in(text)
    }

    /// Whether the text alone says that it is this one.
    pub(super) fn is_text(&self, text: &Haystack) -> bool {
        !self.strict && self.is_in(text)
    }

    fn is_in(&self, text: &Haystack) -> bool {
        self.has_text()
            && text.has_in_order(&self.words)
            && (self.any.is_empty() || self.any.iter().any(|token| text.has(token)))
    }

    /// The hint that the last telling one of `lines` gives, with that line.
    pub(super) fn hint<'a>(&self, lines: &'a [String]) -> Option<(&Hint, &'a str)> {
        lines.iter().rev().find_map(|line| {
            let text = Haystack::new(line);
            let hint = self.hints.iter().find(|hint| text.has(&hint.line))?;
            Some((hint, line.as_str()))
        })
    }
}

fn names(known: &[String], class: &str) -> bool {
    known.iter().any(|known| {
        class
            .strip_suffix(known.as_str())
            .is_some_and(|before| before.is_empty() || before.ends_with("::"))
    })
}

static CATALOGUE: LazyLock<Vec<Known>> = LazyLock::new(|| {
    // A test holds that every file parses; without it its failures would be unknown.
    FILES
        .iter()
        .filter_map(|(_, text)| serde_json::from_str::<Table>(text).ok())
        .flat_map(|table| table.failures)
        .collect()
});

pub(super) fn catalogue() -> &'static [Known] {
    &CATALOGUE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_parses() {
        for (name, text) in FILES {
            if let Err(error) = serde_json::from_str::<Table>(text) {
                panic!("{name}.json: {error}");
            }
        }
    }

    #[test]
    fn a_class_is_compared_by_its_last_parts() {
        let mut known = catalogue().first().cloned().unwrap();
        known.classes = vec!["HyperV::Errors::PowerShellError".into(), "Locked".into()];
        assert!(known.is_class("VagrantPlugins::HyperV::Errors::PowerShellError"));
        assert!(known.is_class("Locked"));
        assert!(!known.is_class("VagrantPlugins::Other::Errors::PowerShellError"));
        assert!(!known.is_class("Vagrant::Errors::MachineLocked"));
        assert!(!known.is_class(""));
    }
}
