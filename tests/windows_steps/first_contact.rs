//! The first contact: what makes a stock Windows quiet and reachable.

use serde_json::{Value, json};
use wdev::channel::Mode;
use wdev::render::windows::prepare::first_contact;

use crate::node::Node;
use crate::ways::{Scene, every_way};

fn body() -> String {
    first_contact("2022", 2000).unwrap()
}

/// What a node must be like in the end.
fn state(node: &Node) -> Value {
    let world = node.world();
    let parts = [
        "registry",
        "power",
        "ports",
        "profiles",
        "rules",
        "users",
        "time_zone",
        "services",
    ];
    Value::Object(
        parts
            .iter()
            .map(|&part| (part.to_owned(), world[part].clone()))
            .collect(),
    )
}

/// What ends the time service outside a domain.
const TRIGGER: &str = r"HKLM:\SYSTEM\CurrentControlSet\Services\W32Time\TriggerInfo\0";

/// With a profile of the firewall that lets nothing in, a user who must change the password, and what every Windows
/// has in its registry.
fn stock() -> Option<Node> {
    let profile = |name: &str, rules: &str| json!({"Name": name, "Enabled": "True", "AllowInboundRules": rules});
    let node = Node::new(&json!({"profiles": {
        "Domain": profile("Domain", "NotConfigured"),
        "Private": profile("Private", "NotConfigured"),
        "Public": profile("Public", "False"),
    }}))?;
    let user = json!({"PasswordExpires": "2026-04-12T08:00:00Z", "AccountExpires": "2027-01-01T00:00:00Z", "PasswordLastSet": null});
    let name = node.user();
    node.change(|world| {
        world["users"] = json!({ name: user });
        world["registry"] = json!({TRIGGER: {"Type": 3, "Action": 2}});
    });
    Some(node)
}

#[test]
fn a_stock_machine_is_made_quiet_however_often_it_is_interrupted() {
    every_way(&Scene {
        name: "first-contact",
        body: &body(),
        secrets: &[],
        node: &stock,
        boot: &Node::boot,
        state: &state,
    });
}

#[test]
fn it_tells_what_the_machine_is() {
    let Some(node) = Node::new(&json!({})) else {
        return;
    };
    let report = node.call(&body(), Mode::Run).done();
    assert!(report.in_place && !report.reboot_wanted);
    assert_eq!(report.facts["build"], "20348");
    assert_eq!(report.facts["free_mib"], "102400");
    assert_eq!(report.facts["licence"], "evaluation");
    let ends: jiff::Timestamp = report.facts["licence_ends"].parse().unwrap();
    let days = ends.duration_since(jiff::Timestamp::now()).as_hours() / 24;
    assert!((178..=180).contains(&days), "{days}");
}

#[test]
fn what_cannot_become_a_node_is_refused_with_what_was_seen() {
    let system = |caption: &str, build: &str, kind: u8| json!({"Caption": caption, "BuildNumber": build, "ProductType": kind});
    let expired = json!([{"Description": "Windows(R) Operating System, TIMEBASED_EVAL channel", "LicenseStatus": 5, "GracePeriodRemaining": 0}]);
    for (part, value, words) in [
        (
            "system",
            system("Microsoft Windows 11 Pro", "26100", 1),
            &["Microsoft Windows 11 Pro, build 26100", "no Windows Server"][..],
        ),
        (
            "system",
            system("Microsoft Windows Server 2016 Standard", "14393", 3),
            &["2016 Standard, build 14393", "20348 (2022)", "another box"],
        ),
        (
            "system",
            system("Microsoft Windows Server 2025 Standard", "26100", 3),
            &[
                "build 26100",
                "`windows: 2022` is asked for",
                "write `windows: 2025`",
            ],
        ),
        (
            "disk_free",
            json!(9_000_000_000_u64),
            &["8583 MiB free", "15360 MiB", "larger disk"],
        ),
        (
            "licences",
            expired,
            &["has expired", "every hour", "slmgr.vbs /rearm"],
        ),
    ] {
        let Some(node) = Node::new(&json!({part: value})) else {
            return;
        };
        let why = node.call(&body(), Mode::Run).why();
        for word in words {
            assert!(why.contains(word), "{word}: {why}");
        }
        assert_eq!(node.log(), [] as [String; 0], "{why}");
        let probed = node.probe(&body()).unwrap();
        assert!(why.starts_with(&probed), "{probed}");
        // It goes on once that is mended.
        node.change(|world| {
            world.as_object_mut().unwrap().remove(part);
        });
        assert!(node.call(&body(), Mode::Run).done().in_place);
    }
}

