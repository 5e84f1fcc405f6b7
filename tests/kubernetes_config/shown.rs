//! What reviewers read: one text for each form, not for each version.

use wdev::os::Os;
use wdev::release::Origin;
use wdev::release::containerd::Version;
use wdev::render::kubernetes::{Cluster, DROP_IN, UNIT};

use crate::scene::{EVERYTHING, PLAIN, config, joining, release};

#[test]
fn kubeadm_by_api() {
    for (api, version, origin, text) in [
        ("v1beta2", "v1.20.2", Origin::Release, EVERYTHING),
        ("v1beta3", "v1.30.2", Origin::Release, EVERYTHING),
        ("v1beta4", "v1.36.3", Origin::Release, EVERYTHING),
        (
            "v1beta4_plain_ci",
            "v1.38.0-alpha.1.12+0123456789abcd",
            Origin::Ci,
            PLAIN,
        ),
    ] {
        let config = config(text);
        let release = release(version, origin);
        let cluster = Cluster::new(&config, &release).unwrap();
        insta::assert_snapshot!(format!("init_{api}"), cluster.init().unwrap());
        insta::assert_snapshot!(format!("join_{api}"), joining(&cluster));
    }
}

#[test]
fn containerd_by_form() {
    let config = config(PLAIN);
    let release = release("v1.36.3", Origin::Release);
    let cluster = Cluster::new(&config, &release).unwrap();
    for (containerd, os, name) in [
        ("1.7.28", Os::Linux, "containerd_2"),
        ("2.0.11", Os::Linux, "containerd_3"),
        ("2.3.4", Os::Linux, "containerd_4"),
        ("2.3.4", Os::Windows, "containerd_4_windows"),
    ] {
        let version = Version::parse(containerd).unwrap();
        insta::assert_snapshot!(name, cluster.containerd(version, os).unwrap());
    }
}

#[test]
fn the_kubelets_service() {
    insta::assert_snapshot!("kubelet", format!("{UNIT}\n{DROP_IN}"));
}
