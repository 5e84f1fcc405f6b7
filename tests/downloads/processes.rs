//! The real program: killed, interrupted, twice at once, behind a proxy, on a full disk.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use wdev::release::artifacts::{self, Needs};
use wdev::release::{Artifact, Origin, Release, Version, lock};

use crate::common::{need, sha256, skip};
use crate::env::{Env, HANG, Ran};
use crate::server::{Gate, Reply, Request, Server};
use crate::{body, names};

const LENGTH: usize = 2_000_000;
const HALF: usize = 1_200_000;
/// The largest of the files; the others are their own URLs.
const LARGE: &str = "dl.k8s.io/release/v1.36.0/bin/linux/amd64/kubelet";

/// What lies at a site, given as host and path.
fn file(at: &str) -> Vec<u8> {
    if at == LARGE {
        body(LENGTH)
    } else {
        at.as_bytes().to_vec()
    }
}

/// What a mirror at `/m/` answers.
fn mirror(request: &Request) -> Reply {
    match request.path.strip_prefix("/m/") {
        Some(at) => Reply::file(request, &file(at), "\"one\""),
        None => Reply::new(404, ""),
    }
}

/// Requests for the large file.
fn of_large(server: &Server) -> Vec<Request> {
    let requests = server.requests().into_iter();
    requests.filter(|one| one.path.ends_with(LARGE)).collect()
}

/// A project whose lock file has the hash of everything.
struct Project {
    env: Env,
    artifacts: Vec<Artifact>,
}

impl Project {
    fn new(variables: &str) -> Self {
        let env = Env::new();
        let kubernetes = Version::parse("v1.36.0").unwrap();
        let mut artifacts = artifacts::artifacts(&Needs {
            kubernetes: &kubernetes,
            origin: Origin::Release,
            source: None,
            built: &[],
            containerd: &wdev::config::default_containerd().unwrap(),
            own_containerd: None,
            linux_workers: true,
            windows_workers: false,
        });
        for artifact in &mut artifacts {
            artifact.sha256 = sha256(&file(artifact.url.strip_prefix("https://").unwrap()));
        }
        let release = Release {
            asked: "v1.36.0".to_owned(),
            kubernetes,
            origin: Origin::Release,
            answers: BTreeMap::new(),
            artifacts,
        };
        env.write("wdev.lock", &lock::text(&release).unwrap());
        let head = "version: 1\nprovider: docker\nkubernetes: {version: v1.36.0}\n";
        env.write("variables.yml", &format!("{head}{variables}\n"));
        Self {
            env,
            artifacts: release.artifacts,
        }
    }

    fn mirrored(server: &Server) -> Self {
        let mirror = server.url("m");
        Self::new(&format!("artifacts: {{mirror: \"{mirror}\"}}"))
    }

    fn fetch(&self) -> Command {
        self.env.wdev(&["fetch"])
    }

    fn cache(&self, folder: &str) -> PathBuf {
        self.env.home.join("cache/artifacts").join(folder)
    }

    fn part(&self) -> u64 {
        let large = sha256(&body(LENGTH));
        let path = self.cache("partial").join(format!("{large}.part"));
        std::fs::metadata(path).map_or(0, |metadata| metadata.len())
    }

    /// All files are in the cache, whole, and nothing else is left.
    #[track_caller]
    fn is_there(&self) {
        for artifact in &self.artifacts {
            let bytes = std::fs::read(self.cache("sha256").join(&artifact.sha256)).unwrap();
            assert!(sha256(&bytes) == artifact.sha256, "{}", artifact.url);
        }
        assert_eq!(names(&self.cache("partial")), [] as [&str; 0]);
    }
}

/// A mirror that falls silent in the middle of the large file until the gate opens.
fn slow(gate: &Gate) -> Server {
    let gate = gate.clone();
    Server::new(move |request| {
        let reply = mirror(request);
        if request.path.ends_with(LARGE) && request.earlier == 0 {
            reply.hold_after(HALF, &gate)
        } else {
            reply
        }
    })
}

/// A wdev that is at work, with the lines of its stderr.
struct Working {
    child: Child,
    lines: Receiver<String>,
}

