//! The Vagrant driver against a scripted fake: what it calls, what it believes, what it says.

mod common;
mod fakes;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::need;
use fakes::Fake;
use wdev::channel::{Channel, Io, Line, Mode, Os, Script, Secret};
use wdev::clock::Clock;
use wdev::error::{Failure, Kind};
use wdev::names::LaneName;
use wdev::provider::vagrant::{MachineRef, Settings, Vagrant};
use wdev::provider::{Power, Provider};
use wdev::stop::Stop;

const RUNNING: &str = "print 1,cp,metadata,provider,libvirt\nprint 1,cp,state,running\n";
const LOCKED: &str =
    "print 1,,error-exit,Vagrant::Errors::MachineLocked,because it is locked!\nexit 1\n";
const SSH_CONFIG: &str = "expect ssh-config cp\nprint 1,cp,ssh-config,Host cp\\n  Port 2222\\n\n";

/// A sandbox with one machine `cp`, whose Vagrant and SSH are fakes.
struct World {
    vagrant: Fake,
    ssh: Fake,
    dir: tempfile::TempDir,
    shown: Arc<Mutex<Vec<String>>>,
}

impl World {
    fn new(vagrant: &str) -> Self {
        let world = Self {
            vagrant: Fake::new("vagrant", vagrant),
            ssh: Fake::new("ssh", ""),
            dir: tempfile::tempdir().unwrap(),
            shown: Arc::default(),
        };
        std::fs::write(world.path("Vagrantfile"), "").unwrap();
        world
    }

