//! Base volumes that wdev has caused, and others.

use std::fs;

use wdev::error::Kind;
use wdev::provider::vagrant::hypervisor::Hypervisor as _;
use wdev::provider::vagrant::hypervisor::at_work::Watch;

use crate::common::shown::Shown;
use crate::cp;
use crate::host::Host;

/// A volume, as libvirt describes it.
fn volume(name: &str, backing: &str) -> String {
    let below = if backing.is_empty() {
        String::new()
    } else {
        format!("<backingStore><path>/pool/{backing}</path></backingStore>")
    };
    format!(
        "'vol-dumpxml /pool/{name}') echo \"<volume><name>{name}</name>\
         <physical unit='bytes'>2097152</physical>\
         <target><path>/pool/{name}</path></target>{below}</volume>\" ;;\n"
    )
}

const OURS: &str = "b_vagrant_box_image_1_box.img";
const USED: &str = "c_vagrant_box_image_1_box.img";
const THEIRS: &str = "d_vagrant_box_image_1_box.img";

/// What `virsh` answers of a pool with three base volumes, one of which is used; `before` goes first.
fn with_images(before: &str) -> String {
    let volumes = [(OURS, ""), (USED, ""), (THEIRS, ""), ("m.img", USED)];
    let rows = volumes
        .map(|(name, _)| format!("echo ' {name}   /pool/{name}'"))
        .join(";");
    let described: String = volumes
        .iter()
        .map(|(name, backing)| volume(name, backing))
        .collect();
    format!(
        "{before}\n'pool-list --all --name') echo default ;;\n'vol-list default') {rows} ;;\n\
         'list --all --name') : ;;\n{described}"
    )
}

/// A host on which wdev has caused two of them.
pub fn host_with_images(before: &str) -> Host {
    let host = Host::new(&with_images(before));
    let entry = |name: &str| {
        format!(
            "{{\"kind\": \"libvirt-image\", \"name\": \"{name}\", \"facts\": {{}}, \"users\": []}}"
        )
    };
    let ledger = format!("{{\"entries\": [{}, {}]}}", entry(OURS), entry(USED));
    fs::write(host.path("home/state/ledger.json"), ledger).unwrap();
    host
}

