//! Vagrant as a host may have it: missing, old, broken, silent, asking.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use crate::env::{Env, Ran};

/// A host whose `PATH` is one folder of ours.
struct Host {
    env: Env,
    bin: PathBuf,
}

impl Host {
    /// A host with a Docker that answers and an SSH client, but no Vagrant.
    fn new() -> Self {
        let env = Env::new();
        let bin = env.root().join("bin");
        fs::create_dir(&bin).unwrap();
        let host = Self { env, bin };
        host.program("docker", "echo 20.10.24");
        host.program("ssh", "exit 255");
        host
    }

    /// A program that runs this shell script.
    fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.bin.join(name);
        fs::write(&path, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn wdev(&self, args: &[&str]) -> Command {
        let mut command = self.env.wdev(args);
        command.env("PATH", &self.bin);
        // Nobody is to be asked what a version stands for.
        command.env("WDEV_ARTIFACTS_OFFLINE", "true");
        let variables = self.env.project.join("variables.yml");
        let variables = fs::read_to_string(variables).unwrap_or_default();
        if !variables.contains("kubernetes") {
            command.env("WDEV_KUBERNETES_VERSION", "1.36.3");
        }
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.wdev(args))
    }

    /// `up` on docker does not begin, and nothing is left of it.
    fn refuses(&self) -> Ran {
        let ran = self.run(&["up", "--provider", "docker"]);
        ran.exits(4);
        assert!(!self.env.project.join(".wdev").exists(), "{ran}");
        ran
    }
}

#[test]
fn without_vagrant_it_says_where_to_get_it() {
    let host = Host::new();
    host.refuses()
        .says("Vagrant is not installed")
        .says("install Vagrant from https://")
        .says("--provider sim");
}

#[test]
fn without_a_hypervisor_auto_names_the_simulator() {
    let host = Host::new();
    host.program("vagrant", "echo Vagrant 2.4.9");
    for args in [&["up"] as &[&str], &["plan"], &["render"]] {
        host.run(args)
            .exits(4)
            .says("no provider is usable on this host")
            .says("is not installed")
            .says("`wdev up --provider sim`");
    }
    assert!(!host.env.project.join(".wdev").exists());
}

#[test]
fn a_provider_whose_tools_are_missing_says_so_before_anything_is_made() {
    let host = Host::new();
    host.program("vagrant", "echo Vagrant 2.4.9");
    host.run(&["up", "--provider", "libvirt"])
        .exits(4)
        .says("virsh");
    assert!(!host.env.project.join(".wdev").exists());
    host.run(&["plan", "--provider", "libvirt"]).exits(0);
}

#[test]
fn the_files_for_any_hypervisor_can_be_looked_at_on_any_host() {
    for provider in ["virtualbox", "hyperv", "vmware_desktop", "libvirt"] {
        let host = Host::new();
        let variables = "control_plane: {box: a/b}\nworkers: [{box: a/c}]\n";
        fs::write(host.env.project.join("variables.yml"), variables).unwrap();
        host.run(&["plan", "--provider", provider]).exits(0);
        host.run(&["render", "--provider", provider]).exits(0);
        let rendered = host.env.project.join(".wdev/default/rendered");
        let text = fs::read_to_string(rendered.join("Vagrantfile")).unwrap();
        assert!(text.contains(&format!("node.vm.provider \"{provider}\"")));
        // What the file names is there, so that Vagrant takes it.
        assert!(rendered.join("steps/winw1/probe.ps1").is_file());
    }
}

#[test]
fn a_box_that_does_not_exist_is_told_before_anything_is_made() {
    let host = Host::new();
    host.program("vagrant", "echo Vagrant 2.4.9");
    let with = |variables: &str| {
        fs::write(host.env.project.join("variables.yml"), variables).unwrap();
    };
    with("workers: [{windows: '2019'}]\nkubernetes: {version: '1.34.9'}\n");
    for command in ["up", "plan", "render"] {
        host.run(&[command, "--provider", "virtualbox"])
            .exits(3)
            .says("there is no default box of Windows Server 2019")
            .says("`box_url`");
    }
    with("workers: [{windows: '2019', box: a/b}]\nkubernetes: {version: '1.36.3'}\n");
    host.run(&["up", "--provider", "virtualbox"])
        .exits(3)
        .says("Kubernetes 1.36 does not support Windows Server 2019");
    assert!(!host.env.project.join(".wdev").exists());
}

#[test]
fn auto_says_which_hypervisor_it_took_and_why() {
    let host = Host::new();
    // Without Vagrant's plugin for it nothing is made.
    host.program("vagrant", "echo Vagrant 2.4.9");
    host.program("vmrun", "exit 0");
    host.run(&["up"])
        .exits(4)
        .says("provider `vmware_desktop`: `")
        .says("vmrun` was found")
        .says("`virtualbox` is not installed")
        .says("Vagrant's plugin `vagrant-vmware-desktop` is not installed")
        .says("vagrant plugin install vagrant-vmware-desktop");
    assert!(!host.env.project.join(".wdev").exists());
}

#[test]
fn versions_that_do_not_work_are_refused_and_new_ones_are_warned_of() {
    let host = Host::new();
    host.program("vagrant", "echo Vagrant 2.4.6");
    host.run(&["up", "--provider", "hyperv"])
        .exits(4)
        .says("Vagrant 2.4.6 does not work with `hyperv`")
        .says("install Vagrant 2.4.8 or newer");
    host.program("vagrant", "echo Vagrant 99.0.0");
    host.run(&["up", "--provider", "docker"])
        .exits(3)
        .says("warning: Vagrant 99.0.0 is newer than wdev knows");
    assert!(!host.env.project.join(".wdev").exists());
}

