//! What lanes are worth: `wdev up` against one node after the other by hand, on the same Vagrantfile.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::machines::{MACHINES_ONLY, Sandbox, image};
use super::{Row, run};

const SANDBOX: &str = "bench-lanes";
const NODES: [&str; 4] = ["cp", "w1", "w2", "w3"];
/// The host's address in the nodes' network, by docker's habit.
const HOST: &str = "10.126.252.1";
/// How much each node takes from the host.
const ARCHIVE: usize = 20_000_000;

/// What the steps of a node do, in little: take an archive, unpack it, hash what was in it, start a
/// service that needs five seconds, and wait until it answers.
const WORK: &str = r#"#!/usr/bin/env bash
set -euo pipefail
folder=/var/tmp/bench-work
mkdir -p "$folder"
cat <"/dev/tcp/HOST/PORT" >"$folder.tar.gz"
tar -C "$folder" -xzf "$folder.tar.gz"
find "$folder" -type f -exec sha256sum {} + >"$folder.sums"
setsid perl -MIO::Socket::INET -e '
  sleep 5;
  my $listener = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1:9999") or die "no port";
  while (my $one = $listener->accept) { close $one }
' </dev/null >/dev/null 2>&1 &
for ((tries = 0; tries < 300; tries++)); do
  if (exec 3<>/dev/tcp/127.0.0.1/9999) 2>/dev/null; then
    exit 0
  fi
  sleep 0.1
done
echo "the service does not answer" >&2
exit 1
"#;

/// What a container needs to stand for a machine: sysctls that can be written.
const EXTRA: &str = "vagrant: {extra: {docker: \"p.create_args += %w[--cap-add=NET_ADMIN \
    --cap-add=SYS_ADMIN --security-opt=seccomp=unconfined --security-opt=apparmor=unconfined \
    --security-opt=systempaths=unconfined]\"}}\n";

/// One control plane and three workers: one after the other by hand, then all by `wdev up`.
pub fn rows() -> Vec<Row> {
    let what = "4 nodes with the same work: wdev up";
    let Some(image) = image("lanes") else {
        return vec![Row::new(what, "skipped")];
    };
    let folder = tempfile::tempdir().expect("temporary folder");
    let port = serve(archive(folder.path()));
    let work = WORK
        .replace("HOST", HOST)
        .replace("PORT", &port.to_string());
    std::fs::write(folder.path().join("work.sh"), work).expect("a hook");
    let sandbox = Sandbox::new(folder.path(), SANDBOX, &variables(&image));
    run(&mut sandbox.wdev(&["render"]));
    let by_hand = by_hand(&sandbox);
    let started = Instant::now();
    // It ends where it needs the first download, which comes after all that is compared.
    let output = sandbox.wdev(&["up"]).output().expect("wdev starts");
    let ours = started.elapsed();
    let did = String::from_utf8_lossy(&output.stderr);
    let told = format!("{did}{}", String::from_utf8_lossy(&output.stdout));
    let done = |node: &str| {
        let look = ["exec", node, "--", "test", "-s", "/var/tmp/bench-work.sums"];
        let looked = sandbox.wdev(&look).output().expect("wdev starts");
        looked.status.success()
    };
    assert!(
        NODES.iter().all(|node| done(node)),
        "the work was not done:\n{told}"
    );
    let share = ours.as_secs_f64() / by_hand.as_secs_f64() * 100.0;
    vec![
        Row::new(what, seconds(ours)),
        Row::new("  one node after the other by hand", seconds(by_hand)),
        Row::new("  wdev up / by hand", format!("{share:.0} %"))
            .against("at most 60 %", share <= 60.0),
    ]
}

fn variables(image: &str) -> String {
    let mut text = format!(
        "version: 1\nsandbox: {SANDBOX}\nprovider: docker\nnetwork: {{nodes: 10.126.252.0/24}}\n\
         hooks: [{{node: all, phase: prepare, script: work.sh}}]\n\
         {MACHINES_ONLY}"
    );
    for (index, node) in NODES.iter().enumerate() {
        let machine = format!("{{name: {node}, box: \"{image}\", memory: 1GiB}}");
        let _ = match index {
            0 => write!(text, "control_plane: {machine}\nworkers:\n"),
            _ => writeln!(text, "  - {machine}"),
        };
    }
    text.push_str(EXTRA);
    text
}

/// Brings up and provisions each node by plain Vagrant, then removes them; returns how long the first
/// took.
fn by_hand(sandbox: &Sandbox) -> Duration {
    let vagrantfile = std::fs::read_to_string(sandbox.state().rendered().join("Vagrantfile"))
        .expect("a Vagrantfile");
    let started = Instant::now();
    for node in NODES {
        run(&mut sandbox.vagrant(&["up", node, "--provider", "docker"]));
        for step in steps(&vagrantfile, node) {
            run(&mut sandbox.vagrant(&["provision", node, "--provision-with", step]));
        }
    }
    let took = started.elapsed();
    run(&mut sandbox.vagrant(&["destroy", "-f"]));
    took
}

/// The provisioners of a node but the one for probes, in order, to the work: what comes after it needs
/// downloads.
fn steps<'a>(vagrantfile: &'a str, node: &str) -> Vec<&'a str> {
    let define = format!("config.vm.define '{node}'");
    let (_, block) = vagrantfile.split_once(&define).expect("the node");
    let block = block.split("config.vm.define").next().unwrap_or(block);
    let steps = block
        .lines()
        .filter_map(|line| line.trim().strip_prefix("node.vm.provision '"))
        .filter_map(|rest| rest.split('\'').next())
        .filter(|step| *step != "probe");
    let mut wanted: Vec<&str> = steps.collect();
    let work = wanted.iter().position(|step| step.starts_with("hook-"));
    wanted.truncate(work.expect("the work") + 1);
    wanted
}

/// An archive that does not get smaller by being packed.
fn archive(folder: &Path) -> Vec<u8> {
    let mut data = vec![0; ARCHIVE];
    getrandom::fill(&mut data).expect("random bytes");
    std::fs::write(folder.join("data"), data).expect("a file");
    let mut tar = Command::new("tar");
    tar.arg("-C").arg(folder).args(["-czf", "-", "data"]);
    let packed = tar.stderr(Stdio::inherit()).output().expect("tar");
    assert!(packed.status.success(), "tar failed");
    packed.stdout
}

/// Gives the bytes to whoever connects, for as long as the program runs; returns the port.
fn serve(bytes: Vec<u8>) -> u16 {
    let listener = TcpListener::bind("0.0.0.0:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let bytes = Arc::new(bytes);
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let bytes = Arc::clone(&bytes);
            std::thread::spawn(move || {
                let mut connection = connection;
                // A node that goes away is missed by the hook itself.
                let _ = connection.write_all(&bytes);
            });
        }
    });
    port
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
