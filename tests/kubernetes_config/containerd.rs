//! The configuration of containerd, by its version.

use std::path::Path;
use std::process::Command;

use toml::{Table, Value};
use wdev::error::Kind;
use wdev::os::Os;
use wdev::release::Origin;
use wdev::release::containerd::{Cri, Version, is_recommended};
use wdev::render::kubernetes::{Cluster, crictl};

use crate::common::{need, run};
use crate::scene::{PLAIN, config, documents, minors, release};

fn version(text: &str) -> Version {
    Version::parse(text).unwrap()
}

fn rendered(provider: &str, minor: u32, containerd: &str, os: Os) -> String {
    let config = config(&format!("provider: {provider}\n{PLAIN}"));
    let release = release(&format!("v1.{minor}.0"), Origin::Release);
    let cluster = Cluster::new(&config, &release).unwrap();
    cluster.containerd(version(containerd), os).unwrap()
}

/// The value at a path of keys.
fn at<'a>(table: &'a Table, path: &[&str]) -> Option<&'a Value> {
    let (last, parents) = path.split_last()?;
    let mut table = table;
    for key in parents {
        table = table.get(*key)?.as_table()?;
    }
    table.get(*last)
}

/// Where a version of containerd looks for a setting.
struct Places {
    number: i64,
    sandbox: [&'static str; 4],
    runtime: &'static str,
    bin: &'static str,
}

const OLD: &str = "io.containerd.grpc.v1.cri";
const RUNTIME: &str = "io.containerd.cri.v1.runtime";
const IMAGES: &str = "io.containerd.cri.v1.images";

fn places(number: i64, bin: &'static str) -> Places {
    Places {
        number,
        sandbox: ["plugins", IMAGES, "pinned_images", "sandbox"],
        runtime: if number == 2 { OLD } else { RUNTIME },
        bin,
    }
}

#[test]
fn every_version_finds_its_settings_where_it_looks_for_them() {
    for (containerd, places) in [
        ("1.6.20", places(2, "bin_dir")),
        ("1.7.34", places(2, "bin_dir")),
        ("2.0.11", places(3, "bin_dir")),
        ("2.1.0", places(3, "bin_dirs")),
        ("2.2.7", places(3, "bin_dirs")),
        ("2.3.0", places(4, "bin_dirs")),
        ("2.3.4", places(4, "bin_dirs")),
        ("2.4.0", places(4, "bin_dirs")),
    ] {
        for minor in minors() {
            for os in [Os::Linux, Os::Windows] {
                let text = rendered("libvirt", minor, containerd, os);
                let table: Table = text.parse().unwrap();
                let pause = if minor == 20 {
                    "k8s.gcr.io/pause:3.2"
                } else {
                    "registry.k8s.io/pause:3."
                };
                let sandbox = match places.number {
                    2 => at(&table, &["plugins", OLD, "sandbox_image"]),
                    _ => at(&table, &places.sandbox),
                };
                assert!(
                    sandbox.unwrap().as_str().unwrap().starts_with(pause),
                    "{sandbox:?}"
                );
                assert_eq!(table["version"].as_integer(), Some(places.number));
                let (bin, conf, imports) = match os {
                    Os::Linux => (
                        "/opt/cni/bin",
                        "/etc/cni/net.d",
                        "/etc/containerd/conf.d/*.toml",
                    ),
                    Os::Windows => (
                        "c:/opt/cni/bin",
                        "c:/etc/cni/net.d",
                        "C:/Program Files/containerd/conf.d/*.toml",
                    ),
                };
                let cni = at(&table, &["plugins", places.runtime, "cni"]).unwrap();
                let bin = match places.bin {
                    "bin_dir" => Value::from(bin),
                    _ => Value::from(vec![bin]),
                };
                let expected = [
                    (places.bin.to_owned(), bin),
                    ("conf_dir".to_owned(), conf.into()),
                ];
                assert_eq!(cni, &Value::Table(expected.into_iter().collect()));
                assert_eq!(table["imports"], Value::from(vec![imports]));
                let options = [
                    "plugins",
                    places.runtime,
                    "containerd",
                    "runtimes",
                    "runc",
                    "options",
                    "SystemdCgroup",
                ];
                let systemd = (os == Os::Linux).then_some(Value::Boolean(true));
                assert_eq!(at(&table, &options).cloned(), systemd);
            }
        }
    }
    let docker: Table = rendered("docker", 36, "2.3.4", Os::Linux).parse().unwrap();
    let options = [
        "plugins",
        RUNTIME,
        "containerd",
        "runtimes",
        "runc",
        "options",
        "SystemdCgroup",
    ];
    assert_eq!(at(&docker, &options), Some(&Value::Boolean(false)));
}

#[test]
fn a_distribution_gets_a_variant_for_each_version_that_it_may_have() {
    let config = config(PLAIN);
    let release = release("v1.36.0", Origin::Release);
    let cluster = Cluster::new(&config, &release).unwrap();
    let variants = cluster.containerd_variants(Os::Linux).unwrap();
    for has in ["1.6.20", "1.7.24", "2.0.5", "2.1.4", "2.2.1", "2.3.4"] {
        let chosen = variants
            .iter()
            .rfind(|variant| variant.from <= version(has))
            .unwrap();
        assert_eq!(
            chosen.text,
            cluster.containerd(version(has), Os::Linux).unwrap(),
            "{has}"
        );
    }
    let failure = cluster.containerd(version("1.2.0"), Os::Linux).unwrap_err();
    assert_eq!(failure.kind, Kind::Configuration);
}

#[test]
fn versions_and_what_they_are_good_for() {
    let read = |text: &str| Version::parse(text).map(|v| (v.major, v.minor, v.patch));
    assert_eq!(read("v2.3.4"), Some((2, 3, 4)));
    assert_eq!(read("1.6.20~ds1"), Some((1, 6, 20)));
    assert_eq!(read("2.4.0-beta.0"), Some((2, 4, 0)));
    assert_eq!(read("2.2"), Some((2, 2, 0)));
    for text in ["", "2", "two.1", "distribution", "2.x"] {
        assert_eq!(read(text), None, "{text}");
    }
    for (containerd, kubernetes, good) in [
        ("2.3.4", 36, Some(true)),
        ("2.4.0", 36, Some(true)),
        ("2.1.5", 36, Some(false)),
        ("1.7.27", 35, Some(false)),
        ("1.7.28", 35, Some(true)),
        ("2.3.4", 38, Some(true)),
        ("1.6.20", 20, Some(true)),
        ("1.6.20", 19, None),
    ] {
        assert_eq!(
            is_recommended(version(containerd), kubernetes),
            good,
            "{containerd} {kubernetes}"
        );
    }
    for (containerd, kubernetes, understood) in [
        ("1.6.20", 20, true),
        ("2.0.0", 20, false),
        ("2.0.0", 23, true),
        ("1.5.9", 26, false),
        ("1.6.0", 36, true),
        ("2.3.4", 36, true),
    ] {
        let cri = Cri::of(kubernetes).unwrap();
        assert_eq!(
            cri.fits(version(containerd)),
            understood,
            "{containerd} {kubernetes}"
        );
    }
}

#[test]
fn crictl_speaks_to_containerd() {
    for (os, socket) in [
        (Os::Linux, "unix:///run/containerd/containerd.sock"),
        (Os::Windows, "npipe:////./pipe/containerd-containerd"),
    ] {
        let expected = serde_json::json!({"runtime-endpoint": socket, "image-endpoint": socket});
        assert_eq!(documents(&crictl(os).unwrap()), [expected]);
    }
}

/// What the real containerd makes of the configuration and the files beside it.
fn dumped(program: &Path, folder: &Path) -> Table {
    let config = folder.join("config.toml");
    let mut command = Command::new(program);
    command.arg("--config").arg(config).args(["config", "dump"]);
    String::from_utf8(run(&mut command, b""))
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn the_real_containerd_reads_it_with_what_the_user_adds() {
    let Some(program) = need("containerd") else {
        return;
    };
    let said = run(Command::new(&program).arg("--version"), b"");
    let said = String::from_utf8(said).unwrap();
    let installed = said.split(' ').find_map(Version::parse).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let conf_d = folder.path().join("conf.d");
    std::fs::create_dir(&conf_d).unwrap();
    let config = config(PLAIN);
    let release = release("v1.20.2", Origin::Release);
    let cluster = Cluster::new(&config, &release).unwrap();
    let text = cluster.containerd(installed, Os::Linux).unwrap();
    let here = format!("{}/*.toml", conf_d.display());
    let text = text.replace("/etc/containerd/conf.d/*.toml", &here);
    std::fs::write(folder.path().join("config.toml"), &text).unwrap();

    let ours: Table = text.parse().unwrap();
    let dump = dumped(&program, folder.path());
    let plugin = if installed < version("2.0") {
        OLD
    } else {
        RUNTIME
    };
    let runc = ["plugins", plugin, "containerd", "runtimes", "runc"];
    let of_runc = |table: &Table, key: &[&str]| at(table, &[&runc, key].concat()).cloned();
    for key in [&["runtime_type"] as &[&str], &["options", "SystemdCgroup"]] {
        assert!(of_runc(&dump, key).is_some());
        assert_eq!(of_runc(&dump, key), of_runc(&ours, key));
    }
    let cni = |table: &Table, key: &str| at(table, &["plugins", plugin, "cni", key]).cloned();
    assert_eq!(cni(&dump, "conf_dir"), Some("/etc/cni/net.d".into()));
    for key in ["bin_dir", "bin_dirs"] {
        if let Some(set) = cni(&ours, key) {
            assert_eq!(cni(&dump, key), Some(set));
        }
    }
    let sandbox = |table: &Table| {
        let old = at(table, &["plugins", OLD, "sandbox_image"]);
        old.or_else(|| at(table, &places(3, "").sandbox)).cloned()
    };
    assert_eq!(sandbox(&dump), Some("k8s.gcr.io/pause:3.2".into()));

    // A plugin of which we say nothing is merged by every version.
    let theirs = "version = 2\noom_score = -123\n[plugins.\"io.containerd.gc.v1.scheduler\"]\ndeletion_threshold = 7\n";
    std::fs::write(conf_d.join("mine.toml"), theirs).unwrap();
    let merged = dumped(&program, folder.path());
    assert_eq!(merged["oom_score"].as_integer(), Some(-123));
    let threshold = [
        "plugins",
        "io.containerd.gc.v1.scheduler",
        "deletion_threshold",
    ];
    assert_eq!(at(&merged, &threshold), Some(&Value::Integer(7)));
    assert_eq!(sandbox(&merged), sandbox(&dump));
    if installed < version("2.0") {
        // What docs/kubeadm.md warns of: our part of this plugin is gone then.
        let theirs =
            format!("version = 2\n[plugins.\"{OLD}\".containerd]\nsnapshotter = \"native\"\n");
        std::fs::write(conf_d.join("mine.toml"), theirs).unwrap();
        assert_ne!(sandbox(&dumped(&program, folder.path())), sandbox(&dump));
    }
}
