//! What the providers' own words for a machine's state mean. The words are data: `states.json`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::provider::Power;

#[derive(Default, Deserialize)]
struct Table {
    states: Vec<State>,
    states_of_provider: BTreeMap<String, Vec<State>>,
}

#[derive(Deserialize)]
struct State {
    power: Power,
    #[serde(default)]
    unseen_by_vagrant: bool,
    words: Vec<String>,
}

// A test holds that the data parses; without it every machine would be called broken.
static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_json::from_str(include_str!("states.json")).unwrap_or_default());

fn find(provider: &str, word: &str) -> Option<&'static State> {
    let own = TABLE.states_of_provider.get(provider);
    let mut states = own.into_iter().flatten().chain(&TABLE.states);
    states.find(|state| state.words.iter().any(|known| known == word))
}

/// What a provider's word for a state means. A word that nobody knows means an unusable machine:
/// nothing is done to it without the user.
#[must_use]
pub fn power(provider: &str, word: &str) -> Power {
    find(provider, word).map_or(Power::Broken, |state| state.power)
}

/// Whether a machine in this state runs without Vagrant taking it for one that does: then `halt` and
/// `reload` do not stop it, and `up` tries to start it once more.
#[must_use]
pub fn unseen_by_vagrant(provider: &str, word: &str) -> bool {
    find(provider, word).is_some_and(|state| state.unseen_by_vagrant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_every_provider_are_known() {
        for (provider, word, means) in [
            ("libvirt", "not_created", Power::Absent),
            ("docker", "running", Power::Running),
            ("virtualbox", "poweroff", Power::Off),
            ("vmware_desktop", "not_running", Power::Off),
            ("virtualbox", "aborted-saved", Power::Suspended),
            ("docker", "preparing", Power::Changing),
            ("virtualbox", "gurumeditation", Power::Broken),
            ("hyperv", "a word of tomorrow", Power::Broken),
            ("libvirt", "blocked", Power::Running),
            ("libvirt", "crashed", Power::Off),
        ] {
            assert_eq!(power(provider, word), means, "{provider}: {word}");
        }
    }

    #[test]
    fn a_word_may_mean_another_thing_with_another_provider() {
        assert_eq!(power("virtualbox", "inaccessible"), Power::Broken);
        assert!(!unseen_by_vagrant("virtualbox", "inaccessible"));
        assert_eq!(power("libvirt", "inaccessible"), Power::Running);
        assert!(unseen_by_vagrant("libvirt", "inaccessible"));
        assert!(!unseen_by_vagrant("libvirt", "running"));
    }
}
