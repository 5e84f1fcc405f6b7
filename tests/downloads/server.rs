//! A download site on loopback that plays every fault it is told to.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    /// With the query.
    pub path: String,
    /// By names in lower case.
    pub headers: BTreeMap<String, String>,
    /// How many requests for the same path came before.
    pub earlier: usize,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// Where the wanted range begins.
    pub fn start(&self) -> Option<usize> {
        let range = self.header("range")?.strip_prefix("bytes=")?;
        range.strip_suffix('-')?.parse().ok()
    }
}

/// What the server says.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Ends the connection after so many bytes of the body.
    pub cut: Option<usize>,
    /// Says nothing more after so many bytes of the body until the gate opens.
    pub hold: Option<(usize, Gate)>,
}

impl Reply {
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
            cut: None,
            hold: None,
        }
    }

    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, body)
    }

    /// The file, or what of it a request asks for, as a good server does it.
    pub fn file(request: &Request, body: &[u8], etag: &str) -> Self {
        let same = request
            .header("if-range")
            .is_none_or(|wanted| wanted == etag);
        let reply = match request.start() {
            Some(start) if same && start < body.len() => {
                let range = format!("bytes {start}-{}/{}", body.len() - 1, body.len());
                Self::new(206, &body[start..]).with("Content-Range", &range)
            }
            Some(_) if same => {
                Self::new(416, "").with("Content-Range", &format!("bytes */{}", body.len()))
            }
            _ => Self::ok(body),
        };
        reply.with("ETag", etag)
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.cut = Some(bytes);
        self
    }

    pub fn hold_after(mut self, bytes: usize, gate: &Gate) -> Self {
        self.hold = Some((bytes, gate.clone()));
        self
    }
}

/// What a held answer waits for.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    fn wait(&self) {
        let open = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(open, |open| !*open).unwrap());
    }
}

type Answer = dyn Fn(&Request) -> Reply + Send + Sync;

/// The server; it ends when dropped.
pub struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    over: Arc<AtomicBool>,
}

impl Server {
    pub fn new(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
        let address = listener.local_addr().unwrap();
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let over = Arc::new(AtomicBool::new(false));
        let answer: Arc<Answer> = Arc::new(answer);
        let (seen, ended) = (Arc::clone(&requests), Arc::clone(&over));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, &seen, &*answer));
            }
        });
        Self {
            address,
            requests,
            over,
        }
    }

    /// One file at every path, with ranges.
    pub fn of_file(body: Vec<u8>) -> Self {
        Self::new(move |request| Reply::file(request, &body, "\"one\""))
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// `HOST:PORT`.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // So that the loop looks.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(stream: TcpStream, seen: &Mutex<Vec<Request>>, answer: &Answer) {
    let Some(request) = read(&stream, seen) else {
        return;
    };
    let reply = answer(&request);
    // The client may be gone: that is what some tests are about.
    let _ = write(stream, &reply);
}

fn read(stream: &TcpStream, seen: &Mutex<Vec<Request>>) -> Option<Request> {
    let mut lines = BufReader::new(stream.take(1 << 16)).lines();
    let first = lines.next()?.ok()?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    for line in lines {
        let line = line.ok()?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let mut seen = seen.lock().unwrap();
    let request = Request {
        earlier: seen.iter().filter(|other| other.path == path).count(),
        method,
        path,
        headers,
    };
    seen.push(request.clone());
    Some(request)
}

fn write(mut stream: TcpStream, reply: &Reply) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Said\r\n", reply.status);
    let has = |wanted: &str| {
        let mut names = reply.headers.iter().map(|(name, _)| name);
        names.any(|name| name.eq_ignore_ascii_case(wanted))
    };
    if !has("content-length") && !has("transfer-encoding") {
        let _ = write!(head, "Content-Length: {}\r\n", reply.body.len());
    }
    for (name, value) in &reply.headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head += "Connection: close\r\n\r\n";
    stream.write_all(head.as_bytes())?;
    let body = &reply.body[..reply.cut.unwrap_or(reply.body.len())];
    let (first, rest) = match &reply.hold {
        Some((at, _)) => body.split_at(*at),
        None => (body, &[] as &[u8]),
    };
    stream.write_all(first)?;
    stream.flush()?;
    if let Some((_, gate)) = &reply.hold {
        gate.wait();
        stream.write_all(rest)?;
    }
    stream.flush()
}
