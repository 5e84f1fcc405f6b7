//! Ctrl-C and SIGTERM as requests to stop.

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::engine::dispatcher::StopRequest;

/// Listens for requests to stop for as long as the runtime lives. Needs a runtime. Where the system
/// refuses to tell of a signal, that signal keeps its default, which ends the process.
pub(super) fn requests() -> UnboundedReceiver<StopRequest> {
    let (sender, receiver) = unbounded_channel();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        for (kind, name) in [
            (SignalKind::interrupt(), "Ctrl-C"),
            (SignalKind::terminate(), "SIGTERM"),
        ] {
            // Registered here and not in the task, so that no signal falls between.
            let Ok(mut signals) = signal(kind) else {
                continue;
            };
            let sender = sender.clone();
            tokio::spawn(async move {
                while signals.recv().await.is_some() && sender.send(name.to_owned()).is_ok() {}
            });
        }
    }
    #[cfg(not(unix))]
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() && sender.send("Ctrl-C".to_owned()).is_ok() {}
    });
    receiver
}
