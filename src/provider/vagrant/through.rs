//! Commands and files where SSH cannot be had directly: as scripts, through Vagrant's own communicator.
//!
//! `vagrant ssh -c` is no way here: it needs the very client that is missing (`lib/vagrant/util/ssh.rb`).

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::listen::nonce;
use super::node::Node;
use super::provision::provision;
use crate::channel::guest::Errand;
use crate::channel::{Io, Mode, Report, Script};
use crate::error::{Failure, Kind, Result, io_failure};

/// How long Vagrant may take for a file.
const UPLOAD: Duration = Duration::from_hours(1);

/// Runs an errand on the node as a probe: it has a provisioner of its own and changes no stamp.
async fn errand(node: &Node, errand: Errand<'_>, io: &Io) -> Result<Report> {
    let script = Script {
        name: "errand".to_owned(),
        os: node.machine.os,
        mode: Mode::Probe,
        text: Some(node.guest().errand(errand)?),
        effects: Vec::new(),
        fingerprint: "none".to_owned(),
        secrets: BTreeMap::new(),
    };
    provision(node, &script, io).await
}

/// Runs a command; see [`crate::channel::Channel::exec`]. Both of its streams arrive as one.
pub(super) async fn exec(node: &Node, argv: &[String], io: &Io) -> Result<i32> {
    let report = errand(node, Errand::Exec(argv), io).await?;
    let code = fact(&report, "code").and_then(|code| code.parse().ok());
    code.ok_or_else(|| untold(node, "the command's exit code"))
}

/// See [`crate::channel::Channel::boot_identity`].
pub(super) async fn boot_identity(node: &Node, io: &Io) -> Result<String> {
    let report = errand(node, Errand::BootIdentity, io).await?;
    let identity = fact(&report, "identity").map(str::to_owned);
    identity.ok_or_else(|| untold(node, "its boot identity"))
}

/// See [`crate::channel::Channel::upload`]. Vagrant's upload is not atomic and checks nothing: the file
/// goes beside its place first.
pub(super) async fn upload(node: &Node, from: &Path, to: &str, hash: &str, io: &Io) -> Result<()> {
    let beside = node.guest().landing(&nonce()?);
    let source = from.to_string_lossy();
    let held = node.lock.take(node.patience(), io).await?;
    let args = ["upload", &source, &beside, node.name()];
    node.call(&held, &args, UPLOAD, io, &mut |_| {})
        .await?
        .good()?;
    drop(held);
    let place = Errand::Place {
        landed: &beside,
        to,
        hash,
    };
    errand(node, place, io).await.map(drop)
}

/// See [`crate::channel::Channel::download`]; for small files.
pub(super) async fn download(node: &Node, from: &str, to: &Path, io: &Io) -> Result<()> {
    let report = errand(node, Errand::Fetch(from), io).await?;
    let content = fact(&report, "content").and_then(|text| BASE64.decode(text.trim()).ok());
    let Some(content) = content else {
        return Err(untold(node, &format!("what is in `{from}`")));
    };
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let error = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(io_failure("write in", folder, &error));
    }
    crate::home::write_whole(to, &content)
}

fn fact<'a>(report: &'a Report, name: &str) -> Option<&'a str> {
    report.facts.get(name).map(String::as_str)
}

fn untold(node: &Node, what: &str) -> Box<Failure> {
    Box::new(Failure::new(
        Kind::Step,
        format!("`{}` does not tell {what}", node.name()),
    ))
}
