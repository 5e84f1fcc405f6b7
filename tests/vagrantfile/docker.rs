//! Linux machines through Docker, and what holds for every provider.

use std::process::Command;

use serde_json::{Value, json};
use wdev::config::model::ProviderName;
use wdev::error::Kind;
use wdev::render::{RenderedFile, StepModel, VagrantfileModel, vagrantfile, write_all};

use crate::common::{self, allowed_skip, machine, model, need, run};

fn step(node: &str, name: &str) -> StepModel {
    StepModel {
        name: name.to_owned(),
        path: Some(format!("steps/{node}/{name}.sh")),
    }
}

fn sandbox() -> VagrantfileModel {
    let mut cp = machine("cp", 10);
    cp.steps = vec![step("cp", "kernel"), step("cp", "swap")];
    cp.extra =
        String::from("node.vm.post_up_message = \"it's up\"\r\nnode.ssh.keep_alive = false\r\n");
    let mut worker = machine("winw1", 11);
    worker.steps = vec![step("winw1", "kernel")];
    VagrantfileModel {
        provider_extra: "p.create_args += ['--cap-add', 'NET_ADMIN']".to_owned(),
        machines: vec![cp, worker],
        ..model()
    }
}

fn calls(model: &VagrantfileModel) -> Option<Vec<(String, Value)>> {
    common::calls(&vagrantfile(model).unwrap())
}

#[test]
fn machines_come_bare_and_every_step_runs_only_by_name() {
    let Some(calls) = calls(&sandbox()) else {
        return;
    };
    let of = |name: &str| -> Vec<&Value> {
        calls
            .iter()
            .filter(|(call, _)| call == name)
            .map(|(_, args)| args)
            .collect()
    };
    let never = json!({"type": "shell", "run": "never"});
    assert_eq!(
        of("config.vm.define.vm.provision"),
        [
            &json!(["kernel", never]),
            &json!(["swap", never]),
            &json!(["probe", never]),
            &json!(["kernel", never]),
            &json!(["probe", never]),
        ]
    );
    assert_eq!(
        of("config.vm.define.vm.provision.upload_path=")[..2],
        [
            &json!(["/tmp/wdev-kernel.sh"]),
            &json!(["/tmp/wdev-swap.sh"])
        ]
    );
    assert_eq!(
        of("config.vm.synced_folder"),
        [&json!([".", "/vagrant", {"disabled": true}])]
    );
    let network = |address: &str| json!(["private_network", {"ip": address, "netmask": 24}]);
    let (private, forwarded): (Vec<&Value>, Vec<&Value>) = of("config.vm.define.vm.network")
        .into_iter()
        .partition(|args| args[0] == "private_network");
    assert_eq!(
        private,
        [&network("192.168.56.10"), &network("192.168.56.11")]
    );
    let ports: Vec<&Value> = forwarded.iter().map(|args| &args[1]["host"]).collect();
    assert_eq!(ports.len(), 2);
    assert_ne!(ports[0], ports[1], "two machines never want the same port");
    assert_eq!(
        of("config.vm.define.vm.boot_timeout="),
        [&json!([900]), &json!([900])]
    );
}

#[test]
fn the_users_own_ruby_stands_in_its_block_as_it_was_written() {
    let Some(calls) = calls(&sandbox()) else {
        return;
    };
    let count = |name: &str| calls.iter().filter(|(call, _)| call == name).count();
    assert_eq!(count("config.vm.define.vm.post_up_message="), 1);
    assert_eq!(count("config.vm.define.ssh.keep_alive="), 1);
    let arguments = |(call, args): &(String, Value)| {
        (call == "config.vm.define.vm.provider.create_args=").then(|| args[0].clone())
    };
    assert_eq!(
        calls.iter().rev().find_map(arguments),
        Some(json!([
            "--cpus=2",
            "--memory=1024m",
            "--cap-add",
            "NET_ADMIN"
        ]))
    );
    let text = vagrantfile(&sandbox()).unwrap();
    assert!(text.contains("\np.create_args += ['--cap-add', 'NET_ADMIN']\n"));
    assert!(!text.contains('\r'));
}

#[test]
fn the_head_says_who_wrote_it_and_how_to_use_it_by_hand() {
    let text = vagrantfile(&sandbox()).unwrap();
    let head = text.split("Vagrant.configure").next().unwrap();
    for words in [
        "Written by wdev '0.0.0' for the sandbox 'default'",
        "`wdev up`",
        "vagrant provision NODE --provision-with STEP",
    ] {
        assert!(head.contains(words), "{words} in:\n{head}");
    }
}

#[test]
fn vagrant_itself_accepts_it() {
    let (Some(vagrant), Some(ruby)) = (need("vagrant"), need("ruby")) else {
        return;
    };
    let model = sandbox();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("it's a #{folder}");
    let mut files = vec![RenderedFile::text(
        "Vagrantfile",
        vagrantfile(&model).unwrap(),
    )];
    for machine in &model.machines {
        let probe = step(&machine.name, "probe");
        for step in machine.steps.iter().chain([&probe]) {
            let path = step.path.as_deref().unwrap();
            files.push(RenderedFile::text(path, "#!/bin/bash\n").executable());
        }
    }
    write_all(&folder, &files).unwrap();
    run(
        Command::new(ruby)
            .args(["-wc", "Vagrantfile"])
            .current_dir(&folder),
        b"",
    );
    let home = tempfile::tempdir().unwrap();
    let mut validate = Command::new(vagrant);
    validate
        .arg("validate")
        .current_dir(&folder)
        .env("VAGRANT_HOME", home.path().join("home"))
        .env("VAGRANT_DOTFILE_PATH", home.path().join("dotfile"))
        .env("VAGRANT_CHECKPOINT_DISABLE", "1")
        .env("VAGRANT_DEFAULT_PROVIDER", "docker");
    let docker = Command::new("docker").arg("version").output();
    if !docker.is_ok_and(|output| output.status.success()) {
        allowed_skip("a running Docker, for the provider's own block");
        validate.arg("--ignore-provider");
    }
    let said = run(&mut validate, b"");
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("validated successfully"), "{said}");
}

#[test]
fn there_is_no_vagrantfile_where_vagrant_makes_nothing() {
    let model = VagrantfileModel {
        provider: ProviderName::Sim,
        ..sandbox()
    };
    assert_eq!(vagrantfile(&model).unwrap_err().kind, Kind::Provider);
}

#[test]
fn nul_is_refused_with_the_value_that_holds_it() {
    let mut model = sandbox();
    model.machines[1].r#box = "a\0b".to_owned();
    let failure = vagrantfile(&model).unwrap_err();
    assert_eq!(failure.kind, Kind::Configuration);
    assert!(failure.message.contains("machines[1].box"), "{failure}");
}

#[test]
fn a_steps_name_never_reaches_vagrants_root_shell_unless_it_is_an_id() {
    for name in ["a b", "$(touch canary)", "A", "", "a/b"] {
        let mut model = sandbox();
        model.machines[0].steps[0].name = name.to_owned();
        assert_eq!(vagrantfile(&model).unwrap_err().kind, Kind::Bug, "{name}");
    }
}
