//! A worker is written into the file, or taken out of it, and nothing else changes.

use std::fs;
use std::path::Path;

use wdev::config::workers::{Change, NewWorker, Refused, with_worker, without_worker};
use wdev::config::{Loaded, Request, load};

use super::{folder, request};

/// A folder with these files, and what is asked of it.
struct Project {
    dir: tempfile::TempDir,
    request: Request,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = folder(files);
        let request = request(&dir);
        Self { dir, request }
    }

    fn loaded(&self) -> Loaded {
        load(&self.request).unwrap_or_else(|problems| panic!("{problems}"))
    }

    fn add(&self, worker: &NewWorker) -> Result<Change, String> {
        let request = Request {
            first_worker: true,
            ..self.request.clone()
        };
        let loaded = load(&request).unwrap_or_else(|problems| panic!("{problems}"));
        with_worker(&request, &loaded, worker).map_err(|refused| words(&refused))
    }

    fn remove(&self, name: &str) -> Result<Change, String> {
        without_worker(&self.request, &self.loaded(), name).map_err(|refused| words(&refused))
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }
}

fn words(refused: &Refused) -> String {
    match refused {
        Refused::Problems(problems) => problems.to_string(),
        Refused::Failure(failure) => format!("{failure} {:?} {:?}", failure.causes, failure.advice),
    }
}

fn named(name: &str) -> NewWorker {
    NewWorker {
        name: name.to_owned(),
        ..NewWorker::default()
    }
}

fn names(change: &Change) -> Vec<String> {
    let workers = change.loaded.config.workers.iter();
    workers
        .map(|worker| format!("{} {}", worker.name, worker.address))
        .collect()
}

#[test]
fn a_worker_comes_after_the_others_and_every_other_byte_stays() {
    for (before, after) in [
        (
            "# mine\nworkers:\n  # the first\n  - name: a   # small\n    cpus: 1\n\ncni: none # later\n",
            "# mine\nworkers:\n  # the first\n  - name: a   # small\n    cpus: 1\n  - {name: b}\n\ncni: none # later\n",
        ),
        (
            "workers: [{name: a}] # one\nversion: 1\n",
            "workers: [{name: a}, {name: b}] # one\nversion: 1\n",
        ),
        (
            "cni: none\r\nworkers:\r\n- {name: a}\r\n",
            "cni: none\r\nworkers:\r\n- {name: a}\r\n- {name: b}\r\n",
        ),
        // Without the key there is one worker by default, and it stays.
        (
            "cni: none # x\n",
            "cni: none # x\nworkers:\n  - {name: winw1}\n  - {name: b}\n",
        ),
        (
            "workers:\ncni: none\n",
            "workers:\n  - {name: winw1}\n  - {name: b}\ncni: none\n",
        ),
        (
            "# only words",
            "# only words\nworkers:\n  - {name: winw1}\n  - {name: b}\n",
        ),
        (
            "{cni: none}\n",
            "{cni: none, \"workers\": [{name: winw1}, {name: b}]}\n",
        ),
        // An entry need not begin beside its dash, and an anchor that nothing refers to is no other place.
        (
            "workers:\n  -\n    name: a\n",
            "workers:\n  -\n    name: a\n  - {name: b}\n",
        ),
        (
            "workers: &x # all\n# -\n- &w # -\n\n  name: a\ncni: none\n",
            "workers: &x # all\n# -\n- &w # -\n\n  name: a\n- {name: b}\ncni: none\n",
        ),
        (
            "workers: !!seq\n  - !!map\n    name: a",
            "workers: !!seq\n  - !!map\n    name: a\n  - {name: b}",
        ),
        (
            "workers: &x [&w {name: a}]\n",
            "workers: &x [&w {name: a}, {name: b}]\n",
        ),
        (
            "workers: &x ~ # none\n",
            "workers: &x # none\n  - {name: winw1}\n  - {name: b}\n",
        ),
        (
            "workers: &x\ncni: none\n",
            "workers: &x\n  - {name: winw1}\n  - {name: b}\ncni: none\n",
        ),
    ] {
        let project = Project::new(&[("variables.yml", before)]);
        let change = project
            .add(&named("b"))
            .unwrap_or_else(|why| panic!("{before}: {why}"));
        assert_eq!(change.after, after);
        assert_eq!(change.before.as_deref(), Some(before));
        assert_eq!(change.loaded.config.workers.len(), 2);
        let written = fs::read_to_string(project.path().join("variables.yml")).unwrap();
        assert_eq!(written, before, "nothing is written here");
    }
    let project = Project::new(&[]);
    let change = project.add(&named("b")).unwrap();
    assert_eq!(change.file, project.path().join("variables.yml"));
    assert_eq!(change.before, None);
    assert_eq!(names(&change), ["winw1 192.168.56.11", "b 192.168.56.12"]);
}

