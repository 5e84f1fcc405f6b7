//! Commands and scripts over direct SSH.
//!
//! None of this takes the machine's lock: that one keeps Vagrant from Vagrant. Scripts keep each other
//! away on the node itself, by the lock of their wrapper.

use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::time::Duration;

use super::listen::{Listener, Unseen, judge, nonce};
use super::node::Node;
use crate::channel::ssh::{Ended, Talk};
use crate::channel::{Io, Os, Report, Script};
use crate::error::{Failure, Kind, Result, io_failure};
use crate::event::Stream;
use crate::stop::Level;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(15);
/// How often a script whose connection is cut is gone back to, and after what pause.
const RETURNS: u32 = 3;
const PAUSE: Duration = Duration::from_secs(1);

/// A line for the node's shell, with what it reads and where its output goes as it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order<'a> {
    pub line: &'a str,
    pub input: Option<&'a File>,
    pub output: Option<&'a File>,
}

impl<'a> Order<'a> {
    pub fn new(line: &'a str) -> Self {
        Self {
            line,
            input: None,
            output: None,
        }
    }
}

impl Node {
    /// Runs a line on the node. Where the way there has changed since it was last asked, asks once more;
    /// a command that may have begun is not run twice.
    pub(super) async fn talk(
        &self,
        order: Order<'_>,
        io: &Io,
        take: &mut (dyn FnMut(Stream, &str) + Send),
    ) -> Result<Ended> {
        let mut fresh = false;
        loop {
            let way = self.ssh(fresh, io).await?;
            let talk = Talk {
                line: order.line,
                input: order.input.map(again).transpose()?,
                output: order.output.map(again).transpose()?,
                connect: CONNECT,
            };
            match way.run(talk, &io.stop, take).await? {
                Ended::Connection {
                    changed_key: true,
                    why,
                    ..
                } => return Err(self.another_key(&why)),
                Ended::Connection { begun: false, .. } if !fresh => fresh = true,
                ended => return Ok(ended),
            }
        }
    }

    /// As [`Node::talk`], where only the command's own end is of use.
    pub(super) async fn command(
        &self,
        order: Order<'_>,
        io: &Io,
        take: &mut (dyn FnMut(Stream, &str) + Send),
    ) -> Result<i32> {
        match self.talk(order, io, take).await? {
            Ended::Command(code) => Ok(code),
            Ended::Connection { begun, why, .. } => Err(self.lost(begun, why)),
        }
    }

    /// The failure of a connection.
    pub(super) fn lost(&self, begun: bool, why: String) -> Box<Failure> {
        let what = if begun {
            "the connection was cut"
        } else {
            "it cannot be reached"
        };
        Box::new(
            Failure::new(Kind::Provider, format!("`{}`: {what}", self.name()))
                .because(why)
                .advise("see whether it runs with `wdev status`")
                .advise("`wdev up` mends a machine that does not answer"),
        )
    }
}

/// The file from its beginning, for one more reader or writer.
fn again(file: &File) -> Result<File> {
    let mut file = file
        .try_clone()
        .map_err(|error| Failure::new(Kind::Host, "cannot open a file twice").because(error))?;
    file.rewind()
        .map_err(|error| Failure::new(Kind::Host, "cannot read a file again").because(error))?;
    Ok(file)
}

/// Runs the script on the node; see [`crate::channel::Channel::run`].
pub(super) async fn run(node: &Node, script: &Script, io: &Io) -> Result<Report> {
    let unseen = Unseen::new(node, script);
    let mut returns = 0;
    loop {
        let earlier = unseen.earlier()?;
        let nonce = nonce()?;
        let text = node.guest().wrap(script, &nonce, &earlier)?;
        let line = node.guest().run(text.len() as u64)?;
        let sent = sent(&text)?;
        unseen.begins(&nonce, &earlier)?;
        let order = Order {
            input: Some(&sent),
            ..Order::new(&line)
        };
        let mut listener = Listener::new(script, &nonce, io);
        let mut take = |stream: Stream, text: &str| match stream {
            Stream::Stdout => listener.line(text),
            _ => listener.show(text),
        };
        let ended = node.talk(order, io, &mut take).await;
        let (end, tail, _) = listener.finish(script.mode);
        let ended = ended.map_err(|mut failure| {
            // The client's own lines may hold what the script was given or made.
            failure.output.clone_from(&tail);
            failure
        })?;
        if let Some(end) = end {
            unseen.was_seen()?;
            return judge(node, script, end, io)
                .map_err(|failure| Box::new(with_way(node, *failure).output(tail)));
        }
        match ended {
            // The wrapper on the node sees to it that the script runs once, however often it is sent.
            Ended::Connection {
                begun: true, why, ..
            } if returns < RETURNS => {
                returns += 1;
                io.note(format!(
                    "the connection was cut ({why}); going back to the script"
                ));
                tokio::select! {
                    () = node.caller.clock.sleep(PAUSE) => {}
                    () = io.stop.reached(Level::Interrupt) => {}
                }
            }
            Ended::Connection { begun, why, .. } => {
                let advice = "run the same again: the script waits for what is left of itself";
                return Err(Box::new(node.lost(begun, why).output(tail).advise(advice)));
            }
            Ended::Command(code) => {
                return Err(Box::new(unproven(node, script, code).output(tail)));
            }
        }
    }
}

/// The text as a file without a name, since it may hold secrets.
fn sent(text: &str) -> Result<File> {
    let failed = |error: std::io::Error| io_failure("write", &std::env::temp_dir(), &error);
    let mut file = tempfile::tempfile().map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    Ok(file)
}

/// With the command that leads to the node.
fn with_way(node: &Node, failure: Failure) -> Failure {
    match node.known_way() {
        Ok(way) => failure.command(way.shown()),
        Err(_) => failure,
    }
}

fn unproven(node: &Node, script: &Script, code: i32) -> Failure {
    let failure = Failure::new(
        Kind::Step,
        format!(
            "the end of the script `{}` on `{}` could not be proven",
            script.name,
            node.name()
        ),
    )
    .because(format!(
        "its shell ended with exit code {code} and without a word of the script"
    ))
    .advise(match script.os {
        Os::Linux => "see whether you may become root there without a password: `sudo -n true`",
        Os::Windows => "see whether Vagrant's user is an administrator there",
    });
    with_way(node, failure)
}
