//! Can this host's VirtualBox be used?

use wdev::error::{Failure, Kind};
use wdev::provider::vagrant::hypervisor::Hypervisor;
use wdev::provider::vagrant::hypervisor::virtualbox::VirtualBox;
use wdev::provider::vagrant::hypervisor::virtualbox::host::Places;

use crate::world::{World, cp};

const VAGRANT: (u32, u32, u32) = (2, 3, 4);

async fn refused(world: &World) -> Failure {
    let failure = *world
        .sandbox("a")
        .check(VAGRANT, &world.io())
        .await
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Host);
    assert!(
        failure.permanent && !failure.advice.is_empty(),
        "{failure:?}"
    );
    failure
}

#[tokio::test]
async fn a_good_host_passes_with_one_question() {
    let world = World::new();
    world
        .sandbox("a")
        .check(VAGRANT, &world.io())
        .await
        .unwrap();
    assert_eq!(world.manage.calls(), ["--version"]);
    assert_eq!(world.shown(), "");
}

#[tokio::test]
async fn a_host_without_virtualbox_is_told_so_and_can_still_be_cleaned() {
    let world = World::new();
    let places = Places {
        manage: None,
        ..world.places()
    };
    let on = |world: &World| VirtualBox::on(world.site("a"), places.clone(), None);
    let failure = on(&world).check(VAGRANT, &world.io()).await.unwrap_err();
    assert!(failure.to_string().contains("not installed"), "{failure}");
    let gone = on(&world).remove_rest(&cp(), &world.io()).await;
    assert!(!gone.unwrap());
    on(&world).after_last(&world.io()).await.unwrap();
}

#[tokio::test]
async fn a_missing_kernel_module_and_a_broken_virtualbox_are_told_apart() {
    for (answer, text) in [
        (
            "error WARNING: The vboxdrv kernel module is not\nerror          loaded.\n\
             print 7.0.20r163906\n",
            "kernel module is not loaded",
        ),
        (
            "print WARNING: The character device /dev/vboxdrv does not exist.\n\
             print 7.0.20_Debianr163906\n",
            "kernel module is not loaded",
        ),
        ("error no such library\nexit 127\n", "does not tell"),
        ("print hello\n", "does not tell"),
    ] {
        let mut world = World::new();
        world.more(&format!("expect --version\n{answer}next\n"));
        let failure = refused(&world).await;
        assert!(failure.to_string().contains(text), "{failure}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_subnet_that_virtualbox_would_refuse_is_refused_before_anything_is_made() {
    let world = World::new();
    world.write("etc-vbox/networks.conf", "10.0.0.0/8\n* 172.16.0.0/12\n");
    let failure = refused(&world).await;
    let text = format!("{failure} {:?}", failure.advice);
    for part in [
        "192.168.57.0/24",
        "172.16.0.0/12",
        "begin with `*`",
        "* 192.168.57.0/24",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    assert_eq!(world.changes(), [""; 0]);
}

#[tokio::test]
async fn kvm_that_holds_the_processor_is_a_warning() {
    let world = World::new();
    world.write("osrelease", "6.14.0-24-generic\n");
    world.write("modules/kvm_intel/refcnt", "0");
    world.write("modules/kvm/parameters/enable_virt_at_load", "Y\n");
    let checked = world.sandbox("a").check(VAGRANT, &world.io()).await;
    checked.unwrap();
    assert!(world.shown().contains("modprobe -r"), "{}", world.shown());
}

#[tokio::test]
async fn a_virtualbox_that_this_vagrant_does_not_know_is_told_before_anything_is_made() {
    let mut world = World::new();
    world.more("expect --version\nprint 7.1.4r165100\nnext\n");
    let failure = refused(&world).await;
    let text = failure.to_string();
    assert!(text.contains("7.1") && text.contains("2.3.4"), "{text}");
}
