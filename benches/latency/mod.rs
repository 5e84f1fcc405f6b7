//! How soon a node answers, on a real machine of Vagrant's docker provider.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use wdev::channel::Io;
use wdev::clock::Clock;
use wdev::home::SandboxFolder;
use wdev::ledger::Ledger;
use wdev::plan::record::Record;
use wdev::provider::Provider as _;
use wdev::provider::vagrant::{self, MachineRef, Vagrant};

use super::machines::{MACHINES_ONLY, Sandbox, image};
use super::{Row, median, millis, run};

const SANDBOX: &str = "bench-latency";
const NODE: &str = "cp";
/// How often each thing is measured.
const TIMES: usize = 7;
const UPLOAD: usize = 100_000_000;

/// `wdev exec` against `vagrant ssh`, and an upload against `vagrant upload`, on one running machine.
pub fn rows() -> Vec<Row> {
    let what = "wdev exec NODE -- true, warm";
    let Some(image) = image("latency") else {
        return vec![Row::new(what, "skipped")];
    };
    let folder = tempfile::tempdir().expect("temporary folder");
    let machine = Machine::up(folder.path(), &image);
    let rows = machine.exec_rows(what).into_iter();
    rows.chain(machine.upload_rows()).collect()
}

/// A running machine.
struct Machine<'a>(Sandbox<'a>);

impl<'a> Machine<'a> {
    fn up(folder: &'a Path, image: &str) -> Self {
        let variables = format!(
            "version: 1\nsandbox: {SANDBOX}\nprovider: docker\nnetwork: {{nodes: 10.126.251.0/24}}\n\
             {MACHINES_ONLY}control_plane: {{name: {NODE}, box: \"{image}\", memory: 2GiB}}\nworkers:\n  \
             - {{name: w1, box: \"{image}\", memory: 2GiB}}\n"
        );
        let machine = Self(Sandbox::new(folder, SANDBOX, &variables));
        // It need not come to its end: a machine that answers is enough, which the next line asks.
        let up = machine.0.wdev(&["up"]).output();
        assert!(up.is_ok(), "wdev starts");
        run(&mut machine.exec());
        machine
    }

    fn exec(&self) -> Command {
        self.0.wdev(&["exec", NODE, "--", "true"])
    }

    fn vagrant(&self, args: &[&str]) -> Command {
        self.0.vagrant(args)
    }

    fn state(&self) -> SandboxFolder {
        self.0.state()
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
        let file = self.0.folder.join("upload");
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
            ledger: Ledger::new(self.0.folder.join("home")),
            hypervisor: None,
        })
    }
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
