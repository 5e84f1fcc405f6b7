//! What a version is resolved from: small texts of a download site.

use async_trait::async_trait;

use crate::error::Result;

/// Reads texts of a download site, such as marker and checksum files.
#[async_trait]
pub trait Site: Send + Sync {
    /// The text at `url`; nothing where the site says that it has no such file (404).
    ///
    /// # Errors
    /// Whatever else keeps the text from being read.
    async fn text(&self, url: &str) -> Result<Option<String>>;
}
