//! Ctrl-C, SIGTERM and a closed terminal as requests to stop.

#[cfg(unix)]
use std::io::IsTerminal as _;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::engine::dispatcher::StopRequest;

/// Listens for requests to stop for as long as the runtime lives. Needs a runtime. Where the system
/// refuses to tell of a signal, that signal keeps its default, which ends the process.
pub(super) fn requests() -> UnboundedReceiver<StopRequest> {
    let (sender, receiver) = unbounded_channel();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut kinds = vec![
            (SignalKind::interrupt(), "Ctrl-C"),
            (SignalKind::terminate(), "SIGTERM"),
        ];
        // A terminal that is closed asks to stop. Under `nohup`, which redirects it, nothing does.
        if std::io::stderr().is_terminal() {
            kinds.push((SignalKind::hangup(), "SIGHUP"));
        }
        for (kind, name) in kinds {
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