#[test]
fn an_empty_list_gets_its_first_worker() {
    for (before, after) in [
        (
            "workers: [] # none yet\ncni: none\n",
            "workers: # none yet\n  - {name: b}\ncni: none\n",
        ),
        (
            "workers: [\n]\ncni: none\n",
            "workers:\n  - {name: b}\ncni: none\n",
        ),
        (
            "workers: [\n  # none yet\n]\n",
            "workers: [{name: b}\n  # none yet\n]\n",
        ),
        ("workers:\n  []\n", "workers:\n  [{name: b}]\n"),
        ("workers: &x []\n", "workers: &x\n  - {name: b}\n"),
        ("{workers: []}\n", "{workers: [{name: b}]}\n"),
    ] {
        let project = Project::new(&[("variables.yml", before)]);
        let change = project
            .add(&named("b"))
            .unwrap_or_else(|why| panic!("{before}: {why}"));
        assert_eq!(change.after, after);
        assert_eq!(names(&change), ["b 192.168.56.11"]);
        // Whoever adds none is still told that there is none.
        let problems = load(&project.request).err().map(|it| it.to_string());
        assert!(problems.is_some_and(|it| it.contains("there is no worker")));
    }
    let elsewhere = Project::new(&[
        ("variables.yml", "cni: none\n"),
        ("variables.local.yml", "workers: []\n"),
    ]);
    let why = elsewhere.add(&named("b")).unwrap_err();
    assert!(why.contains("said by variables.local.yml"), "{why}");
}

#[test]
fn json_stays_json_and_quotes_stay_where_the_file_has_them() {
    let asked = NewWorker {
        windows: Some("2025".to_owned()),
        cpus: Some(4),
        labels: vec![("size".to_owned(), "big".to_owned())],
        taints: vec!["os=Win1809:NoSchedule".to_owned()],
        ..named("b")
    };
    let first = "{\"name\": \"winw1\"}";
    let new = "{\"name\": \"b\", \"windows\": \"2025\", \"cpus\": 4, \"labels\": {\"size\": \"big\"}, \
               \"taints\": [\"os=Win1809:NoSchedule\"]}";
    for (before, after) in [
        ("{}", format!("{{\"workers\": [{first}, {new}]}}")),
        (
            "{\n  \"cni\": \"none\"\n}\n",
            format!("{{\n  \"cni\": \"none\", \"workers\": [{first}, {new}]\n}}\n"),
        ),
        (
            "{\"workers\": null}",
            format!("{{\"workers\": [{first}, {new}]}}"),
        ),
        ("{\"workers\": []}", format!("{{\"workers\": [{new}]}}")),
        (
            "{\"workers\": [{\"cpus\": 3}, {}]}",
            format!("{{\"workers\": [{{\"cpus\": 3}}, {{}}, {new}]}}"),
        ),
        (
            "\"cni\": none\n",
            format!("\"cni\": none\n\"workers\":\n  - {first}\n  - {new}\n"),
        ),
        (
            "workers:\n  - {\"name\": \"a\"}\n",
            format!("workers:\n  - {{\"name\": \"a\"}}\n  - {new}\n"),
        ),
    ] {
        let project = Project::new(&[("variables.yml", before)]);
        let change = project
            .add(&asked)
            .unwrap_or_else(|why| panic!("{before}: {why}"));
        assert_eq!(change.after, after);
        if before.starts_with('{') {
            serde_json::from_str::<serde_json::Value>(&change.after).unwrap();
        }
    }
    // What is written down for the others, too.
    let two = "{\"workers\": [{\"name\": \"a\"}, {\"cpus\": 3}, {}]}";
    let project = Project::new(&[("variables.yml", two)]);
    assert_eq!(
        project.remove("a").unwrap().after,
        "{\"workers\": [{\"cpus\": 3, \"name\": \"winw2\", \"address\": \"192.168.56.12\"}, \
         {\"name\": \"winw3\", \"address\": \"192.168.56.13\"}]}"
    );
}

#[test]
fn everything_that_is_asked_for_is_what_the_worker_has() {
    let project = Project::new(&[("variables.yml", "workers:\n  - {name: a}\n")]);
    let asked = NewWorker {
        name: "b".to_owned(),
        windows: Some("2025".to_owned()),
        cpus: Some(4),
        memory: Some("8GiB".to_owned()),
        address: Some("192.168.56.40".to_owned()),
        labels: vec![
            ("example.com/rack".to_owned(), "true".to_owned()),
            ("empty".to_owned(), String::new()),
        ],
        taints: vec!["os=Win1809:NoSchedule".to_owned()],
    };
    let change = project.add(&asked).unwrap();
    let worker = change.loaded.config.workers.last().unwrap();
    assert_eq!(worker.windows, "2025");
    assert_eq!((worker.machine.cpus, worker.machine.memory_mib), (4, 8192));
    assert_eq!(worker.address.to_string(), "192.168.56.40");
    assert_eq!(worker.labels["example.com/rack"], "true");
    assert_eq!(worker.labels["empty"], "");
    assert_eq!(worker.taints, ["os=Win1809:NoSchedule"]);
}