    /// A world in which Vagrant knows the machine.
    fn with_machine(vagrant: &str) -> Self {
        let world = Self::new(vagrant);
        let id = world.id();
        std::fs::create_dir_all(id.parent().unwrap()).unwrap();
        std::fs::write(id, "uuid-1").unwrap();
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn id(&self) -> PathBuf {
        self.path(".vagrant/machines/cp/libvirt/id")
    }

    fn provider(&self) -> Vagrant {
        self.provider_of(self.vagrant.program.clone(), Clock::with_speed(20.0))
    }

    fn provider_of(&self, program: PathBuf, clock: Clock) -> Vagrant {
        Vagrant::new(Settings {
            program,
            dir: self.dir.path().to_owned(),
            provider: "libvirt",
            machines: vec![MachineRef {
                lane: cp(),
                os: Os::Linux,
                unique: "wdev-test-cp".to_owned(),
            }],
            boot: Duration::from_secs(120),
            halt: Duration::from_secs(60),
            clock,
            ssh: Some(self.ssh.program.clone()),
        })
    }

    fn channel(&self) -> Arc<dyn Channel> {
        self.provider().channel(&cp())
    }

    fn io(&self) -> Io {
        let shown = Arc::clone(&self.shown);
        Io {
            output: Arc::new(move |line: Line| shown.lock().unwrap().push(line.text)),
            stop: Stop::never(),
        }
    }

    fn shown(&self) -> String {
        self.shown.lock().unwrap().join("\n")
    }

    /// The subcommand and the machine of each call of Vagrant.
    fn calls(&self) -> Vec<String> {
        let two = |call: String| call.split(' ').take(2).collect::<Vec<_>>().join(" ");
        self.vagrant.calls().into_iter().map(two).collect()
    }
}

fn cp() -> LaneName {
    "cp".into()
}

fn script(mode: Mode) -> Script {
    Script {
        name: "a-step".to_owned(),
        os: Os::Linux,
        mode,
        text: Some("wdev_run() { :; }\nwdev_probe() { :; }\n".to_owned()),
        effects: Vec::new(),
        fingerprint: "f1".to_owned(),
        secrets: BTreeMap::new(),
    }
}

fn blocks(blocks: &[&str]) -> String {
    blocks.join("next\n")
}

fn says(failure: &Failure, text: &str) {
    let all = format!("{failure} {:?}", failure.advice);
    assert!(all.contains(text), "`{text}` is not in {all}");
}

// Is there a Vagrant that can be used? -----------------------------------------------------------

async fn checked(program: PathBuf, world: &World, clock: Clock) -> Failure {
    let provider = world.provider_of(program, clock);
    *provider.check(&world.io()).await.unwrap_err()
}

#[tokio::test]
async fn a_good_vagrant_passes_the_check() {
    let world = World::new("expect --version\nprint Vagrant 2.3.4\n");
    let provider = world.provider_of(world.vagrant.program.clone(), Clock::new());
    provider.check(&world.io()).await.unwrap();
}

#[tokio::test]
async fn a_missing_vagrant_is_the_hosts_problem() {
    let world = World::new("");
    let failure = checked(world.path("nowhere"), &world, Clock::new()).await;
    assert_eq!(failure.kind, Kind::Host);
    says(&failure, "no such program");
    says(&failure, "install Vagrant");
}

#[cfg(unix)]
#[tokio::test]
async fn a_vagrant_that_is_not_executable_is_the_hosts_problem() {
    let world = World::new("");
    let program = world.path("vagrant");
    std::fs::write(&program, "#!/bin/sh\n").unwrap();
    let failure = checked(program, &world, Clock::new()).await;
    assert_eq!(failure.kind, Kind::Host);
    says(&failure, "not executable");
    says(&failure, "chmod +x");
}

#[tokio::test]
async fn an_old_a_strange_and_a_broken_vagrant_are_told_apart() {
    for (script, text) in [
        ("print Vagrant 2.2.19\n", "Vagrant 2.2.19 is too old"),
        (
            "bytes ff fe 00 0a\nprint {}\n",
            "does not look like Vagrant",
        ),
        ("exit 0\n", "does not look like Vagrant"),
        ("error no ruby\nexit 127\n", "exit code 127"),
        (
            "prompt Install the plugin? [y/N] \nsleep-forever\n",
            "Install the plugin?",
        ),
    ] {
        let world = World::new(script);
        let failure = checked(world.vagrant.program.clone(), &world, Clock::new()).await;
        assert_eq!(failure.kind, Kind::Host, "{failure}");
        says(&failure, text);
        assert!(!failure.advice.is_empty(), "{failure}");
    }
}

#[tokio::test]
async fn a_vagrant_that_hangs_is_given_up() {
    let world = World::new("pid\nsleep-forever\n");
    let clock = Clock::with_speed(5.0);
    let failure = checked(world.vagrant.program.clone(), &world, clock).await;
    assert_eq!(failure.kind, Kind::Host);
    says(&failure, "did not answer within 10 s");
    assert!(fakes::ended(world.vagrant.pid("pid")));
}

// What is there? ---------------------------------------------------------------------------------

#[tokio::test]
async fn a_machine_that_vagrant_does_not_know_is_absent_without_asking() {
    let world = World::new("");
    let machine = world.provider().inspect(&cp(), &world.io()).await.unwrap();
    assert_eq!((machine.power, machine.id), (Power::Absent, None));
    assert!(world.calls().is_empty());
}

#[tokio::test]
async fn a_running_machine_is_seen_with_its_id() {
    let world = World::with_machine(RUNNING);
    let machine = world.provider().inspect(&cp(), &world.io()).await.unwrap();
    assert_eq!(
        (machine.power, machine.id.as_deref()),
        (Power::Running, Some("uuid-1"))
    );
    assert_eq!(world.vagrant.calls(), ["status cp --machine-readable"]);
}

#[tokio::test]
async fn a_machine_that_was_removed_behind_our_back_is_absent() {
    let world = World::with_machine("print 1,cp,state,not_created\n");
    let machine = world.provider().inspect(&cp(), &world.io()).await.unwrap();
    assert_eq!((machine.power, machine.id), (Power::Absent, None));
}

#[tokio::test]
async fn garbage_in_place_of_a_state_is_an_error_that_shows_it() {
    let world =
        World::with_machine("bytes ff fe 0a\nprint 1,cp,state\nprint 1,w9,state,running\nexit 0\n");
    let machine = world.provider().inspect(&cp(), &world.io()).await;
    // A state without a word means a machine that nobody should touch.
    assert_eq!(machine.unwrap().power, Power::Broken);
    let world = World::with_machine("bytes ff fe 0a\nprint what?\n");
    let failure = world
        .provider()
        .inspect(&cp(), &world.io())
        .await
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Provider);
    assert!(
        failure.output.iter().any(|line| line == "what?"),
        "{failure:?}"
    );
}

#[tokio::test]
async fn a_locked_machine_is_tried_again() {
    let world = World::with_machine(&blocks(&[LOCKED, LOCKED, RUNNING]));
    let machine = world.provider().inspect(&cp(), &world.io()).await.unwrap();
    assert_eq!(machine.power, Power::Running);
    assert_eq!(world.calls().len(), 3);
}

