//! What is wrong with a configuration, and where: data first, then a text for people.

use std::fmt;

use serde::Serialize;

use super::secret::mask_line;
use super::source::{Place, Source, Span};
use crate::error::{Failure, Kind};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The configuration cannot be used.
    Error,
    /// It can be used, but probably not with the result that is wanted.
    Warning,
    /// Something to know.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        })
    }
}

/// One mistake or remark. Passwords in URLs are masked in every field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, a lower-case fragment.
    pub message: String,
    /// The file, relative to the folder that wdev runs in where possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Column in characters, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub col: Option<usize>,
    /// Where it was given when not in a file: an environment variable or a flag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given: Option<String>,
    /// The source line, or the part of a very long one around the place; for a variable or a flag, how
    /// it would be typed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_line: Option<String>,
    /// What to point at in `source_line`: the first column (from 1) and the length, in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caret: Option<(usize, usize)>,
    /// What is allowed there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<String>,
    /// The nearest right key or value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// What else helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Diagnostic {
    /// An error without a place.
    pub(crate) fn error(message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            message: message.into(),
            file: None,
            line: None,
            col: None,
            given: None,
            source_line: None,
            caret: None,
            allowed: None,
            suggestion: None,
            note: None,
        }
    }

    pub(crate) fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Sets where it is.
    pub(crate) fn at(mut self, place: &Place) -> Self {
        match place {
            Place::File(source, span) => {
                self.file = Some(source.shown.clone());
                self.line = Some(span.line);
                self.col = Some(span.col);
                let (line, caret) = excerpt(source, *span);
                self.source_line = Some(line);
                self.caret = Some(caret);
            }
            Place::Env(name, text) => {
                self.given = Some(format!("environment variable `{name}`"));
                self.typed(name, '=', text);
            }
            Place::Flag(flag, text) => {
                self.given = Some(format!("flag `{flag}`"));
                // `--set KEY=VALUE` is the only flag that has its key with it.
                let separator = if flag.contains(' ') { '=' } else { ' ' };
                self.typed(flag, separator, text);
            }
            Place::Default | Place::Derived(_) => {}
        }
        self
    }

    fn typed(&mut self, name: &str, separator: char, text: &str) {
        let first = text.lines().next().unwrap_or_default();
        let first = mask_line(
            first
                .get(..first.floor_char_boundary(EXCERPT))
                .unwrap_or(first),
            false,
        );
        self.caret = Some((name.chars().count() + 2, first.chars().count().max(1)));
        self.source_line = Some(format!("{name}{separator}{first}"));
    }

    pub(crate) fn allow(mut self, allowed: impl Into<String>) -> Self {
        self.allowed = Some(allowed.into());
        self
    }

    pub(crate) fn suggest(mut self, suggestion: Option<String>) -> Self {
        self.suggestion = suggestion;
        self
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// Where it is, as `file:line:col` or the name of the variable or flag.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        match (&self.file, self.line, self.col) {
            (Some(file), Some(line), Some(col)) => Some(format!("{file}:{line}:{col}")),
            (Some(file), _, _) => Some(file.clone()),
            _ => self.given.clone(),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place() {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// Bytes of a source line that are kept at most.
const EXCERPT: usize = 400;

/// The line of `span` without passwords, and what to point at in it.
fn excerpt(source: &Source, span: Span) -> (String, (usize, usize)) {
    let line = source.line_at(span.at);
    if line.len() <= EXCERPT {
        return (mask_line(line, false), (span.col, span.len.max(1)));
    }
    let at = span
        .at
        .saturating_sub(source.line_start(span.at))
        .min(line.len());
    let start = line.floor_char_boundary(at.saturating_sub(EXCERPT / 2));
    let end = line.floor_char_boundary((at + EXCERPT / 2).min(line.len()));
    let piece = mask_line(line.get(start..end).unwrap_or_default(), start > 0);
    let before = line.get(start..at).map_or(0, |text| text.chars().count());
    let len = span
        .len
        .min(piece.chars().count().saturating_sub(before))
        .max(1);
    let lead = if start > 0 { "…" } else { "" };
    let tail = if end < line.len() { "…" } else { "" };
    (
        format!("{lead}{piece}{tail}"),
        (before + lead.chars().count() + 1, len),
    )
}

/// Every mistake of a configuration, in the order of the files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Problems(pub Vec<Diagnostic>);

impl Problems {
    /// All of them as a text for people, with colours where `colored`.
    #[must_use]
    pub fn render(&self, colored: bool) -> String {
        super::render::render(&self.0, colored)
    }

    /// One failure that stands for all of them.
    #[must_use]
    pub fn into_failure(self) -> Box<Failure> {
        let message = match self.0.as_slice() {
            [] => "the configuration is invalid".to_owned(),
            [only] => only.to_string(),
            more => format!("the configuration has {} mistakes", more.len()),
        };
        let mut failure = Failure::new(Kind::Configuration, message).permanent();
        if self.0.len() > 1 {
            failure.causes = self.0.iter().take(SHOWN).map(ToString::to_string).collect();
        }
        for problem in self.0.iter().take(1) {
            if let Some(suggestion) = &problem.suggestion {
                failure = failure.advise(format!("did you mean `{suggestion}`?"));
            }
            if let Some(allowed) = &problem.allowed {
                failure = failure.advise(format!("allowed: {allowed}"));
            }
        }
        Box::new(failure.advise("`wdev validate` shows every mistake with its line"))
    }
}

/// How many mistakes are shown before the rest is only counted.
pub(crate) const SHOWN: usize = 50;

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Problems {}

/// How many errors are kept.
const KEPT: usize = 1000;

/// Collects diagnostics while a configuration is read.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    pub(crate) errors: Vec<Diagnostic>,
    /// Errors beyond [`KEPT`], only counted.
    more: usize,
    pub(crate) warnings: Vec<Diagnostic>,
    pub(crate) notes: Vec<Diagnostic>,
}

impl Sink {
    /// Whether further errors are only counted, so that words for them are of no use.
    pub(crate) fn is_full(&self) -> bool {
        self.errors.len() >= KEPT
    }

    /// Every error, in the order of files and lines, then variables and flags.
    pub(crate) fn into_problems(mut self) -> Problems {
        let key = |d: &Diagnostic| {
            let local = d
                .file
                .as_deref()
                .is_some_and(|file| file.contains(".local."));
            (d.file.is_none(), local, d.line, d.col)
        };
        self.errors.sort_by_key(key);
        if self.more > 0 {
            let message = format!("there are {} more mistakes", self.more);
            self.errors.push(Diagnostic::error(message));
        }
        Problems(self.errors)
    }

    /// Files a diagnostic by its severity.
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        match diagnostic.severity {
            Severity::Error if self.is_full() => self.more += 1,
            Severity::Error => self.errors.push(diagnostic),
            Severity::Warning => self.warnings.push(diagnostic),
            Severity::Note => self.notes.push(diagnostic),
        }
    }
}
