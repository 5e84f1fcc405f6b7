//! A node in a folder with services that really run, and artifacts that are made of scripts.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest as _, Sha256};
use wdev::render::linux::{self, ContainerRuntime, Origin};

use crate::common::scripted::{Node, Ran};
use crate::common::{self, need};

/// Where a call is killed: before its command of this number.
const KILLED_AT: &str = r"
killed_at=KILLED_AT
step_down() { ((killed_at-- > 0)) || kill -KILL $$ $BASHPID; }
set -o functrace
trap step_down DEBUG
";

/// The programs that these scripts need; nothing when one is missing, which has been said then.
pub fn bash() -> Option<PathBuf> {
    if !cfg!(target_os = "linux") {
        common::allowed_skip("Linux, for the stand-in for systemctl");
        return None;
    }
    for tool in ["tar", "gzip", "sha256sum", "setsid", "flock"] {
        need(tool)?;
    }
    need("bash")
}

pub fn hash(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        write!(text, "{byte:02x}").unwrap();
    }
    text
}

/// A node with the stand-in for systemctl, whose services end with the test.
pub struct Machine {
    pub node: Node,
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
    pub fn new(bash: &Path, services: &'static [&'static str]) -> Self {
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

    pub fn call(&self, body: &str, call: &str) -> Ran {
        self.node.call(&self.bash, body, PATHS, call)
    }

    pub fn probe(&self, body: &str) -> String {
        self.call(body, "wdev_probe").ok()
    }

    /// Starts the script and kills it before its command `number`; whether it was still at work.
    pub fn killed(&self, body: &str, number: u32) -> bool {
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
    pub fn files(&self) -> BTreeMap<PathBuf, (String, u32, u64, i64)> {
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
    pub fn start(&self, service: &str) -> String {
        let asked = format!("systemctl show -p InvocationID --value {service}");
        self.call("", &asked).ok()
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.node.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Puts an artifact where the host puts it.
    pub fn bring(&self, name: &str, bytes: &[u8]) {
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
pub fn archive(files: &[(&str, &str)]) -> Vec<u8> {
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
pub struct Artifacts {
    pub files: Vec<(&'static str, Vec<u8>)>,
}

impl Artifacts {
    pub fn new(version: &str) -> Self {
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

    pub fn bring(&self, machine: &Machine) {
        for (name, bytes) in &self.files {
            machine.bring(name, bytes);
        }
    }

    /// The script with its hashes.
    pub fn body(&self, origin: Origin) -> String {
        given(&self.plain(origin), &self.files)
    }

    /// The script as it is rendered.
    #[expect(clippy::unused_self, reason = "a runtime's script belongs to it")]
    pub fn plain(&self, origin: Origin) -> String {
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
pub fn given(body: &str, artifacts: &[(&str, Vec<u8>)]) -> String {
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

/// Kills the script before every so many commands and has the next run finish the work.
pub fn killed_and_resumed(
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