fn shown_by_prune(host: &Host, args: &[&str]) -> String {
    let output = host.wdev(&[&["cache", "prune"], args].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn prune_removes_what_wdev_has_caused_and_nobody_uses() {
    let host = host_with_images("");
    let shown = shown_by_prune(&host, &["--dry-run"]);
    assert!(
        shown.contains(OURS) && shown.contains("2.00 MiB"),
        "{shown}"
    );
    let shown = shown_by_prune(&host, &["--dry-run", "--output", "json"]);
    let json: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(json["libvirt_images"][0]["name"], OURS);
    let count = json["libvirt_images"].as_array().unwrap().len();
    assert_eq!(count, 1, "{shown}");
    assert_eq!(host.changes(), [""; 0]);

    assert_eq!(host.prune(false).await.unwrap(), [OURS]);
    assert_eq!(host.changes(), [format!("vol-delete /pool/{OURS}")]);
    let noted = host.noted();
    assert!(noted.contains(USED) && !noted.contains(OURS), "{noted}");
}

#[tokio::test]
async fn prune_keeps_what_a_vagrant_at_work_may_be_about_to_use() {
    let mut host = host_with_images("");
    host.watch = Watch::Told(true);
    assert_eq!(host.prune(false).await.unwrap(), [""; 0]);
    assert_eq!(host.changes(), [""; 0]);
    assert!(host.shown().contains("a Vagrant runs"), "{}", host.shown());
}

/// A machine that is off, with this disk.
pub fn domain(disk: &str) -> String {
    format!(
        "'list --all --name') echo vm ;;\n'dumpxml vm') echo \"<domain><devices><disk>\
         <driver type='qcow2'/><source file='{disk}'/></disk></devices></domain>\" ;;"
    )
}

#[tokio::test]
async fn prune_follows_a_disk_that_no_pool_knows_and_removes_nothing_where_it_cannot() {
    let mut host = host_with_images("");
    let disk = host.path("elsewhere.qcow2");
    fs::write(&disk, "").unwrap();
    host.plays(&with_images(&domain(&disk.display().to_string())));
    assert_eq!(host.prune(false).await.unwrap(), [""; 0]);
    assert!(host.shown().contains("elsewhere.qcow2"), "{}", host.shown());

    let layers = format!("[{{\"filename\": \"/e\", \"full-backing-filename\": \"/pool/{OURS}\"}}]");
    host.program("qemu-img", &format!("echo '{layers}'"));
    host.shown = Shown::default();
    assert_eq!(host.prune(false).await.unwrap(), [""; 0]);
    assert_eq!(host.shown(), "");

    host.program("qemu-img", "echo '[{\"filename\": \"/e\"}]'");
    assert_eq!(host.prune(false).await.unwrap(), [OURS]);
}

#[tokio::test]
async fn a_pool_that_cannot_be_looked_through_is_neither_pruned_nor_forgotten() {
    let stopped = "'pool-refresh default') exit 1 ;;\n\
         'vol-list default') echo \"error: storage pool 'default' is not active\" >&2; exit 1 ;;";
    let host = host_with_images(stopped);
    assert_eq!(host.prune(false).await.unwrap(), [""; 0]);
    assert!(host.noted().contains(OURS));
    host.plays(&with_images("'pool-refresh default') exit 1 ;;"));
    assert_eq!(host.prune(false).await.unwrap(), [""; 0]);
    assert_eq!(host.changes(), [""; 0]);
}

#[tokio::test]
async fn of_new_images_only_those_of_our_boxes_or_below_our_disks_are_ours() {
    let empty = "'pool-list --all --name') : ;;\n'list --all --name') : ;;";
    let host = Host::new(empty);
    let vagrantfile = "node.vm.box = \"b\"\n";
    fs::write(host.path("project/Vagrantfile"), vagrantfile).unwrap();
    let sandbox = host.sandbox();
    sandbox.before_start(&cp(), &host.io()).await.unwrap();
    let m = "'list --all --name') echo wdev-a-cp ;;\n'dumpxml wdev-a-cp') echo \"<domain><disk>\
         <source file='/pool/m.img'/></disk></domain>\" ;;";
    host.plays(&with_images(m));
    sandbox.after_start(&cp(), "id", &host.io()).await.unwrap();
    let noted = host.noted();
    for ours in [OURS, USED] {
        assert!(noted.contains(ours), "no {ours} in {noted}");
    }
    assert!(!noted.contains(THEIRS), "{noted}");
}

#[tokio::test]
async fn an_image_stays_ours_when_its_machine_is_made_anew_beside_another_of_wdevs() {
    for (other, is_ours) in [("wdev-b-w1.img", true), ("theirs.img", false)] {
        let host = Host::new("'pool-list --all --name') : ;;\n'list --all --name') : ;;");
        fs::write(host.path("project/Vagrantfile"), "node.vm.box = \"b\"\n").unwrap();
        let sandbox = host.sandbox();
        sandbox.before_start(&cp(), &host.io()).await.unwrap();
        // Its making failed: it is gone, and what it has caused is the base of the other one by now.
        let (base, layer) = (volume(OURS, ""), volume(other, OURS));
        host.plays(&format!(
            "'dumpxml wdev-a-cp') echo \"error: Domain not found: no domain\" >&2; exit 1 ;;\n\
             'pool-list --all --name') echo default ;;\n'list --all --name') : ;;\n\
             'vol-list default') echo ' {OURS}   /pool/{OURS}'; echo ' {other}   /pool/{other}' ;;\n{base}{layer}"
        ));
        assert!(!sandbox.remove_rest(&cp(), &host.io()).await.unwrap());
        let noted = host.noted();
        assert_eq!(noted.contains(OURS), is_ours, "{other}: {noted}");
        assert_eq!(host.changes(), [""; 0]);
    }
}

#[tokio::test]
async fn a_half_copied_image_goes_unless_a_vagrant_may_be_copying_it() {
    let mut host = host_with_images("");
    let folder = host.path("vagrant-home/boxes/b/1/libvirt");
    fs::create_dir_all(&folder).unwrap();
    // Longer than the copy.
    let disk = fs::File::create(folder.join("box.img")).unwrap();
    disk.set_len(4_000_000).unwrap();
    host.watch = Watch::Told(true);
    let busy = host.sandbox().before_start(&cp(), &host.io()).await;
    let failure = busy.unwrap_err();
    assert_eq!(failure.kind, Kind::Busy);
    assert!(failure.to_string().contains(OURS), "{failure}");
    assert_eq!(host.changes(), [""; 0]);
    host.watch = Watch::Told(false);
    host.sandbox()
        .before_start(&cp(), &host.io())
        .await
        .unwrap();
    assert_eq!(host.changes(), [format!("vol-delete /pool/{OURS}")]);
}

#[test]
fn where_libvirt_was_never_used_it_is_not_asked() {
    let host = Host::new("*) exit 1 ;;");
    assert_eq!(shown_by_prune(&host, &[]), "nothing to remove\n");
    // Nor for a machine of a sandbox that is gone, which is forgotten.
    let making = r#"{"entries": [{"kind": "libvirt-making", "name": "x", "users": ["/no/such"]}]}"#;
    fs::write(host.path("home/state/ledger.json"), making).unwrap();
    assert_eq!(shown_by_prune(&host, &[]), "nothing to remove\n");
    assert_eq!(host.asked(), "");
    assert!(!host.noted().contains("libvirt-making"), "{}", host.noted());
}
