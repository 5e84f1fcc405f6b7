//! Runs a script through Vagrant's own provisioners and tells whether it came to its end: the way where
//! SSH cannot be had directly.
//!
//! A script is written to `steps/NODE/NAME.sh` (a probe to `steps/NODE/probe.sh`) in the rendered
//! folder, where the Vagrantfile names it, and `vagrant provision` uploads and runs it. Secrets that it
//! is given stand in that file for as long as it runs, readable by the owner only; afterwards the file
//! is written anew without them. On the node the wrapper removes its file before it does anything.

use std::path::PathBuf;
use std::time::Duration;

use super::call::Ended;
use super::listen::{Hidden, Listener, Unseen, judge, nonce};
use super::lock::Held;
use super::node::{Node, write};
use super::records::Entry;
use crate::channel::{Io, Mode, Report, Script};
use crate::error::{Failure, Kind, Result};

/// The name of the provisioner that runs probes.
const PROBE: &str = "probe";
/// The caller's deadline ends a script; this only keeps a forgotten one from running for ever.
const LONGEST: Duration = Duration::from_hours(24);

/// Runs the script on the node; see [`crate::channel::Channel::run`].
pub(super) async fn provision(node: &Node, script: &Script, io: &Io) -> Result<Report> {
    let held = node.lock.take(node.patience(), io).await?;
    provision_held(node, &held, script, io).await
}

/// As [`provision`], by whoever holds the machine's lock.
pub(super) async fn provision_held(
    node: &Node,
    held: &Held,
    script: &Script,
    io: &Io,
) -> Result<Report> {
    let nonce = nonce()?;
    let unseen = Unseen::new(node, script);
    let earlier = unseen.earlier()?;
    let steps = node.caller.dir.join("steps").join(node.name());
    let file = |name: &str| steps.join(format!("{name}.{}", node.machine.os.script_ending()));
    // A script that is made for the moment, such as a join, has no file and no provisioner of its own:
    // that of the probes runs whatever is in its file.
    let provisioner = match script.mode {
        Mode::Run if file(&script.name).exists() => script.name.as_str(),
        Mode::Run | Mode::Probe => PROBE,
    };
    let path = file(provisioner);
    let written = Written::new(node, path, script, &nonce, &earlier)?;
    unseen.begins(&nonce, &earlier)?;
    let mut listener = Listener::new(script, &nonce, io);
    let mut seen = Seen::default();
    let mut take = |entry: &Entry| seen.take(entry, node.name(), &mut listener);
    let args = ["provision", node.name(), "--provision-with", provisioner];
    let ended = node.call(held, &args, LONGEST, io, &mut take).await;
    drop(written);
    let (end, tail, hidden) = listener.finish(script.mode);
    let ended = ended.map_err(|mut failure| {
        // Vagrant's own lines may hold what the script was given or made.
        failure.output.clone_from(&tail);
        without(&hidden, failure)
    })?;
    if end.is_some() {
        unseen.was_seen()?;
    }
    let judged = Judged {
        name: &script.name,
        node,
        ended: &ended,
        seen,
    };
    match end {
        Some(end) => judge(node, script, end, io)
            .map_err(|failure| Box::new(failure.command(&ended.command).output(tail))),
        None if ended.finished.ok() => Err(Box::new(judged.unproven().output(tail))),
        None => Err(without(&hidden, Box::new(judged.by_vagrant(tail)))),
    }
}

/// The failure, whose causes may quote what Vagrant said, without what is not to be shown.
fn without(hidden: &Hidden, mut failure: Box<Failure>) -> Box<Failure> {
    for cause in &mut failure.causes {
        *cause = hidden.hide(cause);
    }
    failure
}

/// What Vagrant printed about a script, beside the script's own output.
#[derive(Debug, Default)]
struct Seen {
    /// Vagrant said that it runs the provisioner.
    began: bool,
    /// Vagrant's last remark of its own.
    remark: Option<String>,
}

impl Seen {
    fn take(&mut self, entry: &Entry, node: &str, listener: &mut Listener<'_>) {
        let record = match entry {
            Entry::Raw(text) => return listener.line(text),
            Entry::Record(record) => record,
        };
        if record.target != node {
            return;
        }
        let Some((loudness, lines)) = record.talk() else {
            return;
        };
        for line in lines {
            if loudness != "detail" {
                self.began |= line.starts_with("Running provisioner:");
                self.remark = Some(line.to_owned());
            } else if !line.starts_with("Running: ") {
                listener.line(line);
            }
        }
    }
}

/// All that is known about a script that did not end well.
struct Judged<'a> {
    name: &'a str,
    node: &'a Node,
    ended: &'a Ended,
    seen: Seen,
}

impl Judged<'_> {
    /// Vagrant's exit code was 0, and yet the script did not come to its end.
    fn unproven(&self) -> Failure {
        let failure = Failure::new(
            Kind::Step,
            format!(
                "the end of the script `{}` on `{}` could not be proven",
                self.name,
                self.node.name()
            ),
        )
        .command(&self.ended.command);
        if self.seen.began {
            return failure
                .because(
                    "the connection was cut, or the machine stopped, while it ran; Vagrant calls that a success",
                )
                .advise("run the same again: the script waits for what is left of itself");
        }
        match &self.seen.remark {
            Some(remark) => failure
                .because(format!("Vagrant did not run it and said: {remark}"))
                .advise("`wdev up` starts a machine that does not run"),
            None => failure
                .because(format!(
                    "Vagrant never ran it: the Vagrantfile in `{}` does not name it for this machine",
                    self.node.caller.dir.display()
                ))
                .advise("render the files again with `wdev render`, then run the same again"),
        }
    }

    fn by_vagrant(&self, tail: Vec<String>) -> Failure {
        let mut failure = self.ended.failure();
        if failure.kind == Kind::Step {
            failure.message = format!(
                "the script `{}` failed on `{}`",
                self.name,
                self.node.name()
            );
        }
        failure.output = tail;
        failure
    }
}

/// A script file that holds secrets only while this lives.
struct Written {
    path: PathBuf,
    without_secrets: Option<String>,
}

impl Written {
    fn new(
        node: &Node,
        path: PathBuf,
        script: &Script,
        nonce: &str,
        unseen: &[String],
    ) -> Result<Self> {
        let guest = node.guest();
        let without_secrets = if script.secrets.is_empty() {
            None
        } else {
            let mut bare = script.clone();
            bare.secrets.clear();
            Some(guest.wrap(&bare, nonce, unseen)?)
        };
        write(&path, &guest.wrap(script, nonce, unseen)?)?;
        Ok(Self {
            path,
            without_secrets,
        })
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        if let Some(text) = &self.without_secrets
            && write(&self.path, text).is_err()
        {
            // Better no script than one with secrets.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
