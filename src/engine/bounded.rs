//! Work with a deadline that is first asked to stop and then dropped.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use crate::clock::Clock;
use crate::error::Result;
use crate::stop::{Level, Stop, StopSource};

/// How long work may take to end after it was interrupted.
const GRACE: Duration = Duration::from_secs(30);
/// How long work may take to end after it was told to end at once.
const LAST_GRACE: Duration = Duration::from_secs(3);

/// How bounded work ended.
pub(crate) enum Ended<T> {
    /// By itself.
    Returned(Result<T>),
    /// Its time was up.
    Deadline,
    /// The run was asked to stop.
    Stopped,
}

/// Runs `work` with a stop of its own, for at most `limit`.
///
/// When the time is up, or `run` asks for it, the work is interrupted, then told to end at once, then
/// dropped; what it started must die with it. Work that still ends well counts as done.
pub(crate) async fn bounded<T, F: Future<Output = Result<T>>>(
    clock: Clock,
    limit: Duration,
    run: &Stop,
    work: impl FnOnce(Stop) -> F,
) -> Ended<T> {
    let source = StopSource::new();
    let mut work = pin!(work(source.stop()));
    let late = tokio::select! {
        biased;
        result = &mut work => return Ended::Returned(result),
        () = run.reached(Level::Interrupt) => false,
        () = clock.sleep(limit) => true,
    };
    source.raise(Level::Interrupt);
    let mut result = tokio::select! {
        biased;
        result = &mut work => Some(result),
        () = run.reached(Level::Kill) => None,
        () = clock.sleep(GRACE) => None,
    };
    if result.is_none() {
        source.raise(Level::Kill);
        result = clock.timeout(LAST_GRACE, &mut work).await;
    }
    match result {
        Some(Ok(done)) => Ended::Returned(Ok(done)),
        _ if late => Ended::Deadline,
        _ => Ended::Stopped,
    }
}
