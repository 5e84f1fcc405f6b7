//! A worker leaves its cluster.

use wdev::render::linux_cluster;

use crate::world::World;

fn world() -> Option<World> {
    let world = World::new()?;
    world.by_hand("mkdir -p api; : >api/up; echo 192.168.56.11 >api/address");
    Some(world)
}

fn body(force: bool) -> String {
    linux_cluster::leave("w1", 600, force).unwrap()
}

#[test]
fn a_worker_is_drained_before_its_node_object_goes_and_twice_is_once() {
    let Some(world) = world() else { return };
    let body = body(false);
    let probe = world.call(&body, "none", "wdev_probe").ok();
    assert!(probe.contains("the cluster still knows w1"), "{probe}");
    world.asked();
    world.call(&body, "none", "wdev_run").ok();
    let asked = world.asked();
    let drained =
        asked.find("drain w1 --ignore-daemonsets --delete-emptydir-data --force --timeout=");
    let deleted = asked.find("delete node w1 --ignore-not-found");
    assert!(drained.is_some() && drained < deleted, "{asked}");
    let probe = world.call(&body, "none", "wdev_probe").ok();
    assert!(!probe.contains("not in place"), "{probe}");

    world.asked();
    world.call(&body, "none", "wdev_run").ok();
    let again = world.asked();
    assert!(
        !again.contains("drain") && !again.contains("delete"),
        "{again}"
    );
}

#[test]
fn pods_that_do_not_end_keep_the_worker_unless_somebody_insists() {
    let Some(world) = world() else { return };
    world.by_hand("echo 'pod x is protected' >drain-fails");
    let ran = world.call(&body(false), "none", "wdev_run");
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("pod x is protected"), "{}", ran.out);
    assert!(ran.err.contains("could not be drained"), "{}", ran.err);
    assert!(!world.asked().contains("delete node"));
    let said = world.call(&body(true), "none", "wdev_run").ok();
    assert!(said.contains("going on"), "{said}");
    assert!(world.asked().contains("delete node w1"));
}

#[test]
fn a_cluster_that_cannot_be_asked_is_no_cluster_without_the_worker() {
    let Some(world) = world() else { return };
    world.by_hand("rm api/up");
    for call in ["wdev_run", "wdev_probe"] {
        let said = world.call(&body(false), "none", call).failed();
        assert!(said.contains("connection refused"), "{said}");
    }
}
