//! How lanes and steps tell the dispatcher what happened.

use tokio::sync::{mpsc, oneshot};

use crate::error::{Failure, Kind, Result};
use crate::event::Body;

/// A message from a lane to the dispatcher.
pub(crate) enum Message {
    /// Write this to the journal and answer once it is safe there.
    Record(Body, oneshot::Sender<Result<()>>),
    /// Pass this on to the sinks; nothing depends on it.
    Tell(Body),
}

/// The way to the dispatcher; cheap to clone.
#[derive(Clone, Debug)]
pub struct Recorder {
    sender: mpsc::UnboundedSender<Message>,
}

impl Recorder {
    /// A recorder and the dispatcher's end of it.
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Message>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self { sender }, receiver)
    }

    /// Writes to the journal; returns once the record is safe on disk.
    ///
    /// # Errors
    /// When it could not be written. The caller must then change nothing.
    pub async fn record(&self, body: Body) -> Result<()> {
        let (answer, answered) = oneshot::channel();
        let gone = || Box::new(Failure::new(Kind::Interrupted, "the run has ended").permanent());
        self.sender
            .send(Message::Record(body, answer))
            .map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }

    /// Tells what need not be in the journal before the caller goes on.
    pub fn tell(&self, body: Body) {
        // Without a dispatcher the run has ended, and nobody listens.
        let _ = self.sender.send(Message::Tell(body));
    }
}
