//! What a Vagrant that was killed has left half-made.

use wdev::provider::vagrant::hypervisor::Hypervisor;

use crate::world::{World, cp, named_now, nothing};

/// A world in which Vagrant was killed while it made `cp`, with a machine of before and several since.
async fn killed() -> World {
    let mut world = World::new();
    world.machine("temp_clone_1600000000000_5", "before", "");
    let sandbox = world.sandbox("a");
    sandbox.before_start(&cp(), &world.io()).await.unwrap();
    world.master("master");
    world.machine(&named_now("debian", 1), "master", "");
    world.machine(&named_now("debian", 2), "import", "");
    world.machine(&named_now("temp_clone", 3), "clone", "");
    // Others' work of the same minute.
    let foreign = named_now("temp_clone", 4);
    world.machine(&foreign, "foreign", "");
    let project = world.path("project/.vagrant");
    world.write("project/.vagrant/machines/web/virtualbox/id", "foreign");
    let index = serde_json::json!({"version": 1, "machines": {"x": {
        "local_data_path": project, "name": "web", "provider": "virtualbox",
    }}});
    world.write("vagrant-home/data/machine-index/index", &index.to_string());
    world.machine(
        &named_now("temp_clone", 5),
        "running",
        "print VMState=\"running\"\n",
    );
    world.machine(&named_now("other-box", 6), "other-box", "");
    world.machine("my machine", "named", "");
    world
}

#[tokio::test]
async fn the_next_start_removes_what_is_half_made_and_nothing_else() {
    let world = killed().await;
    let sandbox = world.sandbox("a");
    sandbox.before_start(&cp(), &world.io()).await.unwrap();
    let removed = [
        "unregistervm import --delete",
        "unregistervm clone --delete",
    ];
    assert_eq!(world.changes(), removed);
}

#[tokio::test]
async fn destroy_removes_it_too_and_then_the_master_that_was_made_for_it() {
    let world = killed().await;
    let sandbox = world.sandbox("a");
    assert!(sandbox.remove_rest(&cp(), &world.io()).await.unwrap());
    let removed = [
        "unregistervm import --delete",
        "unregistervm clone --delete",
    ];
    assert_eq!(world.changes(), removed);
    sandbox.after_last(&world.io()).await.unwrap();
    assert_eq!(
        world.changes().last().unwrap(),
        "unregistervm master --delete"
    );
    assert!(
        !world.ledger().contains("virtualbox-m"),
        "{}",
        world.ledger()
    );
}

#[tokio::test]
async fn a_machine_that_vagrant_knows_is_not_half_made() {
    let mut world = World::new();
    let sandbox = world.sandbox("a");
    sandbox.before_start(&cp(), &world.io()).await.unwrap();
    world.machine(&named_now("temp_clone", 3), "clone", "");
    // Killed right after Vagrant wrote down the clone.
    world.write("a/rendered/.vagrant/machines/cp/virtualbox/id", "clone");
    sandbox.before_start(&cp(), &world.io()).await.unwrap();
    let again = sandbox
        .reclaim(&cp(), Some("clone"), &nothing(), &world.io())
        .await;
    assert!(!again.unwrap());
    sandbox
        .after_start(&cp(), "clone", &world.io())
        .await
        .unwrap();
    assert_eq!(world.changes(), [""; 0]);
}

#[tokio::test]
async fn a_machine_that_was_up_leaves_no_note_by_which_others_could_be_taken_for_ours() {
    let mut world = World::new();
    let sandbox = world.sandbox("a");
    sandbox.before_start(&cp(), &world.io()).await.unwrap();
    sandbox.after_start(&cp(), "m1", &world.io()).await.unwrap();
    world.machine(&named_now("temp_clone", 3), "foreign", "");
    assert!(!sandbox.remove_rest(&cp(), &world.io()).await.unwrap());
    assert_eq!(world.changes(), [""; 0]);
}

#[tokio::test]
async fn our_name_is_freed_and_the_start_tried_again() {
    let mut world = World::new();
    let unique = cp().unique;
    world.machine(&unique, "leftover", "print VMState=\"running\"\n");
    let sandbox = world.sandbox("a");
    let again = sandbox.reclaim(&cp(), None, &nothing(), &world.io()).await;
    assert!(again.unwrap());
    let removed = [
        "controlvm leftover poweroff",
        "unregistervm leftover --delete",
    ];
    assert_eq!(world.changes(), removed);
    // A failure with another cause is not tried again.
    world.without_machine("leftover");
    let again = sandbox.reclaim(&cp(), None, &nothing(), &world.io()).await;
    assert!(!again.unwrap());
}

#[tokio::test]
async fn a_folder_of_our_name_is_removed_unless_a_machine_lives_in_it() {
    let mut world = World::new();
    let unique = cp().unique;
    world.write(&format!("vms/{unique}/{unique}.vbox-prev"), "");
    world.write(&format!("vms/{unique}/vtpm.pem"), "");
    world.write("vms/somebodys/disk.vdi", "");
    world.disk("d1", "base", &format!("{unique}/disk.vdi"));
    world.disk("d2", "base", "somebodys/disk.vdi");
    let sandbox = world.sandbox("a");
    let again = sandbox.reclaim(&cp(), None, &nothing(), &world.io()).await;
    assert!(again.unwrap());
    assert!(!world.path("vms").join(&unique).exists());
    assert!(world.path("vms/somebodys/disk.vdi").exists());
    assert_eq!(world.changes(), ["closemedium disk d1 --delete"]);

    // The machine that Vagrant knows has its settings there.
    world.machine(&unique, "known", "");
    world.write(&format!("vms/{unique}/x.vbox"), "");
    let again = sandbox
        .reclaim(&cp(), Some("known"), &nothing(), &world.io())
        .await;
    assert!(!again.unwrap());
    assert!(world.path("vms").join(&unique).exists());
}

#[tokio::test]
async fn a_folder_that_was_never_registered_is_removed_when_its_making_is_ours() {
    let world = World::new();
    let before = format!("vms/{}/disk.vdi", named_now("temp_clone", 1));
    world.write(&before, "");
    // The name has milliseconds: the next one must not be of the same.
    std::thread::sleep(std::time::Duration::from_millis(2));
    let sandbox = world.sandbox("a");
    sandbox.before_start(&cp(), &world.io()).await.unwrap();
    let since = format!("vms/{}/disk.vdi", named_now("temp_clone", 2));
    world.write(&since, "");
    assert!(sandbox.remove_rest(&cp(), &world.io()).await.unwrap());
    assert!(world.path(&before).exists() && !world.path(&since).exists());
}

#[tokio::test]
async fn a_lock_is_waited_out_but_not_for_ever() {
    let locked = "expect unregistervm\nerror VBoxManage: error: The machine is already locked for a \
                  session (or being unlocked)\nerror VBoxManage: error: Details: code \
                  VBOX_E_INVALID_OBJECT_STATE (0x80bb0007)\nexit 1\nnext\n";
    let mut world = World::new();
    world.machine(&cp().unique, "leftover", "");
    world.more(&format!("{locked}{locked}expect unregistervm\nnext\n"));
    let sandbox = world.sandbox("a");
    assert!(sandbox.remove_rest(&cp(), &world.io()).await.unwrap());
    assert_eq!(world.changes().len(), 3);

    world.more(locked);
    let failure = sandbox.remove_rest(&cp(), &world.io()).await.unwrap_err();
    assert!(failure.to_string().contains("already locked"), "{failure}");
}
