//! Downloads into the cache, against curl with and without sha256sum, from a server on loopback.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wdev::artifacts::{Limits, Settings, Store, Wanted};
use wdev::channel::Io;
use wdev::clock::Clock;

use super::{Row, median, millis, run};

const LENGTH: usize = 256 << 20;
const TIMES: usize = 5;

/// One file of 256 MiB: fetched, checked and safe on disk; and found again in the cache.
pub fn rows() -> Vec<Row> {
    let address = serve();
    let url = format!("http://{address}/file");
    let folder = tempfile::tempdir().expect("temporary folder");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let mut number = 0;
    let ours = median(TIMES, || {
        number += 1;
        runtime.block_on(fetch(&folder.path().join(number.to_string()), &url, false))
    });
    let again = median(TIMES, || {
        runtime.block_on(fetch(&folder.path().join("1"), &url, true))
    });
    let mut rows = vec![
        Row::new("fetch of 256 MiB, checked and synced", speed(ours)),
        Row::new("  the same from the cache, checked", millis(again)),
    ];
    let has = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    if !has("curl") || !has("sha256sum") {
        rows.push(Row::new("curl -o FILE", "no curl"));
        return rows;
    }
    let file = folder.path().join("curl");
    let sh = |line: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", line, "sh", &url]).arg(&file);
        shell
    };
    let bare = median(TIMES, || run(&mut sh("curl -s -o \"$2\" \"$1\"")));
    let checked = median(TIMES, || {
        run(&mut sh(
            "curl -s -o \"$2\" \"$1\" && sync \"$2\" && sha256sum \"$2\" >\"$2.sum\"",
        ))
    });
    let factor = checked.as_secs_f64() / ours.as_secs_f64();
    rows.extend([
        Row::new("curl -o FILE", speed(bare)),
        Row::new("curl -o FILE, sync and sha256sum", speed(checked)),
        Row::new("curl, sync, sha256sum / fetch", format!("{factor:.2} x"))
            .against("at least 1 x", factor >= 1.0),
    ]);
    rows
}

async fn fetch(folder: &Path, url: &str, cached: bool) -> Duration {
    let settings = Settings {
        mirror: String::new(),
        offline: false,
        limits: Limits::default(),
        clock: Clock::new(),
    };
    let wanted = Wanted {
        name: "file".to_owned(),
        url: url.to_owned(),
        sha256: None,
    };
    let started = Instant::now();
    let store = Store::open(folder.to_owned(), settings).expect("a store");
    let stored = store.ensure(&wanted, &Io::silent()).await.expect("a file");
    assert_eq!(stored.from_cache, cached);
    started.elapsed()
}

fn speed(time: Duration) -> String {
    let mib = (LENGTH >> 20) as f64;
    format!("{:.0} MiB/s", mib / time.as_secs_f64())
}

/// Gives the same file to whoever asks, until the process ends.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let file: Arc<Vec<u8>> = Arc::new((0..LENGTH).map(|at| (at % 251) as u8).collect());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let file = Arc::clone(&file);
            // A client that goes away early is not worth a word.
            std::thread::spawn(move || answer(stream, &file));
        }
    });
    address
}

fn answer(mut stream: TcpStream, file: &[u8]) -> std::io::Result<()> {
    for line in BufReader::new(&stream).lines() {
        if line?.is_empty() {
            break;
        }
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        file.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(file)
}
