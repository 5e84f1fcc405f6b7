//! A download site with recorded answers.

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;
use wdev::clock::Clock;
use wdev::error::Result;
use wdev::release::{Resolved, Site, resolve};
use wdev::stop::Stop;

/// Answers with what was recorded, and remembers what it was asked.
#[derive(Default)]
pub(crate) struct Recorded {
    texts: BTreeMap<String, String>,
    asked: Mutex<Vec<String>>,
}

impl Recorded {
    pub(crate) fn marker(mut self, path: &str, text: &str) -> Self {
        self.texts
            .insert(format!("https://dl.k8s.io/{path}.txt"), text.to_owned());
        self
    }

    /// A version whose files are there: `release/v1.37.1`, `ci/v1.38.0-alpha.1.12+0123456789abcd`.
    pub(crate) fn published(self, path: &str) -> Self {
        self.checksum(path, &format!("{}\n", "0123456789abcdef".repeat(4)))
    }

    pub(crate) fn checksum(mut self, path: &str, text: &str) -> Self {
        let url = format!("https://dl.k8s.io/{path}/bin/linux/amd64/kubeadm.sha256");
        self.texts.insert(url, text.to_owned());
        self
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn resolve(&self, asked: &str) -> Result<Resolved> {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(resolve(asked, None, self, Clock::new(), &Stop::never()))
    }
}

#[async_trait]
impl Site for Recorded {
    async fn text(&self, url: &str) -> Result<Option<String>> {
        self.asked.lock().unwrap().push(url.to_owned());
        Ok(self.texts.get(url).cloned())
    }
}
