//! Windows' OpenSSH client cannot share a connection.

use std::convert::Infallible;
use std::fs::File;
use std::path::Path;

/// Never there.
#[derive(Debug)]
pub struct Master(Infallible);

impl Master {
    /// Nothing.
    pub fn of(_config: &Path) -> Option<Self> {
        None
    }

    /// Never called.
    pub fn option(&self) -> String {
        match self.0 {}
    }

    /// Never called.
    pub fn folder(&self) -> &Path {
        match self.0 {}
    }

    /// Never called.
    pub fn lives(&self) -> bool {
        match self.0 {}
    }

    /// Never called.
    pub fn lock(&self) -> Option<File> {
        match self.0 {}
    }

    /// Never called.
    pub fn clear(&self) {
        match self.0 {}
    }

    /// Never called.
    pub fn end(&self) {
        match self.0 {}
    }
}
