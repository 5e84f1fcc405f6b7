//! The real kubeadm, kubelet and kube-proxy of 1.20.2 read what is rendered for them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::{Value, json};
use wdev::config::model::Config;
use wdev::release::{Origin, Release};
use wdev::render::kubernetes::{Cluster, DISCOVERY_FILE, DROP_IN, UNIT};

use crate::common::{nasty_texts, need, run, shared, skip};
use crate::hostile::hostile;
use crate::scene::{EVERYTHING, PLAIN, arguments, config, document, documents, joining, release};

const ARCHIVE: &str = "testbed/kubernetes/kubernetes-1.20.2-linux-amd64.tar.xz";

/// The folder of the programs, unpacked once for all runs of these tests.
fn programs() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let unpack = || {
        let (tar, archive) = (need("tar")?, shared(ARCHIVE)?);
        need("xz")?;
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kubernetes-1.20.2");
        if !folder.is_dir() {
            let parent = folder.parent()?;
            let new = tempfile::tempdir_in(parent).unwrap();
            let mut command = Command::new(tar);
            command.arg("-C").arg(new.path()).arg("-xJf").arg(archive);
            run(command.args(["kubeadm", "kubelet", "kube-proxy"]), b"");
            // Another run may have been quicker.
            if fs::rename(new.path(), &folder).is_ok() {
                let _ = new.keep();
            }
        }
        Some(folder)
    };
    FOLDER.get_or_init(unpack).as_deref()
}

/// A file system of its own for kubeadm, with configurations in it; kubeadm changes into it with chroot.
struct Machine {
    root: tempfile::TempDir,
    kubeadm: PathBuf,
}

impl Machine {
    fn new() -> Option<Self> {
        let folder = programs()?;
        if !is_root() {
            skip("root, for kubeadm's `--rootfs`");
            return None;
        }
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("tmp")).unwrap();
        Some(Self {
            root,
            kubeadm: folder.join("kubeadm"),
        })
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        let path = self.root.path().join(path.trim_start_matches('/'));
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Runs kubeadm with a configuration, and returns what it says on stdout; on stderr it must not
    /// complain about the configuration.
    #[track_caller]
    fn kubeadm(&self, arguments: &str, text: &str) -> String {
        self.write("/config.yaml", text);
        let output = Command::new("timeout")
            .arg("60")
            .arg(&self.kubeadm)
            .args(arguments.split(' '))
            .arg("--rootfs")
            .arg(self.root.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments}: {said}");
        for complaint in ["strict", "unknown field", "deprecated", "WARNING"] {
            assert!(!said.contains(complaint), "{arguments}: {said}");
        }
        String::from_utf8(output.stdout).unwrap()
    }
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout == b"0\n")
}

fn of_release() -> Release {
    release("v1.20.2", Origin::Release)
}

fn init(config: &Config, release: &Release) -> String {
    Cluster::new(config, release).unwrap().init().unwrap()
}

#[test]
fn kubeadm_asks_for_the_images_that_we_expect() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let config = config(PLAIN);
    for release in [
        of_release(),
        release("v1.20.3-rc.0.12+0123456789abcd", Origin::Ci),
        release("v1.20.3-rc.0.12+0123456789abcd", Origin::Source),
    ] {
        let cluster = Cluster::new(&config, &release).unwrap();
        let listed = machine.kubeadm(
            "config images list --config /config.yaml",
            &cluster.init().unwrap(),
        );
        let mut listed: Vec<&str> = listed.lines().collect();
        let mut expected = cluster.images().all();
        listed.sort_unstable();
        expected.sort_unstable();
        assert_eq!(listed, expected);
    }
}