impl Working {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        let err = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in err.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self { child, lines }
    }

    fn until_it_says(&self, words: &str) {
        loop {
            let line = self.lines.recv_timeout(HANG).expect(words);
            if line.contains(words) {
                return;
            }
        }
    }

    fn interrupt(&self) {
        let line = format!("kill -s INT {}", self.child.id());
        let sent = Command::new("sh").args(["-c", &line]).status().unwrap();
        assert!(sent.success());
    }

    fn end(mut self) -> Option<i32> {
        while self.lines.recv_timeout(HANG).is_ok() {}
        self.child.wait().unwrap().code()
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < HANG, "waited until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_killed_download_goes_on_where_it_was() {
    let gate = Gate::default();
    let server = slow(&gate);
    let project = Project::mirrored(&server);
    let mut first = Working::start(project.fetch());
    until("half of it is there", || project.part() == HALF as u64);
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    let large = project.cache("sha256").join(sha256(&body(LENGTH)));
    assert!(!large.exists());
    Ran::of(&mut project.fetch())
        .exits(0)
        .prints("fetched kubelet linux/amd64");
    project.is_there();
    let starts: Vec<_> = of_large(&server).iter().map(Request::start).collect();
    assert_eq!(starts, [None, Some(HALF)]);
    let asked = server.requests().len();
    let again = Ran::of(&mut project.fetch());
    again.exits(0).prints("cached kubelet linux/amd64");
    assert!(!again.out.contains("fetched"), "{again}");
    assert_eq!(server.requests().len(), asked);
    gate.open();
}

#[test]
fn two_runs_fetch_a_file_once_and_the_one_that_waits_can_be_stopped() {
    let gate = Gate::default();
    let server = slow(&gate);
    let project = Project::mirrored(&server);
    let first = Working::start(project.fetch());
    until("it has begun", || project.part() > 0);
    let [second, third] = [project.fetch(), project.fetch()].map(Working::start);
    for other in [&second, &third] {
        other.until_it_says("waiting for another run of wdev that fetches kubelet");
    }
    third.interrupt();
    assert_eq!(third.end(), Some(130));
    gate.open();
    assert_eq!(first.end(), Some(0));
    assert_eq!(second.end(), Some(0));
    project.is_there();
    assert_eq!(server.requests().len(), project.artifacts.len());
}

#[test]
fn an_interrupted_download_keeps_what_it_has() {
    let gate = Gate::default();
    let server = slow(&gate);
    let project = Project::mirrored(&server);
    let first = Working::start(project.fetch());
    until("half of it is there", || project.part() == HALF as u64);
    first.interrupt();
    assert_eq!(first.end(), Some(130));
    assert_eq!(project.part(), HALF as u64);
    Ran::of(&mut project.fetch()).exits(0);
    project.is_there();
    gate.open();
}

#[test]
fn a_proxy_of_the_environment_is_used_and_its_password_shown_nowhere() {
    let proxy = Server::new(|request| {
        // Name and password of the URL below.
        match request.header("proxy-authorization") {
            Some("Basic bWU6aHVzaA==") => {
                let at = request.path.strip_prefix("http://mirror.invalid/").unwrap();
                Reply::file(request, &file(at), "\"one\"")
            }
            _ => Reply::new(407, ""),
        }
    });
    let project = Project::new("artifacts: {mirror: \"http://mirror.invalid\"}");
    for (credentials, code) in [("me:wrong-hush@", 4), ("me:hush@", 0)] {
        let url = format!("http://{credentials}{}", proxy.host());
        for name in ["http_proxy", "HTTP_PROXY"] {
            let ran = Ran::of(project.fetch().env(name, &url));
            ran.exits(code).does_not_say("hush");
            if code == 4 {
                ran.says("the proxy asks for a name and password");
                ran.says("http://me:***@");
            }
        }
    }
    project.is_there();
}

