//! The clock.

use std::fs;

use wdev::render::linux;

use crate::common::need;
use crate::common::scripted::Node;

/// A node whose clock stands at this many milliseconds after 100 s of uptime, and that hears the host's
/// time at its boot where `base` is given.
fn clock_node(now: u32, base: Option<u32>) -> (Node, String) {
    let node = Node::new(&[("uptime", "100.25 190.00\n"), ("now", &now.to_string())]);
    node.program(
        "date",
        r#"if [[ $1 == +%s%3N ]]; then cat now; else printf '%s\n' "$3" >set; printf '%s' "${3//[@.]/}" >now; fi"#,
    );
    node.program("systemctl", "exit 1");
    let given = base.map_or("return 1".to_owned(), |base| format!("printf '%s' {base}"));
    let changes = format!("wdev_uptime=uptime; wdev_given() {{ {given}; }}");
    (node, changes)
}

#[test]
fn a_clock_that_is_off_is_set_to_the_hosts_time_and_twice_is_as_good() {
    let Some(bash) = need("bash") else { return };
    let body = linux::clock(2000).unwrap();
    // The host's time now is 500 s + 100.25 s; the node is 28 s behind.
    let (node, changes) = clock_node(572_250, Some(500_000));
    let call = |call: &str| node.call(&bash, &body, &changes, call).ok();
    let before = call("wdev_probe");
    assert!(
        before.contains("not in place: the clock is 28.000 s off"),
        "{before}"
    );
    assert!(before.contains("fact clock_ms=572250"), "{before}");
    assert!(before.contains("fact uptime_ms=100250"), "{before}");
    let said = call("wdev_run");
    assert!(said.contains("stood 28.000 s behind"), "{said}");
    assert_eq!(node.read("set"), "@600.250\n");
    assert!(!call("wdev_probe").contains("not in place"));
    fs::remove_file(node.path("set")).unwrap();
    assert!(call("wdev_run").contains("agrees"));
    assert!(!node.path("set").exists());
}

#[test]
fn a_clock_that_is_right_or_cannot_be_compared_is_left_alone() {
    let Some(bash) = need("bash") else { return };
    let body = linux::clock(2000).unwrap();
    for (now, base) in [(601_900, Some(500_000)), (1, None)] {
        let (node, changes) = clock_node(now, base);
        let call = |call: &str| node.call(&bash, &body, &changes, call).ok();
        call("wdev_run");
        assert!(!node.path("set").exists(), "{now} {base:?}");
        assert!(!call("wdev_probe").contains("not in place"));
    }
}

#[test]
fn a_time_service_that_is_there_is_told_to_keep_the_time_unless_another_does() {
    let Some(bash) = need("bash") else { return };
    let body = linux::clock(2000).unwrap();
    let (node, changes) = clock_node(1, None);
    node.program(
        "systemctl",
        "case \"$*\" in\n\
         is-enabled*) cat \"units/$2\" ;;\n\
         '-q enable '*) echo enabled >\"units/$3\" ;;\n\
         start*) echo \"$2\" >>started ;;\n\
         esac",
    );
    let call = |call: &str| node.call(&bash, &body, &changes, call).ok();
    fs::create_dir(node.path("units")).unwrap();
    assert!(
        !call("wdev_probe").contains("not in place"),
        "none is there"
    );
    fs::write(node.path("units/systemd-timesyncd"), "disabled\n").unwrap();
    assert!(call("wdev_probe").contains("systemd-timesyncd is not started at boot"));
    call("wdev_run");
    call("wdev_run");
    assert!(!call("wdev_probe").contains("not in place"));
    assert_eq!(node.read("started"), "systemd-timesyncd\n");
    fs::write(node.path("units/systemd-timesyncd"), "masked\n").unwrap();
    assert!(
        !call("wdev_probe").contains("not in place"),
        "that is wanted"
    );
    fs::write(node.path("units/systemd-timesyncd"), "disabled\n").unwrap();
    fs::write(node.path("units/chrony"), "enabled\n").unwrap();
    assert!(
        !call("wdev_probe").contains("not in place"),
        "another one does"
    );
}
