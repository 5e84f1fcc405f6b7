//! Files to and from a machine over direct SSH: with a word of how far it is, in a bounded time, and
//! believed only by their hash.

use std::fmt::Write as _;
use std::fs::File;
use std::future::Future;
use std::io::Seek as _;
use std::path::Path;
use std::pin::pin;
use std::sync::Mutex;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::direct::Order;
use super::node::Node;
use crate::channel::Io;
use crate::channel::ssh::Ended;
use crate::error::{Failure, Kind, Result, io_failure};
use crate::event::Stream;

/// How long any transfer may take: connecting, hashing and syncing.
const BASE: Duration = Duration::from_mins(2);
/// The slowest rate that is waited for, in bytes a second.
const SLOWEST: u64 = 128 * 1024;
/// How often to say how far it is.
const NOTE: Duration = Duration::from_secs(5);
/// How often a transfer whose connection is cut is begun anew.
const AGAIN: u32 = 2;

/// Copies `from` on the host to `to` on the node; see [`crate::channel::Channel::upload`].
pub(super) async fn upload(node: &Node, from: &Path, to: &str, io: &Io) -> Result<()> {
    let file = File::open(from).map_err(|error| io_failure("open", from, &error))?;
    let size = size(&file, from)?;
    let hash = hash(from).await?;
    let line = node.guest().receive(to, &hash)?;
    let what = format!("copy `{}` to `{to}` on `{}`", from.display(), node.name());
    let order = Order {
        input: Some(&file),
        ..Order::new(&line)
    };
    // The client reads through the same place in the file.
    let done = || ((&file).stream_position().unwrap_or(0), Some(size));
    let said = Said::default();
    said.judge(node, order, &what, done, io).await
}

/// Copies `from` on the node to `to` on the host; see [`crate::channel::Channel::download`].
pub(super) async fn download(node: &Node, from: &str, to: &Path, io: &Io) -> Result<()> {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let part = tempfile::NamedTempFile::new_in(folder)
        .map_err(|error| io_failure("write in", folder, &error))?;
    let line = node.guest().send(from)?;
    let what = format!("copy `{from}` on `{}` to `{}`", node.name(), to.display());
    let order = Order {
        output: Some(part.as_file()),
        ..Order::new(&line)
    };
    let said = Said::default();
    let done = || {
        let length = part.as_file().metadata().map_or(0, |about| about.len());
        (length, said.announced().map(|(size, _)| size))
    };
    said.judge(node, order, &what, done, io).await?;
    let announced = said.announced().map(|(_, hash)| hash);
    if announced != Some(hash(part.path()).await?) {
        return Err(Box::new(
            Failure::new(Kind::Step, format!("could not {what}"))
                .because("it did not arrive whole, or it changed meanwhile")
                .advise("run the same again"),
        ));
    }
    let failed = |error: std::io::Error| io_failure("write", to, &error);
    part.as_file().sync_all().map_err(failed)?;
    part.persist(to).map_err(|error| failed(error.error))?;
    Ok(())
}

/// What the other side says on standard error while a file is on its way.
#[derive(Debug, Default)]
struct Said(Mutex<Vec<String>>);

