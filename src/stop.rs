//! How a run is asked to stop: once politely, then at once.

use std::sync::Arc;

use tokio::sync::watch;

/// How urgently to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Go on.
    Go,
    /// Start nothing new; interrupt children and give them time to end.
    Interrupt,
    /// End now; kill children.
    Kill,
}

/// The receiving end. Whoever starts a child process acts on it: at [`Level::Interrupt`] the child is
/// interrupted and waited for, at [`Level::Kill`] its whole tree is killed.
#[derive(Clone, Debug)]
pub struct Stop {
    level: watch::Receiver<Level>,
    // A receiver whose sender is gone could not be waited on.
    _keep: Arc<watch::Sender<Level>>,
}

/// The sending end.
#[derive(Clone, Debug)]
pub struct StopSource {
    level: Arc<watch::Sender<Level>>,
}

impl Default for StopSource {
    fn default() -> Self {
        Self::new()
    }
}

impl StopSource {
    /// A source at [`Level::Go`].
    #[must_use]
    pub fn new() -> Self {
        Self {
            level: Arc::new(watch::Sender::new(Level::Go)),
        }
    }

    /// A receiver of this source.
    #[must_use]
    pub fn stop(&self) -> Stop {
        Stop {
            level: self.level.subscribe(),
            _keep: Arc::clone(&self.level),
        }
    }

    /// Raises the level; it never falls.
    pub fn raise(&self, to: Level) {
        self.level.send_if_modified(|level| {
            let higher = to > *level;
            if higher {
                *level = to;
            }
            higher
        });
    }
}

impl Stop {
    /// A stop that never comes.
    #[must_use]
    pub fn never() -> Self {
        StopSource::new().stop()
    }

    /// The level now.
    #[must_use]
    pub fn level(&self) -> Level {
        *self.level.borrow()
    }

    /// Returns as soon as the level is `at` or higher.
    pub async fn reached(&self, at: Level) {
        let mut level = self.level.clone();
        if level.wait_for(|level| *level >= at).await.is_err() {
            // The sender lives as long as `self`.
            std::future::pending::<()>().await;
        }
    }
}
