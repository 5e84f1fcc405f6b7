//! A small server that plays the download sites: `GET /HOST/PATH` answers with the file `FOLDER/HOST/PATH`.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// A running server; it ends with this value, or at [`Sites::stop`].
pub struct Sites {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

struct Shared {
    folder: PathBuf,
    asked: Mutex<Vec<String>>,
    over: AtomicBool,
}

impl Sites {
    /// Serves the folder on a free port of the loopback interface.
    pub fn serve(folder: &Path) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            folder: folder.to_owned(),
            asked: Mutex::default(),
            over: AtomicBool::new(false),
        });
        let of_listener = Arc::clone(&shared);
        let listener = std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                if of_listener.over.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&of_listener);
                // A client that was killed in a download is no fault of the server's.
                std::thread::spawn(move || shared.answer(&connection));
            }
        });
        Self {
            address,
            shared,
            listener: Some(listener),
        }
    }

    /// What `artifacts.mirror` is to be.
    pub fn prefix(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The paths that were asked for so far, in order.
    pub fn asked(&self) -> Vec<String> {
        self.shared.asked.lock().expect("no panic").clone()
    }

    /// Ends the server: from now on nobody answers at its address.
    pub fn stop(&mut self) {
        if let Some(listener) = self.listener.take() {
            self.shared.over.store(true, Ordering::SeqCst);
            // Wakes the listener, which looks and goes.
            drop(TcpStream::connect(self.address));
            let _ = listener.join();
        }
    }
}

impl Drop for Sites {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    /// Answers one request and closes the connection.
    fn answer(&self, mut connection: &TcpStream) -> io::Result<()> {
        let mut lines = BufReader::new(connection).lines();
        let request = lines.next().transpose()?.unwrap_or_default();
        for line in lines {
            if line?.is_empty() {
                break;
            }
        }
        let mut words = request.split(' ');
        let (method, path) = (words.next(), words.next().unwrap_or_default());
        self.asked.lock().expect("no panic").push(path.to_owned());
        match self.file(path) {
            Some(mut file) => {
                let size = file.metadata()?.len();
                write!(
                    connection,
                    "HTTP/1.1 200 OK\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n"
                )?;
                if method != Some("HEAD") {
                    io::copy(&mut file, &mut connection)?;
                }
                Ok(())
            }
            None => connection.write_all(
                b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            ),
        }
    }

    fn file(&self, path: &str) -> Option<File> {
        let path = path.split('?').next()?.trim_start_matches('/');
        // A `+` of a version may come escaped.
        let path = PathBuf::from(path.replace("%2B", "+").replace("%2b", "+"));
        let stays = |part: Component<'_>| matches!(part, Component::Normal(_));
        let file = self.folder.join(&path);
        (path.components().all(stays) && file.is_file())
            .then(|| File::open(file).ok())
            .flatten()
    }
}
