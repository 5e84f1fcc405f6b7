//! The predecessor's flat keys, and their new form.

use wdev::config::{Problems, load, migrate};

use crate::{folder, mistakes, read, request};

const FLAT: &str = include_str!("../fixtures/config/predecessor.yaml");

fn migrated(text: &str) -> Result<String, Problems> {
    let dir = folder(&[("old.yaml", text)]);
    migrate(&dir.path().join("old.yaml"))
}

#[test]
fn flat_keys_are_understood_with_a_note_each() {
    let loaded = read(FLAT).unwrap_or_else(|problems| panic!("{problems}"));
    let config = loaded.config;
    assert_eq!(config.kubernetes.version, "1.30");
    assert_eq!(config.control_plane.address.to_string(), "10.20.30.10");
    assert_eq!(config.workers[0].address.to_string(), "10.20.30.11");
    assert_eq!(config.network.nodes.to_string(), "10.20.30.0/24");
    assert_eq!(config.network.pods.to_string(), "100.244.0.0/16");
    assert_eq!(config.cni.version, "3.25.0");
    assert_eq!(config.container_runtime.version, "1.6.15");
    assert_eq!(config.control_plane.machine.memory_mib, 8192);
    assert_eq!(config.control_plane.machine.cpus, 4);
    assert_eq!(config.workers[0].machine.memory_mib, 6048);
    assert_eq!(config.workers[0].machine.cpus, 3);
    assert_eq!(loaded.notes.len(), 11, "{:#?}", loaded.notes);
    let note = loaded
        .notes
        .iter()
        .find(|n| n.message.contains("pod_cidr"))
        .unwrap();
    assert!(note.message.contains("`network.pods`"), "{note}");
    assert_eq!(
        loaded.origins["network.pods"].to_string(),
        "variables.yml:17:11"
    );
}

#[test]
fn a_flat_key_beside_its_new_form_is_a_mistake() {
    for text in [
        "kubernetes_version: 1.30\nkubernetes: {version: 1.30}",
        "pod_cidr: 10.128.0.0/16\nnetwork: {pods: 10.128.0.0/16}",
        "calico_version: 3.25.0\ncni: {version: 3.25.0}",
        "windows_ram: 6048\nworkers: [{name: a}]",
        "linux_cpus: 2\ncontrol_plane: {cpus: 2}",
    ] {
        let all = mistakes(text);
        assert_eq!(all.len(), 1, "{all:#?}");
        assert!(all[0].message.contains("both there"), "{}", all[0]);
    }
    assert!(read("kubernetes_version: 1.30\nkubernetes: {builder: go}").is_ok());
}

#[test]
fn a_mistake_in_a_flat_key_is_shown_where_it_is() {
    let problem = crate::mistake("windows_ram: lots\n");
    assert_eq!((problem.line, problem.col), (Some(1), Some(14)));
}

#[test]
fn a_build_from_source_needs_the_checkout() {
    let dir = folder(&[("variables.yml", "build_from_source: true\n")]);
    assert!(
        load(&request(&dir))
            .unwrap_err()
            .render(false)
            .contains("does not exist")
    );
    std::fs::create_dir(dir.path().join("kubernetes")).unwrap();
    let config = load(&request(&dir)).unwrap().config;
    assert_eq!(
        config.kubernetes.source,
        Some(dir.path().join("kubernetes"))
    );
    assert_eq!(config.kubernetes.build.len(), 4);
}

#[test]
fn calico_version_beside_another_cni_is_left_out() {
    let config = read("cni: antrea\ncalico_version: 3.25.0\n")
        .unwrap()
        .config;
    assert_ne!(config.cni.version, "3.25.0");
}

#[test]
fn the_new_form_means_the_same_and_keeps_the_comments() {
    let text = migrated(FLAT).unwrap();
    let new = read(&text).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    assert_eq!(new.notes, []);
    assert_eq!(new.config, read(FLAT).unwrap().config);
    for comment in FLAT
        .lines()
        .filter_map(|line| Some(&line[line.find('#')?..]))
    {
        assert!(
            text.contains(comment.trim_end()),
            "{comment:?} is lost in:\n{text}"
        );
    }
    insta::assert_snapshot!(text);
}

#[test]
fn windows_line_ends_stay() {
    let text = migrated(&FLAT.replace('\n', "\r\n")).unwrap();
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    assert_eq!(text.replace("\r\n", "\n"), migrated(FLAT).unwrap());
}

#[test]
fn a_file_in_the_new_form_comes_back_as_it_is() {
    let text = "# mine\ncni: calico   # so\n\nworkers:\n- name: a\n";
    assert_eq!(migrated(text).unwrap(), text);
}

#[test]
fn forms_that_cannot_be_edited_by_line_are_written_anew_and_say_so() {
    for text in [
        "{kubernetes_version: 1.30, cni: calico}  # c\n",
        "kubernetes_version: &v 1.30 # c\npod_cidr: 10.128.0.0/16\nvagrant: {extra: {cp: *v}}\n",
    ] {
        let new = migrated(text).unwrap();
        assert!(new.starts_with("# wdev config migrate: "), "{new}");
        assert_eq!(
            read(&new).unwrap().config,
            read(text).unwrap().config,
            "{new}"
        );
    }
}

#[test]
fn mixed_forms_are_put_together() {
    let text = "# top\n\n# about the version\nkubernetes_version: 1.30 # v\nkubernetes: # k\n  builder: go # b\nnetwork: {dns: [1.1.1.1]}\npod_cidr: \"10.128.0.0/16\"\n# end\n";
    let new = migrated(text).unwrap();
    assert_eq!(
        read(&new).unwrap().config,
        read(text).unwrap().config,
        "{new}"
    );
    for comment in ["# top", "# about the version", "# v", "# k", "# b", "# end"] {
        assert!(new.contains(comment), "{comment}: {new}");
    }
}

#[test]
fn mistakes_of_the_form_are_reported() {
    assert!(migrated("kubernetes_version: [\n").is_err());
    assert!(migrated("- a\n").is_err());
    assert!(migrated("pod_cidr: a\nnetwork: {pods: b}\n").is_err());
    let missing = migrate(std::path::Path::new("/nowhere/variables.yaml"));
    assert!(missing.unwrap_err().render(false).contains("cannot read"));
}
