//! What an operation shows to its user, kept for the test to read.

use std::sync::{Arc, Mutex};

use wdev::channel::{Io, Line};
use wdev::stop::Stop;

/// The lines that were shown.
#[derive(Clone, Default)]
pub struct Shown(Arc<Mutex<Vec<String>>>);

impl Shown {
    /// What to give to the operation. It is never asked to stop.
    pub fn io(&self) -> Io {
        let lines = Arc::clone(&self.0);
        Io {
            output: Arc::new(move |line: Line| lines.lock().unwrap().push(line.text)),
            stop: Stop::never(),
        }
    }

    /// Every line so far.
    pub fn text(&self) -> String {
        self.0.lock().unwrap().join("\n")
    }
}
