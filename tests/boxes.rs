//! Which box a node is made of, and what is refused before anything is downloaded.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use wdev::boxes::{Arch, Guest, resolve};
use wdev::config::model::{Communicator, MachineSpec, ProviderName};
use wdev::error::{Kind, Result};

fn spec() -> MachineSpec {
    MachineSpec::default()
}

fn settle(spec: &MachineSpec) -> Result<MachineSpec> {
    on(spec, ProviderName::Virtualbox)
}

fn on(spec: &MachineSpec, provider: ProviderName) -> Result<MachineSpec> {
    resolve("winw1", spec, Guest::Windows("2022"), provider, Arch::Amd64)
}

fn url(url: &(impl ToString + ?Sized)) -> MachineSpec {
    MachineSpec {
        box_url: url.to_string(),
        ..spec()
    }
}

/// What a user reads of a refusal that names the node.
fn refused(spec: &MachineSpec) -> String {
    let failure = settle(spec).unwrap_err();
    assert_eq!(failure.kind, Kind::Configuration, "{failure}");
    assert!(failure.permanent && !failure.advice.is_empty());
    let text = format!("{failure}");
    assert!(text.contains("winw1"), "{text}");
    text
}

#[test]
fn without_a_box_the_default_one_is_taken_at_an_exact_version() {
    let settled = settle(&spec()).unwrap();
    assert!(settled.r#box.contains("windows-server-2022"), "{settled:?}");
    assert!(!settled.box_version.is_empty());
    assert_eq!(settled.communicator, Communicator::Winrm);
    let linux = resolve(
        "cp",
        &spec(),
        Guest::Linux,
        ProviderName::Hyperv,
        Arch::Amd64,
    )
    .unwrap();
    assert!(linux.r#box.contains("2404"), "{linux:?}");
    assert_eq!(linux.communicator, Communicator::Ssh);
}

#[test]
fn what_the_user_says_counts() {
    let chosen = MachineSpec {
        r#box: "me/windows".to_owned(),
        box_version: "1.2".to_owned(),
        communicator: Communicator::Ssh,
        ..spec()
    };
    assert_eq!(settle(&chosen).unwrap(), chosen);
    let older = MachineSpec {
        box_version: "2601.0.0".to_owned(),
        ..spec()
    };
    assert_eq!(settle(&older).unwrap().box_version, "2601.0.0");
    // The known Ubuntu that is not the default, by its name alone.
    let other = MachineSpec {
        r#box: "gusztavvargadr/ubuntu-server-2204-lts".to_owned(),
        ..spec()
    };
    let settled = resolve(
        "cp",
        &other,
        Guest::Linux,
        ProviderName::Libvirt,
        Arch::Amd64,
    )
    .unwrap();
    assert!(!settled.box_version.is_empty());
}

#[test]
fn the_simulator_has_no_box_and_docker_keeps_its_image() {
    assert_eq!(on(&spec(), ProviderName::Sim).unwrap(), spec());
    let image = MachineSpec {
        r#box: "image:1".to_owned(),
        ..spec()
    };
    assert_eq!(on(&image, ProviderName::Docker).unwrap().r#box, "image:1");
}

#[test]
fn a_box_file_needs_no_name_and_has_no_version() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ws 2022.box");
    fs::write(&file, "x").unwrap();
    let settled = settle(&url(&file.display())).unwrap();
    assert!(settled.r#box.starts_with("wdev/ws2022-"), "{settled:?}");
    assert_eq!(settled.box_version, "");
    let elsewhere = settle(&url("https://mirror.example/a/ws%202022.box?x=1")).unwrap();
    assert!(
        elsewhere.r#box.starts_with("wdev/ws202022-"),
        "{elsewhere:?}"
    );
    assert_ne!(settled.r#box, elsewhere.r#box);
    let with_version = MachineSpec {
        box_version: "1".to_owned(),
        ..url(&file.display())
    };
    assert!(refused(&with_version).contains("no version"));
    assert!(refused(&url(&folder.path().join("gone.box").display())).contains("gone.box"));
}

#[test]
fn a_checksum_that_nobody_would_check_is_refused() {
    let sum = format!("sha256:{}", "0".repeat(64));
    for spec in [
        spec(),
        MachineSpec {
            r#box: "me/windows".to_owned(),
            ..url("https://mirror.example/windows.json")
        },
    ] {
        let spec = MachineSpec {
            box_checksum: sum.clone(),
            ..spec
        };
        assert!(refused(&spec).contains("would not be checked"));
    }
    let file = MachineSpec {
        box_checksum: sum.clone(),
        ..url("https://mirror.example/windows.box")
    };
    assert_eq!(settle(&file).unwrap().box_checksum, sum);
}

fn catalogue(url: &str, checksum: &str) -> String {
    format!(
        r#"{{"name": "me/windows", "versions": [
            {{"version": "9.0.0", "providers": [{{"name": "virtualbox", "url": "{url}", "checksum": "{checksum}", "checksum_type": "sha256"}}]}},
            {{"version": "10.0.0", "providers": [{{"name": "virtualbox", "url": "{url}", "checksum": "{checksum}"}}, {{"name": "hyperv", "url": "{url}"}}]}},
            {{"version": "11.0.0", "providers": [{{"name": "vmware_fusion", "url": "{url}"}}]}}]}}"#
    )
}

#[test]
fn a_folder_with_a_catalogue_gives_name_and_newest_version_for_the_provider() {
    let folder = tempfile::tempdir().unwrap();
    let sum = "ab".repeat(32);
    let path = folder.path().join("metadata.json");
    fs::write(&path, catalogue("https://mirror.example/w.box", &sum)).unwrap();
    let of_folder = url(&folder.path().display());
    let settled = settle(&of_folder).unwrap();
    assert_eq!(settled.r#box, "me/windows");
    assert_eq!(settled.box_version, "10.0.0");
    assert_eq!(settled.box_url, path.display().to_string());
    assert_eq!(settle(&url(&path.display())).unwrap(), settled);
    let on_vmware = on(&of_folder, ProviderName::VmwareDesktop).unwrap();
    assert_eq!(on_vmware.box_version, "11.0.0");

    let failure = on(&of_folder, ProviderName::Libvirt).unwrap_err();
    assert!(
        failure.message.contains("no version for `libvirt`"),
        "{failure}"
    );
    assert!(
        failure.causes[0].contains("10.0.0 for `hyperv`"),
        "{failure}"
    );

    let with_sum = |digits: &str| MachineSpec {
        box_checksum: format!("sha256:{digits}"),
        ..of_folder.clone()
    };
    assert_eq!(settle(&with_sum(&sum)).unwrap().box_checksum, "");
    assert!(refused(&with_sum(&"cd".repeat(32))).contains("another checksum"));
    let renamed = MachineSpec {
        r#box: "you/windows".to_owned(),
        ..of_folder
    };
    assert!(refused(&renamed).contains("me/windows"));
}

#[test]
fn what_vagrant_could_not_use_is_explained_before_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let of_folder = url(&folder.path().display());
    assert!(refused(&of_folder).contains("no `metadata.json`"));
    let path = folder.path().join("metadata.json");
    fs::write(&path, catalogue("boxes/w.box", "")).unwrap();
    assert!(refused(&of_folder).contains("relative path `boxes/w.box`"));
    fs::write(&path, r#"{"provider": "virtualbox"}"#).unwrap();
    let failure = settle(&of_folder).unwrap_err();
    assert!(failure.advice[0].contains("tar -C"), "{failure:?}");
    assert!(refused(&url("https://mirror.example/w.json")).contains("`box` is missing"));
}

#[test]
fn a_known_box_by_its_name_must_exist_for_provider_and_host_as_the_default_must() {
    let named = |name: &str, version: &str, provider, arch| {
        let spec = MachineSpec {
            r#box: name.to_owned(),
            box_version: version.to_owned(),
            ..spec()
        };
        resolve("cp", &spec, Guest::Linux, provider, arch)
    };
    let default = |provider, arch| {
        let failure = resolve("cp", &spec(), Guest::Linux, provider, arch).unwrap_err();
        (failure.kind, failure.message, failure.causes)
    };
    let name = on(&spec(), ProviderName::Hyperv).unwrap().r#box;
    let windows = named(&name, "", ProviderName::Hyperv, Arch::Arm64).unwrap_err();
    assert_eq!(windows.kind, Kind::Host);
    assert!(
        windows
            .message
            .contains("no arm64 box of Windows Server 2022")
    );

    let ubuntu = resolve(
        "cp",
        &spec(),
        Guest::Linux,
        ProviderName::Hyperv,
        Arch::Amd64,
    )
    .unwrap();
    let arm = (ProviderName::Hyperv, Arch::Arm64);
    let failure = named(&ubuntu.r#box, "", arm.0, arm.1).unwrap_err();
    assert_eq!(
        (
            failure.kind,
            failure.message.clone(),
            failure.causes.clone()
        ),
        default(arm.0, arm.1)
    );
    assert!(failure.causes[0].contains("`virtualbox`"), "{failure:?}");
    // A version that wdev does not know may have it.
    named(&ubuntu.r#box, "9999.0.0", arm.0, arm.1).unwrap();
    named("me/linux", "", arm.0, arm.1).unwrap();
}
