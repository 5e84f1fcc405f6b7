//! The rendered files, for people who review a change of a template.

use wdev::config::model::ProviderName;
use wdev::provider::vagrant::hypervisor::Choices;

use crate::sandbox::{render_with, text};

/// One worker of each kind, and everything that can be chosen for a machine.
const VARIABLES: &str = r#"
cni: antrea
workers:
  - {name: winw1, windows: "2022"}
  - {name: winw2, windows: "2025", communicator: ssh, nested_virtualization: true, cpus: 4, memory: 8GiB}
"#;

/// The file without what changes with every version.
fn shown(text: &str) -> String {
    text.replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

macro_rules! snapshot {
    ($name:ident, $provider:ident) => {
        #[test]
        fn $name() {
            let text = text(ProviderName::$provider, VARIABLES);
            insta::assert_snapshot!(shown(&text));
        }
    };
}

snapshot!(virtualbox, Virtualbox);
snapshot!(hyperv, Hyperv);
snapshot!(vmware_desktop, VmwareDesktop);
snapshot!(libvirt, Libvirt);

#[test]
fn docker() {
    let variables = r#"
control_plane: {box: "debian-sshd:1"}
workers:
  - {name: winw1, box: "debian-sshd:1", memory: 3GiB}
vagrant:
  extra:
    docker: p.create_args += ["--cap-add", "NET_ADMIN"]
"#;
    insta::assert_snapshot!(shown(&text(ProviderName::Docker, variables)));
}

#[test]
fn libvirt_by_emulation_with_a_box_of_ones_own() {
    let variables = r#"
cni: flannel
control_plane:
  box_url: https://mirror.example/debian.box
  box_checksum: "sha256:ABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCD"
workers:
  - {box: me/windows, box_version: "1.0"}
vagrant:
  libvirt: {driver: qemu, cpu_model: Haswell}
  extra:
    libvirt: p.video_type = "vga"
    cp: node.vm.post_up_message = "hello"
"#;
    let choices = Choices {
        emulated: true,
        ..Choices::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let text = render_with(ProviderName::Libvirt, variables, &choices, folder.path());
    insta::assert_snapshot!(shown(&text));
}
