//! The steps for a Linux node's DNS servers, its proxy and its own downloads, run by real bash.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use common::need;
use common::scripted::Node;
use wdev::config::model::Proxy;
use wdev::error::Kind;
use wdev::render::linux;

const PATHS: &str = "wdev_resolved=etc/systemd/resolved.conf.d/wdev.conf wdev_resolv=resolv.conf \
     wdev_dhcp_hooks=hooks wdev_marks=marks wdev_environment=etc/proxy.env wdev_apt_config=apt.conf \
     wdev_units=units wdev_cache=cache";

fn dns(servers: &[&str]) -> String {
    let servers: Vec<IpAddr> = servers.iter().map(|one| one.parse().unwrap()).collect();
    linux::dns(&servers).unwrap()
}

#[test]
fn without_a_setting_the_nodes_dns_is_left_alone() {
    let Some(bash) = need("bash") else { return };
    let text = "# DHCP's\nnameserver 10.0.2.3\n";
    let node = Node::new(&[("resolv.conf", text), ("hooks/x", "")]);
    node.program("systemctl", "echo \"$@\" >>asked; exit 0");
    let before = fs::metadata(node.path("resolv.conf")).unwrap();
    let body = dns(&[]);
    assert_eq!(node.call(&bash, &body, PATHS, "wdev_probe").ok(), "");
    node.call(&bash, &body, PATHS, "wdev_run").ok();
    let after = fs::metadata(node.path("resolv.conf")).unwrap();
    assert_eq!(after.modified().unwrap(), before.modified().unwrap());
    assert_eq!(node.read("resolv.conf"), text);
    for none in ["asked", "etc", "marks", "hooks/wdev"] {
        assert!(!node.path(none).exists(), "{none}");
    }
}

#[test]
fn dns_servers_go_before_what_is_in_the_file_and_go_again() {
    let Some(bash) = need("bash") else { return };
    let text = "search lan\nnameserver 10.0.2.3\noptions edns0\n";
    let node = Node::new(&[("resolv.conf", text), ("hooks/x", "")]);
    node.program("systemctl", "exit 3");
    let inode = fs::metadata(node.path("resolv.conf")).unwrap().ino();
    let call = |body: &str, call: &str| node.call(&bash, body, PATHS, call).ok();
    let ours = "# begin: DNS servers (wdev)\nnameserver 10.1.1.1\nnameserver fd00::1\n\
                # end: DNS servers (wdev)\n";
    let body = dns(&["10.1.1.1", "fd00::1"]);
    assert!(call(&body, "wdev_probe").contains("not in place"));
    for _ in 0..2 {
        call(&body, "wdev_run");
        assert_eq!(
            node.read("resolv.conf"),
            format!("{ours}search lan\n# off (wdev): nameserver 10.0.2.3\noptions edns0\n")
        );
        assert_eq!(call(&body, "wdev_probe"), "");
    }
    assert!(
        node.read("hooks/wdev")
            .contains("make_resolv_conf() { :; }")
    );
    // Who writes the file anew, as a DHCP client of another kind, is noticed.
    fs::write(node.path("resolv.conf"), text).unwrap();
    assert!(call(&body, "wdev_probe").contains("not in place"));
    call(&body, "wdev_run");
    let other = dns(&["10.2.2.2"]);
    call(&other, "wdev_run");
    assert!(
        node.read("resolv.conf")
            .starts_with("# begin: DNS servers (wdev)\nnameserver 10.2.2.2\n# end")
    );
    let none = dns(&[]);
    assert!(call(&none, "wdev_probe").contains("not in place"));
    call(&none, "wdev_run");
    assert_eq!(node.read("resolv.conf"), text);
    assert!(!node.path("hooks/wdev").exists());
    assert_eq!(call(&none, "wdev_probe"), "");
    assert_eq!(fs::metadata(node.path("resolv.conf")).unwrap().ino(), inode);
}

