//! The clock that deadlines, pauses and the simulator share.
//!
//! Three ways to run: real time; real time sped up, so that a person can watch a simulation; and
//! virtual time, where a paused tokio runtime jumps to the next timer as soon as nothing else can run
//! (<https://docs.rs/tokio/latest/tokio/time/fn.pause.html>). All durations given to a [`Clock`] are in
//! its own time.

use std::future::Future;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// A clock; cheap to clone.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    speed: f64,
    started: Instant,
    epoch: Timestamp,
}

impl Clock {
    /// Real time, or virtual time when the tokio runtime is paused. Needs a tokio runtime.
    #[must_use]
    pub fn new() -> Self {
        Self::with_speed(1.0)
    }

    /// Time that passes `speed` times as fast as real time. `speed` must be positive and finite;
    /// anything else counts as 1. Needs a tokio runtime.
    #[must_use]
    pub fn with_speed(speed: f64) -> Self {
        let speed = if speed.is_finite() && speed > 0.0 {
            speed
        } else {
            1.0
        };
        Self {
            speed,
            started: Instant::now(),
            epoch: Timestamp::now(),
        }
    }

    /// How long this clock has run, in its own time.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        scaled(self.started.elapsed(), self.speed)
    }

    /// The time of day by this clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.elapsed()).unwrap_or(SignedDuration::MAX);
        self.epoch.checked_add(elapsed).unwrap_or(Timestamp::MAX)
    }

    /// Waits for `duration`.
    pub async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(scaled(duration, self.speed.recip())).await;
    }

    /// Waits for `future`, but no longer than `limit`; `None` when the time is up.
    pub async fn timeout<F: Future>(&self, limit: Duration, future: F) -> Option<F::Output> {
        tokio::time::timeout(scaled(limit, self.speed.recip()), future)
            .await
            .ok()
    }
}

/// `duration` times `factor`, or the longest time that there is.
fn scaled(duration: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(duration.as_secs_f64() * factor).unwrap_or(Duration::MAX)
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}
