//! The steps that make a machine ready for kubeadm, in a docker machine with Debian: the real containerd,
//! runc and kubelet, services under the stand-in for systemctl.
//!
//! Run by `make test-real`.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;
mod real;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::wrapped;
use real::{docker, wanted};
use sha2::{Digest as _, Sha256};
use wdev::channel::wrap::{End, Layout, wrap_linux_in};
use wdev::channel::{Mode, Os, Report, Script, Secret};
use wdev::config::model::Proxy;
use wdev::render::kubernetes::{DROP_IN, UNIT};
use wdev::render::linux::{self, ContainerRuntime, HostEntry, KernelSettings, Origin, Programs};

const VERSION: &str = "v1.20.2";
const PASSWORD: &str = "pass-word-of-the-proxy";
/// Where the steps keep and change things; the wrapper's own stamps are no part of it.
const FOLDERS: &str =
    "/etc /usr/local /opt /var/lib/wdev/installed /var/lib/wdev/services /var/cache/wdev";
/// containerd's configuration as a container needs it: no cgroups of systemd's, and no score of the
/// out-of-memory killer below the own one.
const CONFIGURATION: &str = "version = 2\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n\
     [plugins.\"io.containerd.grpc.v1.cri\"]\nrestrict_oom_score_adj = true\n";

/// A docker machine that is removed with this value.
struct Machine {
    name: String,
    /// The artifacts by their names: their files on this host.
    artifacts: BTreeMap<&'static str, PathBuf>,
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = docker(&["rm", "--force", "--volumes", &self.name]);
    }
}

impl Machine {
    fn start(image: &str, folder: &Path, name: &str) -> Self {
        let name = format!("wdev-test-node-{name}-{}", std::process::id());
        docker(&[
            "run",
            "--detach",
            "--name",
            &name,
            "--cap-add=NET_ADMIN",
            "--cap-add=SYS_ADMIN",
            "--security-opt=seccomp=unconfined",
            "--security-opt=apparmor=unconfined",
            "--security-opt=systempaths=unconfined",
            "--volume=/var/lib/containerd",
            image,
        ])
        .unwrap();
        let sites = folder.join("sites");
        let binaries = sites.join(format!("dl.k8s.io/release/{VERSION}/bin/linux/amd64"));
        let github = sites.join("github.com");
        let artifacts = [
            (
                "containerd",
                find(&github, "linux-amd64.tar.gz", "containerd-"),
            ),
            ("runc", find(&github, "runc.amd64", "")),
            ("crictl", find(&github, "linux-amd64.tar.gz", "crictl-")),
            ("cni-plugins", find(&github, ".tgz", "cni-plugins-")),
            ("kubelet", binaries.join("kubelet")),
            ("kubeadm", binaries.join("kubeadm")),
            ("kubectl", binaries.join("kubectl")),
        ];
        Self {
            name,
            artifacts: artifacts.into(),
        }
    }

    fn exec(&self, bash: &str) -> String {
        docker(&["exec", &self.name, "bash", "-c", bash]).unwrap()
    }

    /// Puts the artifacts that are not there where the host puts them.
    fn bring(&self, names: &[&str]) {
        self.exec("mkdir -p /var/cache/wdev");
        for name in names {
            let file = format!("/var/cache/wdev/{name}");
            if self.exec(&format!("ls {file} 2>/dev/null || true")) == file {
                continue;
            }
            let from = self.artifacts[name].display().to_string();
            docker(&[
                "cp",
                &from,
                &format!("{}:/var/cache/wdev/{name}", self.name),
            ])
            .unwrap();
        }
    }

    /// Runs a script in its wrapper, as the channel does.
    fn run(&self, step: &StepScript, mode: Mode, nonce: &str) -> (Option<(End, Report)>, Output) {
        let mut script = Script {
            name: step.name.to_owned(),
            ..wrapped::script(Os::Linux, mode, &step.text)
        };
        for name in step.artifacts {
            let hash = hash(&fs::read(&self.artifacts[name]).unwrap());
            let given = format!("sha256_{}", name.replace('-', "_"));
            script.secrets.insert(given, Secret::new(hash));
        }
        if step.name == "proxy" {
            for name in ["proxy_http", "proxy_https"] {
                let url = format!("http://me:{PASSWORD}@10.9.9.9:3128");
                script.secrets.insert(name.to_owned(), Secret::new(url));
            }
        }
        let text = wrap_linux_in(&script, nonce, &Layout::default()).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        let from = file.path().display().to_string();
        docker(&["cp", &from, &format!("{}:/root/script", self.name)]).unwrap();
        let output = Command::new("docker")
            .args(["exec", &self.name, "bash", "/root/script"])
            .output()
            .unwrap();
        let (end, _) = wrapped::read(&output, nonce, mode);
        (end, output)
    }

