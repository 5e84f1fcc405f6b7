//! The cache of artifacts, and what fills it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::memory::{self, Memory};
use super::part::{self, Part};
use super::progress::{Meter, Tally};
use super::transfer::{Transfer, joined};
use super::web::{Web, unless_stopped};
use super::{HttpSite, Limits, Stored, Wanted, checksum, fault, lock, own};
use crate::channel::{Io, Secret};
use crate::clock::Clock;
use crate::config::model::Artifacts;
use crate::config::redact_url;
use crate::error::{Failure, Kind, Result, io_failure};
use crate::home;

/// How a store is used.
#[derive(Clone)]
pub struct Settings {
    /// A URL that stands for every download site; empty for none.
    pub mirror: String,
    /// Use the cache and nothing else.
    pub offline: bool,
    /// How long to wait for what.
    pub limits: Limits,
    /// By which time.
    pub clock: Clock,
}

/// The cache; cheap to clone. As long as one is kept, `wdev cache prune --all` removes nothing.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    folder: PathBuf,
    offline: bool,
    web: Web,
    memory: Memory,
    slots: Semaphore,
    _in_use: File,
}

/// The folder of the cache in the user's cache folder.
///
/// # Errors
/// `Host` when the user has no home folder.
pub fn folder_of_user() -> Result<PathBuf> {
    Ok(home::cache_folder()?.join("artifacts"))
}

impl Store {
    /// The user's cache, with the mirror and the offline rule of a configuration.
    ///
    /// # Errors
    /// See [`Self::open`]; `Host` when the user has no home folder.
    pub fn of_user(config: &Artifacts, clock: Clock) -> Result<Self> {
        let settings = Settings {
            mirror: config.mirror.clone(),
            offline: config.offline,
            limits: Limits::default(),
            clock,
        };
        Self::open(folder_of_user()?, settings)
    }

    /// The cache in `folder`, which need not exist.
    ///
    /// # Errors
    /// `Host` when the folder cannot be made; `Busy` when `wdev cache prune` does not come to an end.
    pub fn open(folder: PathBuf, settings: Settings) -> Result<Self> {
        for name in ["sha256", "partial"] {
            let path = folder.join(name);
            std::fs::create_dir_all(&path)
                .map_err(|error| io_failure("create the folder", &path, &error))?;
        }
        let Settings {
            mirror,
            offline,
            limits,
            clock,
        } = settings;
        Ok(Self(Arc::new(Inner {
            _in_use: lock::share(&folder.join("lock"))?,
            memory: Memory::new(&folder),
            web: Web::new(&mirror, limits, clock),
            slots: Semaphore::new(limits.parallel.max(1)),
            offline,
            folder,
        })))
    }

    /// The file with this SHA-256, when it is in the cache. It counts as used now.
    #[must_use]
    pub fn find(&self, sha256: &str) -> Option<PathBuf> {
        let path = self.place(&checksum::normal(sha256)?);
        if !path.is_file() {
            return None;
        }
        // When a file was last used is its time of change. Where that cannot be set it goes sooner.
        if let Ok(file) = File::options().append(true).open(&path) {
            let _ = file.set_modified(SystemTime::now());
        }
        Some(path)
    }

    /// Where a node fetches a URL from by itself: from the mirror, where there is one. It may hold a
    /// password.
    ///
    /// # Errors
    /// `Configuration` when it is no URL of the web.
    pub fn address(&self, url: &str) -> Result<Secret> {
        Ok(self.0.web.address(url)?.whole())
    }

    /// The SHA-256 of what a URL once gave.
    #[must_use]
    pub fn hash_of(&self, url: &str) -> Option<String> {
        self.0.memory.hash(url)
    }

    /// Whether nothing but the cache may be used.
    #[must_use]
    pub fn is_offline(&self) -> bool {
        self.0.offline
    }

    /// Texts of download sites, with the same mirror and the same rules; remarks go to `io`, which also
    /// tells when to stop.
    #[must_use]
    pub fn site(&self, io: Io) -> HttpSite {
        HttpSite::new(self.clone(), io)
    }

    /// Brings a file into the cache, unless it is there; what is there is hashed again.
    ///
    /// # Errors
    /// `Host` when it cannot be fetched, is not the file with the wanted hash, or cannot be written; when
    /// it is not there and nothing may be fetched. `Interrupted` when `io.stop` asks for it.
    pub async fn ensure(&self, wanted: &Wanted, io: &Io) -> Result<Stored> {
        let all = self.ensure_all(std::slice::from_ref(wanted), io).await?;
        all.into_iter()
            .next()
            .ok_or_else(|| Box::new(Failure::new(Kind::Bug, "a file was lost")))
    }

    /// Brings all files into the cache, some at a time, and tells in one line how far they are. In the
    /// order of `wanted`.
    ///
    /// # Errors
    /// Those of [`Self::ensure`], the first that happens: what has come of others is kept. When offline,
    /// one that names everything that is missing.
    pub async fn ensure_all(&self, wanted: &[Wanted], io: &Io) -> Result<Vec<Stored>> {
        if self.0.offline {
            let missing: Vec<String> = self.missing(wanted).map(described).collect();
            if !missing.is_empty() {
                return Err(fault::offline(&missing));
            }
        }
        let names = wanted.iter().map(|one| one.name.as_str());
        let meters = Tally::meters(names, self.0.web.clock, io);
        let mut tasks = JoinSet::new();
        for (index, (one, meter)) in wanted.iter().cloned().zip(meters).enumerate() {
            let (store, io) = (self.clone(), io.clone());
            tasks.spawn(async move {
                let stored = store.bring(&one, &meter, &io).await?;
                meter.end();
                Ok::<_, Box<Failure>>((index, stored))
            });
        }
        let mut all = Vec::with_capacity(wanted.len());
        while let Some(done) = tasks.join_next().await {
            all.push(joined(done)??);
        }
        all.sort_by_key(|(index, _)| *index);
        Ok(all.into_iter().map(|(_, stored)| stored).collect())
    }

