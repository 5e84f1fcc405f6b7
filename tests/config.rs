//! `variables.yml` as its users write it, right and wrong.

use std::path::PathBuf;

use wdev::config::{Loaded, Problems, Request, load};

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

fn request(dir: &tempfile::TempDir) -> Request {
    Request {
        start: dir.path().to_path_buf(),
        ..Request::default()
    }
}

fn read(text: &str) -> Result<Loaded, Problems> {
    load(&request(&folder(&[("variables.yml", text)])))
}

#[test]
fn no_file_gives_every_default() {
    let dir = folder(&[]);
    let loaded = load(&request(&dir)).unwrap();
    println!("{:#?}", loaded.config);
    println!("{:#?}", loaded.origins);
    assert_eq!(loaded.file, None::<PathBuf>);
}

#[test]
fn peek() {
    for text in [
        "cni: cilium\nkubernetes_verison: 1.30\npodcidr: x\nmemory: 4\n",
        "cni: calico\ncni: antrea\nworkers:\n  - name: Winw1\n    memory: 6 bananas\n    addres: 1\n",
        "kubernetes:\n\tversion: 1\n",
        "network: {pods: 10.244.0.5/16, nodes: 10.96.3.0/24}\n",
        "kubernetes_version: 1.30\nkubernetes: {version: 1}\n",
        "a: [1, 2\n",
        "- a\n",
        "hello",
        "a: &x [*x]",
        "network:\n  proxy: {http: 'me:secret@host'}\nkubernetes: {build: all, source: nowhere}\nhooks: [{}, {node: winw2, phase: x, script: y}]\n",
        "",
    ] {
        match read(text) {
            Ok(l) => println!("OK {:?}", l.notes),
            Err(p) => println!("{}\n=======", p.render(false)),
        }
    }
}
