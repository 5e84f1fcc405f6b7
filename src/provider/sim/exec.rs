//! The few commands that a simulated node can answer.

use super::channel::UPLOADED;
use super::cluster;
use super::words;
use super::world::World;
use crate::event::Stream;
use crate::names::LaneName;

/// What a command printed, where, and its exit code.
pub(super) struct Answer {
    pub code: i32,
    pub stream: Stream,
    pub output: Vec<String>,
}

impl Answer {
    fn good(output: Vec<String>) -> Self {
        Self {
            code: 0,
            stream: Stream::Stdout,
            output,
        }
    }

    fn bad(code: i32, line: String) -> Self {
        Self {
            code,
            stream: Stream::Stderr,
            output: vec![line],
        }
    }
}

/// Answers a command.
pub(super) fn answer(
    world: &World,
    seed: u64,
    name: &LaneName,
    argv: &[String],
    now: u64,
) -> Answer {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["true"] => Answer::good(Vec::new()),
        ["false"] => Answer {
            code: 1,
            ..Answer::good(Vec::new())
        },
        ["hostname"] => Answer::good(vec![name.to_string()]),
        ["cat", path] => cat(world, name, path),
        ["kubectl", "get", "nodes"] => nodes(world, seed, name, now),
        _ => Answer::bad(
            127,
            format!(
                "the simulator does not know `{}`, only `true`, `false`, `hostname`, `cat FILE` and, \
                 on the control plane, `kubectl get nodes`",
                words.join(" ")
            ),
        ),
    }
}

fn cat(world: &World, name: &LaneName, path: &str) -> Answer {
    let content = world
        .machine(name)
        .and_then(|machine| machine.files.get(path));
    match content {
        None => Answer::bad(1, format!("cat: {path}: No such file or directory")),
        Some(hash) if hash.starts_with(UPLOADED) => Answer::bad(
            1,
            format!("the simulator keeps only the hash of an uploaded file: {hash}"),
        ),
        Some(content) => Answer::good(content.lines().map(str::to_owned).collect()),
    }
}

fn nodes(world: &World, seed: u64, name: &LaneName, now: u64) -> Answer {
    let Some(cluster) = world
        .cluster
        .as_ref()
        .filter(|cluster| cluster.node == *name && cluster::answers(world))
    else {
        return Answer::bad(1, words::no_api(&cluster::address(world)));
    };
    let mut output = vec![row("NAME", "STATUS", "ROLES", "INTERNAL-IP", "VERSION")];
    for (node, state) in &world.nodes {
        let Some(member) = state.member.as_ref().filter(|m| m.cluster == cluster.id) else {
            continue;
        };
        let ready = world.cluster_ready(seed, node).is_some_and(|at| at <= now);
        output.push(row(
            node.as_str(),
            if ready { "Ready" } else { "NotReady" },
            if *node == cluster.node {
                "control-plane"
            } else {
                "<none>"
            },
            &member.address,
            &cluster.version,
        ));
    }
    Answer::good(output)
}

fn row(name: &str, status: &str, roles: &str, address: &str, version: &str) -> String {
    format!("{name:<16} {status:<10} {roles:<15} {address:<16} {version}")
}