#[test]
fn where_systemd_resolved_runs_it_is_told_and_started_again_once() {
    let Some(bash) = need("bash") else { return };
    need("sha256sum").unwrap();
    let node = Node::new(&[(
        "run/systemd/resolve/stub-resolv.conf",
        "nameserver 127.0.0.53\n",
    )]);
    symlink(
        "run/systemd/resolve/stub-resolv.conf",
        node.path("resolv.conf"),
    )
    .unwrap();
    node.program("systemctl", "[[ $1 != restart ]] || echo \"$2\" >>asked");
    let call = |body: &str, call: &str| node.call(&bash, body, PATHS, call).ok();
    let body = dns(&["10.1.1.1", "10.1.1.2"]);
    assert!(call(&body, "wdev_probe").contains("not in place"));
    for _ in 0..2 {
        call(&body, "wdev_run");
        assert_eq!(call(&body, "wdev_probe"), "");
    }
    assert_eq!(
        node.read("etc/systemd/resolved.conf.d/wdev.conf"),
        "# Written by wdev.\n[Resolve]\nDNS=10.1.1.1 10.1.1.2\nDomains=~.\n"
    );
    assert_eq!(node.read("asked"), "systemd-resolved\n");
    // Cut off between the change and the restart.
    fs::remove_file(node.path("marks/systemd-resolved")).unwrap();
    assert!(call(&body, "wdev_probe").contains("was not started"));
    call(&body, "wdev_run");
    let none = dns(&[]);
    assert!(call(&none, "wdev_probe").contains("is still there"));
    call(&none, "wdev_run");
    call(&none, "wdev_run");
    assert_eq!(call(&none, "wdev_probe"), "");
    assert_eq!(node.read("asked"), "systemd-resolved\n".repeat(3));
    assert_eq!(node.read("resolv.conf"), "nameserver 127.0.0.53\n");
}

const URL: &str = "http://me:p%40ss$w@10.9.9.9:3128";

fn proxy(http: Option<&str>, https: Option<&str>) -> wdev::error::Result<String> {
    let wanted = Proxy {
        http: http.map(str::to_owned),
        https: https.map(str::to_owned),
        no_proxy: vec![],
    };
    linux::proxy(&wanted, &["10.0.0.0/8".to_owned(), ".svc".to_owned()])
}

