//! The steps that install the container runtime and Kubernetes on Linux nodes, run by real bash in a folder
//! of the test's own: with services that really run, under the stand-in for systemctl.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::need;
use common::scripted::{Node, Ran};
use sha2::{Digest as _, Sha256};
use wdev::render::linux::{self, ContainerRuntime, Origin, Programs};

/// Where a call is killed: before its command of this number.
const KILLED_AT: &str = r#"
killed_at=KILLED_AT
step_down() { ((killed_at-- > 0)) || kill -KILL $$ $BASHPID; }
set -o functrace
trap step_down DEBUG
"#;

/// The programs that these scripts need; nothing when one is missing, which has been said then.
fn bash() -> Option<PathBuf> {
    if !cfg!(target_os = "linux") {
        common::allowed_skip("Linux, for the stand-in for systemctl");
        return None;
    }
    for tool in ["tar", "gzip", "sha256sum", "setsid", "flock"] {
        need(tool)?;
    }
    need("bash")
}

fn hash(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        write!(text, "{byte:02x}").unwrap();
    }
    text
}

/// A node with the stand-in for systemctl, whose services end with the test.
struct Machine {
    node: Node,
    bash: PathBuf,
    services: &'static [&'static str],
}

impl Drop for Machine {
    fn drop(&mut self) {
        for service in self.services {
            self.node
                .call(&self.bash, "", "", &format!("systemctl stop {service}"));
        }
    }
}

impl Machine {
    fn new(bash: &Path, services: &'static [&'static str]) -> Self {
        let node = Node::new(&[]);
        fs::create_dir_all(node.path("bin")).unwrap();
        for name in ["systemctl", "journalctl"] {
            let stand_in = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/real/machine")
                .join(name);
            std::os::unix::fs::symlink(stand_in, node.path("bin").join(name)).unwrap();
        }
        node.program("apt-get", "echo \"$@\" >>apt; exit 100");
        node.program("dpkg", "true");
        Self {
            node,
            bash: bash.to_owned(),
            services,
        }
    }

    fn call(&self, body: &str, call: &str) -> Ran {
        self.node.call(&self.bash, body, PATHS, call)
    }

    fn probe(&self, body: &str) -> String {
        self.call(body, "wdev_probe").ok()
    }

    /// Starts the script and kills it before its command `number`; whether it was still at work.
    fn killed(&self, body: &str, number: u32) -> bool {
        let trap = KILLED_AT.replace("KILLED_AT", &number.to_string());
        let ran = self.call(body, &format!("{trap}\nwdev_run"));
        assert!(
            ran.code.is_none_or(|code| code == 0),
            "{}{}",
            ran.out,
            ran.err
        );
        ran.code.is_none()
    }

    /// The files below a folder: each with its text's hash, its mode, its inode and when it was changed.
    fn files(&self) -> BTreeMap<PathBuf, (String, u32, u64, i64)> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.node.path(".")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self.node.path(".")).unwrap().to_owned();
                if ["run", "bin", "cache"]
                    .iter()
                    .any(|own| name.starts_with(own))
                {
                    continue;
                }
                let about = fs::symlink_metadata(&path).unwrap();
                if about.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = if about.is_symlink() {
                    fs::read_link(&path).unwrap().display().to_string()
                } else {
                    hash(&fs::read(&path).unwrap())
                };
                let changed = about.mtime() * 1_000_000_000 + about.mtime_nsec();
                found.insert(name, (text, about.mode(), about.ino(), changed));
            }
        }
        found
    }

    /// What differs between any two starts of a service.
    fn start(&self, service: &str) -> String {
        let asked = format!("systemctl show -p InvocationID --value {service}");
        self.call("", &asked).ok()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.node.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Puts an artifact where the host puts it.
    fn bring(&self, name: &str, bytes: &[u8]) {
        fs::create_dir_all(self.node.path("cache")).unwrap();
        fs::write(self.node.path("cache").join(name), bytes).unwrap();
    }
}