#[tokio::test]
async fn a_machine_that_stays_locked_is_given_up_with_advice() {
    let world = World::with_machine(&blocks(&[LOCKED; 20]));
    let failure = world
        .provider()
        .inspect(&cp(), &world.io())
        .await
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Provider);
    says(&failure, "another Vagrant process is at work");
    assert!(world.calls().len() < 20, "{:?}", world.calls());
}

#[tokio::test]
async fn other_errors_are_not_tried_again_and_are_explained() {
    let world = World::with_machine(
        "print 1,,error-exit,Vagrant::Errors::ProviderNotUsable,The provider\\nis not usable\nexit 1\n",
    );
    let failure = world
        .provider()
        .inspect(&cp(), &world.io())
        .await
        .unwrap_err();
    assert_eq!((failure.kind, failure.permanent), (Kind::Host, true));
    says(&failure, "The provider is not usable");
    says(&failure, "choose another provider");
    assert_eq!(world.calls().len(), 1);
    assert!(
        failure
            .command
            .unwrap()
            .contains("vagrant status cp --machine-readable")
    );
}

#[tokio::test]
async fn an_early_failure_on_standard_error_is_explained() {
    let text = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/vagrant/vagrantfile-syntax.err"),
    )
    .unwrap();
    let script: String = text.lines().map(|line| format!("error {line}\n")).collect();
    let world = World::with_machine(&format!("{script}exit 1\n"));
    let failure = world
        .provider()
        .inspect(&cp(), &world.io())
        .await
        .unwrap_err();
    says(&failure, "syntax error");
    says(&failure, "vagrant.extra");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_drivers_never_run_vagrant_on_one_machine_at_once() {
    let world = World::with_machine("");
    let go = world.path("go");
    let first = format!("pid\nwait {}\n{RUNNING}", go.display());
    world.vagrant.script(&blocks(&[&first, RUNNING]));
    let (one, two) = (world.provider(), world.provider());
    let io = world.io();
    let running = tokio::spawn(async move { one.inspect(&cp(), &io).await });
    world.vagrant.pid("pid");
    let machine = two.inspect(&cp(), &world.io()).await.unwrap();
    assert_eq!(machine.power, Power::Changing, "{}", machine.detail);
    assert_eq!(world.calls().len(), 1);
    std::fs::write(&go, "").unwrap();
    assert_eq!(running.await.unwrap().unwrap().power, Power::Running);
    assert_eq!(
        two.inspect(&cp(), &world.io()).await.unwrap().power,
        Power::Running
    );
}

// Bringing it up and down ------------------------------------------------------------------------

#[tokio::test]
async fn up_creates_proves_and_does_nothing_the_second_time() {
    let world = World::new("");
    let up = format!(
        "expect up cp --provider libvirt --no-provision --no-destroy-on-error --no-install-provider --machine-readable\n\
         env VAGRANT_CWD\nenv VAGRANT_CHECKPOINT_DISABLE\nmkfile {} uuid-1\n",
        world.id().display()
    );
    world
        .vagrant
        .script(&blocks(&[&up, RUNNING, SSH_CONFIG, RUNNING]));
    world.ssh.script(&blocks(&["exit 0\n"; 2]));
    let provider = world.provider();
    let machine = provider.up(&cp(), &world.io()).await.unwrap();
    assert_eq!(
        (machine.power, machine.id.as_deref()),
        (Power::Running, Some("uuid-1"))
    );
    assert!(
        world
            .shown()
            .contains(&format!("VAGRANT_CWD={}", world.dir.path().display()))
    );
    assert!(world.shown().contains("VAGRANT_CHECKPOINT_DISABLE=1"));
    provider.up(&cp(), &world.io()).await.unwrap();
    assert_eq!(
        world.calls(),
        ["up cp", "status cp", "ssh-config cp", "status cp"]
    );
}

#[tokio::test]
async fn a_machine_whose_boot_was_cut_short_is_restarted_and_not_just_believed() {
    let world = World::with_machine(&blocks(&[
        RUNNING,
        "expect reload cp --no-provision\n",
        RUNNING,
        SSH_CONFIG,
    ]));
    world.ssh.script("exit 0\n");
    world.provider().up(&cp(), &world.io()).await.unwrap();
    assert_eq!(
        world.calls(),
        ["status cp", "reload cp", "status cp", "ssh-config cp"]
    );
}

#[tokio::test]
async fn exit_code_0_without_a_running_machine_is_no_success() {
    let off = "print 1,cp,state,shutoff\n";
    let world = World::with_machine(&blocks(&[off, "", off, off, "", off, off, "", off]));
    let failure = world.provider().up(&cp(), &world.io()).await.unwrap_err();
    assert_eq!(failure.kind, Kind::Provider);
    says(&failure, "does not stay up");
}

