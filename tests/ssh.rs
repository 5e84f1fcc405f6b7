//! Direct SSH against a real OpenSSH: the shared connection, the pinned keys, and the lines for a Linux
//! node, which here is this host under a `sudo` that only runs its arguments.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::need;
use wdev::channel::Os;
use wdev::channel::guest::guest;
use wdev::channel::ssh::{self, Ended, Pins, Ssh, Talk};
use wdev::event::Stream;
use wdev::stop::Stop;

const CONNECT: Duration = Duration::from_secs(10);

/// A server with a folder of its own, whose name has a space, a percent sign and a letter beyond ASCII.
struct Server {
    sshd: PathBuf,
    dir: PathBuf,
    _parent: tempfile::TempDir,
    port: u16,
    child: Child,
}

impl Server {
    /// None when a tool is missing, which has been said then.
    fn start() -> Option<Self> {
        let sshd = ["/usr/sbin/sshd", "/usr/local/sbin/sshd"];
        let Some(sshd) = sshd.into_iter().map(Path::new).find(|path| path.is_file()) else {
            common::skip("the program `sshd`");
            return None;
        };
        need("ssh")?;
        need("ssh-keygen")?;
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("a b 100% ü");
        fs::create_dir(&dir).unwrap();
        for key in ["host", "user"] {
            keygen(&dir.join(key));
        }
        fs::copy(dir.join("user.pub"), dir.join("authorized")).unwrap();
        let bin = dir.join("bin");
        fs::create_dir(&bin).unwrap();
        let sudo = "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\nexec \"$@\"\n";
        fs::write(bin.join("sudo"), sudo).unwrap();
        fs::set_permissions(bin.join("sudo"), fs::Permissions::from_mode(0o755)).unwrap();
        // Where root starts it, it wants this folder, which a service would have made.
        let _ = fs::create_dir("/run/sshd");
        let mut server = Self {
            sshd: sshd.to_owned(),
            port: free_port(),
            child: Command::new("true").spawn().unwrap(),
            dir,
            _parent: parent,
        };
        server.boot();
        Some(server)
    }

