//! What the providers' own words for a machine's state mean. The words are data: `states.json`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::provider::Power;

#[derive(Deserialize)]
struct Table {
    states: Vec<State>,
}

#[derive(Deserialize)]
struct State {
    power: Power,
    words: Vec<String>,
}

static STATES: LazyLock<BTreeMap<String, Power>> = LazyLock::new(|| {
    // A test holds that the data parses; without it every machine would be called broken.
    let table: Option<Table> = serde_json::from_str(include_str!("states.json")).ok();
    table
        .into_iter()
        .flat_map(|table| table.states)
        .flat_map(|State { power, words }| words.into_iter().map(move |word| (word, power)))
        .collect()
});

/// What a provider's word for a state means. A word that nobody knows means an unusable machine:
/// nothing is done to it without the user.
#[must_use]
pub fn power(word: &str) -> Power {
    STATES.get(word).copied().unwrap_or(Power::Broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_every_provider_are_known() {
        for (word, means) in [
            ("not_created", Power::Absent),
            ("running", Power::Running),
            ("poweroff", Power::Off),
            ("not_running", Power::Off),
            ("aborted-saved", Power::Suspended),
            ("preparing", Power::Changing),
            ("gurumeditation", Power::Broken),
            ("a word of tomorrow", Power::Broken),
        ] {
            assert_eq!(power(word), means, "{word}");
        }
    }
}