#[tokio::test]
async fn a_failed_up_says_why_and_what_to_do() {
    let world = World::new(
        "print 1,,error-exit,Vagrant::Errors::VMBootTimeout,Timed out while waiting\nexit 1\n",
    );
    let failure = world.provider().up(&cp(), &world.io()).await.unwrap_err();
    says(&failure, "`vagrant up` of `cp` failed");
    says(&failure, "timeouts.boot");
    assert!(!failure.permanent, "a slow boot may be tried again");
}

#[tokio::test]
async fn a_question_in_the_middle_of_up_is_an_error_with_the_question() {
    let world = World::new("prompt Which switch should be used? \nsleep-forever\n");
    let failure = world.provider().up(&cp(), &world.io()).await.unwrap_err();
    assert_eq!(failure.kind, Kind::Provider);
    says(&failure, "Which switch should be used?");
}

#[tokio::test]
async fn halt_believes_the_state_and_not_the_exit_code() {
    let world = World::with_machine(&blocks(&["expect halt cp\n", RUNNING]));
    let failure = world.provider().halt(&cp(), &world.io()).await.unwrap_err();
    says(&failure, "did not stop");
    let world = World::with_machine(&blocks(&["expect halt cp\n", "print 1,cp,state,shutoff\n"]));
    world.provider().halt(&cp(), &world.io()).await.unwrap();
    let world = World::new("");
    world.provider().halt(&cp(), &world.io()).await.unwrap();
    assert!(world.calls().is_empty());
}

#[tokio::test]
async fn destroy_is_proven_and_can_be_done_twice() {
    let world = World::with_machine("");
    let destroy = format!("expect destroy -f cp\nrmfile {}\n", world.id().display());
    world.vagrant.script(&destroy);
    let provider = world.provider();
    provider.destroy(&cp(), &world.io()).await.unwrap();
    provider.destroy(&cp(), &world.io()).await.unwrap();
    assert_eq!(world.vagrant.calls(), ["destroy -f cp --machine-readable"]);
    let world = World::with_machine(&blocks(&["", RUNNING]));
    world
        .provider()
        .destroy(&cp(), &world.io())
        .await
        .unwrap_err();
    assert!(
        world.id().exists(),
        "a machine that is still there is not forgotten"
    );
}

#[tokio::test]
async fn a_machine_without_its_vagrantfile_is_not_forgotten() {
    let world = World::with_machine("");
    std::fs::remove_file(world.path("Vagrantfile")).unwrap();
    let failure = world
        .provider()
        .destroy(&cp(), &world.io())
        .await
        .unwrap_err();
    says(&failure, "wdev render");
    assert!(world.id().exists());
}

// Scripts ----------------------------------------------------------------------------------------

/// Lets the fake play a node: `body` is bash that finds the nonce in `$nonce` and the file in `$file`.
fn node(world: &World, file: &str, body: &str) -> String {
    let played = world.path("node.sh");
    let file = world.path(&format!("steps/cp/{file}.sh"));
    let find = "sed -n \"s/^wdev_nonce='\\(.*\\)'$/\\1/p\" \"$file\"";
    std::fs::write(
        &played,
        format!("file='{}'\nnonce=$({find})\n{body}", file.display()),
    )
    .unwrap();
    format!("run {}\n", played.display())
}

#[tokio::test]
async fn a_script_that_proves_its_end_is_believed() {
    if need("bash").is_none() {
        return;
    }
    let world = World::with_machine("");
    let played = node(
        &world,
        "a-step",
        "echo a, b\necho \"::wdev $nonce fact key dg==\"\necho \"::wdev $nonce end ok\"\n",
    );
    world.vagrant.script(&format!(
        "expect provision cp --provision-with a-step\n{played}"
    ));
    let report = world
        .channel()
        .run(&script(Mode::Run), &world.io())
        .await
        .unwrap();
    assert_eq!(report.facts["key"], "v");
    assert_eq!(world.shown(), "a, b");
}

#[tokio::test]
async fn a_probe_has_a_provisioner_of_its_own() {
    if need("bash").is_none() {
        return;
    }
    let world = World::with_machine("");
    let played = node(&world, "probe", "echo \"::wdev $nonce end ok\"\n");
    world.vagrant.script(&format!(
        "expect provision cp --provision-with probe\n{played}"
    ));
    let report = world
        .channel()
        .run(&script(Mode::Probe), &world.io())
        .await
        .unwrap();
    assert!(report.in_place);
}