    fn boot(&mut self) {
        let path = |name: &str| format!("\"{}\"", self.dir.join(name).display());
        let config = format!(
            "Port {}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n\
             SetEnv PATH=\"{}:/usr/local/bin:/usr/bin:/bin\"\n",
            self.port,
            path("host"),
            path("authorized").replace('%', "%%"),
            self.dir.join("bin").display()
        );
        fs::write(self.dir.join("sshd"), config).unwrap();
        let log = File::create(self.dir.join("log")).unwrap();
        let _ = self.child.wait();
        self.child = Command::new(&self.sshd)
            .arg("-f")
            .arg(self.dir.join("sshd"))
            .args(["-D", "-e"])
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let log = fs::read_to_string(self.dir.join("log")).unwrap();
            assert!(Instant::now() < end, "no server: {log}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The server ends with all connections, and a new one takes its place.
    fn reboot(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for pid in processes("sshd", &format!(":{}", self.port)) {
            signal("KILL", pid);
        }
        self.boot();
    }

    /// The way to it, as wdev keeps it.
    fn way(&self, machine: &str) -> Ssh {
        let user = String::from_utf8(common::run(Command::new("id").arg("-un"), b"")).unwrap();
        // As Vagrant prints it.
        let asked = format!(
            "Host cp\n  HostName 127.0.0.1\n  User {}\n  Port {}\n  UserKnownHostsFile /dev/null\n  \
             StrictHostKeyChecking no\n  PasswordAuthentication no\n  IdentityFile \"{}\"\n  \
             IdentitiesOnly yes\n  LogLevel FATAL\n",
            user.trim(),
            self.port,
            self.dir
                .join("user")
                .display()
                .to_string()
                .replace('%', "%%")
        );
        let keys = self.dir.join("cp.hosts");
        let config = self.config();
        fs::write(
            &config,
            ssh::config("cp", "wdev-test-cp", &keys, None, &asked),
        )
        .unwrap();
        let pins = Pins::of(&keys, machine).unwrap();
        Ssh::new(ssh::find_program().unwrap(), &config, "cp", pins)
    }

    fn config(&self) -> PathBuf {
        self.dir.join("cp.ssh")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        ssh::hang_up(&self.config());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn keygen(path: &Path) {
    let _ = fs::remove_file(path);
    let mut keygen = Command::new("ssh-keygen");
    keygen
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(path);
    common::run(&mut keygen, b"");
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

fn signal(name: &str, pid: u32) {
    let mut kill = Command::new("kill");
    let _ = kill.args(["-s", name, &pid.to_string()]).status();
}

/// The clients in the background of this server, by the server's port in their connections.
fn masters(server: &Server) -> Vec<u32> {
    processes("ssh", &format!(":{}", server.port))
}

/// The processes with this name that have a connection with this end, as `ss` tells it.
fn processes(name: &str, end: &str) -> Vec<u32> {
    let output = Command::new("ss")
        .args(["-tnpH", "state", "established"])
        .output();
    let text = output.map_or(String::new(), |output| {
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    let mut found: Vec<u32> = text
        .lines()
        .filter(|line| line.contains(end))
        .filter_map(|line| {
            line.split_once(&format!("((\"{name}\",pid="))?
                .1
                .split(',')
                .next()
        })
        .filter_map(|pid| pid.parse().ok())
        .collect();
    found.dedup();
    found
}

/// Runs a line; its end and its output.
async fn run(way: &Ssh, talk: Talk<'_>) -> (Ended, Vec<(Stream, String)>) {
    let mut lines = Vec::new();
    let mut take = |stream: Stream, text: &str| lines.push((stream, text.to_owned()));
    let ended = way.run(talk, &Stop::never(), &mut take).await.unwrap();
    (ended, lines)
}

async fn line(way: &Ssh, line: &str) -> (Ended, Vec<(Stream, String)>) {
    run(way, Talk::new(line, CONNECT)).await
}

#[tokio::test]
async fn commands_share_a_connection_that_is_replaced_when_it_is_gone() {
    if need("ss").is_none() {
        return;
    }
    let Some(mut server) = Server::start() else {
        return;
    };
    let way = server.way("m1");
    let (ended, lines) = line(&way, "echo out; echo err >&2; exit 255").await;
    assert_eq!(ended, Ended::Command(255), "{lines:?}");
    let said = |stream, text: &str| (stream, text.to_owned());
    assert!(lines.contains(&said(Stream::Stdout, "out")), "{lines:?}");
    assert!(lines.contains(&said(Stream::Stderr, "err")), "{lines:?}");

    // The words of another client are no failure of this one.
    let refused = "ssh: connect to host elsewhere port 22: Connection refused";
    let (ended, _) = line(&way, &format!("echo '{refused}' >&2; exit 255")).await;
    assert_eq!(ended, Ended::Command(255));

    // Two at once, and one after the other: one connection.
    let (one, two) = tokio::join!(line(&way, "exit 3"), line(&way, "exit 4"));
    assert_eq!((one.0, two.0), (Ended::Command(3), Ended::Command(4)));
    let shared = masters(&server);
    assert_eq!(shared.len(), 1, "{shared:?}");

    // More at once than a server takes over one connection: nobody notices.
    let many = async |code: i32| {
        let (ended, lines) = line(&way, &format!("sleep 1; exit {code}")).await;
        assert_eq!((ended, lines.len()), (Ended::Command(code), 0), "{lines:?}");
    };
    tokio::join!(
        many(1),
        many(2),
        many(3),
        many(4),
        many(5),
        many(6),
        many(7),
        many(8),
        many(9),
        many(10),
        many(11),
        many(12)
    );

    // Killed, stopped, cut off by the other side: noticed, and replaced.
    signal("KILL", shared[0]);
    assert_eq!(line(&way, "exit 5").await.0, Ended::Command(5));
    let stopped = masters(&server);
    signal("STOP", stopped[0]);
    assert_eq!(line(&way, "exit 6").await.0, Ended::Command(6));
    signal("KILL", stopped[0]);
    server.reboot();
    assert_eq!(line(&way, "exit 7").await.0, Ended::Command(7));

    // Ended when it is no longer wanted, with what goes on over it.
    assert_eq!(masters(&server).len(), 1);
    let sleeping = line(&way, "echo begun; exec sleep 1000");
    let ending = async {
        let end = Instant::now() + Duration::from_secs(20);
        while processes("sshd", &format!(":{}", server.port)).is_empty() && Instant::now() < end {
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        way.hang_up();
    };
    let ((ended, lines), ()) = tokio::join!(sleeping, ending);
    assert!(
        matches!(ended, Ended::Connection { begun: true, .. }),
        "{ended:?} {lines:?}"
    );
    assert_eq!(masters(&server), [0; 0]);
}

#[tokio::test]
async fn the_first_key_is_kept_and_no_other_is_accepted() {
    let Some(mut server) = Server::start() else {
        return;
    };
    assert_eq!(line(&server.way("m1"), "exit 0").await.0, Ended::Command(0));
    let kept = fs::read_to_string(server.dir.join("cp.hosts")).unwrap();
    assert!(kept.contains("wdev-test-cp ssh-ed25519 "), "{kept}");
    server.way("m1").hang_up();

    keygen(&server.dir.join("host"));
    server.reboot();
    let (ended, _) = line(&server.way("m1"), "exit 0").await;
    let changed = matches!(
        ended,
        Ended::Connection {
            changed_key: true,
            begun: false,
            ..
        }
    );
    assert!(changed, "{ended:?}");
    let (ended, _) = line(&server.way("m1").unshared(), "exit 0").await;
    assert!(
        matches!(
            ended,
            Ended::Connection {
                changed_key: true,
                ..
            }
        ),
        "{ended:?}"
    );
    // A new machine has a new key.
    assert_eq!(line(&server.way("m2"), "exit 0").await.0, Ended::Command(0));
}

#[tokio::test]
async fn files_arrive_whole_or_not_at_all() {
    let Some(server) = Server::start() else {
        return;
    };
    let (way, linux) = (server.way("m1"), guest(Os::Linux));
    let (from, to) = (server.dir.join("from"), server.dir.join("deep/to it's"));
    fs::write(&from, b"a\0b\n\xff").unwrap();
    let hash = "d2ab4b5c7e3d1b4a7cbd8a12f6b5ae1d2f1f8bb58d1d8f1b0a3c2a9fb0e4c7aa";
    let good = common::run(Command::new("sha256sum").arg(&from), b"");
    let good = String::from_utf8(good).unwrap()[..64].to_owned();
    for (hash, arrives) in [(hash, false), (good.as_str(), true)] {
        let order = linux.receive(to.to_str().unwrap(), hash).unwrap();
        let talk = Talk {
            input: Some(File::open(&from).unwrap()),
            ..Talk::new(&order, CONNECT)
        };
        let (ended, lines) = run(&way, talk).await;
        assert_eq!(ended == Ended::Command(0), arrives, "{ended:?} {lines:?}");
        assert_eq!(to.exists(), arrives);
    }
    assert_eq!(fs::read(&to).unwrap(), b"a\0b\n\xff");
    let left = fs::read_dir(to.parent().unwrap()).unwrap().count();
    assert_eq!(left, 1, "a temporary file is left");

    let order = linux.send(to.to_str().unwrap()).unwrap();
    let back = server.dir.join("back");
    let talk = Talk {
        output: Some(File::create(&back).unwrap()),
        ..Talk::new(&order, CONNECT)
    };
    let (ended, lines) = run(&way, talk).await;
    assert_eq!(ended, Ended::Command(0));
    assert_eq!(lines, [(Stream::Stderr, format!("5 {good}"))]);
    assert_eq!(fs::read(back).unwrap(), b"a\0b\n\xff");
}

#[tokio::test]
async fn what_comes_is_not_kept_in_memory() {
    let Some(server) = Server::start() else {
        return;
    };
    let way = server.way("m1");
    let (mut lines, mut longest) = (0_u32, 0);
    let mut take = |_: Stream, text: &str| {
        lines += 1;
        longest = longest.max(text.len());
    };
    // 8 MiB without a line end.
    let talk = Talk::new("head -c 8388608 /dev/zero | tr '\\0' x", CONNECT);
    let ended = way.run(talk, &Stop::never(), &mut take).await.unwrap();
    assert_eq!(ended, Ended::Command(0));
    assert!(lines >= 8 && longest <= 1 << 20, "{lines} {longest}");
}
