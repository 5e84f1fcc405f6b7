//! Real `vagrant validate`, with each hypervisor's own configuration checked, on a host that has none of
//! them: a stub makes the providers usable for that, in a dotfile folder of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use tempfile::TempDir;
use wdev::config::model::ProviderName;

use crate::common::{need, shared, skip};
use crate::sandbox::{HYPERVISORS, render};

/// What is needed, or nothing.
struct Tools {
    vagrant: PathBuf,
    stub: PathBuf,
}

impl Tools {
    fn find() -> Option<Self> {
        let vagrant = need("vagrant")?;
        let stub = shared("testbed/validate-stub")?;
        let plugins = Command::new(&vagrant).args(["plugin", "list"]).output();
        let listed = plugins.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        if !listed.is_ok_and(|listed| listed.contains("vagrant-libvirt")) {
            skip("the plugin `vagrant-libvirt`");
            return None;
        }
        Some(Self { vagrant, stub })
    }

    /// What Vagrant says of a rendered folder, and whether it accepts it.
    fn validate(&self, provider: ProviderName, folder: &Path, home: &Path) -> (bool, String) {
        let stub = folder.join("stub");
        std::fs::create_dir_all(&stub).unwrap();
        for (name, to) in [
            ("Vagrantfile.check", folder.join("Vagrantfile.check")),
            ("wdev_validate_stub.rb", stub.join("wdev_validate_stub.rb")),
        ] {
            std::fs::write(to, std::fs::read(self.stub.join(name)).unwrap()).unwrap();
        }
        let output = Command::new(&self.vagrant)
            .arg("validate")
            .current_dir(folder)
            .env("VAGRANT_CWD", folder)
            .env("VAGRANT_VAGRANTFILE", "Vagrantfile.check")
            .env("VAGRANT_DOTFILE_PATH", folder.join("dotfile"))
            .env("VAGRANT_HOME", home)
            .env("VAGRANT_CHECKPOINT_DISABLE", "1")
            .env("VAGRANT_DEFAULT_PROVIDER", provider.as_str())
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&said).into_owned(),
        )
    }
}

/// Runs `work` on every item, two at a time, each with a Vagrant home.
fn two_at_a_time<T: Send>(items: Vec<T>, work: impl Fn(T, &Path) + Sync) {
    let items = Mutex::new(items);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let home = tempfile::tempdir().unwrap();
                loop {
                    let next = items.lock().unwrap().pop();
                    let Some(item) = next else { break };
                    work(item, home.path());
                }
            });
        }
    });
}

fn variables(workers: usize, cni: &str, communicator: &str) -> String {
    let worker = format!("  - {{communicator: {communicator}}}\n");
    format!("cni: {cni}\nworkers:\n{}", worker.repeat(workers))
}

#[test]
fn vagrant_accepts_every_sandbox_on_every_hypervisor() {
    let Some(tools) = Tools::find() else { return };
    // What is the same text needs to be looked at only once.
    let mut distinct: BTreeMap<String, (ProviderName, String, TempDir)> = BTreeMap::new();
    let mut all = 0;
    for provider in HYPERVISORS {
        for workers in [1, 2, 5] {
            for cni in ["calico", "antrea", "flannel", "none"] {
                for communicator in ["winrm", "ssh"] {
                    let folder = tempfile::tempdir().unwrap();
                    let text = render(
                        provider,
                        &variables(workers, cni, communicator),
                        folder.path(),
                    );
                    let name = format!("{provider}, {workers} workers, {cni}, {communicator}");
                    distinct.entry(text).or_insert((provider, name, folder));
                    all += 1;
                }
            }
        }
    }
    assert_eq!(all, 96);
    // Every provider, number of workers and communicator makes a file of its own.
    assert!(distinct.len() >= 24, "{}", distinct.len());
    let items = distinct.into_values().collect();
    two_at_a_time(
        items,
        |(provider, name, folder): (_, String, TempDir), home| {
            let (accepted, said) = tools.validate(provider, folder.path(), home);
            assert!(accepted, "{name}: {said}");
            assert!(said.contains("validated successfully"), "{name}: {said}");
        },
    );
}

#[test]
fn a_typo_in_a_providers_block_is_caught() {
    let Some(tools) = Tools::find() else { return };
    let items = HYPERVISORS.to_vec();
    two_at_a_time(items, |provider, home| {
        let folder = tempfile::tempdir().unwrap();
        let variables = format!("vagrant: {{extra: {{{provider}: 'p.memroy = 1'}}}}");
        render(provider, &variables, folder.path());
        let (accepted, said) = tools.validate(provider, folder.path(), home);
        assert!(!accepted, "{provider}: {said}");
        assert!(said.contains("memroy"), "{provider}: {said}");
    });
}