#[test]
fn a_node_that_has_filled_its_disk_since_is_still_one() {
    let Some(node) = stock() else { return };
    assert!(node.call(&body(), Mode::Run).done().in_place);
    node.change(|world| world["disk_free"] = json!(9_000_000_000_u64));
    assert!(node.probe(&body()).unwrap().contains("MiB free"));
    let kubelet = node.path("c/k/kubelet.exe");
    std::fs::create_dir_all(kubelet.parent().unwrap()).unwrap();
    std::fs::write(kubelet, "").unwrap();
    assert_eq!(node.probe(&body()), None);
    assert!(node.call(&body(), Mode::Run).done().in_place);
}

#[test]
fn the_time_service_runs_after_every_boot() {
    let Some(node) = stock() else { return };
    assert!(node.call(&body(), Mode::Run).done().in_place);
    node.boot();
    assert_eq!(node.probe(&body()), None);
    node.change(|world| world["registry"][TRIGGER] = json!({}));
    assert!(node.probe(&body()).unwrap().contains("in no domain"));
}

#[test]
fn every_kind_of_licence_has_a_word() {
    let product = |channel: &str, status: u8, minutes: u32| json!([{"Description": format!("Windows(R), {channel} channel"), "LicenseStatus": status, "GracePeriodRemaining": minutes}]);
    let Some(node) = Node::new(&json!({})) else {
        return;
    };
    for (licences, word, ends) in [
        (product("VOLUME_KMSCLIENT", 1, 250_000), "licensed", true),
        (product("RETAIL", 1, 0), "licensed", false),
        (product("RETAIL", 2, 40_000), "grace", true),
        (product("RETAIL", 5, 0), "unlicensed", false),
        (json!([]), "unknown", false),
    ] {
        node.change(|world| world["licences"] = licences.clone());
        let report = node.call(&body(), Mode::Run).done();
        assert_eq!(report.facts["licence"], word);
        assert_eq!(report.facts.contains_key("licence_ends"), ends, "{word}");
    }
}

#[test]
fn the_probe_finds_whatever_has_changed_since() {
    let Some(node) = stock() else {
        return;
    };
    let body = body();
    assert!(node.call(&body, Mode::Run).done().in_place);
    let good = node.world();
    let good_state = state(&node);
    let user = node.user();
    let au = "/registry/HKLM:\\SOFTWARE\\Policies\\Microsoft\\Windows\\WindowsUpdate\\AU";
    let user = |name: &str| format!("/users/{user}/{name}");
    for (at, value, why) in [
        (
            "/time_zone".to_owned(),
            json!("Pacific Standard Time"),
            "time zone",
        ),
        (
            "/services/W32Time/Status".to_owned(),
            json!("Stopped"),
            "W32Time",
        ),
        (
            "/services/W32Time/StartType".to_owned(),
            json!("Manual"),
            "W32Time",
        ),
        (
            "/power/scheme".to_owned(),
            json!("381b4222-f694-41f0-9685-ff5bb260df2e"),
            "power plan",
        ),
        ("/power/sleep".to_owned(), json!(60), "goes to sleep"),
        (format!("{au}/NoAutoUpdate"), json!(0), "NoAutoUpdate"),
        (format!("{au}/AUOptions"), json!(4), "AUOptions"),
        (
            "/ports/tcp/start".to_owned(),
            json!(49152),
            "(tcp) have another range",
        ),
        (
            "/ports/udp/num".to_owned(),
            json!(100),
            "(udp) have another range",
        ),
        (
            "/profiles/Public/AllowInboundRules".to_owned(),
            json!("False"),
            "no inbound rule",
        ),
        (
            "/rules/wdev-icmp4/Enabled".to_owned(),
            json!("False"),
            "pings",
        ),
        (
            user("PasswordExpires"),
            json!("2030-01-01T00:00:00Z"),
            "expires",
        ),
        (
            user("AccountExpires"),
            json!("2030-01-01T00:00:00Z"),
            "expires",
        ),
        (user("PasswordLastSet"), Value::Null, "expires"),
    ] {
        let mut world = good.clone();
        *world.pointer_mut(&at).unwrap_or_else(|| panic!("{at}")) = value;
        node.set_world(&world);
        let said = node.probe(&body).unwrap_or_else(|| panic!("{at}"));
        assert!(said.contains(why), "{at}: {said}");
        assert!(node.call(&body, Mode::Run).done().in_place, "{at}");
        assert_eq!(state(&node), good_state, "{at}");
    }
}

