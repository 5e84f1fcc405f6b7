//! The keys by which a host is known again: taken at the first contact with a machine, then required.

use std::path::{Path, PathBuf};

use crate::error::{Result, io_failure};
use crate::home::write_whole;

/// The known keys of one machine: a file of its own, in OpenSSH's own format.
#[derive(Debug, Clone)]
pub struct Pins {
    path: PathBuf,
    known: bool,
}

impl Pins {
    /// The keys in the file `path` of the machine with this id. Keys of an earlier machine with another
    /// id are forgotten.
    ///
    /// # Errors
    /// `Host` when the file cannot be read or written.
    pub fn of(path: &Path, machine: &str) -> Result<Self> {
        let owner = format!("# {machine}");
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(io_failure("read", path, &error)),
        };
        let mut lines = text.lines();
        let ours = lines.next() == Some(owner.as_str());
        if !ours {
            write_whole(path, format!("{owner}\n").as_bytes())?;
        }
        Ok(Self {
            path: path.to_owned(),
            known: ours && lines.any(|line| !line.trim().is_empty()),
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the client does about keys: the first is taken and kept, no other is accepted.
    pub(super) fn option(&self) -> &'static str {
        if self.known {
            "StrictHostKeyChecking=yes"
        } else {
            "StrictHostKeyChecking=accept-new"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_belong_to_one_machine() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cp.hosts");
        let first = Pins::of(&path, "m1").unwrap();
        assert_eq!(first.option(), "StrictHostKeyChecking=accept-new");
        std::fs::write(&path, "# m1\nname ssh-ed25519 AAAA\n").unwrap();
        let second = Pins::of(&path, "m1").unwrap();
        assert_eq!(second.option(), "StrictHostKeyChecking=yes");
        let other = Pins::of(&path, "m2").unwrap();
        assert_eq!(other.option(), "StrictHostKeyChecking=accept-new");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "# m2\n");
    }
}