/// The project's files, what is added, and the words of the refusal.
type Case<'a> = (&'a [(&'a str, &'a str)], NewWorker, &'a str);

#[test]
fn what_cannot_be_is_refused_before_anything_is_written() {
    let two = "workers:\n  - {name: a}\n  - {name: b}\n";
    let address = |address: &str| NewWorker {
        address: Some(address.to_owned()),
        ..named("c")
    };
    let cases: &[Case] = &[
        (
            &[("variables.yml", two)],
            named("a"),
            "there is a node `a` already",
        ),
        (
            &[("variables.yml", two)],
            named("cp"),
            "there is a node `cp` already",
        ),
        (
            &[("variables.yml", two)],
            named("sixteen-letters-"),
            "15 characters",
        ),
        (&[("variables.yml", two)], named("a: b"), "DNS label"),
        (
            &[("variables.yml", two)],
            address("192.168.56.12"),
            "that of `b`",
        ),
        (&[("variables.yml", two)], address("10.0.0.1"), "10.0.0.1"),
        (
            &[
                ("variables.yml", two),
                ("variables.local.yml", "workers: [{name: x}]\n"),
            ],
            named("c"),
            "said by variables.local.yml",
        ),
        (
            &[("variables.yml", "workers:\n  - {}\n")],
            named("winw1"),
            "already",
        ),
    ];
    for (files, worker, wanted) in cases {
        let project = Project::new(files);
        let why = project.add(worker).unwrap_err();
        assert!(why.contains(wanted), "{worker:?}: {why}");
    }
    let mut project = Project::new(&[("variables.yml", two)]);
    let env = ("WDEV_WORKERS".to_owned(), "[{name: x}]".to_owned());
    project.request.env = vec![env];
    let why = project.add(&named("c")).unwrap_err();
    assert!(why.contains("environment variable WDEV_WORKERS"), "{why}");
}

#[test]
fn a_worker_goes_and_the_others_stay_the_machines_that_they_are() {
    let before = "workers:\n  # one\n  - {name: a}\n  - name: b # two\n    cpus: 3\n  - {cpus: 1}\ncni: none\n";
    let project = Project::new(&[("variables.yml", before)]);
    // The addresses, and the last one's name, follow from the order.
    assert_eq!(
        project.loaded().config.workers.last().unwrap().name,
        "winw3"
    );
    let change = project.remove("a").unwrap();
    assert_eq!(
        change.after,
        "workers:\n  # one\n  - name: b # two\n    address: 192.168.56.12\n    cpus: 3\n  \
         - {cpus: 1, name: winw3, address: 192.168.56.13}\ncni: none\n"
    );
    assert_eq!(names(&change), ["b 192.168.56.12", "winw3 192.168.56.13"]);
    assert_eq!(change.pinned.len(), 3);

    let last = project.remove("winw3").unwrap();
    assert_eq!(
        last.after,
        "workers:\n  # one\n  - {name: a}\n  - name: b # two\n    cpus: 3\ncni: none\n"
    );
    assert!(last.pinned.is_empty());
}

#[test]
fn an_entry_below_its_dash_goes_with_its_dash() {
    let before = "workers:\n  - &one # first\n\n    name: a\n  # two\n  -\n    cpus: 3\n";
    let project = Project::new(&[("variables.yml", before)]);
    let first = project.remove("a").unwrap();
    assert_eq!(
        first.after,
        "workers:\n  # two\n  -\n    cpus: 3\n    address: 192.168.56.12\n    name: winw2\n"
    );
    let second = project.remove("winw2").unwrap();
    assert_eq!(
        second.after,
        "workers:\n  - &one # first\n\n    name: a\n  # two\n"
    );
}

#[test]
fn what_must_not_go_stays() {
    let only = Project::new(&[("variables.yml", "workers: [{name: a}]\n")]);
    assert!(only.remove("a").unwrap_err().contains("the only worker"));
    let hooked = Project::new(&[
        (
            "variables.yml",
            "workers: [{name: a}, {name: b}]\nhooks: [{node: a, phase: machine, script: x.ps1}]\n",
        ),
        ("x.ps1", "function Invoke-WdevRun { }\n"),
    ]);
    let why = hooked.remove("a").unwrap_err();
    assert!(why.contains("variables.yml:2"), "{why}");
    // Its address would be the control plane's.
    let shifts = Project::new(&[(
        "variables.yml",
        "workers: [{name: a, address: 192.168.56.10}, {name: b}]\n",
    )]);
    let why = shifts.remove("a").unwrap_err();
    assert!(why.contains("`cp` would become another machine"), "{why}");
}