    /// What of `wanted` would have to be fetched.
    pub fn missing<'a>(&self, wanted: &'a [Wanted]) -> impl Iterator<Item = &'a Wanted> {
        wanted.iter().filter(|one| {
            own::path(&one.url).is_none()
                && !self
                    .known_hash(one)
                    .is_some_and(|hash| self.place(&hash).is_file())
        })
    }

    async fn bring(&self, wanted: &Wanted, meter: &Meter, io: &Io) -> Result<Stored> {
        let Wanted { name, url, sha256 } = wanted;
        let sha256 = match sha256 {
            Some(text) => Some(checksum::normal(text).ok_or_else(|| no_hash(name, text))?),
            None => None,
        };
        if let Some(path) = own::path(url) {
            return self.keep(name, path, sha256).await;
        }
        if let Some(stored) = self.cached(wanted, io).await? {
            return Ok(stored);
        }
        let from = self.0.web.address(url)?;
        if self.0.offline {
            return Err(fault::offline(&[described(wanted)]));
        }
        let key = sha256.clone().unwrap_or_else(|| memory::key(url));
        let part = Part::new(&self.0.folder.join("partial"), key);
        let web = &self.0.web;
        let lock_file = part.lock();
        let waiting = lock::take(&lock_file, name, web.limits.whole, web.clock, io);
        let lock = Arc::new(unless_stopped(io, name, waiting).await?);
        // Another run may have brought it meanwhile.
        if let Some(stored) = self.cached(wanted, io).await? {
            lock.remove();
            return Ok(stored);
        }
        let _slot = unless_stopped(io, name, async {
            let slot = self.0.slots.acquire().await;
            slot.map_err(|error| Box::new(Failure::new(Kind::Bug, "no slots").because(error)))
        })
        .await?;
        let transfer = Transfer {
            web,
            name,
            from,
            sha256: sha256.as_deref(),
            part: part.clone(),
            lock: Arc::clone(&lock),
            meter,
        };
        let hashed = transfer.run(io).await?;
        let place = self.place(&hashed.sha256);
        let (of_part, to) = (part.clone(), place.clone());
        joined(tokio::task::spawn_blocking(move || of_part.settle(&to)).await)??;
        self.0.memory.keep_hash(url, &hashed.sha256)?;
        lock.remove();
        Ok(Stored {
            path: place,
            sha256: hashed.sha256,
            bytes: hashed.bytes,
            from_cache: false,
        })
    }

    /// The file from the cache, if it is there and still what it was.
    async fn cached(&self, wanted: &Wanted, io: &Io) -> Result<Option<Stored>> {
        let Some(sha256) = self.known_hash(wanted) else {
            return Ok(None);
        };
        let Some(path) = self.find(&sha256) else {
            return Ok(None);
        };
        let of_file = path.clone();
        let hashing =
            async { joined(tokio::task::spawn_blocking(move || part::hash(&of_file)).await)? };
        let hashed = unless_stopped(io, &wanted.name, hashing).await?;
        if hashed.sha256 != sha256 {
            io.note(format!(
                "{} in the cache is damaged and is removed",
                wanted.name
            ));
            home::remove_file(&path)?;
            return Ok(None);
        }
        Ok(Some(Stored {
            path,
            sha256,
            bytes: hashed.bytes,
            from_cache: true,
        }))
    }

    async fn keep(&self, name: &str, from: PathBuf, sha256: Option<String>) -> Result<Stored> {
        let (name, store) = (name.to_owned(), self.clone());
        let keeping = tokio::task::spawn_blocking(move || {
            let temporary = store.0.folder.join("partial");
            let place = |hash: &str| store.place(hash);
            own::keep(&name, &from, sha256.as_deref(), &temporary, place)
        });
        let (hashed, from_cache) = joined(keeping.await)??;
        let path = self.place(&hashed.sha256);
        // It counts as used.
        let _ = self.find(&hashed.sha256);
        Ok(Stored {
            path,
            sha256: hashed.sha256,
            bytes: hashed.bytes,
            from_cache,
        })
    }

    fn known_hash(&self, wanted: &Wanted) -> Option<String> {
        match &wanted.sha256 {
            Some(sha256) => checksum::normal(sha256),
            None => self.0.memory.hash(&wanted.url),
        }
    }

    fn place(&self, sha256: &str) -> PathBuf {
        place(&self.0.folder, sha256)
    }

    pub(super) fn web(&self) -> &Web {
        &self.0.web
    }

    pub(super) fn memory(&self) -> &Memory {
        &self.0.memory
    }
}

/// Where a file lies in the cache.
pub(super) fn place(folder: &Path, sha256: &str) -> PathBuf {
    folder.join("sha256").join(sha256)
}

fn described(wanted: &Wanted) -> String {
    format!("{} (`{}`)", wanted.name, redact_url(&wanted.url))
}

fn no_hash(name: &str, text: &str) -> Box<Failure> {
    Box::new(
        Failure::new(
            Kind::Configuration,
            format!("`{text}`, given for {name}, is no SHA-256"),
        )
        .because("it has 64 hexadecimal digits")
        .permanent(),
    )
}
