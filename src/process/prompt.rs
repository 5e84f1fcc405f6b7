//! Tells a question from other unfinished output. What questions look like is data: `prompts.json`.

use std::sync::LazyLock;

use serde::Deserialize;

#[derive(Deserialize)]
struct Table {
    prompts: Vec<Prompt>,
}

#[derive(Deserialize)]
struct Prompt {
    ends: String,
    #[cfg(test)]
    example: String,
}

static PROMPTS: LazyLock<Vec<Prompt>> = LazyLock::new(|| {
    // A test holds that the data parses; without it no question would be recognised.
    serde_json::from_str::<Table>(include_str!("prompts.json"))
        .map(|table| table.prompts)
        .unwrap_or_default()
});

/// Whether a line that has no end yet looks like a question to the user.
#[must_use]
pub fn is_question(unfinished: &str) -> bool {
    let line = unfinished.trim_end().to_lowercase();
    PROMPTS.iter().any(|prompt| line.ends_with(&prompt.ends))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_question_is_recognised() {
        assert!(!PROMPTS.is_empty());
        for prompt in PROMPTS.iter() {
            assert!(is_question(&prompt.example), "{}", prompt.example);
        }
    }

    #[test]
    fn progress_without_a_line_end_is_no_question() {
        for line in [
            "",
            "42%",
            "Pulling fs layer",
            "....",
            "a: b",
            "[#####-----] 50 of 100",
        ] {
            assert!(!is_question(line), "{line}");
        }
    }
}
