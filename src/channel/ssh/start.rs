//! Makes the connection that all commands for one host share.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::time::Duration;

use super::ended::{Ended, ended};
use super::master::Master;
use super::{PERSIST, Ssh};
use crate::error::{Kind, Result};
use crate::event::Stream;
use crate::process::run;
use crate::stop::Stop;

/// How much of what a client says about its failure is looked at, in bytes.
const SAID: u64 = 16 * 1024;
/// How often a lock that another wdev holds while it connects is tried.
const PAUSE: Duration = Duration::from_millis(20);

impl Ssh {
    /// The shared connection, made when there is none; nothing where the host cannot have one. The inner
    /// error is a connection that failed.
    pub(super) async fn shared(
        &self,
        connect: Duration,
        stop: &Stop,
    ) -> Result<std::result::Result<Option<Master>, Ended>> {
        let Some(master) = Master::of(&self.config).filter(|_| self.shared) else {
            return Ok(Ok(None));
        };
        if master.lives() {
            return Ok(Ok(Some(master)));
        }
        // Two that connect at once would make one connection too many. Whoever holds this is connecting
        // to the same host, for at most as long.
        let waiting = async {
            loop {
                match master.lock() {
                    Some(lock) => break lock,
                    None => tokio::time::sleep(PAUSE).await,
                }
            }
        };
        let Ok(_lock) = tokio::time::timeout(connect, waiting).await else {
            return Ok(Ok(None));
        };
        if master.lives() {
            return Ok(Ok(Some(master)));
        }
        master.clear();
        let Ok(said) = tempfile::tempfile() else {
            return Ok(Ok(None));
        };
        match self.start(&master, said, connect, stop).await? {
            Ended::Command(0) if master.lives() => Ok(Ok(Some(master))),
            Ended::Command(_) => Ok(Ok(None)),
            failed @ Ended::Connection { .. } => Ok(Err(failed)),
        }
    }

    /// Starts the client that stays in the background, and waits until the first command came back.
    async fn start(
        &self,
        master: &Master,
        mut said: File,
        connect: Duration,
        stop: &Stop,
    ) -> Result<Ended> {
        let options = ["ControlMaster=auto", &master.option(), PERSIST];
        let mut command = self
            .client(connect, &options)
            // Every shell of every system understands this.
            .args(["-T", self.host.as_str(), "--", "exit 0"])
            // It stays there, where it is in nobody's way.
            .dir(master.folder());
        // Files, not pipes: older clients keep them open in the background.
        if let (Ok(out), Ok(err)) = (said.try_clone(), said.try_clone()) {
            command = command.stdout(out).stderr(err);
        }
        // The connection itself is bounded by the client; this bounds a server that says nothing more.
        let limit = connect * 2 + Duration::from_secs(5);
        let mut nobody = |_: Stream, _: &str| {};
        let running = run(command, stop, &mut nobody);
        let finished = match tokio::time::timeout(limit, running).await {
            Ok(Err(failure)) if failure.kind == Kind::Interrupted => return Err(failure),
            Ok(finished) => finished?,
            Err(_) => {
                return Ok(Ended::Connection {
                    begun: false,
                    changed_key: false,
                    why: format!("no answer within {} s", limit.as_secs()),
                });
            }
        };
        let mut text = Vec::new();
        let _ = said
            .rewind()
            .and_then(|()| (&mut said).take(SAID).read_to_end(&mut text));
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        Ok(ended(&finished, &lines))
    }
}
