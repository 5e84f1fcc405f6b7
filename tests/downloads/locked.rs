//! `wdev lock` and `up --locked`, against a mirror of all download sites.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::sha256;
use crate::env::{Env, Ran};
use crate::server::{Reply, Request, Server};

const RUNC: &str = "github.com/opencontainers/runc/releases/download/v1.4.3/runc";

/// A mirror at `/m/` whose newest 1.36 is 1.36.2, and 1.36.3 once `moved`. The network plugins have no
/// checksum file.
fn mirror(moved: &Arc<AtomicBool>) -> Server {
    let moved = Arc::clone(moved);
    Server::new(move |request: &Request| {
        let Some(at) = request.path.strip_prefix("/m/") else {
            return Reply::new(404, "");
        };
        if at == "dl.k8s.io/release/stable-1.36.txt" {
            let patch = if moved.load(Ordering::Relaxed) { 3 } else { 2 };
            return Reply::ok(format!("v1.36.{patch}"));
        }
        if at == format!("{RUNC}.sha256sum") {
            let hash = sha256(format!("{RUNC}.amd64").as_bytes());
            return Reply::ok(format!(
                "{}  runc.arm64\n{hash}  runc.amd64\n",
                "0".repeat(64)
            ));
        }
        if at.contains("v1.36.99") || (at.contains("/cni-plugins-") && at.ends_with(".sha256")) {
            return Reply::new(404, "");
        }
        for ending in [".sha256sum", ".sha256"] {
            if let Some(file) = at.strip_suffix(ending) {
                let name = file.rsplit('/').next().unwrap();
                return Reply::ok(format!("{}  {name}\n", sha256(file.as_bytes())));
            }
        }
        Reply::file(request, at.as_bytes(), "\"one\"")
    })
}

/// A project on a machine of its own.
fn project(server: &Server, version: &str) -> Env {
    let env = Env::new();
    write(&env, server, version);
    env
}

fn write(env: &Env, server: &Server, version: &str) {
    let mirror = server.url("m");
    env.write(
        "variables.yml",
        &format!(
            "provider: docker\nkubernetes: {{version: \"{version}\"}}\n\
             artifacts: {{mirror: \"{mirror}\"}}\ncontrol_plane: {{box: debian}}\n\
             workers: [{{box: debian}}]\n"
        ),
    );
}

fn locked(env: &Env) -> String {
    std::fs::read_to_string(env.project.join("wdev.lock")).unwrap()
}

fn lock(env: &Env, more: &[&str]) -> Ran {
    let args: Vec<&str> = ["lock"].iter().chain(more).copied().collect();
    env.run(&args)
}

#[test]
fn two_machines_lock_the_same_bytes() {
    let server = mirror(&Arc::default());
    let one = project(&server, "1.36");
    lock(&one, &[]).exits(0).prints("Kubernetes v1.36.2");
    let text = locked(&one);
    let two = project(&server, "1.36");
    lock(&two, &[]).exits(0);
    assert_eq!(locked(&two), text);
    assert!(!text.contains(&server.host()), "{text}");
    // What has no checksum file was downloaded, and the file says so.
    assert_eq!(
        text.matches("proof = \"first_download\"").count(),
        1,
        "{text}"
    );
    let plugins = server.requests();
    let fetched =
        |one: &&Request| one.path.contains("/cni-plugins-") && !one.path.contains(".sha256");
    let plugins = plugins.iter().filter(fetched);
    assert_eq!(plugins.count(), 2);
    lock(&one, &[]).exits(0).prints("is up to date");
    assert_eq!(locked(&one), text);
}

#[test]
fn a_lock_moves_only_when_it_is_told_to() {
    let moved = Arc::new(AtomicBool::new(false));
    let server = mirror(&moved);
    let env = project(&server, "1.36");
    lock(&env, &[]).exits(0);
    let before = locked(&env);
    moved.store(true, Ordering::Relaxed);
    lock(&env, &[]).exits(0);
    lock(&env, &["--update", "runc"]).exits(0);
    assert_eq!(locked(&env), before);
    lock(&env, &["--update", "nothing"])
        .exits(2)
        .says("there are:")
        .says("kubernetes");
    lock(&env, &["--update", "kubernetes"])
        .exits(0)
        .prints("Kubernetes is v1.36.3 now and was v1.36.2");
    let text = locked(&env);
    assert!(
        text.contains("v1.36.3") && !text.contains("v1.36.2"),
        "{text}"
    );
}

#[test]
fn a_sandbox_that_must_be_locked_refuses_to_differ() {
    let server = mirror(&Arc::default());
    let env = project(&server, "1.36");
    let up = || env.run(&["up", "--locked"]);
    up().exits(3).says("wdev.lock").says("wdev lock");
    lock(&env, &[]).exits(0);
    let before = locked(&env);
    write(&env, &server, "v1.35.0");
    up().exits(3)
        .says("is not what the configuration asks for")
        .says("`kubernetes.version` is `v1.35.0` now and was `1.36`")
        .says("wdev lock --update");
    assert_eq!(locked(&env), before);
    assert!(!env.project.join(".wdev").exists());
    env.write("wdev.lock", &before.replace("sha256 = \"", "sha256 = \"x"));
    up().exits(3).says("is damaged").says("no usable hash");
}

#[test]
fn a_version_that_does_not_exist_locks_nothing() {
    let server = mirror(&Arc::default());
    let env = project(&server, "v1.36.99");
    lock(&env, &[]).exits(3).says("1.36.99");
    assert!(!env.project.join("wdev.lock").exists());
}
