//! Ctrl-C, SIGTERM, Ctrl-Break and a closed terminal or console as requests to stop.

#[cfg(unix)]
use std::io::IsTerminal as _;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::engine::dispatcher::StopRequest;
use crate::stop::{Level, Stop, StopSource};

/// The same for what is no run: the first request interrupts, a second one ends at once. Needs a runtime.
pub(super) fn stop() -> Stop {
    let source = StopSource::new();
    let stop = source.stop();
    let mut requests = requests();
    tokio::spawn(async move {
        while requests.recv().await.is_some() {
            let interrupted = source.stop().level() >= Level::Interrupt;
            source.raise(if interrupted {
                Level::Kill
            } else {
                Level::Interrupt
            });
        }
    });
    stop
}

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
    {
        use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close};
        // Each key has a type of its own.
        macro_rules! listen {
            ($key:ident, $name:literal) => {
                if let Ok(mut keys) = $key() {
                    let sender = sender.clone();
                    tokio::spawn(async move {
                        while keys.recv().await.is_some() && sender.send($name.to_owned()).is_ok() {
                        }
                    });
                }
            };
        }
        listen!(ctrl_c, "Ctrl-C");
        listen!(ctrl_break, "Ctrl-Break");
        // Windows gives a program some seconds before it ends it.
        listen!(ctrl_close, "the closed console");
    }
    receiver
}
