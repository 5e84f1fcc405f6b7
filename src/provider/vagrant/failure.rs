//! What Vagrant's errors mean, and what to do about them. The knowledge is data: `failures.json`.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::error::{Failure, Kind};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(rename = "source")]
    _source: String,
    failures: Vec<Known>,
}

/// One failure that is known. All that it names must hold.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Names it in tests and code.
    pub id: String,
    /// The Ruby class of Vagrant's error, without its modules: any of these.
    #[serde(default)]
    classes: Vec<String>,
    /// Stands in the message.
    #[serde(default)]
    text: Option<String>,
    /// All stand in the message, in this order.
    #[serde(default)]
    words: Vec<String>,
    kind: Kind,
    /// Whether the same command is tried again by the driver itself: nothing was done.
    #[serde(default)]
    pub retry: bool,
    #[serde(default)]
    permanent: bool,
    message: String,
    advice: Vec<String>,
    #[serde(rename = "source")]
    _source: String,
}

static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| {
    // A test holds that the data parses; without it every failure would be unknown.
    serde_json::from_str::<Table>(include_str!("failures.json"))
        .map(|table| table.failures)
        .unwrap_or_default()
});

/// Vagrant's own account of what went wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// The class of its error, such as `Vagrant::Errors::MachineLocked`; empty when it named none.
    pub class: String,
    /// Its message, or what it printed on standard error.
    pub text: String,
}

/// Finds what is known about an error: by its class first, then by its text.
#[must_use]
pub fn classify(said: &Said) -> Option<&'static Known> {
    let class = said.class.rsplit("::").next().unwrap_or_default();
    let text = collapse(&said.text);
    let by_class = |known: &&Known| known.classes.iter().any(|known| known == class);
    let by_text = |known: &&Known| {
        known.text.as_ref().is_none_or(|part| text.contains(part)) && in_order(&text, &known.words)
    };
    KNOWN
        .iter()
        .find(|known| by_class(known) && by_text(known))
        .or_else(|| {
            KNOWN
                .iter()
                .filter(|known| known.text.is_some() || !known.words.is_empty())
                .find(by_text)
        })
}

fn in_order(text: &str, words: &[String]) -> bool {
    let mut rest = text;
    words
        .iter()
        .all(|word| match rest.split_once(word.as_str()) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
}

/// The failure of `doing` (such as "`vagrant up` of `cp`"), with Vagrant's words as its cause.
#[must_use]
pub fn failure(doing: &str, said: &Said, ending: &str) -> Failure {
    let known = classify(said);
    let mut failure = match known {
        Some(known) => Failure::new(known.kind, format!("{doing} failed")).because(&known.message),
        None => Failure::new(Kind::Provider, format!("{doing} failed with {ending}")),
    };
    let words = collapse(&said.text);
    if !words.is_empty() {
        failure = failure.because(words);
    }
    for advice in known
        .map(|known| known.advice.as_slice())
        .unwrap_or_default()
    {
        failure = failure.advise(advice);
    }
    failure.permanent = known.is_some_and(|known| known.permanent);
    failure
}

/// All white space as one space: Vagrant breaks lines differently from version to version.
fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(class: &str, text: &str) -> Option<&'static str> {
        let said = Said {
            class: if class.is_empty() {
                String::new()
            } else {
                format!("Vagrant::Errors::{class}")
            },
            text: text.to_owned(),
        };
        classify(&said).map(|known| known.id.as_str())
    }

    #[test]
    fn the_class_decides_before_the_text() {
        assert_eq!(id("MachineLocked", "anything"), Some("machine-locked"));
        assert_eq!(
            id("VMBootTimeout", "…because it is locked!"),
            Some("boot-timeout")
        );
    }

    #[test]
    fn text_is_found_however_vagrant_breaks_its_lines() {
        let clash = "Stderr: docker: Error response from daemon: Conflict. The container\nname \
                     \"/x\" is already\n in use by container \"5aff\".";
        assert_eq!(id("ExecuteError", clash), Some("docker-name-taken"));
        assert_eq!(
            id(
                "VagrantError",
                "The SSH command responded with a non-zero exit status. Vagrant\nassumes"
            ),
            Some("script-failed")
        );
        let winrm = "in `require': cannot load such file -- winrm (LoadError)\n from x";
        assert_eq!(id("", winrm), Some("winrm-gems-missing"));
    }

    #[test]
    fn what_nobody_knows_is_told_in_vagrants_own_words() {
        assert_eq!(id("Unheard", "of"), None);
        assert_eq!(id("VagrantError", "something else"), None);
        let said = Said {
            class: "Vagrant::Errors::Unheard".into(),
            text: "it\nbroke".into(),
        };
        let failure = failure("`vagrant up` of `cp`", &said, "exit code 1");
        assert_eq!(failure.kind, Kind::Provider);
        assert_eq!(
            failure.to_string(),
            "`vagrant up` of `cp` failed with exit code 1: it broke"
        );
    }

    #[test]
    fn what_is_known_brings_its_kind_and_advice() {
        let said = Said {
            class: "Vagrant::Errors::ProviderNotFound".into(),
            text: String::new(),
        };
        let failure = failure("`vagrant up` of `cp`", &said, "exit code 1");
        assert_eq!(failure.kind, Kind::Host);
        assert!(failure.permanent);
        assert!(
            failure
                .advice
                .iter()
                .any(|line| line.contains("vagrant plugin install"))
        );
    }

    #[test]
    fn only_locks_are_tried_again() {
        let retried: Vec<_> = KNOWN
            .iter()
            .filter(|known| known.retry)
            .map(|known| &known.id)
            .collect();
        assert!(!retried.is_empty());
        assert!(
            retried.iter().all(|id| id.starts_with("machine-locked")),
            "{retried:?}"
        );
    }
}