/// Everything that is outside of the node's folder otherwise.
const PATHS: &str = "wdev_cache=cache wdev_receipts=state/installed wdev_marks=state/services \
     wdev_bin=$PWD/usr/local/bin wdev_sbin=$PWD/usr/local/sbin wdev_cni=$PWD/opt/cni/bin \
     wdev_config=etc/containerd/config.toml wdev_drop_ins=etc/containerd/conf.d wdev_networks=etc/cni/net.d \
     wdev_crictl_config=etc/crictl.yaml wdev_own_containerd=$PWD/usr/bin/containerd \
     wdev_own_runc=(usr/sbin/runc) wdev_own_units=(usr/lib/systemd/system/containerd.service) \
     wdev_drop_in=etc/systemd/system/kubelet.service.d/10-kubeadm.conf \
     wdev_kubelet_config=var/lib/kubelet/config.yaml wdev_patience=5\n\
     : \"${wdev_unit_text=}\"; wdev_unit=etc/systemd/system/kubelet.service\n\
     [[ -z ${wdev_source-} ]] || wdev_unit=etc/systemd/system/containerd.service\n\
     wdev_unit_text=${wdev_unit_text//=\\/usr\\/local/=$PWD/usr/local}\n\
     wdev_unit_text=${wdev_unit_text/Type=notify/Type=simple}";

/// An archive of these executable files.
fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let node = Node::new(&[]);
    for (name, script) in files {
        node.script(&format!("root/{name}"), script);
    }
    let output = Command::new("tar")
        .args(["--sort=name", "--mtime=2020-01-01", "-czf", "-", "-C"])
        .arg(node.path("root"))
        .arg(".")
        .output()
        .unwrap();
    assert!(output.status.success());
    output.stdout
}

/// The artifacts of a container runtime that is made of scripts.
struct Artifacts {
    files: Vec<(&'static str, Vec<u8>)>,
}

impl Artifacts {
    fn new(version: &str) -> Self {
        let containerd = format!(
            "if [[ $1 == --version ]]; then echo 'containerd github.com/containerd/containerd v{version} 0cae'; \
             else exec sleep 1000; fi"
        );
        Self {
            files: vec![
                (
                    "containerd",
                    archive(&[("bin/containerd", &containerd), ("bin/ctr", version)]),
                ),
                ("runc", format!("runc {version}").into_bytes()),
                (
                    "crictl",
                    archive(&[("crictl", "systemctl -q is-active containerd")]),
                ),
                (
                    "cni-plugins",
                    archive(&[("bridge", "bridge"), ("host-local", "host-local")]),
                ),
            ],
        }
    }

    fn bring(&self, machine: &Machine) {
        for (name, bytes) in &self.files {
            machine.bring(name, bytes);
        }
    }

    /// The script with its hashes.
    fn body(&self, origin: Origin) -> String {
        given(self.plain(origin), &self.files)
    }

