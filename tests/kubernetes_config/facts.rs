//! The names of images, and the tables.

use wdev::release::images::Images;
use wdev::release::kubelet::removed_in;
use wdev::release::{Origin, Release};

use crate::scene::release;

fn images(release: &Release) -> Vec<String> {
    Images::of(release).all()
}

#[test]
fn images_are_called_what_kubeadm_calls_them() {
    assert_eq!(
        images(&release("v1.36.3", Origin::Release)),
        [
            "registry.k8s.io/kube-apiserver:v1.36.3",
            "registry.k8s.io/kube-controller-manager:v1.36.3",
            "registry.k8s.io/kube-scheduler:v1.36.3",
            "registry.k8s.io/kube-proxy:v1.36.3",
            "registry.k8s.io/coredns/coredns:v1.14.2",
            "registry.k8s.io/pause:3.10.2",
            "registry.k8s.io/etcd:3.6.8-0",
        ]
    );
    assert_eq!(
        images(&release("v1.38.0-alpha.1.12+0123456789abcd", Origin::Ci))[..5],
        [
            "gcr.io/k8s-staging-ci-images/kube-apiserver:v1.38.0-alpha.1.12_0123456789abcd",
            "gcr.io/k8s-staging-ci-images/kube-controller-manager:v1.38.0-alpha.1.12_0123456789abcd",
            "gcr.io/k8s-staging-ci-images/kube-scheduler:v1.38.0-alpha.1.12_0123456789abcd",
            "gcr.io/k8s-staging-ci-images/kube-proxy:v1.38.0-alpha.1.12_0123456789abcd",
            "registry.k8s.io/coredns/coredns:v1.14.6",
        ]
    );
    assert_eq!(
        images(&release("v1.36.4-3+0123456789abcd-dirty", Origin::Source))[0],
        "registry.k8s.io/kube-apiserver:v1.36.4-3_0123456789abcd-dirty"
    );
    for (version, known) in [
        ("v1.20.2", true),
        ("v1.36.3", true),
        ("v1.38.0", false),
        ("v1.21.0", false),
    ] {
        assert_eq!(
            Images::of(&release(version, Origin::Release)).known,
            known,
            "{version}"
        );
    }
}

#[test]
fn later_patches_have_later_etcd_and_coredns() {
    let etcd = |version: &str| Images::of(&release(version, Origin::Release)).etcd;
    assert_eq!(etcd("v1.31.13"), "3.5.15-0");
    assert_eq!(etcd("v1.31.14"), "3.5.24-0");
    assert_eq!(etcd("v1.32.0"), "3.5.16-0");
    let coredns = |version: &str| Images::of(&release(version, Origin::Release)).coredns;
    assert_eq!(coredns("v1.30.4"), "coredns/coredns:v1.11.1");
    assert_eq!(coredns("v1.30.5"), "coredns/coredns:v1.11.3");
}

#[test]
fn a_repository_of_ones_own_has_every_image_and_no_folder_for_coredns() {
    let ci = release("v1.38.0-alpha.1.12+0123456789abcd", Origin::Ci);
    let renamed = Images::of(&ci).for_repository("gcr.io/k8s-staging-ci-images");
    let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    assert_eq!(
        renamed,
        [
            pair(
                "registry.k8s.io/coredns/coredns:v1.14.6",
                "gcr.io/k8s-staging-ci-images/coredns:v1.14.6"
            ),
            pair(
                "registry.k8s.io/pause:3.10.2",
                "gcr.io/k8s-staging-ci-images/pause:3.10.2"
            ),
            pair(
                "registry.k8s.io/etcd:3.7.0-0",
                "gcr.io/k8s-staging-ci-images/etcd:3.7.0-0"
            ),
        ]
    );
    let release = release("v1.36.3", Origin::Release);
    assert_eq!(
        Images::of(&release).for_repository("local:5000/k8s").len(),
        7
    );
}

#[test]
fn images_of_a_build_get_the_names_that_kubeadm_looks_for() {
    let source = Images::of(&release("v1.36.4-3+0123456789abcd", Origin::Source));
    let ci = Images::of(&release("v1.36.4-3+0123456789abcd", Origin::Ci));
    let tag = "v1.36.4-3_0123456789abcd";
    let built = format!("registry.k8s.io/kube-apiserver-amd64:{tag}");
    let named = format!("registry.k8s.io/kube-apiserver:{tag}");
    assert_eq!(source.wanted_for(&built, "amd64"), Some(named.clone()));
    assert_eq!(source.wanted_for(&named, "amd64"), None);
    assert_eq!(
        ci.wanted_for(&built, "amd64"),
        Some(format!("gcr.io/k8s-staging-ci-images/kube-apiserver:{tag}"))
    );
    // Of another registry, another tag, by digest.
    for image in [
        "localhost:5000/me/kube-proxy-amd64:dev",
        "docker.io/library/kube-proxy:latest",
        "kube-proxy@sha256:0123",
    ] {
        assert_eq!(
            source.wanted_for(image, "amd64"),
            Some(format!("registry.k8s.io/kube-proxy:{tag}")),
            "{image}"
        );
    }
    for image in [
        "registry.k8s.io/etcd:3.6.8-0",
        "kube-proxy-arm64:dev",
        "registry.k8s.io/conformance-amd64:dev",
        "",
    ] {
        assert_eq!(source.wanted_for(image, "amd64"), None, "{image}");
    }
}

#[test]
fn a_flag_is_gone_from_its_minor_on() {
    for (flag, minor) in [
        ("network-plugin", Some(24)),
        ("logtostderr", Some(26)),
        ("container-runtime", Some(27)),
        ("pod-infra-container-image", Some(35)),
        ("boot-id-file", Some(37)),
        ("node-ip", None),
        ("container-runtime-endpoint", None),
        ("housekeeping-interval", None),
    ] {
        assert_eq!(removed_in(flag), minor, "{flag}");
    }
}
