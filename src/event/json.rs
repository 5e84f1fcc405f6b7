//! JSON lines: one event a line, the format of `docs/events.md`.

use std::io::Write;
use std::sync::{Arc, OnceLock};

use super::{Event, Sink};
use crate::error::{Kind, Result};
use crate::ui::write_failure;

/// Writes one event a line and flushes it. After the first error it writes no more; the run goes on.
pub struct Json {
    writer: Box<dyn Write + Send>,
    end: JsonEnd,
}

/// What became of a [`Json`]; outlives it.
#[derive(Debug, Clone, Default)]
pub struct JsonEnd(Arc<OnceLock<crate::error::Failure>>);

impl JsonEnd {
    /// Whether every event was written.
    ///
    /// # Errors
    ///
    /// [`Kind::ReaderGone`] when the reader closed its end, [`Kind::Host`] when events were lost, as on
    /// a full disk.
    pub fn check(&self) -> Result<()> {
        self.0
            .get()
            .map_or(Ok(()), |failure| Err(Box::new(failure.clone())))
    }

    /// Whether the reader closed its end.
    #[must_use]
    pub fn reader_gone(&self) -> bool {
        self.0
            .get()
            .is_some_and(|failure| failure.kind == Kind::ReaderGone)
    }
}

impl Json {
    /// JSON lines for `writer`.
    #[must_use]
    pub fn new(writer: Box<dyn Write + Send>) -> Self {
        Self {
            writer,
            end: JsonEnd::default(),
        }
    }

    /// A handle that tells, also after the run, whether everything was written.
    #[must_use]
    pub fn end(&self) -> JsonEnd {
        self.end.clone()
    }
}

impl Sink for Json {
    fn event(&mut self, event: &Event) {
        if self.end.0.get().is_some() {
            return;
        }
        let written = serde_json::to_string(event)
            .map_err(std::io::Error::other)
            .and_then(|mut line| {
                line.push('\n');
                self.writer.write_all(line.as_bytes())
            })
            .and_then(|()| self.writer.flush());
        if let Err(error) = written {
            let _ = self.end.0.set(*write_failure("events", &error));
        }
    }
}
