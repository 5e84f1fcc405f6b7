//! Bringing machines up and down.

use std::sync::atomic::Ordering;

use wdev::error::Kind;
use wdev::provider::{Power, Provider};

use crate::world::{RUNNING, SSH_CONFIG, World, blocks, cp, says};

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
async fn vagrant_is_not_asked_about_a_machine_that_it_would_not_find_and_forget() {
    let world = World::new("");
    let up = format!("mkfile {} uuid-1\n", world.id().display());
    world.vagrant.script(&blocks(&[&up, RUNNING, SSH_CONFIG]));
    world.ssh.script("exit 0\n");
    let provider = world.provider();
    provider.up(&cp(), &world.io()).await.unwrap();
    let record = world.path(".driver/cp.made-with");
    let right = std::fs::read_to_string(&record).unwrap();
    let calls = world.calls().len();

    let other = r#"{"LIBVIRT_DEFAULT_URI": "qemu+ssh://elsewhere/system"}"#;
    std::fs::write(&record, other).unwrap();
    let refused = [
        provider.up(&cp(), &world.io()).await.map(drop),
        provider.inspect(&cp(), &world.io()).await.map(drop),
        provider.halt(&cp(), &world.io()).await,
        provider.restart(&cp(), &world.io()).await,
        provider.destroy(&cp(), &world.io()).await,
    ];
    for failure in refused.map(Result::unwrap_err) {
        assert_eq!((failure.kind, failure.permanent), (Kind::Host, true));
        says(&failure, "LIBVIRT_DEFAULT_URI=qemu+ssh://elsewhere/system");
        says(&failure, "set `LIBVIRT_DEFAULT_URI`");
    }
    assert_eq!(world.calls().len(), calls, "{:?}", world.calls());
    assert!(world.id().exists());

    std::fs::write(&record, right).unwrap();
    let destroy = format!("rmfile {}\n", world.id().display());
    world.vagrant.script(&destroy);
    provider.destroy(&cp(), &world.io()).await.unwrap();
    assert!(!record.exists());
}

#[tokio::test]
async fn a_machine_whose_making_was_cut_short_is_made_anew_where_no_start_sets_it_up() {
    for sets_up_once in [true, false] {
        let world = World::new("");
        let up = format!("expect up cp\nmkfile {} uuid-1\n", world.id().display());
        let once = &world.hypervisor.sets_up_once;
        once.store(sets_up_once, Ordering::Relaxed);
        // The run dies, or the machine does not come up in time.
        world.vagrant.script(&format!("{up}exit 1\n"));
        assert!(world.provider().up(&cp(), &world.io()).await.is_err());

        let gone = "print 1,cp,state,not_created\n";
        let anew = [
            RUNNING,
            "expect destroy -f cp\n",
            gone,
            &up,
            RUNNING,
            SSH_CONFIG,
        ];
        let again = [RUNNING, "expect reload cp\n", RUNNING, SSH_CONFIG];
        let mended: &[&str] = if sets_up_once { &anew } else { &again };
        world.vagrant.script(&blocks(mended));
        world.ssh.script(&blocks(&["exit 0\n"; 2]));
        world.provider().up(&cp(), &world.io()).await.unwrap();
        // Once it has answered, a later start is enough.
        world.vagrant.script(&blocks(&again));
        std::fs::remove_file(world.path(".driver/cp.booted")).unwrap();
        world.provider().up(&cp(), &world.io()).await.unwrap();
    }
}

/// What vagrant-libvirt says of a machine that runs and has no address yet.
const BOOTING: &str = "print 1,cp,state,inaccessible\n";

#[tokio::test]
async fn a_machine_that_vagrant_does_not_see_running_is_turned_off_and_started() {
    // Vagrant's `reload` would start it without stopping it.
    let up = "expect up cp --provider libvirt\n";
    let world = World::with_machine(&blocks(&[BOOTING, up, RUNNING, SSH_CONFIG]));
    world.ssh.script("exit 0\n");
    world.provider().up(&cp(), &world.io()).await.unwrap();
    assert_eq!(
        world.calls(),
        ["status cp", "up cp", "status cp", "ssh-config cp"]
    );
    assert_eq!(
        *world.hypervisor.turned_off.lock().unwrap(),
        ["wdev-test-cp"]
    );
}

#[tokio::test]
async fn halt_turns_a_machine_off_that_vagrant_does_not_see_running() {
    let off = "print 1,cp,state,shutoff\n";
    let world = World::with_machine(&blocks(&["expect halt cp\n", BOOTING, off]));
    world.provider().halt(&cp(), &world.io()).await.unwrap();
    assert_eq!(
        *world.hypervisor.turned_off.lock().unwrap(),
        ["wdev-test-cp"]
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

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn destroy_ends_a_vagrant_whose_wdev_is_gone() {
    let world = World::with_machine("");
    let destroy = format!("rmfile {}\n", world.id().display());
    world
        .vagrant
        .script(&blocks(&["pid\ngrandchild\nsleep-forever\n", &destroy]));
    // As an earlier wdev left it: alone in its session, with the locked file as its standard input.
    let lock = world.path(".driver/cp.lock");
    std::fs::create_dir_all(world.path(".driver")).unwrap();
    std::fs::write(
        world.path(".driver/cp.holder"),
        "4194304\n`vagrant up cp`\n",
    )
    .unwrap();
    let file = std::fs::File::create(&lock).unwrap();
    file.lock().unwrap();
    let mut orphan = std::process::Command::new("setsid")
        .arg(&world.vagrant.program)
        .args(["up", "cp", "--machine-readable"])
        .env("VAGRANT_CWD", world.dir.path())
        .stdin(file)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let (pid, grandchild) = (world.vagrant.pid("pid"), world.vagrant.pid("grandchild"));
    world.provider().destroy(&cp(), &world.io()).await.unwrap();
    assert!(orphan.wait().is_ok());
    assert!(crate::fakes::ended(pid) && crate::fakes::ended(grandchild));
    assert_eq!(world.calls(), ["up cp", "destroy -f"]);
    assert!(world.shown().contains("ended a Vagrant"));
}