impl Said {
    fn lines(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The size and the hash of the file that is being sent to us.
    fn announced(&self) -> Option<(u64, String)> {
        self.lines().iter().find_map(|line| {
            let (size, hash) = line.trim().split_once(' ')?;
            let digits = hash.len() == 64 && hash.chars().all(|c| c.is_ascii_hexdigit());
            digits.then_some((size.parse().ok()?, hash.to_lowercase()))
        })
    }

    /// Carries out `order`; `done` tells how much of how much has passed.
    async fn judge(
        &self,
        node: &Node,
        order: Order<'_>,
        what: &str,
        done: impl Fn() -> (u64, Option<u64>),
        io: &Io,
    ) -> Result<()> {
        for again in 0..=AGAIN {
            self.lines().clear();
            if let Some(output) = order.output {
                output.set_len(0).map_err(|error| {
                    Failure::new(Kind::Host, format!("could not {what}")).because(error)
                })?;
            }
            let mut take = |_: Stream, text: &str| {
                let mut lines = self.lines();
                if lines.len() < crate::process::TAIL {
                    lines.push(text.to_owned());
                }
            };
            let carried = node.talk(order, io, &mut take);
            match watch(node, carried, what, &done, io).await? {
                Ended::Command(0) => return Ok(()),
                Ended::Command(code) => {
                    return Err(Box::new(
                        Failure::new(Kind::Step, format!("could not {what}: exit code {code}"))
                            .output(self.lines().drain(..)),
                    ));
                }
                Ended::Connection {
                    begun: true, why, ..
                } if again < AGAIN => {
                    io.note(format!("the connection was cut ({why}); beginning anew"));
                }
                Ended::Connection { begun, why, .. } => return Err(node.lost(begun, why)),
            }
        }
        Ok(())
    }
}

/// Waits for a transfer, for as long as its size allows, and says how far it is.
async fn watch<T>(
    node: &Node,
    carried: impl Future<Output = Result<T>>,
    what: &str,
    done: &impl Fn() -> (u64, Option<u64>),
    io: &Io,
) -> Result<T> {
    let clock = node.caller.clock;
    let mut carried = pin!(carried);
    let mut waited = Duration::ZERO;
    loop {
        if let Some(ended) = clock.timeout(NOTE, &mut carried).await {
            return ended;
        }
        waited += NOTE;
        let (passed, all) = done();
        let limit = limit(all.unwrap_or(passed), SLOWEST);
        if waited >= limit {
            return Err(Box::new(
                Failure::new(Kind::Deadline, format!("could not {what}"))
                    .because(format!(
                        "{} had passed after {} s",
                        megabytes(passed),
                        waited.as_secs()
                    ))
                    .advise("see how busy the host and the machine are, then run the same again"),
            ));
        }
        let of = all.map_or_else(String::new, |all| format!(" of {}", megabytes(all)));
        io.note(format!("copied {}{of}", megabytes(passed)));
    }
}

/// How long a transfer of so many bytes may take where so many a second are the fewest.
pub(super) fn limit(bytes: u64, slowest: u64) -> Duration {
    BASE + Duration::from_secs(bytes / slowest.max(1))
}

pub(super) fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes / 1_000_000)
}

/// The size of a file in bytes.
pub(super) fn size(file: &File, path: &Path) -> Result<u64> {
    let about = file
        .metadata()
        .map_err(|error| io_failure("read", path, &error))?;
    if about.is_file() {
        return Ok(about.len());
    }
    Err(Box::new(
        Failure::new(
            Kind::Arguments,
            format!("`{}` is not a file", path.display()),
        )
        .permanent(),
    ))
}

/// The SHA-256 of a file, in lower-case hexadecimal digits.
pub(super) async fn hash(path: &Path) -> Result<String> {
    let path = path.to_owned();
    let hashing = tokio::task::spawn_blocking(move || {
        let mut hasher = Sha256::new();
        File::open(&path)
            .and_then(|mut file| std::io::copy(&mut file, &mut IntoHash(&mut hasher)))
            .map_err(|error| io_failure("read", &path, &error))?;
        Ok(hex(hasher))
    });
    hashing
        .await
        .map_err(|error| Failure::new(Kind::Bug, "hashing a file").because(error))?
}

/// The SHA-256 of some bytes, in lower-case hexadecimal digits.
pub(super) fn hash_of(bytes: &[u8]) -> String {
    hex(Sha256::new_with_prefix(bytes))
}

fn hex(hasher: Sha256) -> String {
    let mut hex = String::new();
    for byte in hasher.finalize() {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// Lets a hash be written to.
struct IntoHash<'a>(&'a mut Sha256);

impl std::io::Write for IntoHash<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
