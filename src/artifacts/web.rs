//! Requests: the client, the mirror in front of every site, attempts and pauses.

use std::fmt;
use std::future::Future;
use std::sync::OnceLock;
use std::time::Duration;

use jiff::fmt::rfc2822;
use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Client, Response, Url, redirect};

use super::Limits;
use super::fault::{self, Trouble};
use crate::channel::{Io, Secret};
use crate::clock::Clock;
use crate::config::redact_url;
use crate::error::{Failure, Kind, Result};
use crate::stop::Level;

/// How often a server may send us elsewhere; what browsers and curl allow is more than any site needs.
const REDIRECTS: usize = 10;
/// How often a download may be cut although each attempt brings something.
const CUTS: u32 = 100;
/// The longest pause that wdev chooses by itself.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Where something is fetched from. Shown without a password.
#[derive(Clone)]
pub struct Address {
    url: Url,
    origin: Option<String>,
}

impl Address {
    /// Whether it is a mirror's.
    pub fn mirrored(&self) -> bool {
        self.origin.is_some()
    }

    /// All of it, with the password that it may hold.
    pub fn whole(&self) -> Secret {
        Secret::new(self.url.as_str())
    }

    /// What a mirror has a copy of.
    pub fn origin(&self) -> String {
        let url = self.origin.as_deref().unwrap_or(self.url.as_str());
        redact_url(url).into_owned()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&redact_url(self.url.as_str()))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Asks sites, or the mirror that stands for them.
pub struct Web {
    client: OnceLock<Client>,
    mirror: String,
    pub limits: Limits,
    pub clock: Clock,
}

impl Web {
    pub fn new(mirror: &str, limits: Limits, clock: Clock) -> Self {
        Self {
            client: OnceLock::new(),
            mirror: mirror.trim_end_matches('/').to_owned(),
            limits,
            clock,
        }
    }

