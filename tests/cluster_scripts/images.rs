//! Images of the user's own, under the names that kubeadm asks for.

use wdev::render::linux_cluster;

use crate::world::World;

const CTR: &str = r#"
echo "ctr $*" >>asked
touch images
case "$*" in
  *"images list") echo "REF TYPE DIGEST SIZE"; sed 's/ / type /' images ;;
  *"images import --no-unpack "*)
    [[ ! -e import-fails ]] || { echo "ctr: unrecognized image format" >&2; exit 1; }
    while read -r name digest; do sed -i "\#^$name #d" images; echo "$name $digest" >>images; done <in-file
    ;;
  *"images tag --force "*)
    digest=$(sed -n "s#^$6 ##p" images)
    sed -i "\#^$7 #d" images
    echo "$7 $digest" >>images
    ;;
  *"images label "*) ;;
  *) exit 97 ;;
esac
"#;

const ASKED_FOR: &str = "k8s.gcr.io/kube-apiserver:v1.21.0-alpha.1_0123\nk8s.gcr.io/kube-proxy:v1.21.0-alpha.1_0123\nk8s.gcr.io/pause:3.2\n";

fn world() -> Option<(World, String)> {
    let world = World::new()?;
    world.node.program("ctr", CTR);
    std::fs::write(world.node.path("asked-for"), ASKED_FOR).unwrap();
    world.by_hand("touch the.tar");
    let files = [("the.tar".to_owned(), "d1".to_owned())];
    Some((world, linux_cluster::images(&files, "kind: X\n").unwrap()))
}

fn in_file(world: &World, lines: &str) {
    std::fs::write(world.node.path("in-file"), lines).unwrap();
}

#[test]
fn images_get_the_names_that_kubeadm_asks_for_and_are_pinned_and_loaded_once() {
    let Some((world, body)) = world() else { return };
    let call = |call: &str| world.call(&body, "none", call);
    in_file(
        &world,
        "registry.k8s.io/kube-apiserver-amd64:v1.21.0-alpha.1_0123 sha256:aa\nk8s.gcr.io/kube-proxy:v1.21.0-alpha.1_0123 sha256:bb\n\
         registry.k8s.io/conformance-amd64:v1 sha256:cc\nsha256:aa sha256:aa\n",
    );
    assert!(call("wdev_probe").ok().contains("not loaded"));
    call("wdev_run").ok();
    let images = world.node.read("images");
    assert!(
        images.contains("k8s.gcr.io/kube-apiserver:v1.21.0-alpha.1_0123 sha256:aa\n"),
        "{images}"
    );
    let asked = world.asked();
    for name in [
        "k8s.gcr.io/kube-apiserver:v1.21.0-alpha.1_0123",
        "k8s.gcr.io/kube-proxy:v1.21.0-alpha.1_0123",
        "registry.k8s.io/conformance-amd64:v1",
    ] {
        assert!(
            asked.contains(&format!(
                "images label {name} io.cri-containerd.pinned=pinned"
            )),
            "{name}: {asked}"
        );
    }
    assert!(!asked.contains("label sha256:"), "{asked}");
    assert!(!world.has("the.tar"));
    assert!(!call("wdev_probe").ok().contains("not in place"));
    call("wdev_run").ok();
    assert!(!world.asked().contains("import"));

    // Garbage collection or a pull has put something else in its place.
    world.by_hand("sed -i '/kube-proxy/s/bb/dd/' images; touch the.tar");
    assert!(
        call("wdev_probe")
            .ok()
            .contains("kube-proxy:v1.21.0-alpha.1_0123 is not there as it was loaded")
    );
    call("wdev_run").ok();
    assert!(
        world
            .node
            .read("images")
            .contains("kube-proxy:v1.21.0-alpha.1_0123 sha256:bb")
    );
    assert!(!call("wdev_probe").ok().contains("not in place"));
}

#[test]
fn a_load_that_was_cut_off_is_finished_by_the_next_run() {
    let Some((world, body)) = world() else { return };
    in_file(&world, "my/kube-proxy:dev sha256:bb\n");
    world.call(&body, "none", "wdev_rename() { exit 9; }; wdev_run");
    assert!(
        world
            .call(&body, "none", "wdev_probe")
            .ok()
            .contains("not loaded")
    );
    let said = world.call(&body, "none", "wdev_run").ok();
    assert!(
        said.contains("my/kube-proxy:dev stands in for v1.21.0-alpha.1_0123"),
        "{said}"
    );
    assert!(
        world
            .node
            .read("images")
            .contains("k8s.gcr.io/kube-proxy:v1.21.0-alpha.1_0123 sha256:bb")
    );
}

#[test]
fn a_file_that_holds_no_images_is_told() {
    let Some((world, body)) = world() else { return };
    in_file(&world, "");
    let said = world.call(&body, "none", "wdev_run").failed();
    assert!(
        said.contains("there is no image with a name in the.tar"),
        "{said}"
    );
    world.by_hand("touch import-fails");
    let said = world.call(&body, "none", "wdev_run").failed();
    assert!(
        said.contains("unrecognized image format") && said.contains("docker save"),
        "{said}"
    );
    world.by_hand("rm the.tar");
    let said = world.call(&body, "none", "wdev_run").failed();
    assert!(said.contains("there is no the.tar"), "{said}");
}
