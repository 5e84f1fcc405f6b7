//! The host-only interface and the master of linked clones: made by Vagrant, gone with the last sandbox.

use wdev::provider::vagrant::hypervisor::Hypervisor;
use wdev::provider::vagrant::hypervisor::at_work::Watch;

use crate::world::{World, cp, named_now, nothing};

const OURS: &str = "192.168.57.1";

#[tokio::test]
async fn an_interface_that_was_there_is_never_removed() {
    let mut world = World::new();
    world.interface("vboxnet0", OURS);
    let sandbox = world.sandbox("a");
    sandbox.before_start(&cp(), &world.io()).await.unwrap();
    sandbox.after_start(&cp(), "m1", &world.io()).await.unwrap();
    sandbox.after_last(&world.io()).await.unwrap();
    assert_eq!(world.changes(), [""; 0]);
}

#[tokio::test]
async fn the_interface_that_vagrant_made_for_us_goes_with_the_last_sandbox_alone() {
    let mut world = World::new();
    world.interface("vboxnet0", "192.168.56.1");
    let (a, b) = (world.sandbox("a"), world.sandbox("b"));
    a.before_start(&cp(), &world.io()).await.unwrap();
    // Vagrant makes it.
    world.interface("vboxnet1", OURS);
    b.before_start(&cp(), &world.io()).await.unwrap();

    a.after_last(&world.io()).await.unwrap();
    assert_eq!(world.changes(), [""; 0], "the other sandbox uses it");
    b.after_last(&world.io()).await.unwrap();
    let removed = [
        "dhcpserver remove --ifname vboxnet1",
        "hostonlyif remove vboxnet1",
    ];
    assert_eq!(world.changes(), removed);
    assert!(!world.ledger().contains("virtualbox-interface"));

    // Of a later one with the same subnet nobody says that it is ours.
    b.after_last(&world.io()).await.unwrap();
    assert_eq!(world.changes(), removed);
}

#[tokio::test]
async fn an_interface_that_a_foreign_machine_uses_stays_until_that_is_gone() {
    let mut world = World::new();
    let sandbox = world.sandbox("a");
    sandbox.before_start(&cp(), &world.io()).await.unwrap();
    world.interface("vboxnet0", OURS);
    world.machine("mine", "f1", "print hostonlyadapter2=\"vboxnet0\"\n");
    sandbox.after_last(&world.io()).await.unwrap();
    assert_eq!(world.changes(), [""; 0]);
    assert!(
        world.shown().contains("`mine` is set to it"),
        "{}",
        world.shown()
    );

    world.without_machine("f1");
    world.sandbox("b").after_last(&world.io()).await.unwrap();
    assert_eq!(
        world.changes().last().unwrap(),
        "hostonlyif remove vboxnet0"
    );
}

#[tokio::test]
async fn an_interface_that_vagrant_was_killed_over_is_found() {
    let mut world = World::new();
    world.interface("vboxnet0", "");
    let sandbox = world.sandbox("a");
    sandbox.before_start(&cp(), &world.io()).await.unwrap();
    world.interface("vboxnet1", "");
    sandbox.before_start(&cp(), &world.io()).await.unwrap();
    let removed = [
        "dhcpserver remove --ifname vboxnet1",
        "hostonlyif remove vboxnet1",
    ];
    assert_eq!(world.changes(), removed, "Vagrant cannot work beside it");

    world.interface("vboxnet2", "");
    sandbox.remove_rest(&cp(), &world.io()).await.unwrap();
    assert_eq!(
        world.changes().last().unwrap(),
        "hostonlyif remove vboxnet2"
    );
}

#[tokio::test]
async fn an_interface_without_an_address_that_nobody_of_ours_can_have_made_stays() {
    let mut world = World::new();
    let sandbox = world.sandbox("a");
    sandbox.before_start(&cp(), &world.io()).await.unwrap();
    world.interface("vboxnet0", OURS);
    sandbox.after_start(&cp(), "m1", &world.io()).await.unwrap();
    world.interface("vboxnet1", "");
    sandbox.remove_rest(&cp(), &world.io()).await.unwrap();
    sandbox.after_last(&world.io()).await.unwrap();
    let removed = [
        "dhcpserver remove --ifname vboxnet0",
        "hostonlyif remove vboxnet0",
    ];
    assert_eq!(world.changes(), removed);
    assert!(world.shown().contains("`vboxnet1`"), "{}", world.shown());
}

#[tokio::test]
async fn while_a_vagrant_is_at_work_what_it_may_use_stays_for_the_next_time() {
    let mut world = World::new();
    let sandbox = world.sandbox("a");
    sandbox.before_start(&cp(), &world.io()).await.unwrap();
    world.interface("vboxnet0", OURS);
    world.machine(&named_now("debian", 7), "master", "");
    world.master("master");
    sandbox.after_start(&cp(), "m1", &world.io()).await.unwrap();
    world.watch = Watch::Told(true);
    let busy = world.sandbox("a");
    busy.after_last(&world.io()).await.unwrap();
    assert_eq!(world.changes(), [""; 0]);
    assert_eq!(world.shown().matches("a Vagrant that runs").count(), 2);

    world.watch = Watch::Told(false);
    let later = world.sandbox("b");
    later.after_last(&world.io()).await.unwrap();
    let removed = [
        "unregistervm master --delete",
        "dhcpserver remove --ifname vboxnet0",
        "hostonlyif remove vboxnet0",
    ];
    assert_eq!(world.changes(), removed);
}

