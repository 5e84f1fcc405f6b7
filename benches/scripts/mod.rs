//! Rendering: every script of a large sandbox, with its wrapper, and the Vagrantfile.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use wdev::config::model::ProviderName;
use wdev::config::{self, Request};
use wdev::home::SandboxFolder;
use wdev::os::Os;
use wdev::plan::record::Record;
use wdev::plan::{Target, Testbed, node, render, up};
use wdev::release::{self, Release};

use super::{Row, millis};

const WORKERS: usize = 50;
const TRIES: usize = 11;

/// What `up` does for its scripts: the plan of all of them, and their files where none is there yet. Then
/// again where nothing has changed.
pub fn rows() -> Vec<Row> {
    let project = tempfile::tempdir().expect("temporary folder");
    let mut text = "workers:\n".to_owned();
    for number in 1..=WORKERS {
        let _ = writeln!(text, "  - {{name: winw{number}}}");
    }
    let file = project.path().join("variables.yml");
    std::fs::write(&file, text).expect("a file");
    let request = Request {
        file: Some(file),
        ..Request::default()
    };
    let config = config::load(&request).expect("a configuration").config;
    let exact = release::assumed(&config.kubernetes.version);
    let release = Release::new(&config, Os::Windows, exact);
    let folder = SandboxFolder::new(project.path(), "default");
    let target = Target {
        config: &config,
        provider: ProviderName::Virtualbox,
        folder: &folder,
        testbed: Testbed::None,
        prefix: "wdev-bench",
        release: &release,
        store: None,
    };
    let nodes = node::nodes(&target).expect("nodes");
    let (subnet, network) = (config.network.nodes, "wdev-bench".to_owned());
    let record = Record::new("default", target.provider, subnet, network, nodes, 900);
    let (mut planned, mut written, mut again) = (Vec::new(), Vec::new(), Vec::new());
    let mut files = 0;
    for _ in 0..TRIES {
        let rendered = tempfile::tempdir().expect("temporary folder");
        let began = Instant::now();
        let plan = up::plan(&target).expect("a plan");
        planned.push(began.elapsed());
        let write = || render::write(&plan, &record, &config, rendered.path()).expect("files");
        files = write().len();
        written.push(began.elapsed());
        let began = Instant::now();
        write();
        again.push(began.elapsed());
    }
    let (planned, written, again) = (middle(planned), middle(written), middle(again));
    let limit = Duration::from_millis(200);
    vec![
        Row::new(
            format!("scripts of {WORKERS} workers: rendered"),
            millis(planned),
        )
        .against("under 200 ms", planned < limit),
        Row::new(format!("... and {files} files written"), millis(written))
            .against("under 200 ms", written < limit),
        Row::new("... and nothing to write", millis(again)),
    ]
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
