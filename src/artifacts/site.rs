//! Texts of download sites, such as marker and checksum files.

use async_trait::async_trait;
use reqwest::StatusCode;

use super::fault::{self, Trouble};
use super::store::Store;
use super::web::{Address, headers, is_page};
use crate::channel::Io;
use crate::error::Result;
use crate::release::Site;

/// What a text may weigh, in bytes: runc's checksums, the longest, take a few kilobytes.
const LIMIT: usize = 1 << 20;
/// Endings of files that, unlike markers, never change.
const CHECKSUMS: [&str; 4] = [".sha256", ".sha256sum", ".sha512", ".sha512sum"];

/// Texts over HTTP, with the mirror, the offline rule and the memory of a store.
pub struct HttpSite {
    store: Store,
    io: Io,
}

impl HttpSite {
    pub(super) fn new(store: Store, io: Io) -> Self {
        Self { store, io }
    }

    async fn ask(&self, name: &str, from: &Address) -> Result<Option<String>, Trouble> {
        let web = self.store.web();
        let mut response = web.ask(name, from, headers()).await?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND | StatusCode::GONE => return Ok(None),
            _ => return Err(web.refusal(name, from, &response)),
        }
        let stall = web.limits.stall;
        let total = response.content_length();
        let mut bytes = Vec::new();
        loop {
            match web.clock.timeout(stall, response.chunk()).await {
                None => return Err(fault::stalled(name, from, stall)),
                Some(Err(error)) => {
                    let got = (bytes.len() as u64, total);
                    return Err(fault::cut(name, from, got, &error));
                }
                Some(Ok(None)) => break,
                Some(Ok(Some(chunk))) => bytes.extend_from_slice(&chunk),
            }
            if is_page(response.headers(), &bytes) {
                return Err(fault::portal(name, from, response.url().as_str()));
            }
            if bytes.len() > LIMIT {
                return Err(Trouble::last(
                    fault::failed(name, from).because(format!("it is longer than {LIMIT} bytes")),
                ));
            }
        }
        String::from_utf8(bytes).map(Some).map_err(|_| {
            Trouble::last(fault::failed(name, from).because("it is not UTF-8, and so no text"))
        })
    }
}

#[async_trait]
impl Site for HttpSite {
    /// A checksum file is asked for once and then remembered. When offline, a marker is what it last was.
    async fn text(&self, url: &str) -> Result<Option<String>> {
        let name = url.rsplit('/').next().unwrap_or(url);
        let from = self.store.web().address(url)?;
        let never_changes = CHECKSUMS.iter().any(|ending| url.ends_with(ending));
        let memory = self.store.memory();
        let offline = self.store.is_offline();
        if (never_changes || offline)
            && let Some(text) = memory.text(url)
        {
            if !never_changes {
                self.io.note(format!(
                    "offline: `{name}` is taken to be `{}`, as when it was last fetched",
                    text.trim()
                ));
            }
            return Ok(Some(text));
        }
        if offline {
            return Err(fault::offline(&[format!("`{from}`")]));
        }
        let text = self
            .store
            .web()
            .persist(name, &self.io, || 0, |_| self.ask(name, &from))
            .await?;
        if let Some(text) = &text {
            memory.keep_text(url, text)?;
        }
        Ok(text)
    }
}