#[test]
fn kubeadm_makes_a_control_plane_of_everything_that_is_set() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let config = config(EVERYTHING);
    let text = init(&config, &of_release());
    for phase in [
        "certs all",
        "kubeconfig all",
        "control-plane all",
        "etcd local",
        "kubelet-start",
    ] {
        machine.kubeadm(&format!("init phase {phase} --config /config.yaml"), &text);
    }
    let manifest = |name: &str| -> Value {
        let text = machine.read(&format!("/etc/kubernetes/manifests/{name}.yaml"));
        serde_saphyr::from_str(&text).unwrap()
    };
    let command = |name: &str| manifest(name)["spec"]["containers"][0]["command"].clone();
    let given = |name: &str, wanted: &[&str]| {
        let command = command(name);
        let command = command.as_array().unwrap();
        for argument in wanted {
            assert!(
                command.contains(&Value::from(*argument)),
                "{name}: {argument}: {command:?}"
            );
        }
    };
    given(
        "kube-apiserver",
        &[
            "--advertise-address=192.168.56.10",
            "--service-cluster-ip-range=10.100.0.0/16",
            "--audit-policy-file=/etc/wdev/audit-policy.yaml",
            "--feature-gates=GracefulNodeShutdown=true,SizeMemoryBackedVolumes=false,APIListChunking=true",
            "--profiling=false",
            "--v=4",
        ],
    );
    given(
        "kube-controller-manager",
        &[
            "--cluster-cidr=10.200.0.0/16",
            "--node-monitor-period=2s",
            "--v=3",
        ],
    );
    given("kube-scheduler", &["--profiling=false", "--v=2"]);
    let container = manifest("kube-apiserver")["spec"]["containers"][0].clone();
    assert_eq!(container["imagePullPolicy"], "IfNotPresent");
    let mounts = container["volumeMounts"].as_array().unwrap();
    let policy = mounts
        .iter()
        .find(|mount| mount["name"] == "wdev-audit-policy")
        .unwrap();
    assert_eq!(policy["readOnly"], true);
    assert!(
        machine
            .read("/etc/kubernetes/admin.conf")
            .contains("https://192.168.56.10:6443")
    );
    assert_eq!(
        machine.read("/var/lib/kubelet/kubeadm-flags.env"),
        "KUBELET_KUBEADM_ARGS=\"--container-runtime=remote \
         --container-runtime-endpoint=unix:///run/containerd/containerd.sock --enforce-node-allocatable= \
         --hostname-override=cp --max-pods=50 --node-ip=192.168.56.10 --v=5\"\n"
    );
    let kubelet: Value =
        serde_saphyr::from_str(&machine.read("/var/lib/kubelet/config.yaml")).unwrap();
    assert_eq!(kubelet["cgroupDriver"], "systemd");
    assert_eq!(kubelet["clusterDNS"], json!(["10.100.0.10"]));
    assert_eq!(kubelet["featureGates"]["SizeMemoryBackedVolumes"], false);

    let Some(openssl) = need("openssl") else {
        return;
    };
    let certificate = machine.root.path().join("etc/kubernetes/pki/apiserver.crt");
    let mut show = Command::new(openssl);
    show.args(["x509", "-noout", "-ext", "subjectAltName", "-in"])
        .arg(certificate);
    let names = String::from_utf8(run(&mut show, b"")).unwrap();
    for name in [
        "DNS:cp,",
        "DNS:localhost,",
        "DNS:api.example,",
        "Address:192.168.56.10",
        "Address:10.9.9.9",
        "Address:127.0.0.1",
    ] {
        assert!(format!("{names},").contains(name), "{name}: {names}");
    }
}

#[test]
fn kubeadm_reads_a_join_and_finds_the_cluster_in_its_file() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let config = config(EVERYTHING);
    let release = of_release();
    machine.write(DISCOVERY_FILE, "");
    let text = joining(&Cluster::new(&config, &release).unwrap());
    let read = machine.kubeadm("config migrate --old-config /config.yaml", &text);
    let (read, ours) = (
        document(&read, "JoinConfiguration"),
        document(&text, "JoinConfiguration"),
    );
    assert_eq!(read["discovery"]["file"], ours["discovery"]["file"]);
    assert_eq!(read["discovery"]["timeout"], "6m0s");
    let node = ours["nodeRegistration"].as_object().unwrap();
    for (field, value) in node.iter().filter(|(field, _)| *field != "taints") {
        assert_eq!(&read["nodeRegistration"][field], value, "{field}");
    }
    assert_eq!(
        read["nodeRegistration"]["taints"][0]["effect"],
        "NoSchedule"
    );
}

