//! Where a value was written: files, environment variables, flags.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

/// A configuration file that was read.
#[derive(Debug)]
pub(crate) struct Source {
    /// The path as a user would write it: relative to the folder that wdev runs in, where possible.
    pub(crate) shown: String,
    /// The folder that relative paths in the file start from.
    pub(crate) folder: PathBuf,
    /// The whole text, without a byte order mark.
    pub(crate) text: String,
    /// The byte that each line starts with.
    starts: Vec<usize>,
}

impl Source {
    /// The text of a file; `shown` and `folder` as in the fields.
    pub(crate) fn new(shown: String, folder: PathBuf, text: String) -> Self {
        let breaks = text.match_indices(['\n', '\r']).map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(breaks).collect();
        Self {
            shown,
            folder,
            text,
            starts,
        }
    }

    /// A text without a place of its own, such as a variable's.
    pub(crate) fn inline(text: &str) -> Self {
        Self::new(String::new(), PathBuf::new(), text.to_owned())
    }

    /// Where the line starts that the byte `at` lies in.
    pub(crate) fn line_start(&self, at: usize) -> usize {
        let next = self.starts.partition_point(|start| *start <= at);
        let index = next.saturating_sub(1);
        self.starts.get(index).copied().unwrap_or_default()
    }

    /// The line that the byte `at` lies in, without its line break.
    pub(crate) fn line_at(&self, at: usize) -> &str {
        let next = self.starts.partition_point(|start| *start <= at);
        let end = self
            .starts
            .get(next)
            .map_or(self.text.len(), |next| next - 1);
        self.text.get(self.line_start(at)..end).unwrap_or_default()
    }
}

/// A stretch of one line of a [`Source`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    /// Line, from 1.
    pub(crate) line: usize,
    /// Column in characters, from 1.
    pub(crate) col: usize,
    /// Length in characters, on the first line only.
    pub(crate) len: usize,
    /// The byte in the text where it starts.
    pub(crate) at: usize,
}

/// Where a key or a value was written.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// In a file.
    File(Arc<Source>, Span),
    /// In an environment variable: its name and its text.
    Env(Arc<str>, Arc<str>),
    /// In a flag: the flag as typed and its text.
    Flag(Arc<str>, Arc<str>),
    /// Nowhere: the default.
    Default,
    /// Nowhere: made from other values, with how.
    Derived(&'static str),
}

impl Place {
    /// The folder that a relative path starts from; `None` for the folder that wdev runs in.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            Self::File(source, _) => Some(&source.folder),
            _ => None,
        }
    }

    /// Whether a user wrote the value.
    pub(crate) fn is_written(&self) -> bool {
        !matches!(self, Self::Default | Self::Derived(_))
    }

    /// The public form.
    pub(crate) fn origin(&self) -> Origin {
        match self {
            Self::File(source, span) => Origin::File {
                file: source.shown.clone(),
                line: span.line,
                col: span.col,
            },
            Self::Env(name, _) => Origin::Env {
                name: name.to_string(),
            },
            Self::Flag(flag, _) => Origin::Flag {
                flag: flag.to_string(),
            },
            Self::Default => Origin::Default,
            Self::Derived(from) => Origin::Derived {
                from: (*from).to_owned(),
            },
        }
    }
}

/// Where a value of the configuration came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Origin {
    /// A place in a file.
    File {
        /// The file, relative to the folder that wdev runs in where possible.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        col: usize,
    },
    /// An environment variable.
    Env {
        /// Its name.
        name: String,
    },
    /// A flag.
    Flag {
        /// The flag as typed.
        flag: String,
    },
    /// wdev's default.
    Default,
    /// Made from other values.
    Derived {
        /// From which.
        from: String,
    },
}

impl Origin {
    /// Whether the user wrote it, wherever.
    #[must_use]
    pub fn is_written(&self) -> bool {
        !matches!(self, Self::Default | Self::Derived { .. })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line, col } => write!(f, "{file}:{line}:{col}"),
            Self::Env { name } => write!(f, "environment variable {name}"),
            Self::Flag { flag } => write!(f, "flag {flag}"),
            Self::Default => f.write_str("default"),
            Self::Derived { from } => write!(f, "derived: {from}"),
        }
    }
}