#[test]
fn a_password_that_has_expired_counts_again() {
    let Some(node) = Node::new(&json!({})) else {
        return;
    };
    let body = body();
    assert!(node.call(&body, Mode::Run).done().in_place);
    let user = node.user();
    node.change(|world| world["users"][&user]["PasswordExpires"] = json!("2020-01-01T00:00:00Z"));
    let ended = node.call(&body, Mode::Run);
    assert!(
        ended
            .1
            .contains(&format!("the password of {user} had expired")),
        "{}",
        ended.1
    );
    assert_eq!(node.world()["users"][&user]["PasswordExpires"], Value::Null);
}

#[test]
fn the_clock_is_set_by_the_hosts_and_left_alone_without_it() {
    for (off, sets) in [
        (0, false),
        (1500, false),
        (-90_000, true),
        (3_600_000, true),
    ] {
        let Some(node) = Node::new(&json!({"clock_off": off})) else {
            return;
        };
        let body = body();
        let probed = node.call(&body, Mode::Probe).done();
        let fact = |name: &str| probed.facts[name].parse::<i64>().unwrap();
        // What the clock says less what it is off by is the host's own time here.
        let host_at_boot = (fact("clock_ms") - off - fact("uptime_ms")).to_string();
        let given = [("host_at_boot", host_at_boot.as_str())];

        assert!(node.call(&body, Mode::Run).done().in_place);
        assert_eq!(node.world()["clock_off"], json!(off));
        let why = node.call_with(&body, Mode::Probe, &given, None).done().why;
        assert_eq!(why.is_some(), sets, "{off}: {why:?}");

        let ran = node.call_with(&body, Mode::Run, &given, None).done();
        assert!(ran.in_place);
        let left = node.world()["clock_off"].as_i64().unwrap();
        assert!(
            if sets { left.abs() < 2000 } else { left == off },
            "{off}: {left}"
        );
    }
}

#[test]
fn a_machine_that_cannot_sleep_is_no_failure() {
    let power = json!({"scheme": "381b4222-f694-41f0-9685-ff5bb260df2e", "sleep": null});
    let Some(node) = Node::new(&json!({"power": power})) else {
        return;
    };
    assert!(node.call(&body(), Mode::Run).done().in_place);
    assert!(!node.log().iter().any(|said| said.contains("standby")));
}

#[test]
fn values_of_a_key_that_is_there_stay() {
    let au = r"HKLM:\SOFTWARE\Policies\Microsoft\Windows\WindowsUpdate\AU";
    let Some(node) = Node::new(&json!({"registry": {au: {"UseWUServer": 1}}})) else {
        return;
    };
    assert!(node.call(&body(), Mode::Run).done().in_place);
    let key = &node.world()["registry"][au];
    assert_eq!(key["UseWUServer"], 1);
    assert_eq!(key["NoAutoUpdate"], 1);
}
