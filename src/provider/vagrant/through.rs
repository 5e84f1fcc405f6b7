//! Commands and files where SSH cannot be had directly: as scripts, through Vagrant's own communicator.
//!
//! `vagrant ssh -c` is no way here: it needs the very client that is missing (`lib/vagrant/util/ssh.rb`).

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::listen::nonce;
use super::lock::Held;
use super::node::Node;
use super::provision::provision;
use super::transfer::{hash_of, limit, megabytes, size};
use crate::channel::guest::Errand;
use crate::channel::{Io, Mode, Report, Script};
use crate::error::{Failure, Kind, Result, io_failure};

/// The slowest rate that is waited for, in bytes a second. `WinRM` takes files in pieces of Base64 text:
/// 40 kB a second are seen in the field (hashicorp/packer #2648).
const SLOWEST: u64 = 16 * 1024;
/// How much of a file comes with one report, which is one line of Vagrant's output: in Base64, twice.
const PIECE: u64 = 256 * 1024;
/// The largest file that is fetched, in bytes: every piece costs a start of Vagrant.
const LARGEST: u64 = 16 * 1024 * 1024;

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
    let held = node.lock.take(node.patience(), io).await?;
    send(node, &held, from, &beside, io).await?;
    drop(held);
    let place = Errand::Place {
        landed: &beside,
        to,
        hash,
    };
    errand(node, place, io).await.map(drop)
}

/// Copies a file with Vagrant's own upload, for as long as its size allows.
pub(super) async fn send(node: &Node, held: &Held, from: &Path, to: &str, io: &Io) -> Result<()> {
    let file = File::open(from).map_err(|error| io_failure("open", from, &error))?;
    let size = size(&file, from)?;
    let what = format!("`{}` ({})", from.display(), megabytes(size));
    io.note(format!("copying {what} to `{to}`"));
    let source = from.to_string_lossy();
    let args = ["upload", &source, to, node.name()];
    let limit = limit(size, SLOWEST);
    match node.call(held, &args, limit, io, &mut |_| {}).await {
        Ok(ended) => ended.good(),
        Err(failure) if failure.kind == Kind::Deadline => {
            Err(Box::new(failure.because(format!("it was to copy {what}"))))
        }
        Err(failure) => Err(failure),
    }
}

/// See [`crate::channel::Channel::download`]. It comes in pieces, and is believed by its hash.
pub(super) async fn download(node: &Node, from: &str, to: &Path, io: &Io) -> Result<()> {
    let mut content = Vec::new();
    let hash = loop {
        let at = content.len() as u64;
        let fetch = Errand::Fetch {
            from,
            at,
            piece: PIECE,
            largest: LARGEST,
        };
        let report = errand(node, fetch, io).await?;
        let size = fact(&report, "size").and_then(|size| size.parse().ok());
        if let Some(size) = size.filter(|size| *size > LARGEST) {
            return Err(too_large(node, from, size));
        }
        let piece = fact(&report, "content").and_then(|text| BASE64.decode(text.trim()).ok());
        let (Some(piece), Some(hash)) = (piece, fact(&report, "hash")) else {
            return Err(untold(node, &format!("what is in `{from}`")));
        };
        content.extend(&piece);
        // A file in `/proc` has a content and no size.
        if piece.len() as u64 != PIECE {
            break hash.to_owned();
        }
        if content.len() as u64 > LARGEST {
            return Err(too_large(node, from, content.len() as u64));
        }
        let of = megabytes(size.unwrap_or_default());
        io.note(format!(
            "copied {} of {of}",
            megabytes(content.len() as u64)
        ));
    };
    if hash != hash_of(&content) {
        return Err(Box::new(
            Failure::new(
                Kind::Step,
                format!("could not copy `{from}` from `{}`", node.name()),
            )
            .because("it did not arrive whole, or it changed meanwhile")
            .advise("run the same again"),
        ));
    }
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

fn too_large(node: &Node, from: &str, size: u64) -> Box<Failure> {
    Box::new(
        Failure::new(
            Kind::Step,
            format!(
                "`{from}` on `{}` is too large to be fetched without SSH",
                node.name()
            ),
        )
        .because(format!(
            "it has {}, and Vagrant itself brings {} at most",
            megabytes(size),
            megabytes(LARGEST)
        ))
        .advise("install OpenSSH's client on this host: `ssh` on your `PATH`")
        .advise("or make the file smaller there first")
        .permanent(),
    )
}

fn untold(node: &Node, what: &str) -> Box<Failure> {
    Box::new(Failure::new(
        Kind::Step,
        format!("`{}` does not tell {what}", node.name()),
    ))
}
