//! The connection that stays: a client in the background that others hand their commands to.
//!
//! It lives on after wdev, so that the next wdev is quick; it knows nothing of wdev and ends by itself.
//! What is spoken over its socket is in `PROTOCOL.mux` of openssh-portable.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// The longest path of a socket, in bytes: 104 on macOS and the BSDs with its end, less the 17 that the
/// client adds while it makes the socket (`mux.c`, `muxserver_listen`).
const LONGEST: usize = 104 - 1 - 17;
/// How long a client in the background may take to answer on its socket.
const PATIENCE: Duration = Duration::from_secs(1);

const HELLO: u32 = 0x0000_0001;
const VERSION: u32 = 4;
const TERMINATE: u32 = 0x1000_0005;

/// The socket of one host's connection.
#[derive(Debug)]
pub struct Master {
    socket: PathBuf,
}

impl Master {
    /// The connection of the host that the file `config` describes; nothing where there is no private
    /// folder for its socket.
    pub fn of(config: &Path) -> Option<Self> {
        let hash = blake3::hash(config.as_os_str().as_bytes()).to_hex();
        let socket = folder()?.join(hash.get(..16)?);
        // A percent sign would begin a token.
        let usable = socket.as_os_str().len() <= LONGEST
            && socket
                .to_str()
                .is_some_and(|path| !path.contains(['%', '"']));
        usable.then_some(Self { socket })
    }

    /// The client's option that names the socket.
    pub fn option(&self) -> String {
        format!("ControlPath=\"{}\"", self.socket.display())
    }

    /// The private folder of the socket.
    pub fn folder(&self) -> &Path {
        self.socket.parent().unwrap_or(Path::new("/"))
    }

    /// Whether a client stands behind the socket and answers.
    pub fn lives(&self) -> bool {
        self.greet().is_some()
    }

    /// A lock for whoever makes the connection; nothing while somebody else does.
    pub fn lock(&self) -> Option<File> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(self.lock_file())
            .ok()?;
        file.try_lock().ok()?;
        // One that was removed while it was held locks nobody out.
        let locked = file.metadata().ok()?;
        let there = std::fs::symlink_metadata(self.lock_file()).ok()?;
        ((locked.dev(), locked.ino()) == (there.dev(), there.ino())).then_some(file)
    }

    fn lock_file(&self) -> PathBuf {
        self.socket.with_extension("lock")
    }

    /// Removes what a client that is gone, or does not answer, has left.
    pub fn clear(&self) {
        // One that never answers keeps its connection until the other side ends it.
        let _ = std::fs::remove_file(&self.socket);
    }

    /// Ends the connection and what goes on over it; nothing of it is left.
    pub fn end(&self) {
        if let Some(mut stream) = self.greet() {
            let request = [8_u32, TERMINATE, 1].map(u32::to_be_bytes).concat();
            if stream.write_all(&request).is_ok() {
                // The answer, or the end: then the socket is gone.
                let _ = stream.read(&mut [0; 64]);
            }
        }
        self.clear();
        // Whoever holds the lock is making the next connection, and needs it.
        if self.lock_file().exists()
            && let Some(_held) = self.lock()
        {
            let _ = std::fs::remove_file(self.lock_file());
        }
    }

    /// Connects and exchanges greetings.
    fn greet(&self) -> Option<UnixStream> {
        let mut stream = UnixStream::connect(&self.socket).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.set_write_timeout(Some(PATIENCE)).ok()?;
        let hello = [8_u32, HELLO, VERSION].map(u32::to_be_bytes).concat();
        stream.write_all(&hello).ok()?;
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).ok()?;
        (answer == hello.as_slice()).then_some(stream)
    }
}

/// A folder that only this user can look into.
fn folder() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOLDER.get_or_init(|| {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let runtime = runtime.filter(|path| path.is_absolute());
        let temporary = [std::env::temp_dir(), PathBuf::from("/tmp")];
        let candidates = runtime.into_iter().chain(temporary);
        let mut folders = candidates.filter_map(|parent| private(&parent));
        folders.find(|folder| folder.as_os_str().len() + 17 <= LONGEST)
    });
    found.as_deref()
}

/// Makes a private folder in `parent`, or takes the one that is there.
fn private(parent: &Path) -> Option<PathBuf> {
    // A file that was just made belongs to whom we are.
    let own = tempfile::tempfile_in(parent).ok()?.metadata().ok()?.uid();
    let folder = parent.join(format!("wdev-{own}"));
    // It may be there already.
    let _ = DirBuilder::new().mode(0o700).create(&folder);
    let found = std::fs::symlink_metadata(&folder).ok()?;
    let others = found.mode() & 0o077;
    (found.is_dir() && found.uid() == own && others == 0).then_some(folder)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_folder_that_others_can_look_into_is_not_used() {
        let parent = tempfile::tempdir().unwrap();
        let folder = private(parent.path()).unwrap();
        let mode = |mode| std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&folder, mode(0o755)).unwrap();
        assert_eq!(private(parent.path()), None);
        std::fs::remove_dir(&folder).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), &folder).unwrap();
        assert_eq!(private(parent.path()), None);
    }

    #[test]
    fn a_socket_with_nobody_behind_it_or_with_a_silent_one_does_not_live() {
        let folder = tempfile::tempdir().unwrap();
        let master = Master {
            socket: folder.path().join("s"),
        };
        assert!(!master.lives());
        let listener = UnixListener::bind(&master.socket).unwrap();
        assert!(!master.lives(), "it says nothing");
        drop(listener);
        assert!(!master.lives(), "nobody is there");
        master.end();
        assert!(!master.socket.exists());
    }

    #[test]
    fn the_end_leaves_no_file_and_takes_no_lock_from_whoever_connects() {
        let folder = tempfile::tempdir().unwrap();
        let master = Master {
            socket: folder.path().join("s"),
        };
        let held = master.lock().unwrap();
        master.end();
        assert!(master.lock().is_none(), "somebody connects");
        drop(held);
        master.end();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(master.lock().is_some());
    }
}