#[tokio::test]
async fn what_cannot_be_removed_is_told_with_the_command_and_tried_by_the_next() {
    let mut world = World::new();
    let sandbox = world.sandbox("a");
    sandbox.before_start(&cp(), &world.io()).await.unwrap();
    world.interface("vboxnet0", OURS);
    world.more("expect hostonlyif remove\nerror VBoxManage: error: E_FAIL\nexit 1\nnext\n");
    sandbox.after_last(&world.io()).await.unwrap();
    let told = "`VBoxManage hostonlyif remove vboxnet0`";
    assert!(world.shown().contains(told), "{}", world.shown());

    world.more("");
    world.sandbox("b").after_last(&world.io()).await.unwrap();
    assert!(!world.ledger().contains("virtualbox-interface"));
}

#[tokio::test]
async fn a_master_of_before_stays_and_ours_goes_with_the_last_sandbox() {
    let mut world = World::new();
    world.machine("debian_1600000000000_1", "old-master", "");
    world.master("old-master");
    let (a, b) = (world.sandbox("a"), world.sandbox("b"));
    a.before_start(&cp(), &world.io()).await.unwrap();
    a.after_start(&cp(), "m1", &world.io()).await.unwrap();
    a.after_last(&world.io()).await.unwrap();
    assert_eq!(world.changes(), [""; 0]);

    // The next time Vagrant makes one.
    world.without_machine("old-master");
    a.before_start(&cp(), &world.io()).await.unwrap();
    world.machine(&named_now("debian", 7), "new-master", "");
    world.master("new-master");
    a.after_start(&cp(), "m2", &world.io()).await.unwrap();
    b.before_start(&cp(), &world.io()).await.unwrap();
    b.after_start(&cp(), "m3", &world.io()).await.unwrap();
    a.after_last(&world.io()).await.unwrap();
    assert_eq!(world.changes(), [""; 0], "the other sandbox uses it");
    b.after_last(&world.io()).await.unwrap();
    assert_eq!(world.changes(), ["unregistervm new-master --delete"]);
    let file = "vagrant-home/boxes/debian/0/virtualbox/master_id";
    assert!(!world.path(file).exists());
}

#[tokio::test]
async fn a_master_with_a_foreign_clone_stays() {
    let mut world = World::new();
    let sandbox = world.sandbox("a");
    sandbox.before_start(&cp(), &world.io()).await.unwrap();
    let master = named_now("debian", 7);
    world.machine(&master, "master", "");
    world.master("master");
    sandbox.after_start(&cp(), "m1", &world.io()).await.unwrap();
    world.disk("d1", "base", &format!("{master}/box.vmdk"));
    world.disk("d2", "d1", "somebodys/clone.vdi");
    sandbox.after_last(&world.io()).await.unwrap();
    assert_eq!(world.changes(), [""; 0]);
    assert!(world.shown().contains("stays"), "{}", world.shown());
}

#[tokio::test]
async fn without_anything_noted_nothing_is_removed() {
    let mut world = World::new();
    world.interface("vboxnet0", OURS);
    world.without_interfaces();
    world.interface("vboxnet0", OURS);
    world.machine(&named_now("debian", 7), "master", "");
    world.master("master");
    world.sandbox("a").after_last(&world.io()).await.unwrap();
    assert_eq!(world.changes(), [""; 0]);
}

#[tokio::test]
async fn a_windows_machine_is_told_the_address_of_its_second_adapter() {
    let mut world = World::new();
    world.interface("vboxnet4", OURS);
    world.machine(
        "winw1",
        "w",
        "print macaddress1=\"080027000001\"\nprint hostonlyadapter2=\"vboxnet4\"\n\
         print macaddress2=\"0800270000FF\"\n",
    );
    let machine = wdev::provider::vagrant::MachineRef {
        os: wdev::channel::Os::Windows,
        ..cp()
    };
    let sandbox = world.sandbox("a");
    let mac = sandbox.after_start(&machine, "w", &world.io()).await;
    assert_eq!(mac.unwrap().as_deref(), Some("08:00:27:00:00:ff"));
    let linux = sandbox.after_start(&cp(), "w", &world.io()).await;
    assert_eq!(linux.unwrap(), None);
}

#[tokio::test]
async fn a_sandbox_whose_machine_never_started_uses_the_master_too() {
    let mut world = World::new();
    let (a, b) = (world.sandbox("a"), world.sandbox("b"));
    a.before_start(&cp(), &world.io()).await.unwrap();
    world.machine(&named_now("debian", 7), "master", "");
    world.master("master");
    let failed = a.reclaim(&cp(), Some("m1"), &nothing(), &world.io()).await;
    assert!(!failed.unwrap());
    b.before_start(&cp(), &world.io()).await.unwrap();
    a.after_last(&world.io()).await.unwrap();
    assert_eq!(world.changes(), [""; 0]);
    b.after_last(&world.io()).await.unwrap();
    assert_eq!(world.changes(), ["unregistervm master --delete"]);
}