    /// Where `url` is fetched from: with a mirror `M`, `https://dl.k8s.io/x` is at `M/dl.k8s.io/x`.
    ///
    /// # Errors
    /// `Configuration` when it is no URL of the web.
    pub fn address(&self, url: &str) -> Result<Address> {
        let original = parse(url)?;
        if self.mirror.is_empty() {
            return Ok(Address {
                url: original,
                origin: None,
            });
        }
        // A name and password of the site are none of the mirror's business.
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let (site, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let site = site.rsplit('@').next().unwrap_or(site);
        Ok(Address {
            url: parse(&format!("{}/{site}{path}", self.mirror))?,
            origin: Some(url.to_owned()),
        })
    }

    /// Sends one request. The answer may have any status.
    ///
    /// # Errors
    /// When none comes.
    pub async fn ask(
        &self,
        name: &str,
        from: &Address,
        headers: HeaderMap,
    ) -> Result<Response, Trouble> {
        let request = self.client()?.get(from.url.clone()).headers(headers);
        let Limits { stall, .. } = self.limits;
        match self.clock.timeout(stall, request.send()).await {
            None => Err(fault::stalled(name, from, stall)),
            Some(Err(error)) => Err(fault::of_request(name, from, &error)),
            Some(Ok(response)) => Ok(response),
        }
    }

    /// What is wrong with an answer that is not the wanted one.
    pub fn refusal(&self, name: &str, from: &Address, response: &Response) -> Trouble {
        let after = self.retry_after(response);
        let trouble = fault::of_status(name, from, response.status(), after);
        match trouble {
            Trouble::Again(failure, Some(after)) if after > self.limits.patience => {
                let patience = self.limits.patience;
                Trouble::last(fault::too_patient(*failure, after, patience))
            }
            trouble => trouble,
        }
    }

    fn retry_after(&self, response: &Response) -> Option<Duration> {
        let value = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?;
        if let Ok(seconds) = value.trim().parse() {
            return Some(Duration::from_secs(seconds));
        }
        let until = rfc2822::parse(value.trim()).ok()?.timestamp();
        Some(Duration::try_from(self.clock.now().duration_until(until)).unwrap_or_default())
    }

    /// Tries until it succeeds, as often and for as long as the limits allow, or the user stops it.
    /// `attempt` is told the number of the attempt, from 1; `progress` counts what has come so far: an
    /// attempt that brought something is not counted against the limit.
    ///
    /// # Errors
    /// That of the last attempt; `Interrupted`.
    pub async fn persist<T, F: Future<Output = Result<T, Trouble>>>(
        &self,
        name: &str,
        io: &Io,
        progress: impl Fn() -> u64,
        mut attempt: impl FnMut(u32) -> F,
    ) -> Result<T> {
        let started = self.clock.elapsed();
        let (mut in_vain, mut before) = (0, progress());
        for number in 1.. {
            let (failure, after) = match unless_stopped(io, name, attempt(number)).await {
                Ok(done) => return Ok(done),
                Err(Trouble::Final(failure)) => return Err(failure),
                Err(Trouble::Again(failure, after)) => (failure, after),
            };
            let now = progress();
            in_vain = if now > before { 1 } else { in_vain + 1 };
            before = now;
            let pause = after.unwrap_or_else(|| self.pause(in_vain));
            let left = self
                .limits
                .whole
                .saturating_sub(self.clock.elapsed().saturating_sub(started));
            if in_vain >= self.limits.attempts || number >= CUTS || pause >= left {
                return Err(Box::new(
                    failure.because(format!("attempt {number} was the last one")),
                ));
            }
            let why = failure.causes.join(": ");
            io.note(format!(
                "{name}: {why}; trying again in {:.0} s",
                pause.as_secs_f64().ceil()
            ));
            unless_stopped(io, name, async {
                self.clock.sleep(pause).await;
                Ok(())
            })
            .await
            .map_err(|trouble| match trouble {
                Trouble::Final(failure) | Trouble::Again(failure, _) => failure,
            })?;
        }
        Err(Box::new(Failure::new(Kind::Bug, "attempts have no end")))
    }

    fn pause(&self, in_vain: u32) -> Duration {
        let factor = 2_u32.saturating_pow(in_vain.saturating_sub(1));
        self.limits
            .pause
            .saturating_mul(factor)
            .min(LONGEST_PAUSE.max(self.limits.pause))
    }

    /// Made when first needed: it reads the certificates of the host.
    fn client(&self) -> Result<&Client> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // Already chosen by an earlier store of this process: the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let elsewhere = redirect::Policy::custom(|attempt| {
            let was_safe = attempt
                .previous()
                .last()
                .is_some_and(|url| url.scheme() == "https");
            if attempt.previous().len() > REDIRECTS {
                attempt.error("it is sent from one place to the next without end")
            } else if was_safe && attempt.url().scheme() != "https" {
                attempt.error("it is sent from `https` to a place without encryption")
            } else {
                attempt.follow()
            }
        });
        let client = Client::builder()
            .user_agent(concat!("wdev/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.limits.stall)
            .redirect(elsewhere)
            .build()
            .map_err(|error| {
                Failure::new(Kind::Host, "cannot prepare for downloads")
                    .because(
                        std::error::Error::source(&error)
                            .map_or_else(|| error.to_string(), ToString::to_string),
                    )
                    .advise("check the certificates of this host, and `SSL_CERT_FILE` if it is set")
            })?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// Runs `work` until the user stops it.
///
/// # Errors
/// Those of the work; `Interrupted`.
pub async fn unless_stopped<T, E: From<Box<Failure>>>(
    io: &Io,
    name: &str,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    tokio::select! {
        biased;
        () = io.stop.reached(Level::Interrupt) => Err(fault::interrupted(name).into()),
        done = work => done,
    }
}

/// The headers of every request.
pub fn headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    // What is packed on the way would have another length and another hash.
    headers.insert(
        header::ACCEPT_ENCODING,
        HeaderValue::from_static("identity"),
    );
    headers
}

/// Whether an answer is a web page: what a captive portal or a filter sends instead of anything.
pub fn is_page(headers: &HeaderMap, beginning: &[u8]) -> bool {
    let html = headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.trim().to_ascii_lowercase().starts_with("text/html"));
    let text = beginning.trim_ascii_start();
    let begins = |with: &str| {
        text.get(..with.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(with.as_bytes()))
    };
    html || begins("<!doctype html") || begins("<html")
}

fn parse(url: &str) -> Result<Url> {
    let wrong = |why: String| {
        Box::new(
            Failure::new(
                Kind::Configuration,
                format!("cannot fetch from `{}`", redact_url(url)),
            )
            .because(why)
            .permanent(),
        )
    };
    let parsed = Url::parse(url).map_err(|error| wrong(error.to_string()))?;
    if !matches!(parsed.scheme(), "https" | "http") {
        return Err(wrong("it is no `https` or `http` URL".to_owned()));
    }
    Ok(parsed)
}
