//! What the kubelet of a Windows node is started with.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use wdev::config::model::Config;
use wdev::error::Result;
use wdev::os::Os;
use wdev::release::Origin;
use wdev::release::kubelet::removed_in;
use wdev::render::kubernetes::{Cluster, KubeletService, Member};

use crate::scene::{PLAIN, config, minors, release};

fn service(config: &Config, minor: u32, memory_mib: u64) -> Result<KubeletService> {
    let release = release(&format!("v1.{minor}.2"), Origin::Release);
    let labels = BTreeMap::from([("disk".to_owned(), "fast".to_owned())]);
    let taints = ["os=Win1809:NoSchedule".to_owned(), "a:NoExecute".to_owned()];
    let member = Member {
        name: "winw1",
        address: [192, 168, 56, 21].into(),
        os: Os::Windows,
        labels: &labels,
        taints: &taints,
    };
    Cluster::new(config, &release)?.kubelet_service(&member, memory_mib)
}

fn value<'a>(service: &'a KubeletService, name: &str) -> Option<&'a str> {
    let mut arguments = service.arguments.iter();
    let found = arguments.find(|argument| argument.name == name);
    found.map(|argument| argument.value.as_str())
}

#[test]
fn arguments_by_minor() {
    let config = config(PLAIN);
    let mut text = String::new();
    for minor in [20, 23, 30, 31, 32, 33, 34, 35, 36, 37] {
        let service = service(&config, minor, 6144).unwrap();
        writeln!(text, "1.{minor}").unwrap();
        for word in service.before {
            writeln!(text, "  {word}").unwrap();
        }
        for argument in service.arguments {
            writeln!(text, "  --{}={}", argument.name, argument.value).unwrap();
        }
        for word in service.after {
            writeln!(text, "  {word}").unwrap();
        }
    }
    insta::assert_snapshot!("kubelet_windows", text);
}

#[test]
fn no_minor_is_given_what_it_does_not_know() {
    let config = config(PLAIN);
    for minor in minors() {
        for argument in service(&config, minor, 6144).unwrap().arguments {
            let removed = removed_in(&argument.name);
            assert!(
                removed.is_none_or(|removed| minor < removed),
                "1.{minor}: {}",
                argument.name
            );
        }
    }
}

#[test]
fn the_users_own_arguments_win() {
    let text = "kubernetes: {version: \"1.36\", extra_args: {kubelet: {system-reserved: \"memory=4Gi\", \
                kube-reserved: \"\", cgroups-per-qos: \"true\", x: \"C:\\\\my dir\\\\\"}}}\n";
    let service = service(&config(text), 36, 6144).unwrap();
    assert_eq!(value(&service, "system-reserved"), Some("memory=4Gi"));
    assert_eq!(value(&service, "kube-reserved"), Some(""));
    assert_eq!(value(&service, "cgroups-per-qos"), Some("true"));
    assert_eq!(value(&service, "x"), Some(r"C:\my dir\"));
    assert_eq!(value(&service, "node-labels"), Some("disk=fast"));
}

#[test]
fn a_variable_of_windows_is_refused() {
    for (value, refused) in [
        ("%PATH%", true),
        ("100%", false),
        ("50%%", false),
        ("a%b%c", true),
    ] {
        let text = format!(
            "kubernetes: {{version: \"1.36\", extra_args: {{kubelet: {{x: \"{value}\"}}}}}}\n"
        );
        let made = service(&config(&text), 36, 6144);
        assert_eq!(made.is_err(), refused, "{value}");
        if let Err(failure) = made {
            assert!(
                failure.to_string().contains("cannot hand on `x`"),
                "{failure}"
            );
        }
    }
}