#[test]
fn a_proxy_is_told_to_services_and_apt_in_files_of_root_alone_and_taken_back() {
    let Some(bash) = need("bash") else { return };
    let url = URL.replace('$', "%24");
    let node = Node::new(&[("given/proxy_http", &url), ("given/proxy_https", &url)]);
    // Only containerd runs yet.
    node.program(
        "systemctl",
        "case \"$*\" in\n'-q is-active containerd') ;;\n'-q is-active '*) exit 3 ;;\n*) echo \"$@\" >>asked ;;\nesac",
    );
    let body = proxy(Some(&url), Some(&url)).unwrap();
    assert!(!body.contains("p%40ss"), "no secret is in the script");
    let call = |body: &str, call: &str| node.call(&bash, body, PATHS, call).ok();
    assert!(call(&body, "wdev_probe").contains("not in place"));
    for _ in 0..2 {
        let said = call(&body, "wdev_run");
        assert!(!said.contains("p%40ss"), "{said}");
        assert_eq!(call(&body, "wdev_probe"), "");
    }
    assert_eq!(
        node.read("etc/proxy.env"),
        format!(
            "# Written by wdev.\nHTTP_PROXY='{url}'\nhttp_proxy='{url}'\nHTTPS_PROXY='{url}'\n\
             https_proxy='{url}'\nNO_PROXY='10.0.0.0/8,.svc'\nno_proxy='10.0.0.0/8,.svc'\n"
        )
    );
    assert_eq!(
        node.read("apt.conf"),
        format!(
            "// Written by wdev.\nAcquire::http::Proxy \"{url}\";\nAcquire::https::Proxy \"{url}\";\n"
        )
    );
    for file in ["etc/proxy.env", "apt.conf"] {
        let mode = fs::metadata(node.path(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    for service in ["containerd", "kubelet"] {
        assert_eq!(
            node.read(&format!("units/{service}.service.d/20-wdev-proxy.conf")),
            "# Written by wdev.\n[Service]\nEnvironmentFile=-etc/proxy.env\n"
        );
    }
    let restarts = |node: &Node| {
        let asked = node.read("asked");
        asked
            .lines()
            .filter(|line| *line == "restart containerd")
            .count()
    };
    assert_eq!(restarts(&node), 1);
    // Another password, with the same script.
    fs::write(
        node.path("given/proxy_http"),
        "http://me:other@10.9.9.9:3128",
    )
    .unwrap();
    assert!(call(&body, "wdev_probe").contains("not in place"));
    call(&body, "wdev_run");
    assert_eq!(call(&body, "wdev_probe"), "");
    assert_eq!(restarts(&node), 2);
    // Others may read it: that is put right.
    fs::set_permissions(node.path("apt.conf"), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(call(&body, "wdev_probe").contains("apt.conf differs"));
    call(&body, "wdev_run");

    let none = proxy(None, None).unwrap();
    assert!(call(&none, "wdev_probe").contains("is still there"));
    call(&none, "wdev_run");
    assert_eq!(call(&none, "wdev_probe"), "");
    assert_eq!(restarts(&node), 3);
    for gone in [
        "etc/proxy.env",
        "apt.conf",
        "units/containerd.service.d/20-wdev-proxy.conf",
        "marks/proxy-kubelet",
    ] {
        assert!(!node.path(gone).exists(), "{gone}");
    }
    assert!(call(&none, "wdev_run").contains("nothing to do"));
}

#[test]
fn a_proxy_that_a_file_cannot_carry_is_refused_without_showing_it() {
    for odd in [
        "http://a'b@c",
        "http://a b",
        "http://a\"b",
        "http://a$b",
        "http://a\\b",
        "http://a\nb",
    ] {
        let failure = proxy(Some(odd), None).unwrap_err();
        assert_eq!(failure.kind, Kind::Configuration, "{odd:?}");
        assert!(!format!("{failure:?}").contains("http://a"), "{failure:?}");
    }
}

/// Plays curl: takes the address from its standard input only, and begins where the file ends.
const CURL: &str = r#"echo "$@" >>asked
while (($#)); do [[ $1 != --output ]] || out=$2; shift; done
read -r _ _ url
url=${url//\"/}
case $url in
  *cut*) [[ -s $out ]] || { printf 'hel' >>"$out"; exit 18; }; printf 'lo' >>"$out" ;;
  *wrong*) printf '<html>' >"$out" ;;
  *) exit 22 ;;
esac"#;

#[test]
fn a_node_fetches_by_itself_what_a_cut_leaves_and_never_takes_anything_else() {
    let Some(bash) = need("bash") else { return };
    // printf hello | sha256sum
    let hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    let node = Node::new(&[
        ("given/sha256_cni_plugins", hello),
        ("given/url_cni_plugins", "https://me:pass@10.9.9.9/cut"),
        ("etc/proxy.env", "# x\nhttps_proxy='http://10.9.9.9:3128'\n"),
    ]);
    node.program("curl", CURL);
    let body = linux::fetch(&["cni-plugins"]).unwrap();
    let call = |call: &str| node.call(&bash, &body, PATHS, call);
    assert!(
        call("wdev_probe")
            .ok()
            .contains("cni-plugins is not fetched")
    );
    call("wdev_run").ok();
    assert_eq!(call("wdev_probe").ok(), "");
    assert_eq!(node.read("cache/cni-plugins"), "hello");
    assert_eq!(node.read("asked").lines().count(), 2);
    assert!(
        !node.read("asked").contains("pass"),
        "no secret in an argument"
    );
    call("wdev_run").ok();
    assert_eq!(node.read("asked").lines().count(), 2, "it is there");

    for (url, words) in [
        ("wrong", "is something else"),
        ("none", "cannot be fetched"),
    ] {
        fs::write(
            node.path("given/url_cni_plugins"),
            format!("https://me:pass@10.9.9.9/{url}"),
        )
        .unwrap();
        fs::remove_dir_all(node.path("cache")).unwrap();
        let said = call("wdev_run").failed();
        assert!(said.contains(words) && !said.contains("pass"), "{said}");
        assert!(!node.path("cache/cni-plugins").exists());
    }
}