#[test]
fn a_vagrant_that_cannot_be_used_is_refused_before_anything_is_made() {
    let host = Host::new();
    for (script, words) in [
        ("echo Vagrant 1.9.8", "Vagrant 1.9.8 is too old"),
        ("echo Vagrant 2.3.3", "needs 2.3.4 or newer"),
        ("echo hello", "does not look like Vagrant"),
        ("head -c 100000 /dev/urandom", "does not look like Vagrant"),
        ("exit 0", "does not look like Vagrant"),
        (
            "echo 'rbenv: no ruby' >&2; exit 127",
            "ended with exit code 127",
        ),
        ("echo 'rbenv: no ruby' >&2; exit 127", "| rbenv: no ruby"),
        ("kill -9 $$", "ended with"),
        ("printf 'Install the plugin? [y/N] '; read answer", "y/N"),
    ] {
        host.program("vagrant", script);
        host.refuses().says(words);
    }
}

#[test]
fn a_vagrant_that_is_no_program_is_named() {
    let host = Host::new();
    let vagrant = host.program("vagrant", "echo Vagrant 2.4.9");
    let named = |path: &str| {
        let mut command = host.wdev(&["up", "--provider", "docker"]);
        let ran = Ran::of(command.env("WDEV_VAGRANT", path));
        ran.exits(4).says(&format!("cannot start `{path}`"));
        assert!(!host.env.project.join(".wdev").exists());
        ran
    };
    named("/nonexistent/vagrant").says("there is no such program");
    named(host.bin.to_str().unwrap()).says("it is a folder");
    fs::set_permissions(&vagrant, fs::Permissions::from_mode(0o644)).unwrap();
    named(vagrant.to_str().unwrap()).says("chmod +x");
    fs::write(&vagrant, "#!/nonexistent/ruby\n").unwrap();
    fs::set_permissions(&vagrant, fs::Permissions::from_mode(0o755)).unwrap();
    named(vagrant.to_str().unwrap()).says("the interpreter or loader");
}

#[test]
fn a_vagrant_that_hangs_is_given_up_and_ended() {
    let host = Host::new();
    let pipe = host.env.project.join("alive");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    // Whoever lives holds the pipe open.
    host.program("vagrant", "exec 9>alive; sleep 1000 & wait");
    let ended = crate::env::drain_file(pipe);
    host.refuses().says("did not answer within 10 s");
    ended
        .recv_timeout(crate::env::HANG)
        .expect("the hanging process or its child lives on");
}

#[test]
fn without_docker_or_ssh_it_says_so() {
    let host = Host::new();
    host.program("vagrant", "echo Vagrant 2.4.9");
    host.program(
        "docker",
        "echo 'Cannot connect to the Docker daemon' >&2; exit 1",
    );
    host.refuses()
        .says("the Docker daemon does not answer")
        .says("Cannot connect to the Docker daemon");
    fs::remove_file(host.bin.join("docker")).unwrap();
    host.refuses().says("docker");
    fs::remove_file(host.bin.join("ssh")).unwrap();
    host.refuses().says("OpenSSH's client is not installed");
}

#[test]
fn what_never_had_a_machine_is_destroyed_without_vagrant() {
    let host = Host::new();
    host.run(&["render", "--provider", "docker"]).exits(0);
    host.run(&["status"])
        .exits(4)
        .says("Vagrant is not installed")
        .prints("cp control plane Linux 192.168.56.10 unknown");
    host.run(&["destroy", "--yes"]).exits(0);
    assert!(!host.env.project.join(".wdev").exists());

    // Somebody may have used the rendered files by hand.
    host.run(&["render", "--provider", "docker"]).exits(0);
    fs::create_dir(host.env.sandbox().join("rendered/.vagrant")).unwrap();
    host.run(&["destroy", "--yes"])
        .exits(4)
        .says("Vagrant is not installed");
    assert!(host.env.sandbox().exists());
}

/// A step that this version cannot do fails and says so; it never passes silently.
#[test]
fn up_without_a_network_says_what_is_not_in_the_cache() {
    let host = Host::new();
    let script = "case $1 in --version) echo Vagrant 2.4.9 ;; *) echo broken >&2; exit 1 ;; esac";
    host.program("vagrant", script);
    // A machine without an image could not be made.
    host.run(&["up", "--provider", "docker"])
        .exits(3)
        .says("the docker machine `cp` needs an image")
        .says("control_plane.box");
    host.env.write(
        "variables.yml",
        "control_plane: {box: debian}\nworkers: [{name: w1, box: debian}]\n",
    );
    host.run(&["up", "--provider", "docker", "--fail-fast"])
        .exits(4)
        .says("not everything is in the cache")
        .says("kubelet linux/amd64");
    let online = |args: &[&str]| {
        let mut command = host.wdev(args);
        command.env_remove("WDEV_ARTIFACTS_OFFLINE");
        Ran::of(&mut command)
    };
    online(&["up", "--provider", "docker", "--fail-fast", "--offline"])
        .exits(4)
        .says("not everything is in the cache")
        .says("to go on: wdev up");
}
