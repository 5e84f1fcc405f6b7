//! How soon a node answers, on a real machine of Vagrant's docker provider.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wdev::channel::Io;
use wdev::clock::Clock;
use wdev::home::SandboxFolder;
use wdev::ledger::Ledger;
use wdev::plan::record::Record;
use wdev::provider::Provider as _;
use wdev::provider::vagrant::{self, MachineRef, Vagrant};

use super::{Row, median, millis, run, wdev};

const SANDBOX: &str = "bench-latency";
const NODE: &str = "cp";
/// How often each thing is measured.
const TIMES: usize = 7;
const UPLOAD: usize = 100_000_000;

/// `wdev exec` against `vagrant ssh`, and an upload against `vagrant upload`, on one running machine.
pub fn rows() -> Vec<Row> {
    let what = "wdev exec NODE -- true, warm";
    let Ok(image) = std::env::var("WDEV_TEST_IMAGE") else {
        println!("skipped: latency: needs WDEV_TEST_IMAGE, which `tests/real/prepare` prints");
        return vec![Row::new(what, "skipped")];
    };
    let docker = Command::new("docker").arg("info").output();
    if !docker.is_ok_and(|output| output.status.success()) {
        println!("skipped: latency: needs a running Docker daemon");
        return vec![Row::new(what, "skipped")];
    }
    let folder = tempfile::tempdir().expect("temporary folder");
    let sandbox = Sandbox::up(folder.path(), &image);
    let rows = sandbox.exec_rows(what).into_iter();
    rows.chain(sandbox.upload_rows()).collect()
}

/// A sandbox with one running machine; removed at the end.
struct Sandbox<'a> {
    folder: &'a Path,
}

impl<'a> Sandbox<'a> {
    fn up(folder: &'a Path, image: &str) -> Self {
        let mut text = String::new();
        let _ = write!(
            text,
            "version: 1\nsandbox: {SANDBOX}\nprovider: docker\nnetwork: {{nodes: 10.126.251.0/24}}\n\
             control_plane: {{name: {NODE}, box: \"{image}\", memory: 2GiB}}\nworkers:\n  \
             - {{name: w1, box: \"{image}\", memory: 2GiB}}\n"
        );
        std::fs::write(folder.join("variables.yml"), text).expect("variables.yml");
        let sandbox = Self { folder };
        // It need not come to its end: a machine that answers is enough, which the next line asks.
        let _ = sandbox
            .wdev(&["up"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("wdev starts");
        run(&mut sandbox.exec());
        sandbox
    }

    fn wdev(&self, args: &[&str]) -> Command {
        let mut command = wdev();
        command
            .args(args)
            .current_dir(self.folder)
            .env("WDEV_HOME", self.folder.join("home"))
            .env("VAGRANT_HOME", self.folder.join("vagrant-home"));
        command
    }

    fn exec(&self) -> Command {
        self.wdev(&["exec", NODE, "--", "true"])
    }

    fn vagrant(&self, args: &[&str]) -> Command {
        let mut command = Command::new("vagrant");
        command
            .args(args)
            .current_dir(self.state().rendered())
            .env("VAGRANT_HOME", self.folder.join("vagrant-home"));
        command
    }

    fn state(&self) -> SandboxFolder {
        SandboxFolder::new(self.folder, SANDBOX)
    }

    fn exec_rows(&self, what: &str) -> Vec<Row> {
        let mut ours = Vec::new();
        let mut theirs = Vec::new();
        // In turn, so that both see the same machine.
        for _ in 0..TIMES {
            ours.push(run(&mut self.exec()));
            theirs.push(run(&mut self.vagrant(&["ssh", NODE, "-c", "true"])));
        }
        let (ours, theirs) = (middle(ours), middle(theirs));
        let factor = theirs.as_secs_f64() / ours.as_secs_f64();
        let cold = median(TIMES, || {
            for file in
                std::fs::read_dir(self.state().rendered().join(".driver")).expect("a folder")
            {
                let file = file.expect("an entry").path();
                if file.extension().is_some_and(|ending| ending == "ssh") {
                    wdev::channel::ssh::hang_up(&file);
                }
            }
            run(&mut self.exec())
        });
        vec![
            Row::new(what, millis(ours)).against("under 60 ms", ours < Duration::from_millis(60)),
            Row::new("  the same over a new connection", millis(cold)),
            Row::new("vagrant ssh NODE -c true", millis(theirs)),
            Row::new("vagrant ssh / wdev exec", format!("{factor:.0} x"))
                .against("at least 20 x", factor >= 20.0),
        ]
    }

    fn upload_rows(&self) -> Vec<Row> {
        let file = self.folder.join("upload");
        std::fs::write(&file, vec![b'w'; UPLOAD]).expect("a file");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let mut ours = Vec::new();
        let mut theirs = Vec::new();
        for _ in 0..TIMES {
            let started = Instant::now();
            let channel = runtime.block_on(async { self.provider().channel(&NODE.into()) });
            let io = Io::silent();
            let sent = channel.upload(&file, "/var/tmp/bench", &io);
            runtime.block_on(sent).expect("an upload");
            ours.push(started.elapsed());
            let from = file.to_str().expect("a path");
            theirs.push(run(&mut self.vagrant(&[
                "upload",
                from,
                "/tmp/bench",
                NODE,
            ])));
        }
        let (ours, theirs) = (middle(ours), middle(theirs));
        let factor = theirs.as_secs_f64() / ours.as_secs_f64();
        vec![
            Row::new("upload of 100 MB, hash checked", millis(ours)),
            Row::new("vagrant upload of 100 MB", millis(theirs)),
            Row::new("vagrant upload / upload", format!("{factor:.1} x")),
        ]
    }

    fn provider(&self) -> Vagrant {
        let folder = self.state();
        let record = Record::find(&folder).expect("a record").expect("a record");
        let machine = |node: &wdev::plan::node::Node| MachineRef {
            lane: node.name.clone(),
            os: node.os,
            unique: node.unique_name.clone(),
        };
        Vagrant::new(vagrant::Settings {
            program: vagrant::find_program().expect("vagrant"),
            dir: folder.rendered(),
            sandbox: folder.path().to_owned(),
            provider: record.provider,
            machines: record.nodes.iter().map(machine).collect(),
            boot: Duration::from_secs(record.boot_seconds),
            halt: Duration::from_mins(1),
            clock: Clock::new(),
            ssh: None,
            network: record.network.clone(),
            subnet: record.subnet,
            choices: record.choices.clone(),
            ledger: Ledger::new(self.folder.join("home")),
            hypervisor: None,
        })
    }
}

impl Drop for Sandbox<'_> {
    fn drop(&mut self) {
        let _ = self
            .wdev(&["destroy", "--yes"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