#[test]
fn kubeadm_gives_every_text_back() {
    let Some(machine) = Machine::new() else {
        return;
    };
    // kubeadm writes what it has read as YAML again to look at it more strictly, and its own library
    // cannot read these characters back from what it wrote.
    let lost = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}');
    let texts: Vec<String> = nasty_texts()
        .into_iter()
        .filter(|text| !text.contains(lost))
        .collect();
    assert!(texts.len() > 500, "too few are left");
    let mut config = hostile(&texts);
    // What it validates.
    config.control_plane.name = "cp".to_owned();
    config.control_plane.taints = None;
    config.kubernetes.cert_names.clear();
    config.kubernetes.ignore_preflight_errors.clear();
    config.kubernetes.extra_args.remove("kube_proxy");
    let text = init(&config, &of_release());
    let read = machine.kubeadm("config migrate --old-config /config.yaml", &text);
    let (read, ours) = (
        document(&read, "ClusterConfiguration"),
        document(&text, "ClusterConfiguration"),
    );
    for component in ["apiServer", "controllerManager", "scheduler"] {
        let (read, ours) = (
            arguments(&read[component]["extraArgs"]),
            arguments(&ours[component]["extraArgs"]),
        );
        assert_eq!(read, ours);
    }
}

/// Runs a program with one document of a configuration in a file, and returns what it says.
fn with_document(
    program: &str,
    text: &str,
    kind: &str,
    more: &str,
    arguments: &[&str],
) -> Option<Output> {
    let folder = tempfile::tempdir().unwrap();
    let body = text
        .split("\n---\n")
        .find(|part| part.contains(&format!("kind: {kind}")));
    fs::write(
        folder.path().join("config.yaml"),
        format!("{}\n{more}", body.unwrap()),
    )
    .unwrap();
    let output = Command::new("timeout")
        .arg("60")
        .arg(programs()?.join(program))
        .args(["--config", "config.yaml"])
        .args(arguments)
        .current_dir(folder.path())
        .output();
    Some(output.unwrap())
}

#[test]
fn the_kubelet_reads_its_configuration_strictly() {
    let config = config(EVERYTHING);
    let text = init(&config, &of_release());
    let said = |more: &str| {
        // It reads its configuration, then ends for want of a cluster.
        let arguments = [
            "--kubeconfig=nothing",
            "--bootstrap-kubeconfig=nothing-either",
            "--root-dir=root",
            "--cert-dir=certificates",
            "--container-runtime=remote",
            "--container-runtime-endpoint=unix:///nothing",
        ];
        let output = with_document("kubelet", &text, "KubeletConfiguration", more, &arguments)?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            said.contains("unable to load bootstrap kubeconfig"),
            "{said}"
        );
        Some(said)
    };
    let Some(ours) = said("") else { return };
    assert!(!ours.contains("strict"), "{ours}");
    let wrong = said("nothing: 1\n").unwrap();
    assert!(wrong.contains("strict decoding failed"), "{wrong}");
}

#[test]
fn kube_proxy_reads_its_configuration() {
    let config = config(EVERYTHING);
    let text = init(&config, &of_release());
    let folder = tempfile::tempdir().unwrap();
    let written = folder.path().join("written.yaml");
    let write = format!("--write-config-to={}", written.display());
    let Some(output) = with_document("kube-proxy", &text, "KubeProxyConfiguration", "", &[&write])
    else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && !said.contains("strict"),
        "{said}"
    );
    let read = documents(&fs::read_to_string(written).unwrap()).remove(0);
    let ours = document(&text, "KubeProxyConfiguration");
    for field in ["mode", "clusterCIDR", "nodePortAddresses", "featureGates"] {
        assert_eq!(read[field], ours[field], "{field}");
    }
    assert_eq!(read["conntrack"]["maxPerCore"], 0);
    assert_eq!(read["ipvs"]["strictARP"], true);
}

#[test]
fn systemd_understands_the_kubelets_service() {
    let Some(analyze) = need("systemd-analyze") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let drop_ins = folder.path().join("kubelet.service.d");
    fs::create_dir(&drop_ins).unwrap();
    // It wants the program to be there.
    let here = |text: &str| text.replace("/usr/local/bin/kubelet", "/bin/true");
    fs::write(folder.path().join("kubelet.service"), here(UNIT)).unwrap();
    fs::write(drop_ins.join("10-kubeadm.conf"), here(DROP_IN)).unwrap();
    let output = Command::new(analyze)
        .args(["verify", "--man=no"])
        .arg(folder.path().join("kubelet.service"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("kubelet"))
        .collect();
    assert_eq!(complaints, Vec::<&str>::new());
}
