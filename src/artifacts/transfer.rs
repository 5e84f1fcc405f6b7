//! One download, from the first request to a whole file with the right hash.

use std::sync::Arc;

use bytes::Bytes;
use reqwest::header::{self, HeaderValue};
use reqwest::{Response, StatusCode};
use tokio::sync::mpsc;

use super::fault::{self, Trouble};
use super::lock::Held;
use super::part::{self, Hashed, Part, Seen};
use super::progress::Meter;
use super::web::{Address, Web, headers, is_page};
use crate::channel::Io;
use crate::error::{Failure, Kind, Result};

/// Pieces between the network and the disk.
const QUEUE: usize = 64;

/// A download. The part's lock is held.
pub struct Transfer<'a> {
    pub web: &'a Web,
    pub name: &'a str,
    pub from: Address,
    pub sha256: Option<&'a str>,
    pub part: Part,
    pub lock: Arc<Held>,
    pub meter: &'a Meter,
}

/// The rest of the file as an answer brings it.
struct Rest {
    response: Response,
    /// How much is there already.
    from: u64,
    seen: Seen,
}

impl Transfer<'_> {
    /// Fetches until the part is whole and right.
    ///
    /// # Errors
    /// See [`super::Store::ensure`].
    pub async fn run(&self, io: &Io) -> Result<Hashed> {
        if self.sha256.is_none() {
            // Of what a power cut left nobody could say whether it is right.
            self.part.remove()?;
        }
        let whole = self.web.limits.whole;
        let attempts = self
            .web
            .persist(self.name, io, || self.meter.reached(), |_| self.attempt());
        let done = self.web.clock.timeout(whole, attempts).await;
        done.unwrap_or_else(|| {
            Err(Box::new(
                fault::failed(self.name, &self.from)
                    .because(format!("it took longer than {} s", whole.as_secs()))
                    .advise("run the same again: it goes on where it stopped"),
            ))
        })
    }

    async fn attempt(&self) -> Result<Hashed, Trouble> {
        let have = self.part.length();
        let rest = self.ask(have).await?;
        let from = rest.as_ref().map_or(have, |rest| rest.from);
        let hashed = match rest {
            Some(rest) => self.receive(rest).await?,
            None => self.hash().await?,
        };
        match self.sha256 {
            Some(wanted) if wanted != hashed.sha256 => {
                self.part.remove()?;
                let Hashed { sha256, bytes } = hashed;
                let failure = fault::wrong_hash(self.name, &self.from, wanted, &sha256, bytes);
                // Two pieces of two states of the file, or a disk that was not asked to keep them.
                Err(if from > 0 {
                    Trouble::again(failure)
                } else {
                    Trouble::last(failure)
                })
            }
            _ => Ok(hashed),
        }
    }

    /// Asks for what is missing after the first `have` bytes. None when nothing is.
    async fn ask(&self, have: u64) -> Result<Option<Rest>, Trouble> {
        let seen = self.part.seen().filter(|_| have > 0);
        let mut headers = headers();
        let validator = seen
            .as_ref()
            .and_then(Seen::validator)
            .and_then(|validator| HeaderValue::from_str(validator).ok());
        // Without a validator the hash at the end tells whether the pieces fit.
        let resume = have > 0 && (validator.is_some() || self.sha256.is_some());
        if resume && let Ok(range) = HeaderValue::from_str(&format!("bytes={have}-")) {
            headers.insert(header::RANGE, range);
            if let Some(validator) = validator {
                headers.insert(header::IF_RANGE, validator);
            }
        }
        let response = self.web.ask(self.name, &self.from, headers).await?;
        let range = part::range(response.headers());
        match response.status() {
            StatusCode::OK => Ok(Some(Rest {
                seen: Seen::of(&response),
                response,
                from: 0,
            })),
            StatusCode::PARTIAL_CONTENT if resume => {
                let (start, total) = range.unwrap_or_default();
                let now = Seen::of(&response).with_total(total);
                if start != Some(have) || seen.is_some_and(|seen| seen.differs(&now)) {
                    return Err(self.changed()?);
                }
                Ok(Some(Rest {
                    response,
                    from: have,
                    seen: now,
                }))
            }
            StatusCode::RANGE_NOT_SATISFIABLE if resume => match range {
                Some((_, Some(total))) if total == have => Ok(None),
                _ => Err(self.changed()?),
            },
            _ => Err(self.web.refusal(self.name, &self.from, &response)),
        }
    }

    /// What is there belongs to another file than what the server has now.
    fn changed(&self) -> Result<Trouble> {
        self.part.remove()?;
        Ok(Trouble::again(
            fault::failed(self.name, &self.from)
                .because("the file on the server is not the one that the download began with"),
        ))
    }

    async fn receive(&self, rest: Rest) -> Result<Hashed, Trouble> {
        let Rest {
            mut response,
            from,
            seen,
        } = rest;
        let total = seen.total;
        let mut first = None;
        if from == 0 {
            // Before anything of an earlier download is given up.
            first = self.piece(&mut response, 0, total).await?;
            let beginning = first.as_ref().map_or(&[] as &[u8], AsRef::as_ref);
            if is_page(response.headers(), beginning) {
                return Err(fault::portal(
                    self.name,
                    &self.from,
                    response.url().as_str(),
                ));
            }
            self.part.begin(&seen)?;
        }
        self.meter.begin(from, total);
        let (sender, chunks) = mpsc::channel(QUEUE);
        let path = self.part.path();
        // Whoever is cut short lets go of the part only when nobody writes any more.
        let lock = Arc::clone(&self.lock);
        let writer = tokio::task::spawn_blocking(move || {
            let _lock = lock;
            part::append(&path, chunks)
        });
        let mut got = from;
        let end = loop {
            let chunk = match first.take() {
                Some(chunk) => chunk,
                None => match self.piece(&mut response, got, total).await {
                    Ok(Some(chunk)) => chunk,
                    Ok(None) => break Ok(()),
                    Err(trouble) => break Err(trouble),
                },
            };
            let length = chunk.len() as u64;
            // The writer is gone only when it failed, which it tells itself.
            if sender.send(chunk).await.is_err() {
                break Ok(());
            }
            got += length;
            self.meter.add(length);
        };
        drop(sender);
        let hashed = joined(writer.await)?.map_err(|error| self.unwritable(&error, total))?;
        end?;
        match total {
            Some(total) if hashed.bytes < total => {
                Err(fault::truncated(self.name, &self.from, hashed.bytes, total))
            }
            _ => Ok(hashed),
        }
    }

    /// The next piece; none at the end.
    async fn piece(
        &self,
        response: &mut Response,
        got: u64,
        total: Option<u64>,
    ) -> Result<Option<Bytes>, Trouble> {
        let stall = self.web.limits.stall;
        match self.web.clock.timeout(stall, response.chunk()).await {
            None => Err(fault::stalled(self.name, &self.from, stall)),
            Some(Err(error)) => Err(fault::cut(self.name, &self.from, (got, total), &error)),
            Some(Ok(chunk)) => Ok(chunk),
        }
    }

    async fn hash(&self) -> Result<Hashed, Trouble> {
        let path = self.part.path();
        Ok(joined(
            tokio::task::spawn_blocking(move || part::hash(&path)).await,
        )??)
    }

    fn unwritable(&self, error: &std::io::Error, total: Option<u64>) -> Box<Failure> {
        if error.kind() == std::io::ErrorKind::StorageFull {
            // Nothing else on this host should suffer from what is of no use yet.
            let _ = self.part.remove();
        }
        fault::unwritable(&self.part.path(), error, total)
    }
}

/// What a thread returned.
pub fn joined<T>(result: Result<T, tokio::task::JoinError>) -> Result<T> {
    result.map_err(|error| {
        Box::new(Failure::new(Kind::Bug, "work on a file broke off").because(error))
    })
}