    /// Runs a step to its end; it must have proven itself.
    fn done(&self, step: &StepScript, nonce: &str) {
        let (end, output) = self.run(step, Mode::Run, nonce);
        let Some((End::Done, report)) = end else {
            panic!("{}: {}", step.name, String::from_utf8_lossy(&output.stdout));
        };
        assert!(report.in_place, "{} ran, but is not in place", step.name);
        assert!(!String::from_utf8_lossy(&output.stdout).contains(PASSWORD));
    }

    /// Why a step is not in place; nothing when it is.
    fn missing(&self, step: &StepScript, nonce: &str) -> Option<String> {
        let (end, output) = self.run(step, Mode::Probe, nonce);
        let Some((End::Done, report)) = end else {
            panic!("{}: {}", step.name, String::from_utf8_lossy(&output.stdout));
        };
        report.why
    }

    /// Every file that steps change: with inode, mode, owner and time, and what tells two starts apart.
    fn state(&self) -> String {
        self.exec(&format!(
            "find {FOLDERS} ! -type d -printf '%p %i %m %U %l %T@\\n' 2>/dev/null | sort; \
             systemctl show -p InvocationID containerd kubelet; \
             sha256sum /etc/resolv.conf /etc/hosts"
        ))
    }

    /// The same files' texts and modes alone, which are those of any other machine.
    fn texts(&self) -> String {
        self.exec(&format!(
            "find {FOLDERS} -type f ! -path '/etc/ssh/*' ! -path '/etc/host*' ! -path /etc/machine-id \
             ! -path /etc/resolv.conf -printf '%m ' -exec sha256sum {{}} ';' 2>/dev/null | sort -k 3"
        ))
    }
}

fn find(folder: &Path, end: &str, begin: &str) -> PathBuf {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.starts_with(begin) && name.ends_with(end) {
                return path;
            }
        }
    }
    panic!("no {begin}…{end}");
}

fn hash(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        write!(text, "{byte:02x}").unwrap();
    }
    text
}

/// A step's script and what it installs.
struct StepScript {
    name: &'static str,
    text: String,
    artifacts: &'static [&'static str],
    /// What damages its result, and a word of what the probe says then.
    damage: &'static str,
}

fn steps() -> Vec<StepScript> {
    let step = |name, text: wdev::error::Result<String>, artifacts, damage| StepScript {
        name,
        text: text.unwrap(),
        artifacts,
        damage,
    };
    let entry = HostEntry {
        address: [10, 0, 0, 10].into(),
        names: vec!["cp".to_owned()],
    };
    let url = Some(format!("http://me:{PASSWORD}@10.9.9.9:3128"));
    let proxy = Proxy {
        http: url.clone(),
        https: url,
        no_proxy: vec![],
    };
    let runtime = ContainerRuntime {
        origin: Origin::Upstream,
        configurations: &[("0".to_owned(), CONFIGURATION.to_owned())],
        crictl_configuration: "runtime-endpoint: \"unix:///run/containerd/containerd.sock\"",
    };
    let programs = Programs {
        version: VERSION,
        minor: 20,
        names: &["kubelet", "kubeadm", "kubectl"],
        unit: UNIT,
        drop_in: DROP_IN,
    };
    let mut kernel = KernelSettings::kubernetes().unwrap();
    // The bridge's settings are those of the host.
    kernel
        .sysctls
        .retain(|name, _| name == "net.ipv4.ip_forward");
    kernel.modules.clear();
    vec![
        step("clock", linux::clock(2000), &[], ""),
        step("facts", linux::facts(), &[], ""),
        step(
            "hosts",
            linux::hosts(&[entry]),
            &[],
            "echo 127.0.0.1 x >/etc/hosts",
        ),
        step(
            "kernel",
            linux::kernel(&kernel),
            &[],
            "rm /etc/sysctl.d/99-wdev.conf",
        ),
        step(
            "swap",
            linux::swap(),
            &[],
            "echo '/x none swap sw 0 0' >>/etc/fstab",
        ),
        step(
            "dns",
            linux::dns(&["10.9.9.1".parse().unwrap()]),
            &[],
            "echo nameserver 10.9.9.2 >/etc/resolv.conf",
        ),
        step(
            "proxy",
            linux::proxy(&proxy, &["10.0.0.0/8".to_owned()]),
            &[],
            "chmod 644 /etc/wdev/proxy.env",
        ),
        step(
            "container-runtime",
            linux::container_runtime(&runtime),
            &["containerd", "runc", "crictl", "cni-plugins"],
            "kill -KILL $(systemctl show -p MainPID --value containerd); echo x >>/usr/local/sbin/runc",
        ),
        step(
            "kubernetes",
            linux::kubernetes(&programs),
            &["kubelet", "kubeadm", "kubectl"],
            "rm /usr/local/bin/kubeadm",
        ),
    ]
}

