//! `kubernetes.version: source`: the binaries are the user's own build, where Kubernetes' own `make` puts it.

use std::fs;
use std::path::PathBuf;

use crate::common::kubernetes_tree::{git, tree};
use crate::common::{need, sha256};
use crate::env::Env;
use crate::server::{Reply, Server};

const PROGRAMS: [&str; 3] = ["kubeadm", "kubectl", "kubelet"];

/// A checkout at v1.36.2 that ignores its build.
fn checkout(env: &Env) -> PathBuf {
    let path = env.root().join("my kubernetes");
    tree(&path);
    fs::write(path.join(".gitignore"), "/_output\n").unwrap();
    git(&path, &["init", "-q"]);
    git(&path, &["add", "."]);
    git(&path, &["commit", "-q", "-m", "one"]);
    git(&path, &["tag", "v1.36.2"]);
    path
}

#[test]
fn a_sandbox_is_made_of_the_users_own_build() {
    if need("git").is_none() {
        return;
    }
    // Everything that is not Kubernetes itself comes from its own project.
    let server = Server::new(
        |request| match request.path.strip_prefix("/m/github.com/") {
            Some(at) if at.contains(".sha256") => Reply::new(404, ""),
            Some(at) => Reply::ok(at),
            None => Reply::new(404, ""),
        },
    );
    let env = Env::new();
    let source = checkout(&env);
    env.write(
        "variables.yml",
        &format!(
            "provider: docker\nkubernetes: {{version: source, source: \"{}\"}}\n\
             artifacts: {{mirror: \"{}\"}}\n",
            source.display(),
            server.url("m")
        ),
    );
    env.run(&["fetch"])
        .exits(4)
        .says("your build of kubeadm linux/amd64 is not there")
        .says("make WHAT=cmd/kubeadm KUBE_BUILD_PLATFORMS=linux/amd64");

    let built = source.join("_output/local/bin/linux/amd64");
    fs::create_dir_all(&built).unwrap();
    for program in PROGRAMS {
        fs::write(built.join(program), format!("first {program}")).unwrap();
    }
    let fetched = env.run(&["fetch", "-o", "json"]).exits(0).json();
    for program in PROGRAMS {
        let of = |one: &&serde_json::Value| one["name"] == program;
        let found = fetched["artifacts"].as_array().unwrap().iter().find(of);
        let found = found.unwrap();
        assert_eq!(found["version"], "v1.36.2", "{found}");
        assert_eq!(
            found["sha256"],
            sha256(format!("first {program}").as_bytes())
        );
    }
    // The next build counts, under the same name.
    fs::write(built.join("kubelet"), "second kubelet").unwrap();
    let again = env.run(&["fetch", "-o", "json"]).exits(0).out.clone();
    assert!(again.contains(&sha256(b"second kubelet")), "{again}");
    assert!(
        !server
            .requests()
            .iter()
            .any(|one| one.path.contains("dl.k8s.io"))
    );
}