#[test]
fn a_proxy_for_https_that_wants_a_password_is_told_apart_from_the_site() {
    let proxy = Server::new(|_| Reply::new(407, ""));
    let project = Project::new("");
    let mut fetch = project.fetch();
    let ran = Ran::of(fetch.env("HTTPS_PROXY", proxy.url("")));
    ran.exits(4)
        .says("the proxy asks for a name and password")
        .says("HTTPS_PROXY");
    // The same again would be refused again.
    ran.does_not_say("trying again");
    for request in proxy.requests() {
        assert_eq!(request.method, "CONNECT");
    }
}

#[test]
fn a_host_in_no_proxy_is_reached_directly() {
    let server = Server::new(mirror);
    let proxy = Server::new(|_| Reply::new(407, ""));
    let project = Project::mirrored(&server);
    let mut fetch = project.fetch();
    fetch
        .env("HTTP_PROXY", proxy.url(""))
        .env("NO_PROXY", "127.0.0.1");
    Ran::of(&mut fetch).exits(0);
    assert!(proxy.requests().is_empty());
    project.is_there();
}

#[test]
fn a_certificate_authority_of_ones_own_is_trusted_when_it_is_named() {
    if need("openssl").is_none() {
        return;
    }
    let project = Project::new("artifacts: {mirror: \"https://127.0.0.1:1\"}");
    let folder = project.env.root().join("site");
    for artifact in &project.artifacts {
        let at = artifact.url.strip_prefix("https://").unwrap();
        let path = folder.join(at);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut answer = b"HTTP/1.0 200 OK\r\n\r\n".to_vec();
        answer.extend(file(at));
        std::fs::write(path, answer).unwrap();
    }
    let certificates = "set -e\n\
        key='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2'\n\
        openssl req -x509 $key -keyout ca.key -out ca.pem -subj /CN=test-ca\n\
        openssl req -x509 $key -keyout site.key -out site.pem -subj /CN=site -CA ca.pem \
            -CAkey ca.key -addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=CA:FALSE\n";
    let mut shell = Command::new("sh");
    crate::common::run(shell.arg("-c").arg(certificates).current_dir(&folder), b"");
    let mut site = Command::new("openssl");
    site.args(["s_server", "-HTTP", "-accept", "127.0.0.1:0"])
        .args(["-cert", "site.pem", "-key", "site.key"])
        .current_dir(&folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut site = Site(site.spawn().unwrap());
    let mut lines = BufReader::new(site.0.stdout.take().unwrap()).lines();
    let address = lines
        .find_map(|line| Some(line.ok()?.strip_prefix("ACCEPT ")?.to_owned()))
        .expect("the address of the server");
    std::thread::spawn(move || lines.count());
    let mirror = format!("artifacts.mirror=https://{address}");
    let fetch = || project.env.wdev(&["fetch", "--set", &mirror]);
    Ran::of(&mut fetch())
        .exits(4)
        .says("certificate")
        .says("SSL_CERT_FILE");
    Ran::of(fetch().env("SSL_CERT_FILE", folder.join("ca.pem"))).exits(0);
    project.is_there();
}

struct Site(Child);

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_full_disk_is_named_and_left_as_it_was() {
    let server = Server::new(mirror);
    let project = Project::mirrored(&server);
    std::fs::create_dir_all(&project.env.home).unwrap();
    let own_disk = "mount -t tmpfs -o size=1m none \"$WDEV_HOME\"";
    let mut probe = project.env.program("unshare");
    probe.args(["-rm", "sh", "-c", own_disk]);
    if !cfg!(target_os = "linux") || !probe.output().is_ok_and(|tried| tried.status.success()) {
        skip("mounts of its own: `unshare -rm` and `mount`");
        return;
    }
    let line =
        format!("{own_disk} && \"$@\"; code=$?; find \"$WDEV_HOME/cache\" -size +8k; exit $code");
    let mut command = project.env.program("unshare");
    command.args([
        "-rm",
        "sh",
        "-c",
        &line,
        "sh",
        env!("CARGO_BIN_EXE_wdev"),
        "fetch",
    ]);
    let ran = Ran::of(&mut command);
    ran.exits(4)
        .says("cannot write")
        .says("the file takes 1.91 MiB")
        .says("free some disk space")
        .says("wdev cache prune");
    assert_eq!(
        ran.out, "",
        "what is left takes the little room that there is"
    );
}