    /// The script as it is rendered.
    #[expect(clippy::unused_self, reason = "a runtime's script belongs to it")]
    fn plain(&self, origin: Origin) -> String {
        linux::container_runtime(&ContainerRuntime {
            origin,
            configurations: &[
                ("1.6".to_owned(), "version = 2\n".to_owned()),
                ("2.0".to_owned(), "version = 3\n".to_owned()),
            ],
            crictl_configuration: "runtime-endpoint: \"unix:///run/containerd/containerd.sock\"\n",
        })
        .unwrap()
    }
}

/// The script with the hashes of these artifacts given.
fn given(body: String, artifacts: &[(&str, Vec<u8>)]) -> String {
    let cases = artifacts.iter().map(|(name, bytes)| {
        format!(
            "sha256_{}) printf '%s' {} ;;",
            name.replace('-', "_"),
            hash(bytes)
        )
    });
    let cases: Vec<String> = cases.collect();
    format!(
        "{body}\nwdev_given() {{ case $1 in {} *) return 1 ;; esac; }}\n",
        cases.join(" ")
    )
}

const CONTAINERD: &[&str] = &["containerd"];

#[test]
fn containerd_is_installed_and_started_once_and_again_only_when_something_changed() {
    let Some(bash) = bash() else { return };
    let machine = Machine::new(&bash, CONTAINERD);
    let artifacts = Artifacts::new("1.7.2");
    let body = artifacts.body(Origin::Upstream);
    assert!(
        machine
            .call(&body, "wdev_run")
            .failed()
            .contains("there is no cache/containerd to install containerd from")
    );
    artifacts.bring(&machine);
    assert!(
        machine
            .probe(&body)
            .contains("not in place: containerd is not installed")
    );
    assert!(
        machine
            .call(&body, "wdev_run")
            .ok()
            .contains("fact containerd=1.7.2\n")
    );
    assert_eq!(machine.probe(&body), "fact containerd=1.7.2\n");
    assert_eq!(
        machine.node.read("etc/containerd/config.toml"),
        "version = 2\n"
    );
    let left = fs::read_dir(machine.node.path("cache")).unwrap().count();
    assert_eq!(left, 0, "what is installed is not kept twice");

    let (files, start) = (machine.files(), machine.start("containerd"));
    artifacts.bring(&machine);
    machine.call(&body, "wdev_run").ok();
    assert_eq!(machine.files(), files);
    assert_eq!(machine.start("containerd"), start);

    let newer = Artifacts::new("2.0.1");
    newer.bring(&machine);
    let body = newer.body(Origin::Upstream);
    assert!(machine.probe(&body).contains("not in place"));
    machine.call(&body, "wdev_run").ok();
    assert_eq!(machine.probe(&body), "fact containerd=2.0.1\n");
    assert_eq!(
        machine.node.read("etc/containerd/config.toml"),
        "version = 3\n"
    );
    assert_ne!(machine.start("containerd"), start);
}

#[test]
fn whatever_is_damaged_of_containerd_is_noticed_and_mended() {
    let Some(bash) = bash() else { return };
    let machine = Machine::new(&bash, CONTAINERD);
    let artifacts = Artifacts::new("1.7.2");
    let body = artifacts.body(Origin::Upstream);
    artifacts.bring(&machine);
    machine.call(&body, "wdev_run").ok();
    for (damage, words) in [
        ("echo >>usr/local/bin/ctr", "containerd is not installed"),
        ("rm usr/local/sbin/runc", "runc is not installed"),
        ("chmod -x usr/local/sbin/runc", "runc is not installed"),
        ("rm opt/cni/bin/bridge", "the CNI plugins are not installed"),
        ("rm usr/local/bin/crictl", "crictl is not installed"),
        (
            "echo >>etc/containerd/config.toml '# mine'",
            "config.toml differs",
        ),
        (
            "rm etc/systemd/system/containerd.service",
            "containerd.service differs",
        ),
        ("rm etc/crictl.yaml", "crictl.yaml differs"),
        ("systemctl stop containerd", "containerd does not run"),
        ("systemctl disable containerd", "not started at boot"),
        ("rmdir etc/containerd/conf.d", "conf.d"),
    ] {
        machine.call("", damage).ok();
        let said = machine.probe(&body);
        assert!(
            said.starts_with("not in place: ") && said.contains(words),
            "{damage}: {said}"
        );
        artifacts.bring(&machine);
        machine.call(&body, "wdev_run").ok();
        assert_eq!(machine.probe(&body), "fact containerd=1.7.2\n", "{damage}");
    }
}

#[test]
fn a_broken_upload_is_told_and_nothing_is_installed() {
    let Some(bash) = bash() else { return };
    let machine = Machine::new(&bash, CONTAINERD);
    let artifacts = Artifacts::new("1.7.2");
    artifacts.bring(&machine);
    machine.bring("containerd", b"<html>");
    let said = machine
        .call(&artifacts.body(Origin::Upstream), "wdev_run")
        .failed();
    assert!(
        said.contains("is not the containerd that was asked for"),
        "{said}"
    );
    assert!(!machine.node.path("usr/local").exists());
}

#[test]
fn containerd_killed_half_way_is_installed_by_the_next_run() {
    let Some(bash) = bash() else { return };
    let artifacts = Artifacts::new("1.7.2");
    let body = artifacts.body(Origin::Upstream);
    killed_and_resumed(
        &body,
        31,
        || {
            let machine = Machine::new(&bash, CONTAINERD);
            // An earlier version is there, with a file that the new one has not.
            let older = Artifacts::new("1.6.1");
            older.bring(&machine);
            machine.call(&older.body(Origin::Upstream), "wdev_run").ok();
            machine
        },
        |machine| artifacts.bring(machine),
    );
}

/// Kills the script before every so many commands and has the next run finish the work.
fn killed_and_resumed(
    body: &str,
    every: u32,
    make: impl Fn() -> Machine,
    bring: impl Fn(&Machine),
) {
    let finished = make();
    bring(&finished);
    finished.call(body, "wdev_run").ok();
    let texts = |machine: &Machine| -> BTreeMap<PathBuf, (String, u32)> {
        let home = machine.node.path("").display().to_string();
        assert!(!home.is_empty());
        let files = machine.files().into_iter();
        files
            // The folder's own name is in these.
            .filter(|(path, _)| !path.ends_with("kubelet") && !path.starts_with("state"))
            .filter(|(path, _)| path.extension().is_none_or(|ending| ending != "service"))
            .map(|(path, (text, mode, _, _))| (path, (text, mode)))
            .collect()
    };
    let wanted = texts(&finished);
    let mut number = 3;
    let mut kills = 0;
    loop {
        let machine = make();
        bring(&machine);
        if !machine.killed(body, number) {
            break;
        }
        kills += 1;
        bring(&machine);
        machine.call(body, "wdev_run").ok();
        let said = machine.probe(body);
        assert!(!said.contains("not in place"), "killed at {number}: {said}");
        assert_eq!(texts(&machine), wanted, "killed at {number}");
        number += every;
    }
    assert!(kills > 3, "only {kills} kills");
}

#[test]
fn the_distributions_containerd_takes_the_place_of_ours_and_is_left_again() {
    let Some(bash) = bash() else { return };
    let machine = Machine::new(&bash, CONTAINERD);
    let artifacts = Artifacts::new("2.0.1");
    let (ours, theirs) = (
        artifacts.body(Origin::Upstream),
        artifacts.body(Origin::Distribution),
    );
    artifacts.bring(&machine);
    machine.call(&ours, "wdev_run").ok();
    assert!(
        machine
            .probe(&theirs)
            .contains("not in place: the distribution's")
    );
    let said = machine.call(&theirs, "wdev_run").failed();
    assert!(
        said.contains("apt could not get 'containerd' and 'runc'"),
        "{said}"
    );
    // What the packages bring; apt is not asked where they are there.
    machine.node.script(
        "packages/usr/bin/containerd",
        "[[ $1 != --version ]] || exec echo 'containerd github.com/containerd/containerd 1.6.20~ds1 1.6'; exec sleep 1000",
    );
    machine.node.script("packages/usr/sbin/runc", "true");
    let unit = format!(
        "[Service]\nExecStart={}\n[Install]\nWantedBy=multi-user.target\n",
        machine.node.path("usr/bin/containerd").display()
    );
    machine.write("packages/usr/lib/systemd/system/containerd.service", &unit);
    machine
        .node
        .program("apt-get", "echo \"$@\" >>apt; cp -r packages/usr .");
    machine.call(&theirs, "wdev_run").ok();
    let asked = machine.node.read("apt");
    assert!(
        asked.contains("install --no-install-recommends containerd runc"),
        "{asked}"
    );
    assert_eq!(machine.probe(&theirs), "fact containerd=1.6.20~ds1\n");
    assert_eq!(
        machine.node.read("etc/containerd/config.toml"),
        "version = 2\n"
    );
    for gone in [
        "usr/local/bin/containerd",
        "usr/local/bin/ctr",
        "usr/local/sbin/runc",
        "etc/systemd/system/containerd.service",
    ] {
        assert!(!machine.node.path(gone).exists(), "{gone}");
    }
    let (files, start) = (machine.files(), machine.start("containerd"));
    machine.call(&theirs, "wdev_run").ok();
    assert_eq!(
        (machine.files(), machine.start("containerd")),
        (files, start)
    );

    artifacts.bring(&machine);
    assert!(machine.probe(&ours).contains("not in place"));
    machine.call(&ours, "wdev_run").ok();
    assert_eq!(machine.probe(&ours), "fact containerd=2.0.1\n");
}

/// The programs of Kubernetes as scripts that say which version they are.
fn programs(version: &str) -> Vec<(&'static str, Vec<u8>)> {
    let script = |says: &str| {
        format!("#!/bin/bash\n[[ $# -gt 0 ]] || exec sleep 1000\n{says}\n").into_bytes()
    };
    vec![
        ("kubelet", script(&format!("echo Kubernetes {version}"))),
        ("kubeadm", script(&format!("echo {version}"))),
        (
            "kubectl",
            script(&format!(
                "printf '{{\\n  \"clientVersion\": {{\\n    \"gitVersion\": \"{version}\",\\n'"
            )),
        ),
    ]
}

/// A kubelet whose unit is that of nodes, with its own way to the program.
fn kubernetes(version: &str, minor: u32, files: &[(&'static str, Vec<u8>)]) -> String {
    let body = linux::kubernetes(&Programs {
        version,
        minor,
        names: &["kubelet", "kubeadm", "kubectl"],
        unit: "[Service]\nExecStart=/usr/local/bin/kubelet\n[Install]\nWantedBy=multi-user.target\n",
        drop_in: "[Service]\nEnvironment=A=1\n",
    })
    .unwrap();
    // Whatever the machine of the test has or lacks, the node has all of them.
    let has = "wdev_has() { [[ ! -e lacks/$1 ]]; }";
    given(format!("{body}\n{has}"), files)
}

#[test]
fn the_programs_of_kubernetes_are_installed_in_their_exact_version() {
    let Some(bash) = bash() else { return };
    let machine = Machine::new(&bash, &["kubelet"]);
    let version = "v1.38.0-alpha.1.12+0123456789abcd";
    let files = programs(version);
    let body = kubernetes(version, 38, &files);
    let bring = |files: &[(&str, Vec<u8>)]| {
        for (name, bytes) in files {
            machine.bring(name, bytes);
        }
    };
    bring(&files);
    assert!(
        machine
            .probe(&body)
            .contains("not in place: kubelet is not")
    );
    machine.call(&body, "wdev_run").ok();
    assert_eq!(machine.probe(&body), "");
    let state = machine.call(
        "",
        "systemctl is-active kubelet || true; systemctl is-enabled kubelet",
    );
    assert_eq!(
        state.ok(),
        "inactive\nenabled\n",
        "without a configuration it is not started"
    );
    let before = machine.files();
    bring(&files);
    machine.call(&body, "wdev_run").ok();
    assert_eq!(machine.files(), before);

    for (damage, words) in [
        ("echo >>usr/local/bin/kubeadm", "kubeadm is not"),
        ("chmod 644 usr/local/bin/kubelet", "kubelet is not"),
        (
            "rm etc/systemd/system/kubelet.service",
            "kubelet.service differs",
        ),
        (
            "echo '# mine' >>etc/systemd/system/kubelet.service.d/10-kubeadm.conf",
            "10-kubeadm.conf differs",
        ),
        ("systemctl disable kubelet", "not started at boot"),
        ("rm state/services/kubelet", "was not started since"),
    ] {
        machine.call("", damage).ok();
        let said = machine.probe(&body);
        assert!(said.contains(words), "{damage}: {said}");
        bring(&files);
        machine.call(&body, "wdev_run").ok();
        assert_eq!(machine.probe(&body), "", "{damage}");
    }

    // A node that kubeadm has set up: the kubelet is started again with what is new, and only then.
    machine.write("var/lib/kubelet/config.yaml", "");
    machine
        .call(&body, "wdev_run; systemctl start kubelet")
        .ok();
    let start = machine.start("kubelet");
    machine.call(&body, "wdev_run").ok();
    assert_eq!(machine.start("kubelet"), start);
    let newer = programs("v1.38.0");
    bring(&newer);
    machine
        .call(&kubernetes("v1.38.0", 38, &newer), "wdev_run")
        .ok();
    assert_ne!(machine.start("kubelet"), start);
}

#[test]
fn a_program_of_another_version_is_told() {
    let Some(bash) = bash() else { return };
    let machine = Machine::new(&bash, &["kubelet"]);
    let files = programs("v1.36.3");
    for (name, bytes) in &files {
        machine.bring(name, bytes);
    }
    let said = machine
        .call(&kubernetes("v1.36.4", 36, &files), "wdev_run")
        .failed();
    assert!(
        said.contains("kubelet should be v1.36.4, but says: v1.36.3"),
        "{said}"
    );
}

#[test]
fn programs_that_kubernetes_calls_are_installed_or_named() {
    let Some(bash) = bash() else { return };
    let machine = Machine::new(&bash, &["kubelet"]);
    let files = programs("v1.20.2");
    let body = kubernetes("v1.20.2", 20, &files);
    let bring = || {
        for (name, bytes) in &files {
            machine.bring(name, bytes);
        }
    };
    bring();
    machine.write("lacks/conntrack", "");
    machine.write("lacks/ip", "");
    machine.write("lacks/socat", "");
    assert!(
        machine
            .probe(&body)
            .contains("Kubernetes needs conntrack ip")
    );
    let said = machine.call(&body, "wdev_run").failed();
    assert!(said.contains("not on this node: conntrack ip\n"), "{said}");
    assert!(
        said.contains("'apt-get install conntrack iproute2'"),
        "{said}"
    );
    let asked = machine.node.read("apt");
    assert!(
        asked.contains("install --no-install-recommends conntrack iproute2 socat"),
        "{asked}"
    );
    assert!(
        asked.lines().any(|line| line.ends_with(" update")),
        "{asked}"
    );
    machine
        .node
        .program("apt-get", "rm lacks/ip lacks/conntrack; exit 1");
    let told = machine.call(&body, "wdev_run").ok();
    assert!(
        told.contains("will warn of missing programs: socat"),
        "{told}"
    );
    assert_eq!(machine.probe(&body), "");
    // From 1.32 on kube-proxy needs no conntrack.
    machine.write("lacks/conntrack", "");
    let newer = kubernetes("v1.36.3", 36, &programs("v1.36.3"));
    assert!(!machine.probe(&newer).contains("conntrack"));
}

#[test]
fn kubernetes_killed_half_way_is_installed_by_the_next_run() {
    let Some(bash) = bash() else { return };
    let files = programs("v1.36.3");
    killed_and_resumed(
        &kubernetes("v1.36.3", 36, &files),
        17,
        || Machine::new(&bash, &["kubelet"]),
        |machine| {
            for (name, bytes) in &files {
                machine.bring(name, bytes);
            }
        },
    );
}

#[test]
fn shellcheck_finds_nothing_in_any_form() {
    let Some(shellcheck) = need("shellcheck") else {
        return;
    };
    let artifacts = Artifacts::new("1.7.2");
    let program_names: [&[&str]; 2] = [&["kubelet", "kubeadm"], &["kubelet", "kubeadm", "kubectl"]];
    let mut bodies = vec![
        artifacts.plain(Origin::Upstream),
        artifacts.plain(Origin::Distribution),
        linux::fetch(&["containerd", "cni-plugins"]).unwrap(),
        linux::dns(&[]).unwrap(),
        linux::dns(&["10.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap()]).unwrap(),
    ];
    for names in program_names {
        for minor in [20, 36] {
            let programs = Programs {
                version: "v1.36.3",
                minor,
                names,
                unit: "[Unit]\n",
                drop_in: "",
            };
            bodies.push(linux::kubernetes(&programs).unwrap());
        }
    }
    for (http, https) in [(false, false), (true, false), (false, true), (true, true)] {
        bodies.push(proxy(
            http.then_some("http://a:b@c"),
            https.then_some("http://c"),
        ));
    }
    for body in bodies {
        common::run(
            Command::new(&shellcheck).args(["--shell=bash", "-"]),
            body.as_bytes(),
        );
    }
}

/// The proxy's script with its URLs given.
fn proxy(http: Option<&str>, https: Option<&str>) -> String {
    let wanted = wdev::config::model::Proxy {
        http: http.map(str::to_owned),
        https: https.map(str::to_owned),
        no_proxy: vec![],
    };
    linux::proxy(&wanted, &["10.0.0.0/8".to_owned(), ".svc".to_owned()]).unwrap()
}
