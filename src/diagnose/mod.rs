//! What the tools' errors mean, and what to do about them. The knowledge is data: one file for each
//! subject beside this one, a row for each known failure.
//!
//! A failure is known by the class of Vagrant's error first and by its text second. Text is compared
//! without any white space, since Vagrant and PowerShell break lines at widths of their own, and
//! without the machine's name that Vagrant puts before lines.

mod catalogue;
mod text;

use self::catalogue::catalogue;
pub use self::catalogue::{FILES, Known};
use self::text::{Haystack, readable};
use crate::error::{Failure, Kind};

/// A tool's own account of what went wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// The class of Vagrant's error, such as `Vagrant::Errors::MachineLocked`; empty when it named
    /// none, or when another tool failed.
    pub class: String,
    /// Its message, or what it printed on standard error.
    pub text: String,
}

/// All that is known, in no order that matters.
#[must_use]
pub fn known() -> &'static [Known] {
    catalogue()
}

/// Finds what is known about an error.
///
/// In this order: class and text both fit; the class alone says it; the text alone says it, whatever
/// the class (early failures and other tools name none); at last what only wraps a cause that is not
/// known.
#[must_use]
pub fn classify(said: &Said) -> Option<&'static Known> {
    let (class, text) = (said.class.as_str(), Haystack::new(&said.text));
    let find = |wrapper: bool, fits: &dyn Fn(&Known) -> bool| {
        catalogue()
            .iter()
            .find(|known| known.wrapper == wrapper && fits(known))
    };
    find(false, &|known| known.is_both(class, &text))
        .or_else(|| find(false, &|known| known.is_class(class)))
        .or_else(|| find(false, &|known| known.is_text(&text)))
        .or_else(|| find(true, &|known| known.is_class(class)))
        .or_else(|| find(true, &|known| known.is_text(&text)))
}

/// The failure of `doing` (such as "`vagrant up` of `cp`"), with the tool's own words as its cause.
/// `ending` is how it ended, such as `exit code 1`.
#[must_use]
pub fn failure(doing: &str, said: &Said, ending: &str) -> Failure {
    failure_after(doing, said, ending, &[])
}

/// Like [`failure`], with the lines that were printed before: some failures, such as a machine that
/// did not boot in time, say there why.
#[must_use]
pub fn failure_after(doing: &str, said: &Said, ending: &str, before: &[String]) -> Failure {
    let words = readable(&said.text);
    let Some(known) = classify(said) else {
        return unknown(doing, said, ending, words);
    };
    let mut failure = Failure::new(known.kind, format!("{doing} failed")).because(&known.message);
    let hint = known.hint(before);
    if let Some((_, line)) = hint {
        failure = failure.because(format!("the last sign of it: `{}`", readable(line)));
    }
    if !words.is_empty() {
        failure = failure.because(words);
    }
    // What the last sign says is nearer than what holds in general.
    let advice = hint.map_or(&[] as &[String], |(hint, _)| &hint.advice);
    for advice in advice.iter().chain(&known.advice) {
        failure = failure.advise(advice);
    }
    failure.permanent = known.permanent;
    failure
}

/// Nothing is guessed about what nobody has seen: the class and the text speak for themselves.
fn unknown(doing: &str, said: &Said, ending: &str, words: String) -> Failure {
    let mut failure = Failure::new(Kind::Provider, format!("{doing} failed with {ending}"));
    if !said.class.is_empty() {
        failure = failure.because(format!("`{}`", said.class));
    }
    if !words.is_empty() {
        failure = failure.because(words);
    }
    failure.advise("wdev does not know this failure; the log has all that was said before it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_knows_is_told_in_the_tools_own_words() {
        let said = Said {
            class: "Vagrant::Errors::Unheard".into(),
            text: "it\nbroke".into(),
        };
        let failure = failure("`vagrant up` of `cp`", &said, "exit code 1");
        assert_eq!(failure.kind, Kind::Provider);
        assert!(!failure.permanent);
        assert_eq!(
            failure.to_string(),
            "`vagrant up` of `cp` failed with exit code 1: `Vagrant::Errors::Unheard`: it broke"
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
    fn the_last_warning_before_a_time_out_says_why() {
        let said = Said {
            class: "Vagrant::Errors::VMBootTimeout".into(),
            text: "Timed out while waiting for the machine to boot.".into(),
        };
        let before = [
            "    winw1: Warning: Connection refused. Retrying...",
            "    winw1: Warning: Authentication failure. Retrying...",
            "Timed out while waiting for the machine to boot.",
        ]
        .map(str::to_owned);
        let failure = failure_after("`vagrant up` of `winw1`", &said, "exit code 1", &before);
        assert_eq!(
            failure.causes.get(1).map(String::as_str),
            Some("the last sign of it: `Warning: Authentication failure. Retrying...`")
        );
        let first = failure.advice.first().map_or("", String::as_str);
        assert!(first.contains("password"), "{first}");
    }
}