#[tokio::test]
async fn exit_code_0_without_the_marker_is_a_failure_that_tells_the_cause() {
    let fixture = |name: &str| {
        let path = format!(
            "{}/tests/fixtures/vagrant/{name}",
            env!("CARGO_MANIFEST_DIR")
        );
        let text = std::fs::read_to_string(path).unwrap();
        text.lines()
            .map(|line| format!("print {line}\n"))
            .collect::<String>()
    };
    for (script_of_fake, cause) in [
        (fixture("provision-cut-rc0.out"), "the connection was cut"),
        (
            fixture("provision-stopped-rc0.out"),
            "The container is not currently running.",
        ),
        (
            "print 1,cp,action,provision,start\nprint 1,cp,action,provision,end\n".to_owned(),
            "never ran it",
        ),
        (String::new(), "never ran it"),
        (
            "print 1,cp,ui,info,==> cp: Running provisioner: a-step (shell)...\n\
          print 1,cp,ui,detail,    cp: ::wdev 0123 end ok\n"
                .to_owned(),
            "the connection was cut",
        ),
    ] {
        let world = World::with_machine(&script_of_fake);
        let failure = world
            .channel()
            .run(&script(Mode::Run), &world.io())
            .await
            .unwrap_err();
        assert_eq!(failure.kind, Kind::Step);
        says(&failure, "could not be proven");
        says(&failure, cause);
        assert!(!failure.permanent);
    }
}

#[tokio::test]
async fn a_script_that_fails_shows_its_exit_code_its_output_and_the_command() {
    if need("bash").is_none() {
        return;
    }
    let world = World::with_machine("");
    let played = node(
        &world,
        "a-step",
        "echo last words\necho \"::wdev $nonce failed 7 \"\nexit 1\n",
    );
    world.vagrant.script(&played);
    let failure = world
        .channel()
        .run(&script(Mode::Run), &world.io())
        .await
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Step);
    says(&failure, "exit code 7");
    assert_eq!(failure.output, ["last words"]);
    assert!(
        failure
            .command
            .unwrap()
            .contains("provision cp --provision-with a-step")
    );
}

#[tokio::test]
async fn secrets_reach_the_node_and_nothing_else() {
    if need("bash").is_none() {
        return;
    }
    let world = World::with_machine("");
    let played = node(
        &world,
        "a-step",
        "cp -p \"$file\" \"$file.seen\"\necho it is hunter2hunter2\necho \"::wdev $nonce end ok\"\n",
    );
    world.vagrant.script(&played);
    let mut it = script(Mode::Run);
    it.secrets
        .insert("password".to_owned(), Secret::new("hunter2hunter2"));
    world.channel().run(&it, &world.io()).await.unwrap();
    let read = |name: &str| std::fs::read_to_string(world.path(name)).unwrap();
    let encoded = "aHVudGVyMmh1bnRlcjI=";
    assert!(read("steps/cp/a-step.sh.seen").contains(encoded));
    assert!(
        !read("steps/cp/a-step.sh").contains(encoded),
        "the file is left without it"
    );
    assert_eq!(world.shown(), "it is ***");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let seen = std::fs::metadata(world.path("steps/cp/a-step.sh.seen")).unwrap();
        assert_eq!(seen.permissions().mode() & 0o077, 0);
    }
}

#[tokio::test]
async fn a_run_that_was_cut_off_is_named_to_the_next_one() {
    if need("bash").is_none() {
        return;
    }
    let world = World::with_machine("");
    let save = "cp \"$file\" \"$file.first\"\n";
    let played = node(&world, "a-step", save);
    world.vagrant.script(&played);
    world
        .channel()
        .run(&script(Mode::Run), &world.io())
        .await
        .unwrap_err();
    let first = std::fs::read_to_string(world.path("steps/cp/a-step.sh.first")).unwrap();
    let nonce = first
        .lines()
        .find_map(|line| line.strip_prefix("wdev_nonce='")?.strip_suffix('\''))
        .unwrap();
    let played = node(&world, "a-step", "echo \"::wdev $nonce end earlier\"\n");
    world.vagrant.script(&played);
    world
        .channel()
        .run(&script(Mode::Run), &world.io())
        .await
        .unwrap();
    let second = std::fs::read_to_string(world.path("steps/cp/a-step.sh")).unwrap();
    assert!(second.contains(&format!("wdev_unseen=' {nonce} '")));
    assert!(world.shown().contains("finished by an earlier run"));
}