/// The image and the folder of `tests/real/prepare`.
fn material() -> Option<(String, PathBuf)> {
    let image = std::env::var("WDEV_TEST_KUBERNETES_IMAGE").ok();
    let folder = std::env::var_os("WDEV_TEST_KUBERNETES");
    let found = image.zip(folder.map(PathBuf::from));
    if found.is_none() {
        common::skip_without_material("a real Kubernetes; `tests/real/prepare` says why");
    }
    found
}

#[test]
fn every_step_runs_twice_mends_what_is_damaged_and_outlives_its_kills() {
    let Some((image, folder)) = wanted().then(material).flatten() else {
        return;
    };
    let machine = Machine::start(&image, &folder, "straight");
    for step in steps() {
        machine.bring(step.artifacts);
        // A container has no swap of its own to turn off.
        if !step.damage.is_empty() && step.name != "swap" {
            assert!(machine.missing(&step, "before").is_some(), "{}", step.name);
        }
        machine.done(&step, "first");
        let before = machine.state();
        machine.bring(step.artifacts);
        machine.done(&step, "second");
        assert_same(&before, &machine.state(), step.name);
    }
    for step in steps().iter().filter(|step| !step.damage.is_empty()) {
        assert_eq!(machine.missing(step, "whole"), None, "{}", step.name);
        machine.exec(step.damage);
        assert!(machine.missing(step, "damaged").is_some(), "{}", step.name);
        machine.bring(step.artifacts);
        machine.done(step, "mended");
    }
    let wanted = machine.texts();

    let killed = Machine::start(&image, &folder, "killed");
    let mut kills = 0;
    for step in steps() {
        let mut number = 20;
        loop {
            let trap = format!(
                "killed_at={number}\nstep_down() {{ ((killed_at-- > 0)) || kill -KILL $$ $BASHPID; }}\n\
                 set -o functrace\ntrap step_down DEBUG\n"
            );
            let text = format!("{}\n{trap}", step.text);
            killed.bring(step.artifacts);
            let (end, _) = killed.run(&StepScript { text, ..step }, Mode::Run, "killed");
            if end.is_some() {
                break;
            }
            kills += 1;
            number += 30;
        }
        killed.bring(step.artifacts);
        killed.done(&step, "last");
    }
    assert!(kills > 8, "only {kills} kills");
    assert_same(&wanted, &killed.texts(), "what was killed");
}

/// Fails with the lines that differ alone.
fn assert_same(wanted: &str, found: &str, what: &str) {
    // The file systems' table is only damaged on one of the machines.
    let other = |all: &str, of: &str| -> Vec<String> {
        let lines = of.lines().filter(|line| !line.ends_with("/etc/fstab"));
        let known: Vec<&str> = all.lines().collect();
        let lines = lines.filter(|line| !known.contains(line));
        lines.map(str::to_owned).collect()
    };
    let (gone, new) = (other(found, wanted), other(wanted, found));
    assert!(
        gone.is_empty() && new.is_empty(),
        "{what}\nwas: {gone:#?}\nis: {new:#?}"
    );
}
