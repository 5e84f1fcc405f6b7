//! How a command on the other side ended: by itself, or because the connection failed.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::process::Finished;

/// What the client ends with when it fails itself; a command may end with it too.
pub(super) const OWN_FAILURE: i32 = 255;

/// How a command on the other side ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The command itself ended, with this exit code.
    Command(i32),
    /// The connection failed, with the client's own words.
    Connection {
        /// Whether the command may have begun.
        begun: bool,
        /// Whether the other side showed another key than the one that is pinned.
        changed_key: bool,
        /// Why.
        why: String,
    },
}

impl Ended {
    pub(super) fn cut(why: impl Into<String>) -> Self {
        Self::Connection {
            begun: true,
            changed_key: false,
            why: why.into(),
        }
    }
}

#[derive(Deserialize)]
struct Table {
    failures: Vec<Known>,
}

#[derive(Deserialize)]
struct Known {
    text: String,
    begun: bool,
    #[serde(default)]
    changed_key: bool,
}

static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| {
    // A test holds that the data parses; without it a lost connection looks like exit code 255.
    serde_json::from_str::<Table>(include_str!("failures.json"))
        .map(|table| table.failures)
        .unwrap_or_default()
});

/// How a command ended whose client `finished` with these last lines on its standard error.
pub(super) fn ended(finished: &Finished, errors: &[String]) -> Ended {
    let Some(code) = finished.code else {
        return Ended::cut(format!("`ssh` ended with {}", finished.ending()));
    };
    let known = errors.iter().rev().find_map(|line| {
        KNOWN
            .iter()
            .find(|known| line.contains(&known.text))
            .map(|known| (line, known))
    });
    match known {
        Some((line, known)) if code == OWN_FAILURE => Ended::Connection {
            begun: known.begun,
            changed_key: known.changed_key,
            why: line.trim().to_owned(),
        },
        _ => Ended::Command(code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(code: i32, line: &str) -> Ended {
        let finished = Finished {
            code: Some(code),
            signal: None,
            tail: Vec::new(),
            leftovers_killed: false,
        };
        ended(&finished, &[line.to_owned()])
    }

    #[test]
    fn a_lost_connection_is_told_from_a_command_that_ends_with_255() {
        let refused = "ssh: connect to host 127.0.0.1 port 2222: Connection refused";
        assert!(matches!(
            after(255, refused),
            Ended::Connection { begun: false, .. }
        ));
        let closed = "Connection to 127.0.0.1 closed by remote host.";
        assert!(matches!(
            after(255, closed),
            Ended::Connection { begun: true, .. }
        ));
        assert_eq!(after(255, "own words"), Ended::Command(255));
        assert_eq!(after(3, refused), Ended::Command(3));
    }

    #[test]
    fn another_key_is_told_from_a_lost_connection() {
        let other = "Host key verification failed.";
        assert!(matches!(
            after(255, other),
            Ended::Connection {
                begun: false,
                changed_key: true,
                ..
            }
        ));
    }
}