#[tokio::test]
async fn what_is_not_built_yet_fails_and_names_the_simulator() {
    let world = World::with_machine("");
    let mut unbuilt = script(Mode::Run);
    unbuilt.text = None;
    let mut windows = script(Mode::Run);
    windows.os = Os::Windows;
    for it in [unbuilt, windows] {
        let failure = world.channel().run(&it, &world.io()).await.unwrap_err();
        assert_eq!((failure.kind, failure.permanent), (Kind::Step, true));
        says(&failure, "`a-step` is not built yet");
        says(&failure, "--provider sim");
    }
    assert!(world.calls().is_empty());
}

// Commands and files -----------------------------------------------------------------------------

const REFUSED: &str =
    "error ssh: connect to host 127.0.0.1 port 2222: Connection refused\nexit 255\n";

#[tokio::test]
async fn a_command_returns_its_own_exit_code_and_output() {
    let world = World::with_machine(SSH_CONFIG);
    world
        .ssh
        .script(&blocks(&["print out\nexit 3\n", "exit 255\n"]));
    let channel = world.channel();
    let argv = ["echo", "it's", "$(id)"].map(str::to_owned);
    assert_eq!(channel.exec(&argv, &world.io()).await.unwrap(), 3);
    assert_eq!(world.shown(), "out");
    let call = world.ssh.calls().remove(0);
    let (_, line) = call.split_once(" cp -- ").unwrap();
    assert_eq!(shlex::split(line).unwrap(), argv);
    assert_eq!(channel.exec(&argv, &world.io()).await.unwrap(), 255);
    assert_eq!(world.calls(), ["ssh-config cp"], "asked once");
}

#[tokio::test]
async fn a_way_that_has_changed_is_asked_for_once_more() {
    let world = World::with_machine(&blocks(&[SSH_CONFIG, SSH_CONFIG]));
    world.ssh.script(&blocks(&[REFUSED, "exit 0\n"]));
    let argv = ["true".to_owned()];
    assert_eq!(world.channel().exec(&argv, &world.io()).await.unwrap(), 0);
    assert_eq!(world.calls().len(), 2);

    let world = World::with_machine(&blocks(&[SSH_CONFIG, SSH_CONFIG]));
    world.ssh.script(&blocks(&[REFUSED, REFUSED]));
    let failure = world.channel().exec(&argv, &world.io()).await.unwrap_err();
    assert_eq!(failure.kind, Kind::Provider);
    says(&failure, "Connection refused");
}

#[tokio::test]
async fn a_command_whose_connection_is_cut_is_not_run_twice() {
    let world = World::with_machine(SSH_CONFIG);
    world
        .ssh
        .script("error Connection to 127.0.0.1 closed by remote host.\nexit 255\n");
    let failure = world
        .channel()
        .exec(&["x".to_owned()], &world.io())
        .await
        .unwrap_err();
    says(&failure, "the connection was cut");
    assert_eq!(world.ssh.calls().len(), 1);
}

#[tokio::test]
async fn a_file_is_sent_with_its_hash() {
    let world = World::with_machine(SSH_CONFIG);
    world
        .ssh
        .script(&blocks(&["stdin\nexit 0\n", "print disk full\nexit 1\n"]));
    let file = world.path("a file");
    std::fs::write(&file, "abc").unwrap();
    let channel = world.channel();
    channel
        .upload(&file, "/opt/it's", &world.io())
        .await
        .unwrap();
    let call = world.ssh.calls().remove(0);
    let (_, line) = call.split_once(" cp -- ").unwrap();
    let words = shlex::split(line).unwrap();
    assert_eq!(words[words.len() - 2], "/opt/it's");
    assert_eq!(
        words[words.len() - 1],
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
    let failure = channel
        .upload(&file, "/opt/x", &world.io())
        .await
        .unwrap_err();
    assert_eq!(failure.output, ["disk full"]);
}

#[tokio::test]
async fn a_machine_is_known_by_its_boot() {
    let world = World::with_machine(SSH_CONFIG);
    world.ssh.script(&blocks(&["print 1b2c-3d\n", "exit 1\n"]));
    let channel = world.channel();
    let patience = Duration::from_secs(60);
    let identity = channel.boot_identity(patience, &world.io()).await.unwrap();
    assert_eq!(identity, "1b2c-3d");
    channel
        .boot_identity(patience, &world.io())
        .await
        .unwrap_err();
}
